// The argument writer on a block of its own: the slots that it writes, and its errors.

import {
  assert,
  assertEquals,
  assertStrictEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import fc from "fast-check";
import { ARGUMENT, createCommandBlock, OPERAND } from "../../src/ffi/command_block.ts";
import { ArgumentWriter } from "../../src/launch/signature/argument_writer.ts";
import type {
  MemoryLocation,
  ReadonlyDeviceMemory,
} from "../../src/launch/signature/device_memory.ts";
import { parseSignature } from "../../src/launch/signature/signature.ts";
import { StructType } from "../../src/launch/signature/struct_type.ts";
import { type DType, DTYPES } from "../../src/memory/dtype.ts";

const library = {};
const host0: MemoryLocation = { library, ordinal: 0, label: "host:0" };
const host1: MemoryLocation = { library, ordinal: 1, label: "host:1" };
const cuda0: MemoryLocation = { library: {}, ordinal: 0, label: "cuda:0" };

function memory(
  dtype: DType,
  changes: Partial<ReadonlyDeviceMemory> = {},
): ReadonlyDeviceMemory {
  return { context: host0, dtype, address: 4096, length: 8, disposed: false, ...changes };
}

/** Writes the arguments of a signature, and gives the slots and which of them are raw. */
function write(signature: string, ...args: unknown[]) {
  const block = createCommandBlock();
  block.fill(-7);
  new ArgumentWriter(parseSignature(signature), block, host0).write(args);
  const slots = block.subarray(ARGUMENT, ARGUMENT + args.length);
  const words = [block[OPERAND + 9]!, block[OPERAND + 10]!];
  const isRaw = args.map((_, i) => (words[i >> 5]! >>> (i & 31) & 1) === 1);
  const bits = new BigUint64Array(block.buffer, slots.byteOffset, slots.length);
  return { values: [...slots], bits: [...bits], isRaw, words, block };
}

function refusal(signature: string, ...args: unknown[]): Error {
  return assertThrows(() => write(signature, ...args), Error);
}

const AXPY = "axpy_float32(float a, const float* x, float* y, unsigned long long n)";

Deno.test("write() takes the ends of every integer type and refuses one beyond", () => {
  const ranges: [string, bigint, bigint][] = [
    ["signed char", -128n, 127n],
    ["unsigned char", 0n, 255n],
    ["short", -32768n, 32767n],
    ["unsigned short", 0n, 65535n],
    ["int", -(2n ** 31n), 2n ** 31n - 1n],
    ["unsigned int", 0n, 2n ** 32n - 1n],
  ];
  for (const [type, lowest, highest] of ranges) {
    for (const value of [lowest, lowest + 1n, 0n, highest - 1n, highest].map(Number)) {
      assertEquals(write(`f(${type} n)`, value).values, [value], `${type} ${value}`);
    }
    for (const value of [lowest - 1n, highest + 1n, 2n ** 53n, 2n ** 64n].map(Number)) {
      const error = refusal(`f(${type} n)`, value);
      assert(error instanceof RangeError);
      assertStrictEquals(
        error.message,
        `Cannot launch f as argument n (1 of 1) must be an integer in ${lowest}..${highest}: ` +
          `it is ${value}`,
      );
    }
    assert(refusal(`f(${type} n)`, 1n) instanceof TypeError);
  }
});

Deno.test("write() takes 64-bit integers as numbers while exact, as bigints to their ends", () => {
  for (const value of [0, -0, 1, 2 ** 53 - 1]) {
    assertEquals(write("f(size_t n)", value).values, [value]);
    assertEquals(write("f(long long n)", -value).values, [-value]);
  }
  for (const value of [0n, 1n, 2n ** 53n, 2n ** 63n, 2n ** 64n - 1n]) {
    const { bits, isRaw } = write("f(size_t n)", value);
    assertEquals([bits, isRaw], [[value], [true]]);
  }
  for (const value of [-(2n ** 63n), -1n, 0n, 2n ** 63n - 1n]) {
    const { bits, isRaw } = write("f(long long n)", value);
    assertEquals([bits, isRaw], [[BigInt.asUintN(64, value)], [true]]);
  }
  const beyond = { "size_t": [-1, -1n, 2 ** 53, 2n ** 64n], "long long": [-(2 ** 53), 2n ** 63n] };
  for (const [type, values] of Object.entries(beyond)) {
    for (const value of values) {
      const error = refusal(`f(${type} n)`, value);
      assert(error instanceof RangeError);
      assert(error.message.includes("beyond 9007199254740991 as a bigint: it is"), error.message);
    }
  }
});

Deno.test("write() marks raw arguments in the word of their position", () => {
  const signature = `f(${Array.from({ length: 64 }, (_, i) => `size_t p${i}`).join(", ")})`;
  for (const raw of [[0], [31], [32], [63], [0, 31, 32, 63], []]) {
    const args = Array.from({ length: 64 }, (_, i) => raw.includes(i) ? 2n ** 60n : i);
    const { isRaw, words } = write(signature, ...args);
    assertEquals(isRaw, args.map((_, i) => raw.includes(i)));
    assert(words.every((word) => word >= 0 && word < 2 ** 32), String(words));
  }
});

Deno.test("write() takes memory of exactly the parameter's element type", () => {
  const pointers = {
    float: "float32",
    half: "float16",
    size_t: "uint64",
    clock_t: "int64",
    "long long": "int64",
    uint16_t: "uint16",
    short: "int16",
    bool: "bool",
  } as const;
  for (const [type, taken] of Object.entries(pointers)) {
    for (const dtype of DTYPES) {
      const argument = memory(dtype);
      if (dtype === taken) {
        assertEquals(write(`f(${type}* x)`, argument).values, [4096]);
        continue;
      }
      assertStrictEquals(
        refusal(`f(int n, ${type}* x)`, 0, argument).message,
        `Cannot launch f as argument x (2 of 2) must be ${taken} device memory: it is ${dtype}`,
      );
    }
  }
});

Deno.test("write() takes memory of the same device, whoever opened it, and of no other", () => {
  const reopened = memory("float32", { context: { ...host0 } });
  assertEquals(write("f(float* x, void* y)", reopened, reopened).values, [4096, 4096]);
  for (const context of [host1, cuda0]) {
    for (const type of ["float*", "const float*", "void*"]) {
      assertStrictEquals(
        refusal(`f(${type} x)`, memory("float32", { context })).message,
        `Cannot launch f as argument x (1 of 1) must be memory of host:0${
          context === host1 ? ", or of a device to which enablePeerAccess() gave it access" : ""
        }: it is memory of ${context.label}`,
      );
    }
  }
});

Deno.test("write() refuses disposed memory without asking for its address", () => {
  const disposed = {
    ...memory("float32", { disposed: true }),
    get address(): number {
      throw new Error("read");
    },
  };
  const { message } = refusal("f(const float*)", disposed);
  assert(
    message.endsWith("argument 1 of 1 must be float32 device memory: it is disposed"),
    message,
  );
});

Deno.test("write() names what came instead of device memory", () => {
  const came: [unknown, string][] = [
    [new Float32Array(1), "a Float32Array, which lies in host memory"],
    [4096, "4096"],
    [[memory("float32")], "an Array"],
    [{ dtype: "float32" }, "an Object"],
  ];
  for (const [value, text] of came) {
    assertStrictEquals(
      refusal("f(float* x, int n)", value, 1).message,
      `Cannot launch f as argument x (1 of 2) must be float32 device memory: it is ${text}`,
    );
  }
});

Deno.test("write() names the signature when the number of arguments is wrong", () => {
  assertStrictEquals(
    refusal(AXPY, 1, memory("float32"), memory("float32")).message,
    "Cannot launch axpy_float32(float a, const float* x, float* y, unsigned long long n) " +
      "as it takes 4 arguments: there are 3",
  );
});

Deno.test("write() names the element of a vector and the field of a struct", () => {
  const Item = new StructType("Item", { at: "short[2][2]", pair: "half2" });
  const List = new StructType("List", { first: Item, rest: [Item, 2] });
  const item = { at: [[1, 2], [3, 4]], pair: [1, 2] };
  const list = (changes: object) => ({ first: item, rest: [item, { ...item, ...changes }] });
  const refused: [string, unknown, string][] = [
    ["f(float4 v)", [1, 2, "3", 4], 'v (1 of 1)[2] must be a number: it is "3"'],
    ["f(int1 v)", [0.5], "v (1 of 1)[0] must be an integer in -2147483648..2147483647: it is 0.5"],
    ["f(longlong2)", [1, 2n ** 63n], "1 of 1[1] must be an integer in -9223372036854775808.."],
    ["f(float4 v)", [1, 2], "v (1 of 1).length must be that of an array of 4 numbers, as it is "],
    ["f(float4 v)", 1, "v (1 of 1) must be an array of 4 numbers, as it is float4: it is 1"],
    ["f(List s)", list({ at: [[1, 2], [3, 2 ** 15]] }), "s (1 of 1).rest[1].at[1][1] must be an "],
    ["f(List s)", list({ pair: [1] }), "s (1 of 1).rest[1].pair.length must be that of an array"],
    ["f(List s)", list({ more: 1 }), "s (1 of 1).rest[1].more must be absent, as Item has no such"],
    ["f(List s)", { first: item }, "s (1 of 1).rest must be an array of 2: it is undefined"],
    ["f(List s)", [item], "s (1 of 1) must be an object with the fields of List: it is an Array"],
  ];
  for (const [text, value, told] of refused) {
    const writer = new ArgumentWriter(
      parseSignature(text, [Item, List]),
      createCommandBlock(),
      host0,
    );
    const { message } = assertThrows(() => writer.write([value]), Error);
    assertStringIncludes(message, `Cannot launch f as argument ${told}`);
  }
});

Deno.test("write() writes or throws a TypeError or RangeError, whatever is passed", () => {
  const signature = parseSignature(
    "f(float a, int b, size_t c, bool d, half e, const float* x, int* y, void* z)",
  );
  const writer = new ArgumentWriter(signature, createCommandBlock(), host0);
  const fair = [1, 1, 1n, true, 1, memory("float32"), memory("int32"), memory("bool")];
  writer.write(fair);
  fc.assert(
    fc.property(fc.nat(fair.length - 1), fc.anything({ withBigInt: true }), (at, value) => {
      try {
        writer.write(fair.with(at, value as never));
      } catch (error) {
        assert(error instanceof TypeError || error instanceof RangeError, String(error));
        // One that is undefined at the end is not given.
        const isMissing = at === fair.length - 1 && value === undefined;
        const told = isMissing ? "Cannot launch f(float a, " : "Cannot launch f as argument ";
        assert(error.message.startsWith(told), error.message);
      }
    }),
    { numRuns: 2000 },
  );
});
