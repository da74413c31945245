import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { createTypedArray, type DType, DTYPES } from "../../src/memory/dtype.ts";
import { elementBits } from "../../src/memory/element_bits.ts";

/** `elementBits` without the types that keep wrong values out. */
const bitsOf: (dtype: DType, value: unknown) => number | bigint = elementBits as never;

/** The bits that the typed array of a dtype stores for a value, as the reference. */
function storedBits(dtype: DType, value: number | bigint): number | bigint {
  const array = createTypedArray(dtype, 1) as
    & { [index: number]: number | bigint }
    & ArrayBufferView;
  array[0] = value;
  const { buffer } = array;
  switch (buffer.byteLength) {
    case 8:
      return new BigUint64Array(buffer)[0]!;
    case 4:
      return new Uint32Array(buffer)[0]!;
    case 2:
      return new Uint16Array(buffer)[0]!;
    default:
      return new Uint8Array(buffer)[0]!;
  }
}

const INTEGERS: readonly (readonly [DType, bigint, bigint])[] = [
  ["int64", -(2n ** 63n), 2n ** 63n - 1n],
  ["uint64", 0n, 2n ** 64n - 1n],
  ["int32", -(2n ** 31n), 2n ** 31n - 1n],
  ["uint32", 0n, 2n ** 32n - 1n],
  ["int16", -32768n, 32767n],
  ["uint16", 0n, 65535n],
  ["int8", -128n, 127n],
  ["uint8", 0n, 255n],
];

Deno.test("elementBits() gives an integer's two's complement at the ends of its range", () => {
  for (const [dtype, lowest, highest] of INTEGERS) {
    for (const value of [lowest, lowest + 1n, 0n, 1n, highest - 1n, highest]) {
      const given = dtype.endsWith("int64") ? value : Number(value);
      assertStrictEquals(bitsOf(dtype, given), storedBits(dtype, given), `${dtype} ${value}`);
    }
  }
});

Deno.test("elementBits() refuses integers one beyond either end, naming value and dtype", () => {
  for (const [dtype, lowest, highest] of INTEGERS) {
    for (const value of [lowest - 1n, highest + 1n]) {
      const given = dtype.endsWith("int64") ? value : Number(value);
      const error = assertThrows(() => bitsOf(dtype, given), RangeError, `as ${dtype} as`);
      assertEquals(error.message.includes(`${lowest}..${highest}`), true, error.message);
      assertEquals(error.message.includes(`it is ${value}`), true, error.message);
    }
  }
});

Deno.test("elementBits() refuses what is no integer for integers", () => {
  for (const [dtype] of INTEGERS) {
    for (const value of [0.5, NaN, Infinity, -Infinity, "1", null, undefined, true, {}, Symbol()]) {
      assertThrows(() => bitsOf(dtype, value), RangeError, "an integer in");
    }
  }
  assertThrows(() => bitsOf("int32", 1n), RangeError, "it is 1n");
});

Deno.test("elementBits() takes int64 as a number only as far as numbers are exact", () => {
  assertStrictEquals(elementBits("int64", 2 ** 53 - 1), 2n ** 53n - 1n);
  assertStrictEquals(elementBits("int64", -(2 ** 53) + 1), 2n ** 64n - 2n ** 53n + 1n);
  assertThrows(() => elementBits("int64", 2 ** 53), RangeError, "as a bigint");
  assertStrictEquals(elementBits("int64", 2n ** 53n), 2n ** 53n);
});

Deno.test("elementBits() gives the stored bits of any float", () => {
  for (const dtype of ["float64", "float32"] as const) {
    fc.assert(fc.property(fc.double({ noNaN: true }), (value) => {
      assertStrictEquals(bitsOf(dtype, value), storedBits(dtype, value));
    }));
  }
  assertStrictEquals(elementBits("float32", -0), 0x80000000);
  assertStrictEquals(elementBits("float64", -0), 1n << 63n);
  assertStrictEquals(elementBits("float16", 65504), 0x7bff);
});

Deno.test("elementBits() refuses what is no number for floats", () => {
  for (const dtype of DTYPES.filter((name) => name.includes("float"))) {
    for (const value of [1n, "1", null, undefined, true, [], () => 1]) {
      assertThrows(() => bitsOf(dtype, value), RangeError, "must be a number");
    }
  }
});

Deno.test("elementBits() stores bool as 0 or 1", () => {
  assertEquals([bitsOf("bool", true), bitsOf("bool", false), bitsOf("bool", 1)], [1, 0, 1]);
  for (const value of [2, -1, NaN, "true", null, 1n]) {
    assertThrows(() => bitsOf("bool", value), RangeError, "true or false");
  }
});

Deno.test("elementBits() refuses a name that is no dtype", () => {
  assertThrows(() => bitsOf("uint128" as DType, 1), TypeError, '"uint128"');
});
