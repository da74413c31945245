/**
 * Reproducible data for validation, and their values in double precision.
 *
 * @module
 */

import type { NumericDType } from "../../kernels/operands.ts";
import { createTypedArray, type DType, type TypedArrayOf } from "../../memory/dtype.ts";
import { narrowFromFloat32, widenToFloat32 } from "../../memory/element_bits.ts";

/** A generator of 32-bit integers (Steele and Vigna's SplitMix, 32-bit form), seeded. */
export class RandomSource {
  #state: number;

  /** @param seed Equal seeds give equal sequences. */
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

/** Rounds numbers to an element type, as storing them in a buffer of it would. */
export function storeNumbers<D extends NumericDType>(
  dtype: D,
  numbers: Float64Array,
): TypedArrayOf<D, ArrayBuffer> {
  if (dtype === "bfloat16" || dtype === "float16") {
    return narrowFromFloat32(dtype, Float32Array.from(numbers)) as TypedArrayOf<D, ArrayBuffer>;
  }
  const stored = createTypedArray(dtype, numbers.length);
  if (stored instanceof BigInt64Array) {
    numbers.forEach((value, index) => stored[index] = BigInt(Math.trunc(value)));
  } else {
    (stored as Float64Array).set(numbers);
  }
  return stored;
}

/** The values of stored elements in double precision; `int64` must fit it. */
export function readNumbers(dtype: DType, stored: ArrayBufferView): Float64Array {
  if (dtype === "bfloat16") return Float64Array.from(widenToFloat32(dtype, stored as Uint16Array));
  if (stored instanceof BigInt64Array) return Float64Array.from(stored, Number);
  return Float64Array.from(stored as unknown as ArrayLike<number>);
}

/**
 * Random elements: floats in [-4, 4); integers over their whole range, their extremes among them.
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

/** Random elements whose values stay small enough for exact double-precision moments. */
export function moderateElements<D extends NumericDType>(
  dtype: D,
  length: number,
  random: RandomSource,
): TypedArrayOf<D, ArrayBuffer> {
  const low = dtype === "uint8" || dtype === "uint32" ? 0 : -100;
  const numbers = Float64Array.from({ length }, () => Math.floor(random.between(low, 100)));
  return storeNumbers(dtype, numbers);
}
