/**
 * The operations whose launch parameters can be tuned: their kernels, and how to run one.
 *
 * @module
 */

import type { Kernel } from "../../launch/kernel.ts";
import type { KernelFamily } from "../../launch/kernel_library.ts";
import type { DeviceBuffer } from "../../memory/device_buffer.ts";
import { bytesPerElement, type DType } from "../../memory/dtype.ts";
import type { Stream } from "../../stream/stream.ts";
import {
  add,
  AXPY,
  axpy,
  BINARY,
  type Elementwise,
  FILL,
  fill,
  fillDType,
  multiply,
  SCALE,
  scale,
} from "../../kernels/elementwise.ts";
import { HISTOGRAM, histogram } from "../../kernels/histogram.ts";
import type { FloatingDType, NumericDType } from "../../kernels/operands.ts";
import { max, min, moments, sum, type SumDType } from "../../kernels/reduction.ts";
import { EXTREMUM, MOMENTS_PARTIAL, SUM_PARTIAL } from "../../kernels/reduction_kernels.ts";
import { HISTOGRAM_STEP_BYTES, REDUCTION_STEP_BYTES } from "../../kernels/reduction_launch.ts";

/** Operations whose launch parameters can be tuned; `mean` goes by `sum`. */
export type TunableOperation =
  | "fill"
  | "add"
  | "multiply"
  | "scale"
  | "axpy"
  | "sum"
  | "min"
  | "max"
  | "moments"
  | "histogram";

/** What an operation is run on. */
export interface TuningOperands {
  /** What is read. */
  readonly x: DeviceBuffer<NumericDType>;
  /** What is written, as long as `x`. */
  readonly y: DeviceBuffer<NumericDType>;
  /** One element of the type that sums of `x` have. */
  readonly total: DeviceBuffer<SumDType<NumericDType>>;
  /** One element of the type of `x`. */
  readonly extremum: DeviceBuffer<NumericDType>;
  /** Mean and variance. */
  readonly pair: DeviceBuffer<"float64">;
  /** Bins, one for each value that `x` has. */
  readonly counts: DeviceBuffer<"uint32">;
  /** The stream that everything is enqueued on. */
  readonly stream: Stream;
}

/** An operation. */
export interface Tunable {
  /** What is tuned: how threads of a grid share the elements, or how many blocks share them. */
  readonly kind: "elementwise" | "reduction";
  /** Whether it is for floating-point types only. */
  readonly isFloatingOnly: boolean;
  /** The kernel whose launch is tuned, and elements that its threads take in one step. */
  kernelFor(x: DeviceBuffer<NumericDType>): { readonly kernel: Kernel; readonly perThread: number };
  /** Enqueues the operation. */
  run(operands: TuningOperands): void;
}

/** The factor of repeated additions: after millions of them a number of any type is finite. */
const SMALL_FACTOR = 2 ** -40;

function elementwise<D extends DType>(
  kernels: Elementwise<D>,
  storedAs: (dtype: NumericDType) => D,
  run: Tunable["run"],
  isFloatingOnly = false,
): Tunable {
  const kernelFor = ({ context, dtype }: DeviceBuffer<NumericDType>) => {
    const stored = storedAs(dtype);
    return { kernel: kernels.of(context, stored), perThread: kernels.elementsPerThread(stored) };
  };
  return { kind: "elementwise", isFloatingOnly, kernelFor, run };
}

function reduction(
  kernels: KernelFamily<NumericDType>,
  run: Tunable["run"],
  stepBytes = REDUCTION_STEP_BYTES,
): Tunable {
  const kernelFor = ({ context, dtype }: DeviceBuffer<NumericDType>) => ({
    kernel: kernels.of(context, dtype),
    perThread: stepBytes / bytesPerElement(dtype),
  });
  return { kind: "reduction", isFloatingOnly: false, kernelFor, run };
}

function asFloating(buffer: DeviceBuffer<NumericDType>): DeviceBuffer<FloatingDType> {
  return buffer as DeviceBuffer<FloatingDType>;
}

const same = (dtype: NumericDType): NumericDType => dtype;
const floating = (dtype: NumericDType): FloatingDType => dtype as FloatingDType;

/** The operations. `mean` goes by `sum`, whose kernel it has. */
export const TUNABLE_OPERATIONS: Readonly<Record<TunableOperation, Tunable>> = {
  fill: elementwise(FILL, fillDType, ({ y, stream }) => fill(y, 1, { stream })),
  add: elementwise(BINARY.add, same, ({ x, y, stream }) => add(x, x, y, { stream })),
  multiply: elementwise(BINARY.multiply, same, ({ x, y, stream }) => multiply(x, x, y, { stream })),
  scale: elementwise(
    SCALE,
    floating,
    ({ x, y, stream }) => scale(asFloating(x), 0.5, asFloating(y), { stream }),
    true,
  ),
  axpy: elementwise(
    AXPY,
    floating,
    ({ x, y, stream }) => axpy(SMALL_FACTOR, asFloating(x), asFloating(y), { stream }),
    true,
  ),
  sum: reduction(SUM_PARTIAL, ({ x, total, stream }) => sum(x, total, { stream })),
  min: reduction(EXTREMUM.min, ({ x, extremum, stream }) => min(x, extremum, { stream })),
  max: reduction(EXTREMUM.max, ({ x, extremum, stream }) => max(x, extremum, { stream })),
  moments: reduction(MOMENTS_PARTIAL, ({ x, pair, stream }) => moments(x, pair, { stream })),
  histogram: reduction(
    HISTOGRAM.shared,
    ({ x, counts, stream }) => histogram(x, counts, { low: 0, high: counts.length, stream }),
    HISTOGRAM_STEP_BYTES,
  ),
};
