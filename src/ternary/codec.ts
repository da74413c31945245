/**
 * Ternary formats in JavaScript: bytes of elements and elements of bytes, without a device.
 *
 * @module
 */

import { cannot } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import { shapeText, sizeOf } from "../tensor/kit/layout.ts";
import type { Layout, Section } from "./layouts.ts";

/** Calls a function for each byte: its address, that of its signs, and its first weight's place. */
function eachByte(
  { digits, byte: firstByte, sign: firstSign, column: firstColumn }: Section,
  visit: (byte: number, sign: number, row: number, column: number) => void,
): void {
  if (digits.some(({ extent }) => extent === 0)) return;
  const at = digits.map(() => 0);
  let [byte, sign, row, column] = [firstByte, firstSign, 0, firstColumn];
  for (;;) {
    visit(byte, sign, row, column);
    let index = digits.length - 1;
    for (; index >= 0; index--) {
      const digit = digits[index]!;
      const step = ++at[index]! < digit.extent ? 1 : 1 - digit.extent;
      byte += step * digit.byte;
      sign += step * digit.sign;
      row += step * digit.row;
      column += step * digit.column;
      if (step === 1 && at[index]! < digit.extent) break;
      at[index] = 0;
    }
    if (index < 0) return;
  }
}

/** Four bytes of two triples each, as magnitudes of 9a + 3b + c, follow at 8, 32 and 40. */
const tripleByte = (first: number, triple: number) =>
  first + (triple >> 2) * 8 + (triple >> 1 & 1) * 32;
const signBit = (triple: number) => 7 - 2 * (triple & 3) - (triple >> 2);

/** Reads the digits of a byte; false if it has no meaning. */
function unpack(
  codec: Section["codec"],
  bytes: Uint8Array,
  at: number,
  sign: number,
  bias: number,
  digits: Uint8Array,
): boolean {
  const byte = bytes[at]!;
  if (codec === "quarters") {
    for (let s = 0; s < 4; s++) digits[s] = (byte >> 2 * s) - bias & 3;
    return digits[0]! < 3 && digits[1]! < 3 && digits[2]! < 3 && digits[3]! < 3;
  }
  if (codec === "trits") {
    for (let s = 0, rest = byte; s < 5; s++, rest = rest * 3 & 255) digits[s] = rest * 3 >> 8;
    return true;
  }
  if (codec === "pairs") {
    for (let s = 0; s < 4; s += 2) {
      const pair = byte >> 4 - 2 * s & 15;
      digits[s] = Math.trunc(pair / 3);
      digits[s + 1] = pair % 3;
    }
    return byte >> 4 < 9 && (byte & 15) < 9;
  }
  let isValid = true;
  for (let t = 0; t < 8; t++) {
    const size = bytes[tripleByte(at, t)]! >> (t % 2 === 0 ? 4 : 0) & 15;
    isValid &&= size < 14;
    const triple = bytes[sign]! >> signBit(t) & 1 ? 13 - size : 13 + size;
    digits[3 * t] = Math.trunc(triple / 9);
    digits[3 * t + 1] = Math.trunc(triple / 3) % 3;
    digits[3 * t + 2] = triple % 3;
  }
  return isValid;
}

/** Writes the digits of a byte. */
function pack(
  codec: Section["codec"],
  bytes: Uint8Array,
  at: number,
  sign: number,
  bias: number,
  d: Uint8Array,
): void {
  if (codec === "quarters") {
    let byte = 0;
    for (let s = 0; s < 4; s++) byte |= (d[s]! + bias & 3) << 2 * s;
    bytes[at] = byte;
  } else if (codec === "trits") {
    const number = d.reduce((sum, digit) => 3 * sum + digit, 0);
    bytes[at] = Math.ceil(number * 256 / 243);
  } else if (codec === "pairs") {
    bytes[at] = 3 * d[0]! + d[1]! << 4 | 3 * d[2]! + d[3]!;
  } else {
    let [signs, byte] = [0, 0];
    for (let t = 0; t < 8; t++) {
      const triple = 9 * d[3 * t]! + 3 * d[3 * t + 1]! + d[3 * t + 2]! - 13;
      if (triple < 0) signs |= 1 << signBit(t);
      byte = (byte << 4 | Math.abs(triple)) & 255;
      if (t % 2 === 1) bytes[tripleByte(at, t)] = byte;
    }
    bytes[sign] = signs;
  }
}

/** Room for the digits of a byte. */
const digitsOf = ({ codec, slots }: Section) => new Uint8Array(codec === "trits" ? 5 : slots);

/** The place of a weight in its matrix; -1 for one that pads a row. */
function elementOf(
  section: Section,
  slot: number,
  row: number,
  column: number,
  columns: number,
): number {
  if (section.codec === "triples") {
    return (row + Math.trunc(slot / 12) * 16) * columns + column + slot % 12;
  }
  const own = column + slot * section.columnStep;
  return own < columns ? (row + slot * section.rowStep) * columns + own : -1;
}

/** The error for a scale. */
export const scaleError = (
  action: string,
  index: number | bigint,
  value?: number,
  allowed = "positive and finite, or 0 where all weights are 0",
) =>
  new RangeError(
    `${cannot(action)} as scales must be ${allowed}: scale ${index} is ${
      value === undefined ? "not" : describeValue(value)
    }`,
  );

/** The scales that `float16` stores: it rounds smaller ones to 0, and larger ones to infinity. */
export const HALF_SCALES = { least: 2 ** -25, most: 65_520, allowed: "below 65520 in float16" };

/** The error for an element. */
export const elementError = (action: string, index: number | bigint, rounding: string) =>
  new RangeError(
    `${cannot(action)} as values must be ${
      rounding === "exact"
        ? "0, the scale or its negative. Call quantizeWeights() for others"
        : "finite numbers"
    }: element ${index} is not`,
  );

/** The error for a byte. */
export const byteError = (action: string, format: string, index: number | bigint) =>
  new RangeError(
    `${cannot(action)} as bytes must be ${format}, which has no code for a weight in byte ${index}`,
  );

/** The digit of an element; 3 if it is none. As `digit_of()` in `ternary.cuh`. */
function digitOf(value: number, scale: number, rounding: Layout["rounding"]): number {
  if (rounding === "exact") {
    if (value === 0) return 1;
    const quotient = Math.fround(value / scale);
    const isWeight = Math.abs(Math.abs(quotient) - 1) <= 0.0078125;
    return !isWeight ? 3 : quotient > 0 ? 2 : 0;
  }
  if (!Number.isFinite(value)) return 3;
  if (scale === 0) return 1;
  const quotient = rounding === "reciprocal"
    ? Math.fround(value * Math.fround(1 / scale))
    : Math.fround(value / scale);
  const size = Math.abs(quotient);
  const isZero = rounding === "aboveHalf" ? size <= 0.5 : size < 0.5;
  return isZero ? 1 : quotient > 0 ? 2 : 0;
}

/** The scales that a format gives elements. As `scale_for()` in `ternary.cuh`. */
export function scalesFor(
  values: Float32Array,
  layout: Layout,
  action: string,
): Float32Array<ArrayBuffer> {
  const { stored, scales, rounding, format } = layout;
  const isHalf = stored?.dtype === "float16";
  const isBlocked = isHalf || format.startsWith("bn32");
  const result = new Float32Array(isBlocked ? scales : 1);
  const length = values.length / result.length;
  for (let index = 0; index < result.length; index++) {
    let largest = 0;
    for (let at = index * length; at < (index + 1) * length; at++) {
      largest = Math.max(largest, Math.abs(values[at]!));
    }
    if (rounding === "aboveHalf") largest = largest <= 1e-8 ? 1 : largest / 1.5;
    result[index] = rounding === "fromHalf" && largest === 0 ? 1 : largest;
    if (!isHalf) continue;
    const { least, most, allowed } = HALF_SCALES;
    if (result[index]! >= most) throw scaleError(action, index, result[index], allowed);
    if (result[index]! <= least) result[index] = 0;
  }
  return result;
}

/** Refuses scales that are not positive and finite; 0 is for elements that are all 0. */
export function requireScales(scales: Float32Array, action: string): void {
  const wrong = scales.findIndex((scale) => !(scale >= 0 && scale < Infinity));
  if (wrong >= 0) throw scaleError(action, wrong, scales[wrong]);
}

/** The bytes of elements. */
export function encodeElements(
  values: Float32Array,
  layout: Layout,
  scales: Float32Array,
  action: string,
): Uint8Array<ArrayBuffer> {
  const { sections, columns, bias, rounding, stored } = layout;
  const bytes = new Uint8Array(layout.bytes);
  const length = values.length / scales.length;
  for (const section of sections) {
    const { codec, slots } = section;
    const digits = digitsOf(section);
    eachByte(section, (byte, sign, row, column) => {
      for (let slot = 0; slot < slots; slot++) {
        const element = elementOf(section, slot, row, column, columns);
        digits[slot] = 1;
        if (element < 0) continue;
        const scale = scales.length === 1 ? scales[0]! : scales[Math.trunc(element / length)]!;
        const digit = digitOf(values[element]!, scale, rounding);
        if (digit === 3) throw elementError(action, element, rounding);
        digits[slot] = digit;
      }
      pack(codec, bytes, byte, sign, bias, digits);
    });
  }
  if (stored === undefined) return bytes;
  const view = new DataView(bytes.buffer);
  scales.forEach((scale, index) => {
    const at = stored.byte + index * stored.step;
    if (stored.dtype === "float32") view.setFloat32(at, scale, true);
    else view.setFloat16(at, scale, true);
  });
  return bytes;
}

/** The scales among the bytes. */
export function storedScales(bytes: Uint8Array, layout: Layout): Float32Array<ArrayBuffer> {
  const { dtype, byte, step } = layout.stored!;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Float32Array.from({ length: layout.scales }, (_, index) => {
    const at = byte + index * step;
    return dtype === "float32" ? view.getFloat32(at, true) : view.getFloat16(at, true);
  });
}

/** The elements of bytes. */
export function decodeBytes(
  bytes: Uint8Array,
  layout: Layout,
  scales: Float32Array,
  action: string,
): Float32Array<ArrayBuffer> {
  const { sections, columns, bias, shape, format } = layout;
  const values = new Float32Array(sizeOf(shape));
  const length = values.length / scales.length;
  for (const section of sections) {
    const { codec, slots } = section;
    const digits = digitsOf(section);
    eachByte(section, (byte, sign, row, column) => {
      if (!unpack(codec, bytes, byte, sign, bias, digits)) throw byteError(action, format, byte);
      for (let slot = 0; slot < slots; slot++) {
        const element = elementOf(section, slot, row, column, columns);
        if (element < 0) continue;
        const at = scales.length === 1 ? 0 : Math.trunc(element / length);
        if (scales[at] === 0 && digits[slot] !== 1) throw scaleError(action, at, 0);
        values[element] = (digits[slot]! - 1) * scales[at]!;
      }
    });
  }
  return values;
}

/** Refuses bytes of another number than a format has for a shape. */
export function requireBytes(length: number, layout: Layout, action: string): void {
  if (length === layout.bytes) return;
  throw new RangeError(
    `${
      cannot(action)
    } as bytes must have ${layout.bytes} bytes of ${layout.format} for the shape ` +
      `${shapeText(layout.shape)}: it has ${length}`,
  );
}
