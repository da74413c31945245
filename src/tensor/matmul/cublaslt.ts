/**
 * The variant of matrix products that cuBLASLt computes.
 *
 * cuBLASLt stores matrices by columns. A result by rows is that of the transposed product by columns.
 *
 * @module
 */

import { CudaError } from "../../ffi/cuda_error.ts";
import {
  CUBLASLT,
  type CublasLtAlgorithm,
  cublasLtAlgorithms,
  cublasLtMatmul,
  type CublasLtMatrix,
  type CublasLtProduct,
  productSlots,
} from "../../ffi/cublaslt/native_cublaslt.ts";
import { logger } from "../../ffi/logging.ts";
import type { DeviceContext } from "../../hardware/device_context.ts";
import { DeviceBuffer, launchAddress } from "../../memory/device_buffer.ts";
import { bytesPerElement, type DType } from "../../memory/dtype.ts";
import { Event } from "../../stream/event.ts";
import { isCapturing } from "../../stream/running_captures.ts";
import type { PrecisionMode } from "../kit/precision.ts";
import { orderOperands, writtenStorage } from "../kit/kernel_call.ts";
import { storageOf, type Tensor } from "../tensor.ts";
import { cublasLtOf } from "./cublaslt_search.ts";
import { transposed } from "./own_variants.ts";
import type { MatmulProblem, MatrixLayout } from "./problem.ts";
import type { MatmulVariant } from "./variants.ts";

/** Bytes of workspace that an algorithm may take, as NVIDIA recommends for an H100. */
const WORKSPACE_BYTES = 32 * 2 ** 20;
/** The alignment in bytes that algorithms require at most. */
const ALIGNMENT = 256;
/** Products whose algorithms are remembered for a device. */
const MAX_PLANS = 1024;
/** Runs of an algorithm between two events, and such measurements. */
const [RUNS, MEASUREMENTS] = [2, 2] as const;
/** An algorithm must be faster than one that cuBLASLt prefers by this factor. */
const GAIN = 1.03;

const TYPES: Partial<Record<DType, number>> = {
  float64: CUBLASLT.CUDA_R_64F,
  float32: CUBLASLT.CUDA_R_32F,
  float16: CUBLASLT.CUDA_R_16F,
  bfloat16: CUBLASLT.CUDA_R_16BF,
  float8_e4m3: CUBLASLT.CUDA_R_8F_E4M3,
  float8_e5m2: CUBLASLT.CUDA_R_8F_E5M2,
  int8: CUBLASLT.CUDA_R_8I,
  int32: CUBLASLT.CUDA_R_32I,
};

/** How products of an element type are computed. */
interface Computation {
  readonly scaleType: number;
  /** The compute types by the precisions that it has. */
  readonly modes: Partial<Record<PrecisionMode, number>>;
  readonly results: readonly DType[];
  /** Whether both matrices must have the elements of a sum side by side. */
  readonly isDotProduct?: true;
  /** The type of the bias, if it is not that of the result. */
  readonly bias?: Partial<Record<DType, DType>>;
}

const { CUBLAS_COMPUTE_32F: FP32 } = CUBLASLT;
const FLOAT8: Computation = {
  scaleType: CUBLASLT.CUDA_R_32F,
  modes: { auto: FP32 },
  results: ["bfloat16", "float16", "float32"],
  isDotProduct: true,
  bias: { float32: "bfloat16" },
};

/** By the type of the operands. TF32 has the fraction of float16, and more than that of bfloat16. */
const COMPUTATIONS: Partial<Record<DType, Computation>> = {
  float64: {
    scaleType: CUBLASLT.CUDA_R_64F,
    modes: { auto: CUBLASLT.CUBLAS_COMPUTE_64F },
    results: ["float64"],
  },
  float32: {
    scaleType: CUBLASLT.CUDA_R_32F,
    // Its fast modes permit narrower operands, and round by rules of their own, if at all.
    modes: { auto: FP32, fp32: FP32 },
    results: ["float32"],
  },
  float16: {
    scaleType: CUBLASLT.CUDA_R_32F,
    modes: { auto: FP32, fp32: FP32, tf32: FP32, fp16: FP32 },
    results: ["float16", "float32"],
  },
  bfloat16: {
    scaleType: CUBLASLT.CUDA_R_32F,
    modes: { auto: FP32, fp32: FP32, tf32: FP32, bf16: FP32 },
    results: ["bfloat16", "float32"],
  },
  float8_e4m3: FLOAT8,
  float8_e5m2: FLOAT8,
  int8: {
    scaleType: CUBLASLT.CUDA_R_32I,
    modes: { auto: CUBLASLT.CUBLAS_COMPUTE_32I },
    results: ["int32"],
    isDotProduct: true,
  },
};

/** Activations that cuBLASLt has. Its GELU is the approximation by tanh. */
const EPILOGUES = {
  relu: CUBLASLT.CUBLASLT_EPILOGUE_RELU,
  geluTanh: CUBLASLT.CUBLASLT_EPILOGUE_GELU,
} as const;

/** The leading dimension of a matrix that is stored by columns; undefined if it is not. */
function leadingOf(
  { row, column }: Pick<MatrixLayout, "row" | "column">,
  rows: number,
  columns: number,
): number | undefined {
  if (rows > 1 && row !== 1) return undefined;
  if (columns === 1) return rows;
  return column >= rows ? column : undefined;
}

/** The alignment of an element's address in bytes, in memory that begins at an address. */
function alignmentOf(base: number, { offset, dtype }: MatrixLayout): number {
  const rest = (base + offset * bytesPerElement(dtype)) % ALIGNMENT;
  return rest === 0 ? ALIGNMENT : rest & -rest;
}

/** A product as cuBLASLt takes it, whose result is by columns; or the reason why it does not. */
function productOf(problem: MatmulProblem, resultBase: number): CublasLtProduct | string {
  const { m, n, k, a, b, bias, residual, result, mode, batch, activation, scale } = problem;
  const computation = COMPUTATIONS[a.dtype];
  const isFloat8 = computation === FLOAT8;
  const isPair = isFloat8
    ? COMPUTATIONS[b.dtype] === FLOAT8 && [a, b].some(({ dtype }) => dtype === "float8_e4m3")
    : a.dtype === b.dtype;
  if (computation === undefined || !isPair) {
    return `it has no products of ${a.dtype} and ${b.dtype}`;
  }
  const computeType = computation.modes[mode];
  if (computeType === undefined) return `it has no precision ${mode} for ${a.dtype}`;
  if (!computation.results.includes(result.dtype)) {
    return `from ${a.dtype} it has results of ${computation.results.join(", ")}`;
  }
  if (k === 0) return "it adds up at least one product";
  if (batch.length > 1) return "it has one dimension of batches";
  const isInteger = a.dtype === "int8";
  const epilogue = activation === undefined
    ? 0
    : EPILOGUES[activation as keyof typeof EPILOGUES] as number | undefined;
  if (epilogue === undefined) return `it has no activation ${activation}`;
  if (isInteger && (activation ?? bias ?? scale) !== undefined) {
    return "it finishes integers without scale, bias and activation";
  }
  if (residual !== undefined && activation !== undefined) {
    return "it adds a residual before the activation";
  }
  const leading = leadingOf(result, m, n);
  if (leading === undefined) return "the result has gaps between its elements";
  const [left, right] = ([[a, m, k, true], [b, k, n, false]] as const).map(
    ([operand, rows, columns, prefers]) => {
      const places = [false, true].map((isTransposed) => {
        const view = { row: operand.column, column: operand.row };
        const jump = isTransposed
          ? leadingOf(view, columns, rows)
          : leadingOf(operand, rows, columns);
        return { isTransposed, jump };
      });
      const fitting = places.filter(({ jump }) => jump !== undefined);
      const wanted = fitting.find(({ isTransposed }) => isTransposed === prefers);
      return computation.isDotProduct ? wanted : fitting[0];
    },
  );
  if (left === undefined || right === undefined) {
    return computation.isDotProduct
      ? `with ${a.dtype} it needs the elements of each sum side by side`
      : "an operand has gaps between its elements, or repeats them";
  }
  const others = [a, b, result, residual].filter((it) => it !== undefined);
  if (others.some((it) => it.batch.some((stride) => stride < 0))) return "a batch runs backwards";
  const biasType = computation.bias?.[result.dtype] ?? result.dtype;
  if (bias !== undefined) {
    const isVector = (m === 1 || bias.row === 1) && (n === 1 || bias.column === 0) &&
      bias.batch.every((stride) => stride === 0);
    if (!isVector || bias.dtype !== biasType) {
      return `it has a bias of one ${biasType} per column of the result`;
    }
  }
  const residualLeading = residual === undefined ? leading : leadingOf(residual, m, n);
  if (
    residual !== undefined && (residualLeading === undefined || residual.dtype !== result.dtype)
  ) {
    return "it has a residual that is stored as the result is";
  }
  const matrix = (
    layout: MatrixLayout,
    base: number,
    [rows, columns]: readonly [number, number],
    jump: number,
  ): CublasLtMatrix => ({
    type: TYPES[layout.dtype]!,
    rows,
    columns,
    leading: jump,
    stride: layout.batch[0] ?? 0,
    alignment: alignmentOf(base, layout),
  });
  const base = ({ tensor }: { tensor: Tensor }) => storageOf(tensor).buffer.address;
  const d = matrix(result, resultBase, [m, n], leading);
  return {
    computeType,
    scaleType: computation.scaleType,
    transposeA: left.isTransposed,
    transposeB: right.isTransposed,
    epilogue: (epilogue | (bias === undefined ? 0 : CUBLASLT.CUBLASLT_EPILOGUE_BIAS)) ||
      CUBLASLT.CUBLASLT_EPILOGUE_DEFAULT,
    biasType: bias === undefined ? 0 : TYPES[biasType]!,
    biasAlignment: bias === undefined ? 0 : alignmentOf(base(bias), bias),
    products: batch[0] ?? 1,
    a: matrix(a, base(a), left.isTransposed ? [k, m] : [m, k], left.jump!),
    b: matrix(b, base(b), right.isTransposed ? [n, k] : [k, n], right.jump!),
    c: residual === undefined ? d : matrix(residual, base(residual), [m, n], residualLeading!),
    d,
  };
}

/** The algorithms for products of a shape, and what is known of them. */
interface Plan {
  readonly slots: Float64Array<ArrayBuffer>;
  readonly algorithms: readonly CublasLtAlgorithm[];
  /** The reason why there are none. */
  readonly problem: string | undefined;
  /** The fastest, once it is known. */
  chosen: CublasLtAlgorithm | undefined;
}

const plans = new WeakMap<DeviceContext, Map<string, Plan>>();

/** Whether cuBLASLt failed, and not the device. */
const isOfCublas = (error: unknown): error is CudaError =>
  error instanceof CudaError && error.code <= -2000;

function planFor({ context }: MatmulProblem, product: CublasLtProduct): Plan {
  const known = plans.get(context) ?? new Map<string, Plan>();
  plans.set(context, known);
  const slots = productSlots(product, WORKSPACE_BYTES);
  const key = slots.join();
  const found = known.get(key);
  if (found !== undefined) return found;
  let algorithms: readonly CublasLtAlgorithm[] = [];
  let problem: string | undefined;
  try {
    algorithms = cublasLtAlgorithms(context.library, context.ordinal, slots);
    if (algorithms.length === 0) problem = "it has no algorithm for this product and device";
  } catch (error) {
    if (!isOfCublas(error)) throw error;
    // Products are computed by another variant then.
    logger("tensor").warn("cuBLASLt is not used: {error}", { error });
    problem = error.message;
  }
  const plan: Plan = { slots, algorithms, problem, chosen: undefined };
  known.set(key, plan);
  if (known.size > MAX_PLANS) known.delete(known.keys().next().value!);
  return plan;
}

/** The problem whose result is by columns, or its transposed one, and the product. */
function described(problem: MatmulProblem, resultBase = 0) {
  const flipped = transposed(problem);
  const product = productOf(flipped, resultBase);
  if (typeof product !== "string") return { own: flipped, product };
  const { m, n, result } = problem;
  if (leadingOf(result, m, n) === undefined) return product;
  const other = productOf(problem, resultBase);
  return typeof other === "string" ? other : { own: problem, product: other };
}

/** Computes with an algorithm, whose workspace is freed in the order of the stream. */
function enqueue(
  { context, stream, action }: MatmulProblem,
  plan: Plan,
  algorithm: CublasLtAlgorithm,
  operands: Float64Array<ArrayBuffer>,
): void {
  const { workspaceBytes } = algorithm;
  using workspace = workspaceBytes === 0
    ? undefined
    : DeviceBuffer.allocate(context, "uint8", workspaceBytes, { stream });
  operands[7] = workspace?.address ?? 0;
  operands[8] = workspaceBytes;
  cublasLtMatmul(
    context.library,
    context.ordinal,
    stream.id,
    plan.slots,
    algorithm,
    operands,
    action,
  );
}

/** Times the algorithms on the operands, blocking this thread. Those that fail are left out. */
function fastest(
  problem: MatmulProblem,
  plan: Plan,
  operands: Float64Array<ArrayBuffer>,
): CublasLtAlgorithm {
  const { stream, context } = problem;
  const times = new Map<CublasLtAlgorithm, number>();
  let failure: unknown;
  using start = new Event(context, { timing: true });
  using end = new Event(context, { timing: true });
  for (const algorithm of plan.algorithms) {
    try {
      enqueue(problem, plan, algorithm, operands); // the first run loads its kernels
      for (let measurement = 0; measurement < MEASUREMENTS; measurement++) {
        start.record(stream);
        for (let run = 0; run < RUNS; run++) enqueue(problem, plan, algorithm, operands);
        end.record(stream);
        end.doneSync();
        times.set(algorithm, Math.min(times.get(algorithm) ?? Infinity, end.elapsedSince(start)));
      }
    } catch (error) {
      if (!isOfCublas(error)) throw error;
      failure ??= error;
      times.delete(algorithm);
    }
  }
  if (times.size === 0) throw failure;
  const least = Math.min(...times.values());
  return [...times].find(([, time]) => time <= least * GAIN)![0];
}

/** Elements from the first to the last of the matrices of a batch. */
const extentOfBatch = ({ rows, columns, leading, stride }: CublasLtMatrix, products: number) =>
  (products - 1) * stride + (columns - 1) * leading + rows;

function run(problem: MatmulProblem, result: Tensor): void {
  const { stream, scale, residual } = problem;
  const written = storageOf(result);
  const given = described(problem, written.buffer.address);
  const plan = typeof given === "string" ? undefined : planFor(problem, given.product);
  if (typeof given === "string" || plan?.algorithms[0] === undefined) {
    throw new RangeError(`Cannot ${problem.action} with cuBLASLt: ${plan?.problem ?? given}`);
  }
  const { own, product } = given;
  const addressOf = (tensor: Tensor, { offset, dtype }: MatrixLayout) => {
    const { buffer } = storageOf(tensor);
    return launchAddress(buffer, buffer.context, stream) + offset * bytesPerElement(dtype);
  };
  const at = (it: MatmulProblem["bias"]) => it === undefined ? 0 : addressOf(it.tensor, it);
  const d = addressOf(result, own.result);
  const c = residual === undefined ? d : at(own.residual);
  const beta = residual === undefined ? 0 : 1;
  const operands = Float64Array.of(
    at(own.a),
    at(own.b),
    c,
    d,
    at(own.bias),
    scale ?? 1,
    beta,
    0,
    0,
  );
  if (plan.algorithms.length === 1) plan.chosen = plan.algorithms[0];
  // A capture can neither be timed nor waited for.
  if (plan.chosen === undefined && !isCapturing()) {
    const isOver = residual !== undefined && storageOf(residual.tensor) === written;
    const bytes = extentOfBatch(product.d, product.products) * bytesPerElement(result.dtype);
    // A residual that the result replaces must not change before the last run.
    using scratch = isOver
      ? DeviceBuffer.allocate(problem.context, "uint8", bytes, { stream })
      : undefined;
    plan.chosen = fastest(problem, plan, operands.with(3, scratch?.address ?? d));
  }
  enqueue(problem, plan, plan.chosen ?? plan.algorithms[0], operands);
}

/** NVIDIA's library, where it is installed. */
export const CUBLASLT_VARIANT: MatmulVariant = {
  name: "cublaslt",
  supports(problem) {
    const { context } = problem;
    const found = cublasLtOf(context.library);
    if ("problem" in found) return { supported: false, reason: found.problem };
    const given = described(problem);
    if (typeof given === "string") return { supported: false, reason: given };
    const { algorithms, problem: reason } = planFor(problem, given.product);
    if (reason !== undefined) return { supported: false, reason };
    return {
      supported: true,
      reason: `the fastest of ${algorithms.length} algorithms of cuBLASLt ${found.version}`,
    };
  },
  // It does not tell them.
  plan: () => ({ grid: 0, block: 0 }),
  launch(problem, result) {
    const { a, b, bias, residual } = problem;
    const inputs = [a, b, bias, residual].filter((it) => it !== undefined);
    const storages = inputs.map(({ tensor }) => storageOf(tensor));
    const written = [writtenStorage(result)];
    problem.work.enqueue(undefined, storages, written, () => {
      orderOperands(storages, written, problem.stream);
      run(problem, result);
    });
  },
};
