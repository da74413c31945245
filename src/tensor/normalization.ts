/**
 * Normalisation of rows, forward and backward.
 *
 * @module
 */

import { cannot, requireOptions } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import type { DType } from "../memory/dtype.ts";
import { requireDType, type TensorOptions } from "./kit/checks.ts";
import { castNode, type ExpressionNode, operationNode } from "./kit/expression/node.ts";
import { shapeText } from "./kit/layout.ts";
import { reduceExpression } from "./reductions.ts";
import {
  requireFloats,
  requireShapeOf,
  type RowDType,
  RowNodes,
  rowType,
  runAlong,
} from "./row_steps.ts";
import type { RowStage } from "./row_program.ts";
import { TensorScope } from "./scope.ts";
import type { Tensor } from "./tensor.ts";

/**
 * The element types of quantised results.
 * @category Row operations
 */
export type QuantizedDType = "int8" | "float8_e4m3";

/** Names of options; layerNorm() has one more. */
const NAMES = ["weight", "epsilon", "residual", "quantize", "stream"];

/** The largest magnitude of quantised elements. */
const LIMITS: Readonly<Record<QuantizedDType, number>> = { int8: 127, float8_e4m3: 448 };

/**
 * Options of {@linkcode rmsNorm}.
 * @category Row operations
 */
export interface RmsNormOptions<D extends DType = DType> extends TensorOptions {
  /** Factors of the columns; 1 by default. */
  readonly weight?: Tensor<RowDType>;
  /** Added to the mean of the squares; 1e-5 by default. */
  readonly epsilon?: number;
  /** Added to the operand before, in its element type. The sum is returned too. */
  readonly residual?: Tensor<D>;
  /** Quantises each row of the result by a scale of its own. */
  readonly quantize?: QuantizedDType;
}

/**
 * Options of {@linkcode layerNorm}.
 * @category Row operations
 */
export interface LayerNormOptions<D extends DType = DType> extends RmsNormOptions<D> {
  /** Added to the columns of the result; 0 by default. */
  readonly bias?: Tensor<RowDType>;
}

/**
 * The result of {@linkcode layerNorm} and {@linkcode rmsNorm}: a tensor; with `residual` or
 * `quantize`, an object with all results.
 * @category Row operations
 */
export type Normalized<D extends DType, Options> = Options extends
  { readonly residual: Tensor } | { readonly quantize: QuantizedDType } ?
    & {
      /** The normalised rows. */
      readonly y: Tensor<Options extends { readonly quantize: infer Q extends DType } ? Q : D>;
    }
    & (Options extends { readonly residual: Tensor } ? {
        /** The operand plus the residual. */
        readonly sum: Tensor<D>;
      }
      : unknown)
    & (Options extends { readonly quantize: QuantizedDType } ? {
        /** For each row the factor that gives back its elements: y · scale. */
        readonly scale: Tensor<"float32">;
      }
      : unknown)
  : Tensor<D>;

function requireEpsilon(epsilon: unknown = 1e-5, action: string): number {
  if (typeof epsilon === "number" && epsilon >= 0 && Number.isFinite(epsilon)) return epsilon;
  throw new RangeError(
    `${cannot(action)} as options.epsilon must be a finite number of at least 0: it is ${
      describeValue(epsilon)
    }`,
  );
}

/** Checks the operand, whose last axis is normalised; the result is the extent of that. */
function requireRows(x: Tensor, action: string): number {
  requireFloats(x, "x", action);
  if (x.rank > 0) return x.shape.at(-1)!;
  throw new RangeError(
    `${cannot(action)} as x must have at least 1 dimension: its shape is ${shapeText(x.shape)}`,
  );
}

/** The stages of the mean and of the reciprocal deviation, and the normalised element. */
function standardised(nodes: RowNodes, x: ExpressionNode, epsilon: number, isCentred: boolean) {
  const distance = isCentred ? nodes.of("subtract", x, nodes.stage("centre")) : x;
  // The mean of the squares may be out of the range of float32.
  const wide = new RowNodes("float64");
  const root = wide.of("rsqrt", wide.of("add", wide.mean, wide.number(epsilon)));
  const finish = castNode(root, nodes.type);
  const stages: RowStage[] = [
    ...(isCentred
      ? [{ reducer: "Sum", name: "centre", value: x, finish: nodes.mean } as const]
      : []),
    { reducer: "SquareSum", name: "factor", value: distance, finish },
  ];
  return { stages, unit: nodes.of("multiply", distance, nodes.stage("factor")) };
}

function normalise<D extends DType>(
  action: string,
  x: Tensor,
  options: LayerNormOptions<D>,
  isCentred: boolean,
) {
  requireOptions(options, isCentred ? [...NAMES, "bias"] : NAMES, action);
  const { weight, bias, residual, quantize } = options;
  const columns = requireRows(x, action);
  const epsilon = requireEpsilon(options.epsilon, action);
  const tensors = [x];
  const add = (tensor: unknown, name: string, shape: readonly number[]) => {
    if (tensor === undefined) return undefined;
    const own = requireFloats(tensor, name, action);
    requireShapeOf(own, name, shape, action);
    return tensors.push(own) - 1;
  };
  if (residual !== undefined) requireDType(residual, "options.residual", [x.dtype], action);
  const second = add(residual, "options.residual", x.shape);
  const scaling = add(weight, "options.weight", [columns]);
  const shift = add(bias, "options.bias", [columns]);
  if (quantize !== undefined && !Object.hasOwn(LIMITS, quantize)) {
    throw new TypeError(
      `${cannot(action)} as options.quantize must be ${Object.keys(LIMITS).join(" or ")}: it is ${
        describeValue(quantize)
      }`,
    );
  }
  const nodes = new RowNodes(rowType(...tensors));
  const input = (index: number): ExpressionNode => ({ kind: "input", index, dtype: x.dtype });
  const sum = second === undefined
    ? input(0)
    : operationNode("add", [input(0), input(second)], x.dtype);
  const row = castNode(sum, nodes.type);
  const { stages, unit } = standardised(nodes, row, epsilon, isCentred);
  const scaled = scaling === undefined
    ? unit
    : nodes.of("multiply", unit, nodes.input(scaling, tensors[scaling]!));
  const y = shift === undefined
    ? scaled
    : nodes.of("add", scaled, nodes.input(shift, tensors[shift]!));
  const element = quantize === undefined ? { value: y, dtype: x.dtype } : {
    value: quantised(nodes, y, quantize),
    dtype: quantize,
  };
  if (quantize !== undefined) stages.push(absoluteMaximum(nodes, y, LIMITS[quantize]));
  const program = {
    stages,
    elements: [element, ...(residual === undefined ? [] : [{ value: sum, dtype: x.dtype }])],
    results: quantize === undefined
      ? []
      : [{ value: nodes.stage("scale"), dtype: "float32" as const }],
  };
  const outputs = runAlong(action, program, tensors, x.shape, x.rank - 1, options);
  if (outputs.length === 1) return outputs[0]!;
  return {
    y: outputs[0]!,
    ...(residual === undefined ? {} : { sum: outputs[1]! }),
    ...(quantize === undefined ? {} : { scale: outputs.at(-1)! }),
  };
}

/** The scale of a quantised row; 1 for a row of zeros. */
function absoluteMaximum(nodes: RowNodes, value: ExpressionNode, limit: number): RowStage {
  const condition = operationNode("equal", [nodes.largest, nodes.number(0)], nodes.type);
  const quotient = nodes.of("divide", nodes.largest, nodes.number(limit));
  const operands = [nodes.number(1), quotient] as const;
  return {
    reducer: "Maximum",
    name: "scale",
    value: nodes.of("abs", value),
    finish: { kind: "select", dtype: nodes.type, condition, operands },
  };
}

/** Rounds half to even; the store of an 8-bit float does so too. */
function quantised(nodes: RowNodes, value: ExpressionNode, dtype: QuantizedDType): ExpressionNode {
  const quotient = nodes.of("divide", value, nodes.stage("scale"));
  return castNode(dtype === "int8" ? nodes.of("round", quotient) : quotient, dtype);
}

/** The gradients of a normalisation. */
function gradients(
  action: string,
  dy: Tensor,
  x: Tensor,
  options: RmsNormOptions,
  isCentred: boolean,
) {
  requireOptions(options, ["weight", "epsilon", "stream"], action);
  const columns = requireRows(x, action);
  requireFloats(dy, "dy", action);
  requireShapeOf(dy, "dy", x.shape, action);
  const epsilon = requireEpsilon(options.epsilon, action);
  const tensors = [dy, x];
  if (options.weight !== undefined) {
    const weight = requireFloats(options.weight, "options.weight", action);
    requireShapeOf(weight, "options.weight", [columns], action);
    tensors.push(weight);
  }
  const nodes = new RowNodes(rowType(...tensors));
  const { type } = nodes;
  const { stages, unit } = standardised(nodes, nodes.input(1, x), epsilon, isCentred);
  const outer = nodes.input(0, dy);
  const gradient = tensors[2] === undefined
    ? outer
    : nodes.of("multiply", outer, nodes.input(2, tensors[2]));
  const averages: RowStage[] = [
    { reducer: "Sum", name: "slope", value: nodes.of("multiply", gradient, unit) },
    ...(isCentred ? [{ reducer: "Sum", name: "level", value: gradient } as const] : []),
  ];
  stages.push(...averages.map((stage) => ({ ...stage, finish: nodes.mean })));
  const straight = nodes.of(
    "subtract",
    gradient,
    nodes.of("multiply", unit, nodes.stage("slope")),
  );
  const levelled = isCentred ? nodes.of("subtract", straight, nodes.stage("level")) : straight;
  const value = nodes.of("multiply", levelled, nodes.stage("factor"));
  const named = [...(isCentred ? ["centre"] : []), "factor"];
  const results = named.map((name) => ({ value: nodes.stage(name), dtype: type }));
  const program = { stages, elements: [{ value, dtype: x.dtype }], results };
  const place = options.stream === undefined ? {} : { stream: options.stream };
  using scope = new TensorScope();
  const [dx, ...statistics] = runAlong(action, program, tensors, x.shape, x.rank - 1, place);
  // Σ dy · (x − centre) · factor over the rows.
  const columnsOf = statistics.map((statistic) => statistic.expandDims(-1));
  const operands = [dy, x, ...columnsOf];
  const centred = isCentred
    ? nodes.of("subtract", nodes.input(1, x), nodes.input(2, operands[2]!))
    : nodes.input(1, x);
  const factor = nodes.input(operands.length - 1, operands.at(-1)!);
  const product = nodes.of("multiply", outer, nodes.of("multiply", centred, factor));
  const over = (operand: ExpressionNode, from: readonly Tensor[]) => {
    const stage = (sum: ExpressionNode): RowStage => ({ reducer: "Sum", name: "r0", value: sum });
    const dtype = options.weight?.dtype ?? x.dtype;
    const axis = [...x.shape.keys()].slice(0, -1);
    const reduction = { action, dtype, stage, identity: true };
    return reduceExpression(reduction, { value: operand, tensors: from }, { ...place, axis });
  };
  const dWeight = over(product, operands);
  return scope.keep({ dx: dx!, dWeight, dBias: isCentred ? over(outer, [dy]) : undefined });
}

/**
 * Layer normalisation of the last axis: (x − mean) / √(variance + epsilon) · weight + bias, in one
 * kernel. 16-bit floats are computed as `float32`; the variance is that of the differences to the
 * mean, whose squares may be out of the range of `float32`. Sums are as accurate as those of `sum()`.
 *
 * With `quantize: "int8"` or `"float8_e4m3"` each row of the result is divided by its scale, which
 * is its largest magnitude / 127 or / 448, and rounded half to even.
 *
 * @param x The tensor.
 * @param options The weight, the bias, `epsilon`, a residual to add first, the quantisation, and
 * the stream.
 * @throws {TypeError} If an element type does not fit.
 * @throws {RangeError} If a shape does not fit, or a row that is quantised has no elements.
 *
 * @example
 * ```ts
 * import { layerNorm, tensor } from "@gridstride/cuda/tensor";
 *
 * using x = tensor([[1, 3], [20, 10]]);
 * using y = layerNorm(x, { epsilon: 0 });
 * console.log(await y.toNested()); // [ [ -1, 1 ], [ 1, -1 ] ]
 * const { scale } = layerNorm(x, { quantize: "int8" });
 * console.log(scale.shape); // [ 2 ]
 * ```
 * @category Row operations
 */
export function layerNorm<D extends DType, const O extends LayerNormOptions<D>>(
  x: Tensor<D>,
  options?: O & LayerNormOptions<D>,
): Normalized<D, O> {
  return normalise<D>("layerNorm", x as Tensor, options ?? {}, true) as Normalized<D, O>;
}

/**
 * The gradients of {@linkcode layerNorm}; that of a residual is `dx` too.
 *
 * @param dy The gradient of the result.
 * @param x The operand, or the sum with the residual.
 * @param options The weight and `epsilon` of the forward call, and the stream.
 * @returns The gradients of the operand, the weight and the bias, the last two in the element type
 * of the weight.
 * @throws {RangeError} If a shape does not fit.
 *
 * @example
 * ```ts
 * import { layerNormBackward, ones, tensor } from "@gridstride/cuda/tensor";
 *
 * const { dx, dBias } = layerNormBackward(ones([1, 2]), tensor([[1, 3]]), { weight: ones([2]) });
 * console.log(await dx.toNested(), await dBias.toNested()); // [ [ 0, 0 ] ] [ 1, 1 ]
 * ```
 * @category Row operations
 */
export function layerNormBackward<D extends DType, W extends RowDType = D & RowDType>(
  dy: Tensor<RowDType>,
  x: Tensor<D>,
  options: TensorOptions & { readonly weight?: Tensor<W>; readonly epsilon?: number } = {},
): { readonly dx: Tensor<D>; readonly dWeight: Tensor<W>; readonly dBias: Tensor<W> } {
  return gradients("layerNormBackward", dy as Tensor, x as Tensor, options as object, true) as
    & ReturnType<typeof gradients>
    & ReturnType<typeof layerNormBackward<D, W>>;
}

/**
 * Normalisation by the root of the mean of the squares: x / √(mean(x²) + epsilon) · weight, along the
 * last axis. Squares may be out of the range of `float32`. Residual and quantised results are those of {@linkcode layerNorm}.
 *
 * @param x The tensor.
 * @param options The weight, `epsilon`, a residual to add first, the quantisation, and the stream.
 * @throws {TypeError} If an element type does not fit.
 * @throws {RangeError} If a shape does not fit, or a row that is quantised has no elements.
 *
 * @example
 * ```ts
 * import { rmsNorm, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = rmsNorm(tensor([[3, 3]]), { epsilon: 0 });
 * console.log(await y.toNested()); // [ [ 1, 1 ] ]
 * ```
 * @category Row operations
 */
export function rmsNorm<D extends DType, const O extends RmsNormOptions<D>>(
  x: Tensor<D>,
  options?: O & RmsNormOptions<D>,
): Normalized<D, O> {
  return normalise<D>("rmsNorm", x as Tensor, options ?? {}, false) as Normalized<D, O>;
}

/**
 * The gradients of {@linkcode rmsNorm}; that of a residual is `dx` too.
 *
 * @param dy The gradient of the result.
 * @param x The operand, or the sum with the residual.
 * @param options The weight and `epsilon` of the forward call, and the stream.
 * @returns The gradients of the operand and of the weight, the latter in its element type.
 * @throws {RangeError} If a shape does not fit.
 *
 * @example
 * ```ts
 * import { ones, rmsNormBackward, tensor } from "@gridstride/cuda/tensor";
 *
 * const { dWeight } = rmsNormBackward(ones([1, 2]), tensor([[3, 3]]), { weight: ones([2]) });
 * console.log(await dWeight.toNested()); // [ 1.0000, 1.0000 ]
 * ```
 * @category Row operations
 */
export function rmsNormBackward<D extends DType, W extends RowDType = D & RowDType>(
  dy: Tensor<RowDType>,
  x: Tensor<D>,
  options: TensorOptions & { readonly weight?: Tensor<W>; readonly epsilon?: number } = {},
): { readonly dx: Tensor<D>; readonly dWeight: Tensor<W> } {
  const { dx, dWeight } = gradients(
    "rmsNormBackward",
    dy as Tensor,
    x as Tensor,
    options as object,
    false,
  );
  return { dx, dWeight } as object as ReturnType<typeof rmsNormBackward<D, W>>;
}
