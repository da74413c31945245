/**
 * Descriptions of matrix products for cuBLASLt, or the reasons why it does not compute them.
 *
 * cuBLASLt stores matrices by columns. A result by rows is that of the transposed product by columns.
 *
 * @module
 */

import {
  CUBLASLT,
  type CublasLtMatrix,
  type CublasLtProduct,
} from "../../ffi/cublaslt/native_cublaslt.ts";
import { bytesPerElement, type DType } from "../../memory/dtype.ts";
import type { PrecisionMode } from "../kit/precision.ts";
import { storageOf, type Tensor } from "../tensor.ts";
import { transposed } from "./own_variants.ts";
import type { MatmulProblem, MatrixLayout } from "./problem.ts";

/** The alignment in bytes that algorithms require at most. */
const ALIGNMENT = 256;
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

/** Whether products of an element type must have the elements of each sum side by side. */
export function needsDotProducts(dtype: DType): boolean {
  return COMPUTATIONS[dtype]?.isDotProduct === true;
}

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
export function alignmentOf(base: number, { offset, dtype }: MatrixLayout): number {
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

/** A product as cuBLASLt takes it, and whether it is that of the transposed problem. */
export interface DescribedProduct {
  readonly product: CublasLtProduct;
  readonly isTransposed: boolean;
}

/** The problem whose result is by columns, or its transposed one; or the reason why there is none. */
export function describeProduct(
  problem: MatmulProblem,
  resultBase: number,
): DescribedProduct | string {
  const product = productOf(transposed(problem), resultBase);
  if (typeof product !== "string") return { product, isTransposed: true };
  const { m, n, result } = problem;
  if (leadingOf(result, m, n) === undefined) return product;
  const other = productOf(problem, resultBase);
  return typeof other === "string" ? other : { product: other, isTransposed: false };
}
