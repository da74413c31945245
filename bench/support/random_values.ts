/**
 * Random operands that other libraries make too: `operand()` of `bench/peers/` is the same function of
 * the same file. The power that arithmetic takes, and so the clock, depends on the data.
 *
 * @module
 */

import type { Device } from "../../mod.ts";
import { fromTypedArray, type Tensor, tile } from "../../src/device/tensor.ts";
import type { DType } from "../../src/memory/dtype.ts";
import { SeededRandom } from "../traces/seeded_random.ts";

/** A prime number: rows of an operand are different. */
const COUNT = 1_048_573;
const SHORT_COUNT = 10_007;
/** Distance of the first values of two operands. */
const STEP = 7919;
/** Values of 8-bit integers. */
const INTEGERS = 127;

const sequences = new Map<boolean, Float32Array<ArrayBuffer>>();

/**
 * Uniform numbers of −1 to 1.
 *
 * @param isShort Whether a few of them do, as for benchmarks that only show that they run.
 */
export function randomValues(isShort: boolean): Float32Array<ArrayBuffer> {
  let values = sequences.get(isShort);
  if (values === undefined) {
    const random = new SeededRandom(1);
    values = Float32Array.from(
      { length: isShort ? SHORT_COUNT : COUNT },
      () => 2 * random.fraction() - 1,
    );
    sequences.set(isShort, values);
  }
  return values;
}

/** The numbers of an operand: the random values again and again, from another one for each index. */
export function operandValues(
  values: Float32Array<ArrayBuffer>,
  size: number,
  index: number,
): Float32Array<ArrayBuffer> {
  const result = new Float32Array(size);
  const { length } = values;
  for (let at = 0, from = (STEP * index) % length; at < size; from = 0) {
    const part = values.subarray(from, from + size - at);
    result.set(part, at);
    at += part.length;
  }
  return result;
}

/**
 * A tensor that repeats some numbers, so that these and no more are uploaded and converted.
 *
 * @param pattern The numbers; they are disposed.
 * @param size Its elements.
 */
export function repeated<D extends DType>(pattern: Tensor<D>, size: number): Tensor<D> {
  if (pattern.size === size) return pattern;
  const whole = tile(pattern, [Math.ceil(size / pattern.size)]);
  pattern.dispose();
  const part = whole.slice([{ start: 0, stop: size }]);
  whole.dispose();
  return part;
}

/**
 * A random tensor of an element type. Integers are −127 to 127.
 *
 * @param index Operands of another index have other values.
 */
export function randomOperand<D extends DType>(
  device: Device,
  shape: readonly number[],
  index: number,
  dtype: D,
  isShort: boolean,
): Tensor<D> {
  const size = shape.reduce((product, extent) => product * extent, 1);
  const random = randomValues(isShort);
  const values = operandValues(random, Math.min(size, random.length), index);
  if (dtype === "int8") {
    for (let i = 0; i < values.length; i++) values[i]! *= INTEGERS;
  }
  const floats = fromTypedArray(values, [values.length], { device });
  const pattern = dtype === "float32" ? floats : floats.astype(dtype);
  if (pattern !== floats) floats.dispose();
  const numbers = repeated(pattern as Tensor, size);
  const result = numbers.reshape([...shape]);
  if (result !== numbers) numbers.dispose();
  return result as Tensor as Tensor<D>;
}
