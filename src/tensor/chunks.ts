/**
 * `inChunks()`: functions of tensors on arrays that are too large for the device.
 *
 * @module
 */

import {
  cannot,
  checkInteger,
  requireObject,
  requireOptions,
  trueArray,
} from "../ffi/arguments.ts";
import { OutOfMemoryError } from "../ffi/cuda_error.ts";
import { describeValue } from "../ffi/describe_value.ts";
import {
  type AnyTypedArray,
  bytesPerElement,
  createTypedArray,
  type DType,
  dtypeOf,
  requireArrayOf,
  type SelfDescribingArray,
  type TypedArrayOf,
} from "../memory/dtype.ts";
import { chunksThatFit } from "../memory/manager/chunks.ts";
import { MemoryManager } from "../memory/manager/memory_manager.ts";
import { requireTensor } from "./kit/checks.ts";
import { type CreationOptions, fromTypedArray, requireSize } from "./creation.ts";
import { placeOf } from "./kit/placement.ts";
import { requireShape, type Shape, shapeText, sizeOf } from "./kit/layout.ts";
import { tidy } from "./scope.ts";
import type { Tensor } from "./tensor.ts";

const ACTION = "work in chunks";
/** The first chunk takes this share of the memory for its operands. */
const FIRST_SHARE = 1 / 64;
/** Chunks take this share of the usable memory, and the rest allows for gaps between blocks. */
const USED_SHARE = 7 / 8;

/** An array whose rows are passed in chunks. */
interface RowArray {
  readonly data: AnyTypedArray;
  readonly shape?: Shape;
  readonly dtype?: DType;
}

/** Checks an array; the result is the number of its rows, and a function that uploads some. */
function rowsOf(array: SelfDescribingArray | RowArray, name: string, place: CreationOptions) {
  requireObject(array, name, ACTION);
  const { data, ...description } = ArrayBuffer.isView(array) ? { data: array } as RowArray : array;
  const dtype = description.dtype ?? (trueArray(data) && dtypeOf(data) as DType | undefined);
  if (dtype === undefined) {
    throw new TypeError(
      `${cannot(ACTION)} as ${name} must be a typed array, or an object with one as data: it is ${
        describeValue(array)
      }`,
    );
  }
  requireArrayOf(data, dtype, ACTION, `${name}.data`);
  const shape = requireShape(description.shape ?? [data.length], ACTION, `${name}.shape`);
  requireSize(data.length, shape, ACTION);
  const [rows, ...rowShape] = shape;
  const width = sizeOf(rowShape);
  const upload = (start: number, end: number) =>
    fromTypedArray(data.subarray(start * width, end * width), [end - start, ...rowShape], {
      ...place,
      dtype,
    });
  return { rows, rowBytes: width * bytesPerElement(dtype), upload };
}

/**
 * Calls a function of tensors on arrays that need not fit into the device's memory: on chunks of rows,
 * that is, ranges along the first axis. The result is that of one call if each row of the function's
 * result depends on the same row of the operands only; other tensors may be used as they are.
 *
 * A small first chunk shows how much memory the function needs; the others are as large as the usable
 * memory allows. A chunk that does not fit after all is halved.
 *
 * @param f A function whose result has one row for each row of its operands. Tensors that it makes
 * are freed.
 * @param arrays Typed arrays of one dimension; or objects with a shape, and with an element type where
 * the class of the array does not give it, such as `bfloat16`.
 * @param options The device; `maxRows` limits the rows of a chunk.
 * @returns The elements of all rows of the results in order.
 * @throws {RangeError} If the arrays have different numbers of rows, a shape does not have the elements
 * of its array, or a result has another number of rows than its operands.
 * @throws {OutOfMemoryError} If one row does not fit.
 *
 * @example
 * ```ts
 * import { inChunks } from "@gridstride/cuda/tensor";
 *
 * const data = new Float32Array(1_000_000).fill(1);
 * const sums = await inChunks((rows) => rows.sum({ axis: 1 }), [{ data, shape: [10_000, 100] }]);
 * console.log(sums.length, sums[0]); // 10000 100
 * ```
 * @category Tensors
 */
export async function inChunks<D extends DType>(
  f: (...chunks: Tensor<DType>[]) => Tensor<D>,
  arrays: readonly (SelfDescribingArray | {
    readonly data: AnyTypedArray;
    readonly shape?: Shape;
    readonly dtype?: DType;
  })[],
  options: Omit<CreationOptions, "dtype"> & { readonly maxRows?: number } = {},
): Promise<TypedArrayOf<D, ArrayBuffer>> {
  requireOptions(options, ["device", "stream", "maxRows"], ACTION);
  if (typeof f !== "function" || !Array.isArray(arrays)) {
    throw new TypeError(
      `${cannot(ACTION)} as f must be a function and arrays an array: they are ${
        describeValue(f)
      } and ${describeValue(arrays)}`,
    );
  }
  const { maxRows = Number.MAX_SAFE_INTEGER, ...place } = options;
  checkInteger(maxRows, "options.maxRows", ACTION, 1, Number.MAX_SAFE_INTEGER);
  const operands = Array.from(arrays, (array, index) => rowsOf(array, `arrays[${index}]`, place));
  const counts = [...new Set(operands.map(({ rows }) => rows))];
  const [rows] = counts;
  if (rows === undefined || counts.length > 1) {
    throw new RangeError(
      `${cannot(ACTION)} as the arrays must have one first extent: it is ${
        counts.map((count) => count ?? "missing").join(" and ") || "missing"
      }`,
    );
  }
  const manager = new MemoryManager({ context: placeOf(options, ACTION) });
  let output: TypedArrayOf<DType> | undefined;
  let width = 0;
  let dtype: DType | undefined;

  const run = async (start: number, end: number): Promise<void> => {
    try {
      using result = tidy(() => {
        const chunks = operands.map(({ upload }) => upload(start, end));
        return requireTensor(f(...chunks), "the result of f", ACTION);
      });
      const [extent, ...rowShape] = result.shape;
      width = output === undefined ? sizeOf(rowShape) : width;
      if (extent !== end - start || result.size !== extent * width) {
        throw new RangeError(
          `${cannot(ACTION)} as f must give one row of ${width} elements for each of ` +
            `${end - start}: the shape is ${shapeText(result.shape)}`,
        );
      }
      dtype ??= result.dtype;
      if (result.dtype !== dtype) {
        throw new TypeError(
          `${
            cannot(ACTION)
          } as f must give one element type for all chunks: it has given ${dtype}, ` +
            `and then ${result.dtype}`,
        );
      }
      output ??= createTypedArray(result.dtype, rows * width);
      output.set(await result.toArray() as never, start * width);
    } catch (error) {
      if (!(error instanceof OutOfMemoryError) || end - start < 2) throw error;
      const middle = Math.floor((start + end) / 2);
      await run(start, middle);
      await run(middle, end);
    }
  };

  const available = Math.floor(manager.memoryAvailable() * USED_SHARE);
  const rowBytes = operands.reduce((sum, operand) => sum + operand.rowBytes, 1);
  const first = Math.min(
    rows,
    maxRows,
    Math.max(1, Math.floor(available * FIRST_SHARE / rowBytes)),
  );
  const before = manager.pool.stats().totalAllocated;
  await run(0, first);
  // The sum of all allocations of the chunk, which is at least the memory in use at one time.
  const needed = Math.max(1, manager.pool.stats().totalAllocated - before);
  const limits = { availableBytes: Math.max(available, needed), maxElements: maxRows };
  for (
    const { start, end } of chunksThatFit(rows - first, Math.ceil(needed / (first || 1)), limits)
  ) {
    await run(first + start, first + end);
  }
  return output as TypedArrayOf<DType, ArrayBuffer> as TypedArrayOf<D, ArrayBuffer>;
}
