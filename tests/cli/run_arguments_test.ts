// What is typed behind `run` means what it says, exactly, or is refused in words.

import "../support/cache_directory.ts";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import fc from "fast-check";
import { UsageError } from "../../src/cli/command.ts";
import { readCommandLine } from "../../src/cli/command_line.ts";
import { kernelExpression } from "../../src/cli/kernel_expression.ts";
import { parseRunArgument } from "../../src/cli/run_arguments.ts";
import { defineOptions, extentsOption, integerOption } from "../../src/cli/run_options.ts";

function value(text: string): unknown {
  const argument = parseRunArgument(text);
  assert(argument.kind === "value", `${text} is ${argument.kind}`);
  return argument.value;
}

Deno.test("numbers are read exactly, in every form that C has and JavaScript can hold", () => {
  const numbers: readonly [string, unknown][] = [
    ["0", 0],
    ["-0", -0],
    ["+7", 7],
    ["007", 7],
    ["-2147483648", -2147483648],
    ["9007199254740991", 9007199254740991],
    ["9007199254740993", 9007199254740993n],
    ["-9223372036854775808", -9223372036854775808n],
    ["18446744073709551615", 18446744073709551615n],
    ["0x10", 16],
    ["-0xff", -255],
    ["0xFFFFFFFFFFFFFFFF", 18446744073709551615n],
    ["1.5", 1.5],
    [".5", 0.5],
    ["2.", 2],
    ["-1e-3", -0.001],
    ["1E400", Infinity],
    ["inf", Infinity],
    ["-Inf", -Infinity],
    ["nan", NaN],
    ["true", true],
    ["False", false],
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

Deno.test("any number that JavaScript or 64 bits can hold is read back", () => {
  const double = fc.double({ noNaN: true, noDefaultInfinity: true });
  fc.assert(fc.property(double, (number) => {
    const read = value(Object.is(number, -0) ? "-0" : String(number));
    // Integers that a number cannot tell from their neighbours come as bigints.
    assert(Object.is(typeof read === "bigint" ? Number(read) : read, number));
  }));
  fc.assert(fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n }), (number) => {
    assertEquals(BigInt(value(String(number)) as number | bigint), number);
  }));
});

Deno.test("arrays are read with type, shape and files", () => {
  assertEquals(parseRunArgument("@in.npy"), { kind: "in", input: "in.npy" });
  assertEquals(parseRunArgument("@a@b.npy"), { kind: "in", input: "a@b.npy" });
  assertEquals(parseRunArgument("inout:@a.npy@b.npy"), {
    kind: "inout",
    input: "a.npy",
    output: "b.npy",
  });
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
    const expected = { kind: "out", dtype, shape: [...shape], output: "/tmp/a b.npy" };
    assertEquals(out(text) as unknown, expected);
  }
});

Deno.test("anything else is refused with what was typed and what is allowed", () => {
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
    ['{"x":', "the fields of a struct"],
    [`{"x":${"[".repeat(60000)}${"]".repeat(60000)}}`, "the fields of a struct"],
    ["out:float32[4]", "out:DTYPE[SHAPE]"],
    ["out:float32@a.npy", "out:DTYPE[SHAPE]"],
    ["out:float32[4]@", "out:DTYPE[SHAPE]"],
    ["out:float[4]@a.npy", "float32"],
    ["out:[4]@a.npy", "float32"],
    ["out:float32[-4]@a.npy", "SHAPE"],
    ["out:float32[4,]@a.npy", "SHAPE"],
    ["out:float32[4.5]@a.npy", "SHAPE"],
    ["out:float32[9007199254740992]@a.npy", "SHAPE"],
    [`out:float32[${Array(65).fill(1)}]@a.npy`, "64 dimensions"],
    ["inout:a.npy", "inout:@FILE.npy@FILE.npy"],
    ["inout:@a.npy", "inout:@FILE.npy@FILE.npy"],
    ["inout:@a.npy@", "inout:@FILE.npy@FILE.npy"],
    ["inout:@a@b@c", "inout:@FILE.npy@FILE.npy"],
  ];
  for (const [text, message] of refused) {
    const error = assertThrows(() => parseRunArgument(text), UsageError, message);
    assertStringIncludes(error.message, JSON.stringify(text).slice(0, 30));
  }
});

Deno.test("no text whatever is anything but an argument or a usage error", () => {
  const pieces = fc.constantFrom(
    "out:",
    "inout:",
    "@",
    "[",
    "]",
    "float32",
    "1",
    "-",
    ",",
    "x",
    " ",
  );
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

const COMMAND = {
  name: "run",
  summary: "",
  help: "",
  options: { values: ["grid", "repeat"], lists: ["define"], flags: ["fast"] },
  run: () => Promise.resolve(0),
};

function invocation(...args: string[]) {
  return readCommandLine([COMMAND], ["run", ...args]).invocation;
}

Deno.test("negative numbers are arguments and no options, wherever they stand", () => {
  const { positional, options } = invocation("-2", "--grid", "4", "-.5", "-0x10", "-inf", "--fast");
  assertEquals([...positional], ["-2", "-.5", "-0x10", "-inf"]);
  assertEquals(options, { grid: "4", fast: true });
  assertThrows(() => invocation("-x"), UsageError, "-x");
  assertEquals(invocation("--repeat", "-3").options, { repeat: "-3" });
});

Deno.test("options that may be given several times keep their order", () => {
  const many = invocation("--define", "N=16", "a", "--define=M", "--define", "F=x=y");
  assertEquals([many.lists["define"], [...many.positional]], [["N=16", "M", "F=x=y"], ["a"]]);
  assertEquals(defineOptions(many), { N: "16", M: "1", F: "x=y" });
  assertEquals(defineOptions(invocation()), {});
  assertEquals(defineOptions(invocation("--define", "N=")), { N: "" });
  assertThrows(() => invocation("--define", ""), UsageError, "--define");
  for (const text of ["1N=2", "=2", "a b=2"]) {
    assertThrows(() => defineOptions(invocation("--define", text)), UsageError, text);
  }
  const twice = invocation("--define", "N=1", "--define", "N=2");
  assertThrows(() => defineOptions(twice), UsageError, "N is given twice");
  const other = { ...COMMAND, name: "other", options: {} };
  assertThrows(
    () => readCommandLine([COMMAND, other], ["other", "--define", "N=1"]),
    UsageError,
    "no such option",
  );
});

Deno.test("extents and counts are read, or refused with their option", () => {
  const grid = (text: string) => extentsOption(invocation("--grid", text), "grid");
  assertEquals([grid("8"), grid("8,4"), grid("8x4x2")], [[8], [8, 4], [8, 4, 2]]);
  assertEquals(extentsOption(invocation(), "grid"), undefined);
  for (const text of ["0", "8,0", "1,2,3,4", "a", "8,", "-1", "1.5", "99999999999"]) {
    assertThrows(() => grid(text), UsageError, `"${text}"`);
  }
  const repeat = (text: string) => integerOption(invocation("--repeat", text), "repeat", 1, 50);
  assertEquals([repeat("1"), repeat("50")], [1, 50]);
  for (const text of ["0", "51", "-1", "1.5", "many"]) {
    assertThrows(() => repeat(text), UsageError, "an integer in 1..50");
  }
});

Deno.test("the instance of a template is found before its parameters", () => {
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
