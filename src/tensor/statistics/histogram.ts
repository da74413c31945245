/**
 * Histograms of tensors, by the built-in kernel of buffers.
 *
 * @module
 */

import { requireInteger, requireOptions } from "../../ffi/arguments.ts";
import type { DeviceBuffer } from "../../memory/device_buffer.ts";
import { histogram as count, requireBins } from "../../kernels/histogram.ts";
import { NUMERIC_DTYPES, type NumericDType } from "../../kernels/operands.ts";
import { copyOf, dense } from "../elementwise_kernel.ts";
import { requireStored, type TensorOptions } from "../kit/checks.ts";
import { newTensor, orderOperands } from "../kit/kernel_call.ts";
import { operationStream } from "../kit/storage.ts";
import { TensorScope } from "../scope.ts";
import { storageOf, type Tensor } from "../tensor.ts";

/** The most bins: a counter of the device takes 4 bytes. */
const MAX_BINS = 2 ** 30;

/**
 * The number of elements in each of equally wide bins: `np.histogram(x, bins, (low, high))[0]`. The
 * edges are `linspace(low, high, bins + 1)`. Elements outside, and NaN, are not counted.
 *
 * @param x The tensor, of any shape; 8-bit floats and booleans count as `float32`.
 * @param options `bins`: their number, 10 by default; `low` and `high`: the lower edge of the first
 * bin and the upper edge of the last, inclusive; the stream.
 * @throws {RangeError} If the number of bins is out of range, or low is not below high.
 * @throws {TypeError} If `x` is no tensor.
 *
 * @example
 * ```ts
 * import { histogram, tensor } from "@gridstride/cuda/tensor";
 *
 * using counts = histogram(tensor([0, 1, 1, 5, 9]), { bins: 2, low: 0, high: 8 });
 * console.log(await counts.toNested()); // [ 3n, 1n ]
 * ```
 * @category Reductions
 */
export function histogram(
  x: Tensor,
  options: TensorOptions & { readonly bins?: number; readonly low: number; readonly high: number },
): Tensor<"int64"> {
  const action = "histogram";
  const names = ["bins", "low", "high", "stream"];
  const { bins = 10, low, high, ...place } = requireOptions(options, names, action);
  const whole = requireStored(x, "x", action);
  requireInteger(bins, "options.bins", action, 1, MAX_BINS);
  requireBins(whole.size, bins, low, high);
  const { context } = whole;
  const stream = operationStream(context, place.stream, [storageOf(whole)]);
  const own = { ...place, stream };
  using scope = new TensorScope();
  const isNumeric = NUMERIC_DTYPES.includes(whole.dtype as NumericDType);
  const source = isNumeric ? dense(whole, own) : copyOf(whole, "float32", own);
  const counts = newTensor(context, "uint32", [bins], stream);
  const [read, storage] = [storageOf(source), storageOf(counts)];
  const written = [{ storage, isWhole: true }];
  const launch = () => {
    orderOperands([read], written, stream);
    const elements = read.buffer.view(source.offset, source.offset + source.size);
    const out = storage.buffer as DeviceBuffer as DeviceBuffer<"uint32">;
    count(context, elements as DeviceBuffer<NumericDType>, out, { low, high, stream });
  };
  const { work } = storage;
  const logged = work.log?.timed(action, [counts as Tensor], stream, launch);
  work.enqueue(undefined, [read], written, logged ?? launch);
  return scope.keep(copyOf(counts as Tensor, "int64", own)) as Tensor as Tensor<"int64">;
}
