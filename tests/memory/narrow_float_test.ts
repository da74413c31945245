import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import { createTypedArray } from "../../src/memory/dtype.ts";
import {
  narrowFloatBits,
  type NarrowFloatDType,
  narrowFloatValue,
  narrowFromFloat32,
  widenToFloat32,
} from "../../src/memory/element_bits.ts";

/** Exponent and fraction bits, bias, and whether all ones in the exponent are special. */
const FORMATS = {
  float16: { exponent: 5, fraction: 10, bias: 15, ieee: true, saturates: false },
  bfloat16: { exponent: 8, fraction: 7, bias: 127, ieee: true, saturates: false },
  float8_e4m3: { exponent: 4, fraction: 3, bias: 7, ieee: false, saturates: true },
  float8_e5m2: { exponent: 5, fraction: 2, bias: 15, ieee: true, saturates: true },
} as const;
const NAMES = Object.keys(FORMATS) as NarrowFloatDType[];

/** A pattern's value straight from the definition of its format. */
function definedValue(dtype: NarrowFloatDType, bits: number): number {
  const { exponent, fraction, bias, ieee } = FORMATS[dtype];
  const text = bits.toString(2).padStart(1 + exponent + fraction, "0");
  const sign = text[0] === "1" ? -1 : 1;
  const exponentField = parseInt(text.slice(1, 1 + exponent), 2);
  const fractionField = parseInt(text.slice(1 + exponent), 2);
  const allOnes = !text.slice(1, 1 + exponent).includes("0");
  if (ieee && allOnes) return fractionField === 0 ? sign * Infinity : NaN;
  if (!ieee && !text.slice(1).includes("0")) return NaN;
  const leading = exponentField === 0 ? 0 : 1;
  return sign * (leading + fractionField / 2 ** fraction) *
    2 ** (Math.max(exponentField, 1) - bias);
}

/** The finite values of a format without sign, ascending: the index is the bit pattern. */
function magnitudes(dtype: NarrowFloatDType): number[] {
  const { exponent, fraction } = FORMATS[dtype];
  const values: number[] = [];
  for (let bits = 0; bits < 2 ** (exponent + fraction); bits++) {
    const value = definedValue(dtype, bits);
    if (Number.isFinite(value)) values.push(value);
  }
  return values;
}

function nextUp(value: number): number {
  const bits = new BigUint64Array(Float64Array.of(value).buffer);
  bits[0] = bits[0]! + 1n;
  return new Float64Array(bits.buffer)[0]!;
}

function nextDown(value: number): number {
  const bits = new BigUint64Array(Float64Array.of(value).buffer);
  bits[0] = bits[0]! - 1n;
  return new Float64Array(bits.buffer)[0]!;
}

for (const dtype of NAMES) {
  const signBit = 2 ** (FORMATS[dtype].exponent + FORMATS[dtype].fraction);

  Deno.test(`narrowFloatValue() gives the defined value of every ${dtype} pattern`, () => {
    for (let bits = 0; bits < 2 * signBit; bits++) {
      assertStrictEquals(narrowFloatValue(dtype, bits), definedValue(dtype, bits), `${bits}`);
    }
  });

  Deno.test(`narrowFloatBits() gives back every ${dtype} pattern but those of NaN`, () => {
    for (let bits = 0; bits < 2 * signBit; bits++) {
      const value = definedValue(dtype, bits);
      if (Number.isNaN(value)) {
        assert(Number.isNaN(narrowFloatValue(dtype, narrowFloatBits(dtype, value))));
      } else if (Number.isFinite(value) || !FORMATS[dtype].saturates) {
        assertStrictEquals(narrowFloatBits(dtype, value), bits, `${bits}`);
      }
    }
  });

  Deno.test(`narrowFloatBits() rounds to the nearer ${dtype} beside every midpoint, ties to even`, () => {
    const values = magnitudes(dtype);
    for (let bits = 0; bits + 1 < values.length; bits++) {
      const middle = (values[bits]! + values[bits + 1]!) / 2; // exact: two more bits suffice
      const even = bits % 2 === 0 ? bits : bits + 1;
      for (const [sign, mark] of [[1, 0], [-1, signBit]] as const) {
        assertStrictEquals(narrowFloatBits(dtype, sign * middle), mark | even, `tie ${bits}`);
        assertStrictEquals(narrowFloatBits(dtype, sign * nextUp(middle)), mark | (bits + 1));
        assertStrictEquals(narrowFloatBits(dtype, sign * nextDown(middle)), mark | bits);
      }
    }
  });

  Deno.test(`narrowFloatBits() overflows ${dtype} half a unit beyond its largest value`, () => {
    const values = magnitudes(dtype);
    const largest = values.length - 1;
    const half = (values[largest]! - values[largest - 1]!) / 2;
    const limit = values[largest]! + half;
    const beyond = FORMATS[dtype].saturates ? largest : largest + 1;
    assertStrictEquals(narrowFloatBits(dtype, nextDown(limit)), largest);
    for (const value of [limit, nextUp(limit), 2 * limit, Number.MAX_VALUE, Infinity]) {
      assertStrictEquals(narrowFloatBits(dtype, value), beyond, `${value}`);
      assertStrictEquals(narrowFloatBits(dtype, -value), signBit | beyond, `${-value}`);
    }
  });

  Deno.test(`narrowFromFloat32() rounds arrays to ${dtype} as single numbers are`, () => {
    const bits = new Uint32Array(1 << 17);
    // Every upper half, with the lower halves that decide ties: none, the least, half, all.
    const lower = [0, 1, 0x7fff, 0x8000, 0x8001, 0xffff];
    for (let i = 0; i < bits.length; i++) {
      bits[i] = ((i & 0xffff) << 16) | lower[(i * 7 + (i >> 16)) % lower.length]!;
    }
    const source = new Float32Array(bits.buffer);
    const narrowed = narrowFromFloat32(dtype, source);
    const raw = dtype === "float16" ? new Uint16Array(narrowed.buffer) : narrowed;
    for (let i = 0; i < source.length; i++) {
      if (Number.isNaN(source[i])) {
        assert(Number.isNaN(narrowFloatValue(dtype, raw[i]!)));
      } else if (narrowFloatBits(dtype, source[i]!) !== raw[i]) {
        assertEquals(raw[i], narrowFloatBits(dtype, source[i]!), `${source[i]}`);
      }
    }
  });

  Deno.test(`widenToFloat32() gives every ${dtype} value, and narrowing gives it back`, () => {
    const source = createTypedArray(dtype, 2 * signBit);
    const raw = dtype === "float16" ? new Uint16Array(source.buffer) : source;
    for (let bits = 0; bits < raw.length; bits++) raw[bits] = bits;
    const widened = widenToFloat32(dtype, source);
    for (let bits = 0; bits < raw.length; bits++) {
      assertStrictEquals(widened[bits], definedValue(dtype, bits), `${bits}`);
    }
    const again = widenToFloat32(dtype, narrowFromFloat32(dtype, widened));
    if (!FORMATS[dtype].saturates) assertEquals(again, widened);
  });
}

Deno.test("narrowFloatBits() rounds once: a double next to a tie does not become the tie", () => {
  // By way of float32 this rounds to 1 + 2^-8 exactly, a tie, and then down to 1.
  assertStrictEquals(narrowFloatBits("bfloat16", 1 + 2 ** -8 + 2 ** -40), 0x3f81);
  assertStrictEquals(narrowFloatBits("float8_e4m3", 1 + 2 ** -4 + 2 ** -40), 0x39);
});

Deno.test("arrays of a narrow format keep their offset in the buffer", () => {
  const source = new Float32Array([9, 1, -2, 9]).subarray(1, 3);
  assertEquals(narrowFromFloat32("bfloat16", source), Uint16Array.of(0x3f80, 0xc000));
  assertEquals(narrowFromFloat32("float8_e4m3", source), Uint8Array.of(0x38, 0xc0));
  assertEquals(narrowFromFloat32("bfloat16", new Float32Array(0)).length, 0);
});
