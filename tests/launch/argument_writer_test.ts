// The argument writer on a block of its own: the slots that it writes, and its errors.

import { assert, assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { ARGUMENT, BLOCK_SLOTS, createCommandBlock, OPERAND } from "../../src/ffi/command_block.ts";
import { ArgumentWriter } from "../../src/launch/signature/argument_writer.ts";
import type {
  MemoryLocation,
  ReadonlyDeviceMemory,
} from "../../src/launch/signature/device_memory.ts";
import { parseSignature } from "../../src/launch/signature/signature.ts";
import { DeviceBuffer } from "../../src/memory/device_buffer.ts";
import { type DType, DTYPES } from "../../src/memory/dtype.ts";
import { narrowFloatBits } from "../../src/memory/element_bits.ts";
import { defaultStream } from "../../src/stream/stream.ts";
import { device } from "../support/device.ts";

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

Deno.test("write() puts numbers and addresses into the argument slots and marks none as raw", () => {
  const { values, words, block } = write(
    AXPY,
    2.5,
    memory("float32", { address: 512 }),
    memory("float32", { address: 2 ** 53 - 256 }),
    2 ** 53 - 1,
  );
  assertEquals(values, [2.5, 512, 2 ** 53 - 256, 2 ** 53 - 1]);
  assertEquals(words, [0, 0]);
  const touched = new Set([OPERAND + 9, OPERAND + 10, 24, 25, 26, 27]);
  for (let slot = 0; slot < BLOCK_SLOTS; slot++) {
    if (!touched.has(slot)) assertStrictEquals(block[slot], -7, `slot ${slot}`);
  }
});

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
  const beyond: [string, unknown][] = [
    ["f(size_t n)", -1],
    ["f(size_t n)", -1n],
    ["f(size_t n)", 2 ** 53],
    ["f(size_t n)", 2n ** 64n],
    ["f(long long n)", -(2 ** 53)],
    ["f(long long n)", 2n ** 63n],
    ["f(long long n)", -(2n ** 63n) - 1n],
  ];
  for (const [signature, value] of beyond) {
    const error = refusal(signature, value);
    assert(error instanceof RangeError);
    assert(error.message.includes("beyond 9007199254740991 as a bigint: it is"), error.message);
  }
});

Deno.test("write() refuses fractions, NaN and infinities for integers", () => {
  for (const type of ["signed char", "unsigned", "int", "long long", "size_t", "uint16_t"]) {
    for (const value of [0.5, NaN, Infinity, -Infinity, 1 + Number.EPSILON]) {
      assert(refusal(`f(${type} n)`, value) instanceof RangeError, `${type} ${value}`);
    }
  }
});

Deno.test("write() takes any number for float and double", () => {
  for (const value of [0, -0, 0.1, NaN, Infinity, -Infinity, 1e300, Number.MIN_VALUE]) {
    assertEquals(write("f(float x, double y)", value, value).values, [value, value]);
  }
  for (const value of [1n, "1", true, null, undefined, {}, [1], Symbol(), () => 1]) {
    assert(refusal("f(double x)", value) instanceof TypeError);
  }
});

Deno.test("write() rounds narrow floats once and passes their bits", () => {
  const tie = 1 + 2 ** -8 + 2 ** -40; // By way of float32 it would round to 1.
  for (
    const [type, dtype] of [
      ["half", "float16"],
      ["bfloat16", "bfloat16"],
      ["__nv_fp8_e4m3", "float8_e4m3"],
      ["__nv_fp8_e5m2", "float8_e5m2"],
    ] as const
  ) {
    for (const value of [1, -0, tie, NaN, 1e9]) {
      const { bits, isRaw } = write(`f(${type} x)`, value);
      assertEquals([bits, isRaw], [[BigInt(narrowFloatBits(dtype, value))], [true]]);
    }
    assert(refusal(`f(${type} x)`, 1n).message.includes("must be a number: it is 1n"));
  }
});

Deno.test("write() takes booleans for bool and nothing else", () => {
  assertEquals(write("f(bool on, bool off)", true, false).values, [1, 0]);
  for (const value of [0, 1, "true", null, undefined, 1n]) {
    assert(refusal("f(bool on, int n)", value, 1).message.includes("must be a boolean: it is"));
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
  const pointers: [string, DType][] = [
    ["double", "float64"],
    ["float", "float32"],
    ["half", "float16"],
    ["bfloat16", "bfloat16"],
    ["__nv_fp8_e4m3", "float8_e4m3"],
    ["__nv_fp8_e5m2", "float8_e5m2"],
    ["long long", "int64"],
    ["unsigned long long", "int64"],
    ["int", "int32"],
    ["unsigned", "uint32"],
    ["short", "int16"],
    ["unsigned short", "int16"],
    ["signed char", "int8"],
    ["unsigned char", "uint8"],
    ["bool", "bool"],
  ];
  for (const [type, taken] of pointers) {
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

Deno.test("write() takes any element type for void*", () => {
  for (const dtype of DTYPES) {
    assertEquals(write("f(void* p, const void* q)", memory(dtype), memory(dtype)).values, [
      4096,
      4096,
    ]);
  }
});

Deno.test("write() takes a read-only view only where the pointer is const", () => {
  const view = memory("float32", { readOnly: true });
  assertEquals(write("f(const float* x, const void* y)", view, view).values, [4096, 4096]);
  for (const type of ["float*", "void*"]) {
    assertStrictEquals(
      refusal(`f(${type} x)`, view).message,
      `Cannot launch f as argument x (1 of 1) must be writable, as the kernel takes ${type}: ` +
        "it is read-only",
    );
  }
});

Deno.test("write() takes memory of the same device, whoever opened it, and of no other", () => {
  const reopened = memory("float32", { context: { ...host0 } });
  assertEquals(write("f(float* x, void* y)", reopened, reopened).values, [4096, 4096]);
  for (const context of [host1, cuda0]) {
    for (const type of ["float*", "const float*", "void*"]) {
      assertStrictEquals(
        refusal(`f(${type} x)`, memory("float32", { context })).message,
        `Cannot launch f as argument x (1 of 1) must be memory of host:0: ` +
          `it is memory of ${context.label}`,
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
  for (const type of ["float*", "const float*"]) {
    assertStrictEquals(
      refusal(`f(${type})`, disposed).message,
      "Cannot launch f as argument 1 of 1 must be float32 device memory: it is disposed",
    );
  }
});

Deno.test("write() takes null for a pointer, whatever it points to", () => {
  for (const type of ["float*", "const double*", "void*", "float4*"]) {
    const { values, isRaw } = write(`f(int n, ${type} x)`, 1, null);
    assertEquals([values, isRaw], [[1, 0], [false, false]]);
  }
});

Deno.test("write() names what came instead of device memory", () => {
  const came: [unknown, string][] = [
    [new Float32Array(1), "a Float32Array, which lies in host memory"],
    [4096, "4096"],
    [4096n, "4096n"],
    [undefined, "undefined"],
    ["x".repeat(100), `"${"x".repeat(39)}…"`],
    [[memory("float32")], "an Array"],
    [{ dtype: "float32" }, "an Object"],
    [Object.create(null), "an object"],
    [() => 1, "a function"],
    [true, "true"],
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
  assertStrictEquals(
    refusal("empty()", null).message,
    "Cannot launch empty() as it takes 0 arguments: there is 1",
  );
  for (const given of [[], [1], [1, undefined], [undefined, undefined]]) {
    const told = `takes 2 arguments: there ${given[0] === 1 ? "is 1" : "are 0"}`;
    assert(refusal("f(int i, int j)", ...given).message.endsWith(told), String(given));
  }
  assertEquals(write("empty()").words, [0, 0]);
  assertEquals(write("f(int i)", 1, undefined).words, [0, 0]);
});

Deno.test("write() forgets the raw marks of the launch before", () => {
  const block = createCommandBlock();
  const writer = new ArgumentWriter(parseSignature("f(size_t n)"), block, host0);
  writer.write([2n ** 60n]);
  assertStrictEquals(block[OPERAND + 9], 1);
  writer.write([5]);
  assertEquals([block[OPERAND + 9], block[ARGUMENT]], [0, 5]);
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

// ---- Buffers -------------------------------------------------------------------------------------

const SIGNATURE = parseSignature("f(const float* x, float* y)");

/** The two written addresses. */
function addresses(...args: unknown[]): number[] {
  const block = createCommandBlock();
  block.fill(-7);
  new ArgumentWriter(SIGNATURE, block, device.context).write(args, defaultStream(device.context));
  return [...block.subarray(ARGUMENT, ARGUMENT + 2)];
}

Deno.test("write() passes buffers, views, empty buffers and foreign memory by address", () => {
  using x = device.allocate("float32", 7);
  using empty = device.allocate("float32", 0);
  const view = x.view(3, 5);
  const bytes = device.allocate("uint8", 64);
  const foreign = DeviceBuffer.fromAddress(bytes.address, 64, { device, dtype: "float32" });
  assertEquals(addresses(x, view), [x.address, x.address + 12]);
  assertEquals(addresses(view.view(1, 2), x), [x.address + 16, x.address]);
  assertEquals(addresses(empty, empty.view(0, 0)), [0, 0]);
  assertEquals(addresses(foreign, foreign.view(2)), [bytes.address, bytes.address + 8]);
  bytes.free();
});

Deno.test("write() refuses freed buffers, their views, and other element types", () => {
  using x = device.allocate("float32", 7);
  using ints = device.allocate("int32", 7);
  const freed = device.allocate("float32", 7);
  const view = freed.view(1);
  freed.free();
  for (const buffer of [freed, view]) {
    assertThrows(() => addresses(x, buffer), TypeError, "Cannot launch f as argument y");
    assertThrows(() => addresses(buffer, x), TypeError, "disposed");
  }
  assertThrows(() => addresses(x, ints), TypeError, "float32");
  // Its memory, which has another owner by now, and its type would fit.
  using again = device.allocate("float32", 7);
  assertEquals(addresses(again, again), [again.address, again.address]);
  assertThrows(() => addresses(again, freed), TypeError, "disposed");
});

Deno.test("write() refuses a buffer that was freed by its address, also if its block is reused", () => {
  using x = device.allocate("float32", 7);
  const withdrawn = device.allocate("float32", 7);
  const view = withdrawn.view(1);
  device.pool.free(withdrawn.address);
  using again = device.allocate("float32", 7);
  assertThrows(() => addresses(x, withdrawn), TypeError, "disposed");
  assertThrows(() => addresses(x, view), TypeError, "disposed");
  assertEquals(addresses(x, again), [x.address, again.address]);
});

Deno.test("write() records every stream but the buffer's own", () => {
  using stream = device.createStream();
  using own = device.allocate("float32", 7, { stream });
  using other = device.allocate("float32", 7);
  const writer = new ArgumentWriter(SIGNATURE, createCommandBlock(), device.context);
  const noted: unknown[] = [];
  const { recordStream } = DeviceBuffer.prototype;
  DeviceBuffer.prototype.recordStream = function (used) {
    noted.push(this, used);
    recordStream.call(this, used);
  };
  try {
    writer.write([own, other], stream);
  } finally {
    DeviceBuffer.prototype.recordStream = recordStream;
  }
  assertEquals(noted.length, 2);
  assert(noted[0] === other && noted[1] === stream);
});
