/**
 * Matrix products as their variants see them: layouts, element types, and the epilogue.
 *
 * @module
 */

import type { DeviceContext } from "../../hardware/device_context.ts";
import { bytesPerElement, type DType, isFloatDType } from "../../memory/dtype.ts";
import type { Stream } from "../../stream/stream.ts";
import type { DeviceWork } from "../kit/device_work.ts";
import { castNode, type ExpressionNode, operationNode } from "../kit/expression/node.ts";
import { mergeDimensions, type Shape } from "../kit/layout.ts";
import type { PrecisionMode } from "../kit/precision.ts";
import type { Tensor } from "../tensor.ts";

/** The functions that a product may be passed through. */
export const ACTIVATIONS = ["relu", "gelu", "geluTanh", "silu", "sigmoid", "tanh"] as const;
/** The name of an activation. */
export type Activation = (typeof ACTIVATIONS)[number];

/** A matrix for each position of the batch. Strides count elements. */
export interface MatrixLayout {
  readonly dtype: DType;
  readonly offset: number;
  readonly row: number;
  readonly column: number;
  /** The stride along each dimension of {@linkcode MatmulProblem.batch}. */
  readonly batch: readonly number[];
}

/** An operand and its memory. */
export interface MatrixOperand extends MatrixLayout {
  readonly tensor: Tensor;
}

/**
 * finish(a · b): `a` is m × k, `b` k × n and the result m × n. The result is cast to its type from
 * activation(scale · product + bias) + residual.
 */
export interface MatmulProblem {
  readonly action: string;
  readonly context: DeviceContext;
  readonly work: DeviceWork;
  readonly stream: Stream;
  readonly m: number;
  readonly n: number;
  readonly k: number;
  /** Merged dimensions, outermost first; empty for one product. */
  readonly batch: readonly number[];
  readonly a: MatrixOperand;
  readonly b: MatrixOperand;
  readonly bias: MatrixOperand | undefined;
  readonly residual: MatrixOperand | undefined;
  readonly result: MatrixLayout;
  /** The type to which floating operands are rounded. */
  readonly mode: PrecisionMode;
  /** The type in which products are added up. */
  readonly sums: DType;
  readonly scale: number | undefined;
  readonly activation: Activation | undefined;
}

/** The problem after the sums are known. */
type Epilogue = Pick<
  MatmulProblem,
  "sums" | "scale" | "activation" | "bias" | "residual" | "result"
>;

/** The type in which products of a common element type are added up for a result. */
export function sumsOf(common: DType, result: DType): DType {
  if (isFloatDType(common)) return common === "float64" ? "float64" : "float32";
  const isLong = [common, result].some((it) => !isFloatDType(it) && bytesPerElement(it) === 8);
  const isUnsigned = common.startsWith("uint");
  return `${isUnsigned ? "uint" : "int"}${isLong ? "64" : "32"}` as DType;
}

/** The type in which the product is finished: that of the sums, or a floating one if it needs that. */
function finishType(problem: Omit<Epilogue, "result">): DType {
  const { sums, scale, activation, bias, residual } = problem;
  if (isFloatDType(sums)) return sums;
  const isFloating = scale !== undefined || (activation !== undefined && activation !== "relu") ||
    [bias, residual].some((it) => it !== undefined && isFloatDType(it.dtype));
  if (!isFloating) return sums;
  return bytesPerElement(sums) === 8 ? "float64" : "float32";
}

/**
 * The element of the result, from `sum`, number 0 for the scale, and inputs 0 and 1 for the bias and
 * the residual.
 */
export function epilogueOf(problem: Epilogue): ExpressionNode {
  const { sums, scale, activation, bias, residual, result } = problem;
  const type = finishType(problem);
  const input = (index: number, dtype: DType): ExpressionNode => ({ kind: "input", index, dtype });
  let value = castNode({ kind: "name", name: "sum", dtype: sums }, type);
  if (scale !== undefined) {
    value = operationNode("multiply", [value, { kind: "scalar", index: 0, dtype: type }], type);
  }
  if (bias !== undefined) value = operationNode("add", [value, input(0, bias.dtype)], type);
  if (activation !== undefined) value = operationNode(activation, [value], type);
  if (residual !== undefined) {
    value = operationNode("add", [value, input(1, residual.dtype)], type);
  }
  if (isFloatDType(type) && !isFloatDType(result.dtype)) {
    value = operationNode("round", [value], type);
  }
  return castNode(value, result.dtype);
}

/** The type of the scale, as the epilogue takes it. */
export const scaleType = (problem: Epilogue): DType => finishType(problem);

/** A matrix before dimensions are merged: strides of the batch, then of rows and columns. */
export interface UnmergedMatrix {
  readonly dtype: DType;
  readonly offset: number;
  readonly strides: readonly number[];
}

/**
 * Merges the dimensions of the batch, and those that only add rows to `a` with its rows.
 *
 * @param matrices The layouts of a, b and others, which may have none.
 */
export function mergeBatch(
  batch: Shape,
  m: number,
  matrices: readonly (UnmergedMatrix | undefined)[],
): { readonly batch: number[]; readonly m: number; readonly layouts: MatrixLayout[] } {
  const present = matrices.filter((it) => it !== undefined);
  // Rows are the last dimension, in which b repeats.
  const space = mergeDimensions(
    [...batch, m],
    present.map(({ strides }, index) => index === 1 ? strides.with(-2, 0) : strides).map((it) =>
      it.slice(0, -1)
    ),
  );
  const isRows = space.strides[1]!.at(-1) === 0;
  const dimensions = isRows ? space.shape.slice(0, -1) : space.shape;
  return {
    batch: dimensions,
    m: isRows ? space.shape.at(-1)! : 1,
    layouts: present.map(({ dtype, offset, strides }, index) => ({
      dtype,
      offset,
      row: index === 1 ? strides.at(-2)! : isRows ? space.strides[index]!.at(-1)! : 0,
      column: strides.at(-1)!,
      batch: space.strides[index]!.slice(0, dimensions.length),
    })),
  };
}
