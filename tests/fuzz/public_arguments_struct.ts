/**
 * What the members for structs are called with.
 *
 * @module
 */

import fc from "fast-check";
import { reference } from "./deferred.ts";
import { anyNumber, type Arguments, mostly, options, size, takes, typedArray } from "./values.ts";

const type = fc.constantFrom(
  ...["float", "float4", "char[3]", "double4_32a", "int[2][2]", "unsigned long long", "bool"],
  ...["float*", "flot", "float[0]", "", "float[99999999]", "__nv_fp8_e4m3", "float[4", "toString"],
);
const count = fc.oneof(fc.nat(4), anyNumber);
const struct = reference("struct");
const field = fc.oneof({ weight: 4, arbitrary: type }, struct, fc.tuple(struct, mostly(count)));

const fieldName = fc.constantFrom("a", "b", "position", "_9", "a b", "__proto__", "constructor");
const name = fc.constantFrom("S", "a::S", "Pair<float, 2>", "::S", "", "4", "a b", "S*");
const alignment = fc.constantFrom(1, 2, 16, 256, 0, 3, 512, -1, NaN, 0.5, 2 ** 40);

const number = fc.oneof(anyNumber, fc.bigInt({ min: -2n, max: 1n << 64n }));
const pair = fc.record({ first: mostly(anyNumber), second: mostly(number) });
const value = fc.oneof(
  pair,
  fc.record({
    position: mostly(fc.array(mostly(anyNumber), { minLength: 2, maxLength: 4 })),
    tags: mostly(fc.oneof(fc.array(fc.nat(127), { minLength: 3, maxLength: 3 }), typedArray)),
    pair: mostly(pair),
  }),
);
const bytes = fc.oneof(
  fc.nat(64).map((length) => new Uint8Array(length)),
  typedArray,
);

const source = fc.array(
  fc.constantFrom(
    ..."struct|class|typedef|namespace n {|S|T|{|}|;|float|int|x|y|[N]|[3]|=|,|*|:|(|)|<|public:|::"
      .split("|"),
    ...["#define N 2\n", "constexpr int N = 3;", "alignas(16)", "enum E { A };", "virtual"],
    ...["struct P { float x, y; int z[2]; };", "#pragma pack(1)\n", "#ifdef Q\n", "#endif\n"],
  ),
  { maxLength: 40 },
).map((words) => words.join(" "));

/** The members. */
export const STRUCT_MEMBERS: Readonly<Record<string, Arguments>> = {
  "function defineStruct": takes(
    name,
    fc.dictionary(fieldName, mostly(field), { maxKeys: 4 }),
    options({ alignment }),
  ),
  "function readStructs": takes(
    source,
    options({
      defines: fc.dictionary(fc.constantFrom("N", "struct", "x y"), mostly(anyNumber)),
      headers: fc.dictionary(fc.constantFrom("p.h", "../p.h"), source),
    }),
  ),
  "method StructType.encode": takes(value, bytes, size),
  "method StructType.decode": takes(bytes, size),
};
