/**
 * Activations of ternary products: norms, gates and 8-bit quantisation of a row, in one kernel.
 *
 * @module
 */

import { castNode, type ExpressionNode } from "../../tensor/kit/expression/node.ts";
import type { Tensor, TensorOptions } from "../../tensor/mod.ts";
import type { RowStage } from "../../tensor/row_program.ts";
import { RowNodes, runAlong } from "../../tensor/row_steps.ts";
import { activationRounding } from "../../ternary/quantize.ts";
import type { ModelConfig } from "../config.ts";

/** Rows of 8-bit integers, each with a scale of its own. */
export interface QuantizedRows {
  readonly values: Tensor<"int8">;
  readonly scale: Tensor<"float32">;
}

/** A norm of rows: x / √(mean of squares + epsilon) · weight. */
export interface Norm {
  readonly weight: Tensor<"float32">;
  readonly epsilon: number;
}

/** Nodes of a row program, which computes as `float32`. */
const NODES = new RowNodes("float32");

/** Runs a program that quantises the rows of an expression, after a norm if there is one. */
function quantized(
  action: string,
  row: ExpressionNode,
  tensors: readonly Tensor[],
  norm: Norm | undefined,
  sum: ExpressionNode | undefined,
  options: TensorOptions,
): Tensor[] {
  const { shape } = tensors[0]!;
  const stages: RowStage[] = [];
  const operands = [...tensors];
  let value = row;
  if (norm !== undefined) {
    // As rmsNorm() does: the mean of the squares may be out of the range of float32.
    const wide = new RowNodes("float64");
    const root = wide.of("rsqrt", wide.of("add", wide.mean, wide.number(norm.epsilon)));
    stages.push({
      reducer: "SquareSum",
      name: "factor",
      value: row,
      finish: castNode(root, "float32"),
    });
    const weight = NODES.input(operands.push(norm.weight as Tensor) - 1, norm.weight as Tensor);
    value = NODES.of("multiply", NODES.of("multiply", row, NODES.stage("factor")), weight);
  }
  const { stage, element, scale } = activationRounding(NODES, value);
  const program = {
    stages: [...stages, stage],
    elements: [
      { value: element, dtype: "int8" as const },
      ...(sum === undefined ? [] : [{ value: sum, dtype: "float32" as const }]),
    ],
    results: [{ value: scale, dtype: "float32" as const }],
  };
  return runAlong(action, program, operands, shape, shape.length - 1, options);
}

/**
 * Quantises rows, or rows plus a residual, whose sum is a result too, after a norm if there is one:
 * `quantizeActivations(rmsNorm(x + residual))` with the same bits.
 */
export function quantizeRows(
  x: Tensor,
  { norm, residual, ...options }: TensorOptions & {
    readonly norm?: Norm | undefined;
    readonly residual?: Tensor | undefined;
  },
): QuantizedRows & { readonly sum: Tensor<"float32"> | undefined } {
  const tensors = residual === undefined ? [x] : [x, residual];
  const inputs = tensors.map((tensor, index) => NODES.input(index, tensor));
  const row = residual === undefined ? inputs[0]! : NODES.of("add", ...inputs);
  const sum = residual === undefined ? undefined : row;
  const all = quantized("quantizeRows", row, tensors, norm, sum, options);
  return {
    values: all[0] as Tensor as Tensor<"int8">,
    scale: all.at(-1) as Tensor as Tensor<"float32">,
    sum: residual === undefined ? undefined : all[1] as Tensor as Tensor<"float32">,
  };
}

/** Quantises the rows activation(gate) · up, after a norm if there is one. */
export function quantizeGated(
  gate: Tensor,
  up: Tensor,
  activation: ModelConfig["activation"],
  { norm, ...options }: TensorOptions & { readonly norm?: Norm | undefined },
): QuantizedRows {
  const [left, right] = [NODES.input(0, gate), NODES.input(1, up)];
  const active = activation === "silu"
    ? NODES.of("silu", left)
    : NODES.of("square", NODES.of("relu", left));
  const row = NODES.of("multiply", active, right);
  const [values, scale] = quantized("quantizeGated", row, [gate, up], norm, undefined, options);
  return {
    values: values as Tensor as Tensor<"int8">,
    scale: scale as Tensor as Tensor<"float32">,
  };
}
