// Layouts held against a C++ compiler: sizes, alignments and offsets as static assertions over the
// headers that kernels of the host device include, all in one run of the compiler.

import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { findCppCompiler } from "../../src/ffi/build/compilers.ts";
import {
  C_TYPES,
  scalarTypeOf,
  VECTOR_SPELLINGS,
  vectorTypeOf,
} from "../../src/launch/signature/c_types.ts";
import { bytesPerElement } from "../../src/memory/dtype.ts";
import { PARAMETER_KINDS } from "../../src/launch/signature/signature.ts";
import { StructType } from "../../src/launch/signature/struct_type.ts";
import { repositoryPath } from "../support/subprocess.ts";

/** Names that only signatures know, or that belong to headers that are not included here. */
const NOT_OF_THE_HEADERS = /^(bfloat16|nv_bfloat16|bfloat162|half|uchar|ulong|cuda::.*|_Bool)$/;

const scalars = Object.keys(C_TYPES).filter((name) => !NOT_OF_THE_HEADERS.test(name));
const vectors = VECTOR_SPELLINGS.filter((name) => !NOT_OF_THE_HEADERS.test(name));

const field = fc.tuple(
  fc.constantFrom(...scalars, ...vectors, ...vectors),
  fc.constantFrom("", "", "[1]", "[3]", "[2][5]"),
).map(([type, extents]) => `${type}${extents}`);

interface Declared {
  readonly struct: StructType;
  readonly alignment: number;
}

/** Random structs: every third contains the one before it. */
function randomStructs(): Declared[] {
  const described = fc.sample(
    fc.tuple(fc.array(field, { minLength: 0, maxLength: 7 }), fc.constantFrom(1, 1, 1, 2, 16, 64)),
    { numRuns: 60, seed: 7 },
  );
  const structs: Declared[] = [];
  for (const [index, [types, alignment]] of described.entries()) {
    const fields = Object.fromEntries(types.map((type, i) => [`field_${i}`, type]));
    const before = structs.at(-1)?.struct;
    const nested = index % 3 === 0 && before !== undefined
      ? { nested: before, several: [before, 3] as const }
      : {};
    const struct = new StructType(`S${index}`, { ...fields, ...nested }, { alignment });
    structs.push({ struct, alignment });
  }
  return structs;
}

/** The declaration of a struct, and the assertions of its layout. */
function assertions({ struct, alignment: declared }: Declared): string {
  const members = struct.fields.map(({ name, element, extents }) => {
    const type = typeof element === "string" ? cppScalar(element) : element.name;
    return `  ${type} ${name}${extents.map((extent) => `[${extent}]`).join("")};`;
  });
  const { name, bytes, alignment } = struct;
  return [
    `struct __attribute__((aligned(${declared}))) ${name} {`,
    ...members,
    "};",
    `static_assert(sizeof(${name}) == ${bytes} && alignof(${name}) == ${alignment}, "${name}");`,
    ...struct.fields.map((field) =>
      `static_assert(offsetof(${name}, ${field.name}) == ${field.offset} && ` +
      `sizeof(${name}::${field.name}) == ${field.bytes}, "${name}::${field.name}");`
    ),
  ].join("\n");
}

/** A C++ type for a scalar type: whichever spelling of it comes first. */
function cppScalar(type: string): string {
  return scalars.find((name) => scalarTypeOf(name) === type)!;
}

async function compilerErrors(program: string): Promise<string> {
  const { command } = await findCppCompiler(undefined, (name) => Deno.env.get(name));
  const [compiler, ...before] = command;
  const child = new Deno.Command(compiler!, {
    args: [
      ...[...before, "-std=c++17", "-fsyntax-only", "-w", "-x", "c++", "-"],
      `-I${repositoryPath("csrc/host/include")}`,
    ],
    stdin: "piped",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(program));
  await writer.close();
  return new TextDecoder().decode((await child.output()).stderr);
}

Deno.test("StructType lays out scalars, vectors and random structs as the C++ compiler does", async () => {
  const sizes = scalars.map((name) =>
    `static_assert(sizeof(${name}) == ${bytesPerElement(scalarTypeOf(name)!)} && ` +
    `alignof(${name}) == ${bytesPerElement(scalarTypeOf(name)!)}, "${name}");`
  );
  const vectorSizes = vectors.map((name) => {
    const { bytes, alignment } = vectorTypeOf(name)!;
    return `static_assert(sizeof(${name}) == ${bytes} && alignof(${name}) == ${alignment}, "${name}");`;
  });
  const program = [
    "#include <cstddef>\n#include <cstdint>\n#include <ctime>\n#include <sys/types.h>",
    "#include <cuda_runtime.h>\n#include <cuComplex.h>\n#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <cuda_fp8.h>",
    ...sizes,
    ...vectorSizes,
    ...randomStructs().map(assertions),
  ].join("\n");
  assertEquals(await compilerErrors(`${program}\n`), "");
});

Deno.test("PARAMETER_KINDS are those of the C header", async () => {
  const header = await Deno.readTextFile(repositoryPath("csrc/gridstride_kernel.h"));
  const kinds = [...header.matchAll(/#define GS_PARAMETER_(\w+) (\d+)/g)]
    .map(([, name, value]) => [name!.toLowerCase(), Number(value)]);
  assertEquals(Object.fromEntries(kinds), PARAMETER_KINDS);
});
