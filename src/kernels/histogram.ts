/**
 * Histograms: the number of elements in each of equally wide bins.
 *
 * @module
 */

import { requireOptions } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import type { DeviceContext } from "../hardware/device_context.ts";
import { KernelFamily } from "../launch/kernel_library.ts";
import { streamFor } from "../memory/buffer_copy.ts";
import type { StreamChoice } from "../memory/buffer_options.ts";
import type { DeviceBuffer } from "../memory/device_buffer.ts";
import { cTypeOf } from "../memory/dtype.ts";
import { fill } from "./elementwise.ts";
import { HISTOGRAM_STEP_BYTES, reductionLaunch } from "./launch_choice.ts";
import {
  NUMERIC_DTYPES,
  type NumericDType,
  requireDType,
  requireNoOverlap,
  requireOperands,
} from "./operands.ts";

function histogramKernels(memory: string, copies = ""): KernelFamily<NumericDType> {
  return new KernelFamily((dtype) =>
    `histogram_${memory}_${dtype}(const ${
      cTypeOf(dtype)
    }* x, unsigned int* counts, unsigned int bins, ${copies}double low, double high, unsigned long long n)`
  );
}

/** Counting in a block's shared memory, for as many bins as fit in it, and in global memory. */
export const HISTOGRAM: Readonly<Record<"shared" | "global", KernelFamily<NumericDType>>> = {
  shared: histogramKernels("shared", "unsigned int copies, "),
  global: histogramKernels("global"),
};

/** Bytes of a block's counters if it has some of each bin: few counters are incremented often. */
const MAX_COPIED_BYTES = 16384;
/** Counters of a bin: one for each lane of a warp at most, in a bank of its own. */
const MAX_COPIES = 32;

/**
 * Options of `device.kernels.histogram()`.
 * @category Launching kernels
 */
export interface HistogramOptions extends StreamChoice {
  /** The lower edge of the first bin. */
  readonly low: number;
  /** The upper edge of the last bin, inclusive. */
  readonly high: number;
}

/**
 * Enqueues counting the elements of `x` in `counts.length` equally wide bins from `low` to `high`.
 * Elements outside, and NaN, are not counted. Bins are computed in double precision, so the
 * counts are exactly those of the same formula in JavaScript:
 * `min(floor((x - low) * (bins / (high - low))), bins - 1)`.
 *
 * @param counts Overwritten; one element per bin.
 */
export function histogram<D extends NumericDType>(
  context: DeviceContext,
  x: DeviceBuffer<D>,
  counts: DeviceBuffer<"uint32">,
  options: HistogramOptions,
): void {
  requireOperands("count a histogram", context, { x, counts });
  requireOptions(options, ["low", "high", "stream"], "count a histogram");
  const { low, high } = options;
  requireDType("count a histogram", "x", x, NUMERIC_DTYPES);
  requireDType("count a histogram", "counts", counts, ["uint32"]);
  requireBins(x.length, counts.length, low, high);
  requireNoOverlap("count a histogram", "x", x, "counts", counts);
  const stream = streamFor(x.context, options.stream);
  fill(context, counts, 0, { stream });
  if (x.length === 0) return;
  // A counter is for elements outside.
  const bytes = counts.byteLength + Uint32Array.BYTES_PER_ELEMENT;
  const shared = bytes <= x.context.info.sharedMemoryPerBlock;
  const kernel = HISTOGRAM[shared ? "shared" : "global"].of(x.context, x.dtype);
  const launch = { ...reductionLaunch(kernel, x, HISTOGRAM_STEP_BYTES), stream };
  if (!shared) return kernel.launch(launch, x, counts, counts.length, low, high, x.length);
  const copies = Math.min(
    MAX_COPIES,
    2 ** Math.floor(Math.log2(Math.max(1, MAX_COPIED_BYTES / bytes))),
  );
  const config = { ...launch, sharedMemory: copies * bytes };
  kernel.launch(config, x, counts, counts.length, copies, low, high, x.length);
}

export function requireBins(elements: number, bins: number, low: number, high: number): void {
  if (bins === 0 || bins > 0xffffffff) {
    throw new RangeError(
      `Cannot count a histogram as counts must have 1..${0xffffffff} elements: it has ${bins}`,
    );
  }
  if (!Number.isFinite(low) || !Number.isFinite(high) || !(low < high)) {
    throw new RangeError(
      `Cannot count a histogram as low and high must be finite, low below high: they are ${
        describeValue(low)
      } and ${describeValue(high)}`,
    );
  }
  if (!Number.isFinite(high - low)) {
    throw new RangeError(
      `Cannot count a histogram as high - low must be finite: they are ${low} and ${high}`,
    );
  }
  if (elements > 0xffffffff) {
    throw new RangeError(
      `Cannot count a histogram as x must have fewer than 2^32 elements: it has ${elements}`,
    );
  }
}
