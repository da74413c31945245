/**
 * Quantisation to ternary weights and to 8-bit activations.
 *
 * @module
 */

import { cannot, requireOptions } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import { concat, type Tensor, type TensorOptions } from "../tensor/mod.ts";
import { castNode, type ExpressionNode } from "../tensor/kit/expression/node.ts";
import { shapeText } from "../tensor/kit/layout.ts";
import { requireFloats, type RowDType, RowNodes, rowType, runAlong } from "../tensor/row_steps.ts";
import type { RowStage } from "../tensor/row_program.ts";

/** The least mean and the least maximum, of which scales are made: 1e-5, as in BitNet. */
const LEAST = 1e-5;

/**
 * Options of {@linkcode quantizeWeights}.
 * @category Quantisation
 */
export interface QuantizeOptions extends TensorOptions {
  /** The numbers of consecutive rows that have scales of their own; all rows share one by default. */
  readonly segments?: readonly number[];
}

/** Checks segments of rows; one of all rows by default. */
export function requireSegments(
  segments: readonly number[] | undefined,
  rows: number,
  action: string,
): readonly number[] {
  if (segments === undefined) return [rows];
  const isRight = Array.isArray(segments) &&
    segments.every((count) => Number.isSafeInteger(count) && count > 0) &&
    segments.reduce((sum, count) => sum + count, 0) === rows;
  if (isRight) return [...segments];
  throw new RangeError(
    `${
      cannot(action)
    } as options.segments must be positive numbers of rows that add up to ${rows}: ` +
      `it is ${Array.isArray(segments) ? `[${segments}]` : describeValue(segments)}`,
  );
}

const atLeast = (nodes: RowNodes, least: number, value: ExpressionNode) =>
  nodes.of("maximum", value, nodes.number(least));

/** Rounds half to even and saturates. */
function rounded(nodes: RowNodes, value: ExpressionNode, lowest: number, highest: number) {
  const above = nodes.of("maximum", nodes.of("round", value), nodes.number(lowest));
  return castNode(nodes.of("minimum", above, nodes.number(highest)), "int8");
}

/**
 * Quantises a matrix of weights to -1, 0 and 1 times a scale, the mean magnitude but at least 1e-5:
 * codes = clamp(round(w · (1 / scale)), -1, 1), where halves round to even (BitNet b1.58,
 * arXiv:2402.17764). 16-bit floats are computed as `float32`.
 *
 * @param w Rows are outputs, columns inputs.
 * @param options The rows of each segment with a scale of its own, and the stream.
 * @returns `codes` in the shape of the weights, and `scale`: one number, or one for each segment. The
 * weights are about codes · scale.
 * @throws {TypeError} If the weights are not floating point.
 * @throws {RangeError} If they are no matrix or have no elements, or segments do not add up to the
 * rows.
 *
 * @example
 * ```ts
 * import { tensor } from "@gridstride/cuda/tensor";
 * import { quantizeWeights } from "@gridstride/cuda/ternary";
 *
 * const { codes } = quantizeWeights(tensor([[0.7, -0.1, 0.02, -0.9]]));
 * console.log(await codes.toNested()); // [ [ 1, 0, 0, -1 ] ]
 * ```
 * @category Quantisation
 */
export function quantizeWeights(
  w: Tensor<RowDType>,
  options: QuantizeOptions = {},
): { readonly codes: Tensor<"int8">; readonly scale: Tensor<"float32"> } {
  const action = "quantizeWeights";
  requireOptions(options, ["segments", "stream"], action);
  const weights = requireFloats(w, "w", action);
  if (weights.rank !== 2 || weights.size === 0) {
    throw new RangeError(
      `${cannot(action)} as w must be a matrix with elements: its shape is ${
        shapeText(weights.shape)
      }`,
    );
  }
  const [rows, columns] = weights.shape as [number, number];
  const segments = requireSegments(options.segments, rows, action);
  const place = options.stream === undefined ? {} : { stream: options.stream };
  const nodes = new RowNodes(rowType(weights));
  const input = nodes.input(0, weights);
  const stage: RowStage = {
    reducer: "Sum",
    name: "scale",
    // Sums of float64 make the mean the same in every order of addition, but for rare roundings.
    value: castNode(nodes.of("abs", input), "float64"),
    finish: atLeast(nodes, LEAST, castNode(new RowNodes("float64").mean, nodes.type)),
  };
  const factor = nodes.of("divide", nodes.number(1), nodes.stage("scale"));
  const program = {
    stages: [stage],
    elements: [{
      value: rounded(nodes, nodes.of("multiply", input, factor), -1, 1),
      dtype: "int8" as const,
    }],
    results: [{ value: nodes.stage("scale"), dtype: "float32" as const }],
  };
  let start = 0;
  const parts = segments.map((count) => {
    using slice = weights.slice([{ start, stop: start += count }]);
    using row = slice.reshape([1, count * columns]);
    const [codes, scale] = runAlong(action, program, [row], row.shape, 1, place);
    using flat = codes!;
    return { codes: flat.reshape([count, columns]), scale: scale! };
  });
  if (parts.length === 1) {
    using scale = parts[0]!.scale;
    return { codes: parts[0]!.codes, scale: scale.reshape([]) } as never;
  }
  const joined = {
    codes: concat(parts.map(({ codes }) => codes), place),
    scale: concat(parts.map(({ scale }) => scale), place),
  };
  for (const part of parts) {
    part.codes.dispose();
    part.scale.dispose();
  }
  return joined as never;
}

/** The parts of a row program that quantises the rows of an expression, and their scale. */
export function activationRounding(
  nodes: RowNodes,
  value: ExpressionNode,
): { readonly stage: RowStage; readonly element: ExpressionNode; readonly scale: ExpressionNode } {
  const largest = nodes.stage("largest");
  const factor = nodes.of("divide", nodes.number(127), largest);
  return {
    stage: {
      reducer: "Maximum",
      name: "largest",
      value: nodes.of("abs", value),
      finish: atLeast(nodes, LEAST, nodes.largest),
    },
    element: rounded(nodes, nodes.of("multiply", value, factor), -128, 127),
    scale: nodes.of("divide", largest, nodes.number(127)),
  };
}

/**
 * Quantises activations to 8-bit integers, each row by a scale of its own: values =
 * clamp(round(x · (127 / m)), -128, 127), where m is the row's largest magnitude, but at least
 * 1e-5, and halves round to even. 16-bit floats are computed as `float32`.
 *
 * @param x Rows are along the last axis.
 * @param options The stream.
 * @returns `values` in the shape of `x`, and for each row `scale` = m / 127, so that `x` is about
 * values · scale.
 * @throws {TypeError} If `x` is not floating point.
 * @throws {RangeError} If `x` has no dimensions, or rows have no elements.
 *
 * @example
 * ```ts
 * import { tensor } from "@gridstride/cuda/tensor";
 * import { quantizeActivations } from "@gridstride/cuda/ternary";
 *
 * const { values } = quantizeActivations(tensor([[0.5, -1]]));
 * console.log(await values.toNested()); // [ [ 64, -127 ] ]
 * ```
 * @category Quantisation
 */
export function quantizeActivations(
  x: Tensor<RowDType>,
  options: TensorOptions = {},
): { readonly values: Tensor<"int8">; readonly scale: Tensor<"float32"> } {
  const action = "quantizeActivations";
  requireOptions(options, ["stream"], action);
  const rows = requireFloats(x, "x", action);
  if (rows.rank === 0) {
    throw new RangeError(`${cannot(action)} as x must have dimensions: it has none`);
  }
  const nodes = new RowNodes(rowType(rows));
  const input = nodes.input(0, rows);
  const { stage, element, scale: factor } = activationRounding(nodes, input);
  const program = {
    stages: [stage],
    elements: [{ value: element, dtype: "int8" as const }],
    results: [{ value: factor, dtype: "float32" as const }],
  };
  const place = options.stream === undefined ? {} : { stream: options.stream };
  const [values, scale] = runAlong(action, program, [rows], rows.shape, rows.rank - 1, place);
  return { values, scale } as never;
}
