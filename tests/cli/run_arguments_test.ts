// The arguments of `gridstride run`.

import { DTYPES } from "../../mod.ts";
import { elementsOf } from "../../src/cli/npy.ts";
import "../support/cache_directory.ts";
import {
  assert,
  assertEquals,
  assertNotEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import fc from "fast-check";
import { UsageError } from "../../src/cli/command.ts";
import { kernelExpression } from "../../src/cli/kernel.ts";
import { loadArray, parseRunArgument } from "../../src/cli/run_arguments.ts";

function value(text: string): unknown {
  const argument = parseRunArgument(text);
  assert(argument.kind === "value", `${text} is ${argument.kind}`);
  return argument.value;
}

Deno.test("`parseRunArgument()` reads numbers, vectors and structs exactly", () => {
  const numbers: readonly [string, unknown][] = [
    ["-0", -0],
    ["+7", 7],
    ["007", 7],
    ["9007199254740991", 9007199254740991],
    ["9007199254740993", 9007199254740993n],
    ["18446744073709551615", 18446744073709551615n],
    ["0x10", 16],
    ["-0xff", -255],
    ["0xFFFFFFFFFFFFFFFF", 18446744073709551615n],
    [".5", 0.5],
    ["2.", 2],
    ["-1e-3", -0.001],
    ["1E400", Infinity],
    ["inf", Infinity],
    ["-Inf", -Infinity],
    ["nan", NaN],
    ["true", true],
    ["False", false],
    ["null", null],
    ["[1,2,3]", [1, 2, 3]],
    ['{"x": -0.5, "y": [1, 9007199254740993], "z": {"w": "-inf"}}', {
      x: -0.5,
      y: [1, 9007199254740993n],
      z: { w: -Infinity },
    }],
    ['{"b": true, "text": "no number"}', { b: true, text: "no number" }],
    ["[ -1.5 , 0x10 , 9007199254740993 , nan ]", [-1.5, 16, 9007199254740993n, NaN]],
  ];
  for (const [text, expected] of numbers) assertEquals(value(text), expected, text);
  assert(Object.is(value("-0"), -0));
  assert(Object.is(value("-0.0"), -0));
});

Deno.test("`parseRunArgument()` reads any double and any integer of 64 bits", () => {
  const double = fc.double({ noNaN: true, noDefaultInfinity: true });
  fc.assert(fc.property(double, (number) => {
    const read = value(Object.is(number, -0) ? "-0" : String(number));
    assert(Object.is(typeof read === "bigint" ? Number(read) : read, number));
  }));
  fc.assert(fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n }), (number) => {
    assertEquals(BigInt(value(String(number)) as number | bigint), number);
  }));
});

Deno.test("`parseRunArgument()` reads the type, shape and files of arrays", () => {
  assertEquals(parseRunArgument("@in.npy"), { kind: "in", input: { path: "in.npy" } });
  assertEquals(parseRunArgument("@a@b.npy"), { kind: "in", input: { path: "a@b.npy" } });
  const inout = { kind: "inout", input: { path: "a.npy" } } as const;
  assertEquals(parseRunArgument("inout:@a.npy"), inout);
  assertEquals(parseRunArgument("inout:@a.npy@b.npy"), { ...inout, output: "b.npy" });
  const out = (text: string) => parseRunArgument(`out:${text}@/tmp/a b.npy`);
  for (
    const [text, dtype, shape] of [
      ["float32[1000]", "float32", [1000]],
      ["bfloat16[8,4]", "bfloat16", [8, 4]],
      ["int64[ 2 , 3, 4 ]", "int64", [2, 3, 4]],
      ["bool[]", "bool", []],
      ["uint8[0]", "uint8", [0]],
    ] as const
  ) {
    const input = { dtype, shape: [...shape] };
    assertEquals(out(text), { kind: "out", input, output: "/tmp/a b.npy" });
    assertEquals(parseRunArgument(`out:${text}`), { kind: "out", input });
  }
});

Deno.test("`loadArray()` generates and lists elements of any type", async () => {
  const load = async (text: string) => {
    const argument = parseRunArgument(text);
    assert(argument.kind === "in", text);
    const { dtype, content, shape } = await loadArray(argument.input);
    return { shape, elements: content && Array.from<unknown>(elementsOf(dtype, content)) };
  };
  assertEquals(await load("zeros:float32[3]"), { shape: [3], elements: undefined });
  for (const dtype of DTYPES) {
    const { elements, shape } = await load(`arange:${dtype}[2,2]`);
    const expected = dtype === "bool" ? [0, 1, 1, 1] : [0, 1, 2, 3];
    assertEquals([elements?.map(Number), shape], [expected, [2, 2]], dtype);
    const random = async (seed: string) => (await load(`random${seed}:${dtype}[500]`)).elements!;
    const numbers = (await random("")).map(Number);
    const high = dtype === "bool" ? 1 : /float/.test(dtype) ? 1 : 99;
    assert(numbers.every((number) => number >= 0 && number <= high), dtype);
    assert(new Set(numbers).size > (dtype === "bool" ? 1 : 5), dtype);
    assertEquals(await random(""), await random(":0"), dtype);
    assertNotEquals(await random(":1"), await random(":2"), dtype);
  }
  assertEquals((await load("uint64:[1,18446744073709551615]")).elements, [1n, 2n ** 64n - 1n]);
  assertEquals((await load("float16:[0.5, -inf]")).elements, [0.5, -Infinity]);
});

Deno.test("`parseRunArgument()` refuses invalid arguments", () => {
  const refused: readonly [string, string][] = [
    ["", "a number"],
    ["two", "@FILE.npy"],
    ["1.5.2", "a number"],
    ["1e", "a number"],
    ["0x", "a number"],
    ["1n", "a number"],
    ["1,2", "a number"],
    ["Infinity", "a number"],
    ["x.npy", "@FILE.npy"],
    ["@", "@FILE.npy"],
    ["[]", "a vector"],
    ["[1,]", "a vector"],
    ["[1,true]", "a vector"],
    ['{"x":', "a struct in JSON"],
    [`{"x":${"[".repeat(60000)}${"]".repeat(60000)}}`, "a struct in JSON"],
    ["out:zeros:float32[4]", "out:DTYPE[SHAPE]"],
    ["out:float32:[4]", "out:DTYPE[SHAPE]"],
    ["zeros:float[4]", "one of the types float64"],
    ["arange:3:int32[4]", "random:float32[8]"],
    ["random:int32[-4]", "integers as shape"],
    ["int32:[1.5]", "1.5 is none"],
    ["int64:[1.5]", "1.5 is none"],
    ["uint8:[3,256]", "256 is none"],
    ["inout:out:int32[4]", "inout:ARRAY"],
    ["out:float32@a.npy", "out:DTYPE[SHAPE]"],
    ["out:float32[4]@", "out:DTYPE[SHAPE]"],
    ["out:float[4]@a.npy", "float32"],
    ["out:[4]@a.npy", "float32"],
    ["out:float32[-4]@a.npy", "integers as shape"],
    ["out:float32[4,]@a.npy", "integers as shape"],
    ["out:float32[4.5]@a.npy", "integers as shape"],
    ["out:float32[9007199254740992]@a.npy", "SHAPE"],
    [`out:float32[${Array(65).fill(1)}]@a.npy`, "64 dimensions"],
    ["inout:a.npy", "inout:ARRAY@FILE.npy"],
    ["inout:@a.npy@", "inout:ARRAY@FILE.npy"],
    ["inout:@a@b@c", "inout:ARRAY@FILE.npy"],
  ];
  for (const [text, message] of refused) {
    const error = assertThrows(() => parseRunArgument(text), UsageError, message);
    assertStringIncludes(error.message, JSON.stringify(text).slice(0, 30));
  }
});

Deno.test("`parseRunArgument()` throws only a UsageError for any text", () => {
  const pieces = fc.constantFrom(" ", ..."out: inout: random: @ [ ] float32 : 1 - , x".split(" "));
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.array(pieces).map((all) => all.join(""))), (text) => {
      try {
        parseRunArgument(text);
      } catch (error) {
        if (!(error instanceof UsageError)) throw error;
      }
    }),
  );
});

Deno.test("`kernelExpression()` finds the name with its template arguments", () => {
  for (
    const [signature, expression] of [
      ["saxpy", "saxpy"],
      ["saxpy(float a, int n)", "saxpy"],
      ['extern "C" __global__ void  saxpy (int n)', "saxpy"],
      ["a::b::kernel(void)", "a::b::kernel"],
      ["tile<float, 32>(const float* x)", "tile<float, 32>"],
      ["__global__ void tile<f<int>, (1 > 0), g(2)>(float* x)", "tile<f<int>, (1 > 0), g(2)>"],
      ["tile<float>", "tile<float>"],
      ["voidance(int n)", "voidance"],
      ["", ""],
    ] as const
  ) {
    assertEquals(kernelExpression(signature), expression, signature);
  }
});
