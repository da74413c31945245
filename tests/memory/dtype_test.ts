import { assert, assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import {
  bytesPerElement,
  createTypedArray,
  cTypeOf,
  type DType,
  dtypeOf,
  DTYPES,
  isDType,
  isFloatDType,
  isIntegerDType,
  requireArrayOf,
  typedArrayOver,
} from "../../src/memory/dtype.ts";

/** Bytes, array and C type of every dtype, written out here a second time. */
const EXPECTED: readonly (readonly [DType, number, string, string])[] = [
  ["float64", 8, "Float64Array", "double"],
  ["float32", 4, "Float32Array", "float"],
  ["float16", 2, "Float16Array", "__half"],
  ["bfloat16", 2, "Uint16Array", "__nv_bfloat16"],
  ["float8_e4m3", 1, "Uint8Array", "__nv_fp8_e4m3"],
  ["float8_e5m2", 1, "Uint8Array", "__nv_fp8_e5m2"],
  ["int64", 8, "BigInt64Array", "long long"],
  ["uint64", 8, "BigUint64Array", "unsigned long long"],
  ["int32", 4, "Int32Array", "int"],
  ["uint32", 4, "Uint32Array", "unsigned int"],
  ["int16", 2, "Int16Array", "short"],
  ["uint16", 2, "Uint16Array", "unsigned short"],
  ["int8", 1, "Int8Array", "signed char"],
  ["uint8", 1, "Uint8Array", "unsigned char"],
  ["bool", 1, "Uint8Array", "bool"],
];

Deno.test("DTYPES lists every dtype once, and each has its size, array and C type", () => {
  assertEquals(DTYPES, EXPECTED.map(([dtype]) => dtype));
  for (const [dtype, bytes, array, cType] of EXPECTED) {
    assertEquals(bytesPerElement(dtype), bytes, dtype);
    assertEquals(createTypedArray(dtype, 0).constructor.name, array, dtype);
    assertEquals(createTypedArray(dtype, 3).byteLength, 3 * bytes, dtype);
    assertEquals(cTypeOf(dtype), cType, dtype);
  }
});

Deno.test("every dtype is a float, an integer or bool, and only one of them", () => {
  for (const dtype of DTYPES) {
    const kinds = [isFloatDType(dtype), isIntegerDType(dtype), dtype === "bool"];
    assertEquals(kinds.filter(Boolean).length, 1, dtype);
  }
  assert(isFloatDType("bfloat16") && isFloatDType("float8_e5m2") && isIntegerDType("uint8"));
});

Deno.test("isDType() knows the names and nothing that objects inherit", () => {
  assert(DTYPES.every(isDType));
  for (const other of ["", "float", "Float32", "toString", "__proto__", 4, null, undefined, {}]) {
    assert(!isDType(other), String(other));
  }
});

Deno.test("bytesPerElement() names the value and the allowed names when it is no dtype", () => {
  const error = assertThrows(() => bytesPerElement("float" as DType), TypeError, '"float"');
  for (const dtype of DTYPES) assert(error.message.includes(dtype));
  assertThrows(() => bytesPerElement(Symbol("x") as unknown as DType), TypeError, "a symbol");
  assertThrows(() => cTypeOf("constructor" as DType), TypeError, '"constructor"');
});

Deno.test("dtypeOf() tells the dtype of arrays that stand for one, and no other", () => {
  const told: [ArrayBufferView, DType | undefined][] = [
    [new Float64Array(1), "float64"],
    [new Float32Array(1), "float32"],
    [new Float16Array(1), "float16"],
    [new BigInt64Array(1), "int64"],
    [new Int32Array(1), "int32"],
    [new Uint32Array(1), "uint32"],
    [new Int16Array(1), "int16"],
    [new Int8Array(1), "int8"],
    [new Uint8Array(1), "uint8"],
    [new Uint8ClampedArray(1), "uint8"],
    [new (class Bytes extends Uint8Array {})(1), "uint8"],
    [new Uint16Array(1), "uint16"],
    [new BigUint64Array(1), "uint64"],
    [new DataView(new ArrayBuffer(1)), undefined],
  ];
  for (const [array, dtype] of told) assertStrictEquals<unknown>(dtypeOf(array), dtype);
});

Deno.test("dtypeOf() has the dtype as its type", () => {
  const float32: "float32" = dtypeOf(new Float32Array(0));
  const float16: "float16" = dtypeOf(new Float16Array(0));
  const uint16: "uint16" = dtypeOf(new Uint16Array(0));
  const uint64: "uint64" = dtypeOf(new BigUint64Array(0));
  const none: undefined = dtypeOf(new DataView(new ArrayBuffer(1)));
  // @ts-expect-error A Float64Array is not float32.
  const wrong: "float32" = dtypeOf(new Float64Array(0));
  assertEquals([float32, float16, none, wrong], ["float32", "float16", undefined, "float64"]);
  assertEquals([uint16, uint64], ["uint16", "uint64"]);
});

Deno.test("requireArrayOf() accepts every array of the right kind, whatever its bits mean", () => {
  for (const held of DTYPES) {
    for (const asked of DTYPES) {
      const same = EXPECTED.find(([dtype]) => dtype === held)![2] ===
        EXPECTED.find(([dtype]) => dtype === asked)![2];
      const check = () => requireArrayOf(createTypedArray(held, 1), asked, "copy", "source");
      if (same) assertEquals(check().length, bytesPerElement(asked));
      else assertThrows(check, TypeError, `as source must be a`, `${held} ${asked}`);
    }
  }
});

Deno.test("createTypedArray() refuses lengths that are no sizes", () => {
  for (const length of [-1, 0.5, NaN, Infinity, 2 ** 53, "3" as unknown as number]) {
    assertThrows(() => createTypedArray("float64", length), RangeError, "length must be");
  }
  // Fits as a number of elements, not as one of bytes.
  assertThrows(() => createTypedArray("float64", 2 ** 52), RangeError, "its bytes below 2^53");
});

Deno.test("typedArrayOver() sees the memory it is given", () => {
  const buffer = new SharedArrayBuffer(32);
  const view = typedArrayOver("int32", buffer, 8, 2);
  view[1] = -1;
  assertEquals(new Uint8Array(buffer)[12], 255);
  assertStrictEquals(view.buffer, buffer);
  assertThrows(() => typedArrayOver("int32", buffer, 2, 1), RangeError);
  assertThrows(() => typedArrayOver("int32", buffer, 8, 7), RangeError);
});
