/**
 * Parts of validation cases: reproducible data, their values in double precision, comparisons.
 *
 * @module
 */

import type { NumericDType } from "../../kernels/operands.ts";
import {
  bytesPerElement,
  createTypedArray,
  type DType,
  isFloatDType,
  type TypedArrayOf,
} from "../../memory/dtype.ts";
import { narrowFromFloat32, widenToFloat32 } from "../../memory/element_bits.ts";
import type { Device } from "../device.ts";

/** One method of `device.kernels` with one element type. */
export interface ValidationCase {
  /** The name of the method. */
  readonly operation: string;
  /** The memory that its kernel works in, if the method has several kernels. */
  readonly variant?: string;
  /** The element type. */
  readonly dtype: DType;
  /** Whether it needs at least one element. */
  readonly needsElements?: boolean;
  /** Runs it on that many elements and compares the result with the reference. */
  run(device: Device, size: number, random: RandomSource): Promise<Comparison>;
}

/** A generator of 32-bit integers (Steele and Vigna's SplitMix, 32-bit form), seeded. */
export class RandomSource {
  #state: number;

  /** Starts the sequence of a seed. */
  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** The next integer, 0 to 2^32 - 1. */
  uint32(): number {
    this.#state = (this.#state + 0x9e3779b9) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ mixed >>> 16, 0x21f0aaad);
    mixed = Math.imul(mixed ^ mixed >>> 15, 0x735a2d97);
    return (mixed ^ mixed >>> 15) >>> 0;
  }

  /** The next number, uniform in [low, high). */
  between(low: number, high: number): number {
    return low + (high - low) * (this.uint32() / 2 ** 32);
  }
}

/** Whether elements are big integers. */
export function isBig(stored: unknown): stored is BigInt64Array | BigUint64Array {
  return stored instanceof BigInt64Array || stored instanceof BigUint64Array;
}

/** Rounds numbers to an element type. */
export function storeNumbers<D extends NumericDType>(
  dtype: D,
  numbers: Float64Array,
): TypedArrayOf<D, ArrayBuffer> {
  if (isFloatDType(dtype) && bytesPerElement(dtype) < 4) {
    return narrowFromFloat32(dtype as "float16", Float32Array.from(numbers)) as TypedArrayOf<
      D,
      ArrayBuffer
    >;
  }
  const stored = createTypedArray(dtype, numbers.length);
  if (isBig(stored)) {
    numbers.forEach((value, index) => stored[index] = BigInt(Math.trunc(value)));
  } else {
    (stored as Float64Array).set(numbers);
  }
  return stored;
}

/** The values of stored elements in double precision; integers must fit it. */
export function readNumbers(dtype: DType, stored: ArrayBufferView): Float64Array {
  if (dtype === "bfloat16") return Float64Array.from(widenToFloat32(dtype, stored as Uint16Array));
  if (isBig(stored)) return Float64Array.from(stored, Number);
  return Float64Array.from(stored as unknown as ArrayLike<number>);
}

/**
 * Random elements: floats in [-4, 4), integers over their whole range.
 */
export function randomElements<D extends NumericDType>(
  dtype: D,
  length: number,
  random: RandomSource,
): TypedArrayOf<D, ArrayBuffer> {
  const stored = createTypedArray(dtype, length);
  if (dtype.startsWith("float") || dtype === "bfloat16") {
    const numbers = Float64Array.from({ length }, () => random.between(-4, 4));
    return storeNumbers(dtype, numbers);
  }
  const words = new Uint32Array(stored.buffer, 0, Math.floor(stored.byteLength / 4));
  for (let i = 0; i < words.length; i++) words[i] = random.uint32();
  const tail = new Uint8Array(stored.buffer, words.byteLength);
  for (let i = 0; i < tail.length; i++) tail[i] = random.uint32();
  return stored;
}

/** Random elements with small values, which give exact moments in double precision. */
export function moderateElements<D extends NumericDType>(
  dtype: D,
  length: number,
  random: RandomSource,
): TypedArrayOf<D, ArrayBuffer> {
  const low = dtype.startsWith("uint") ? 0 : -100;
  const numbers = Float64Array.from({ length }, () => Math.floor(random.between(low, 100)));
  return storeNumbers(dtype, numbers);
}

/** The worst element of a comparison. */
export interface Comparison {
  /** The error. */
  readonly maxError: number;
  /** The bound. */
  readonly bound: number;
  /** Whether every element is within its bound. */
  readonly passed: boolean;
}

/**
 * Compares element by element. NaN agrees with NaN only.
 *
 * @param bound The largest error allowed for an element.
 * @returns The error and bound of the element that is closest to its bound, or furthest beyond it.
 */
export function compareNumbers(
  actual: Float64Array,
  expected: Float64Array,
  bound: (index: number) => number,
): Comparison {
  let worst: Comparison = { maxError: 0, bound: expected.length > 0 ? bound(0) : 0, passed: true };
  let worstExcess = -Infinity;
  for (let i = 0; i < expected.length; i++) {
    const same = Object.is(actual[i], expected[i]) || actual[i] === expected[i];
    const error = same ? 0 : Math.abs(actual[i]! - expected[i]!);
    const limit = bound(i);
    // NaN in place of a number is an infinite error.
    const maxError = Number.isNaN(error) ? Infinity : error;
    const excess = limit === 0 ? (maxError === 0 ? 0 : Infinity) : maxError / limit;
    if (excess > worstExcess) {
      worstExcess = excess;
      worst = { maxError, bound: limit, passed: maxError <= limit };
    }
  }
  return actual.length === expected.length
    ? worst
    : { maxError: Infinity, bound: 0, passed: false };
}

/** Compares big integers, which must be equal; the error is their largest difference. */
export function compareIntegers(
  actual: BigInt64Array | BigUint64Array,
  expected: readonly bigint[],
): Comparison {
  let most = 0n;
  expected.forEach((value, index) => {
    const difference = value - (actual[index] ?? 0n);
    const magnitude = difference < 0n ? -difference : difference;
    if (magnitude > most) most = magnitude;
  });
  const maxError = actual.length === expected.length ? Number(most) : Infinity;
  return { maxError, bound: 0, passed: maxError === 0 };
}

/** Compares the bytes of two arrays; the error is the number of bytes that differ. */
export function compareBytes(actual: ArrayBufferView, expected: ArrayBufferView): Comparison {
  const a = new Uint8Array(actual.buffer, actual.byteOffset, actual.byteLength);
  const b = new Uint8Array(expected.buffer, expected.byteOffset, expected.byteLength);
  const differing = b.reduce((count, value, index) => count + (a[index] === value ? 0 : 1), 0) +
    Math.abs(a.length - b.length);
  return { maxError: differing, bound: 0, passed: differing === 0 };
}
