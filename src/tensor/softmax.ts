/**
 * Softmax and cross entropy, forward and backward.
 *
 * @module
 */

import { cannot, requireOptions } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import type { DType } from "../memory/dtype.ts";
import { copyOf } from "./elementwise_kernel.ts";
import { requireDType, type TensorOptions } from "./kit/checks.ts";
import { DeviceWork } from "./kit/device_work.ts";
import type { ExpressionNode } from "./kit/expression/node.ts";
import { requireAxis, shapeText } from "./kit/layout.ts";
import { mean, sum } from "./reductions.ts";
import {
  requireFloats,
  requireShapeOf,
  type RowDType,
  RowNodes,
  rowType,
  runAlong,
} from "./row_steps.ts";
import { keptName, POSITION, type RowPick, type RowStage } from "./row_program.ts";
import { runRows } from "./rows.ts";
import { TensorScope } from "./scope.ts";
import type { Tensor } from "./tensor.ts";

/**
 * Options of {@linkcode softmax} and its like.
 * @category Row operations
 */
export interface SoftmaxOptions extends TensorOptions {
  /** The axis along which the results add up to 1; the last one by default. */
  readonly axis?: number;
}

/**
 * The stages of all operations here: the largest element, and the sum of powers.
 *
 * @param keeps Whether the powers are kept: it takes less time to read them than to compute them.
 */
function powers(
  nodes: RowNodes,
  x: ExpressionNode,
  finish: "reciprocal" | "log",
  keeps: boolean,
) {
  const distance = nodes.of("subtract", x, nodes.stage("largest"));
  const exponential = nodes.of("exp", distance);
  const power = keeps ? nodes.stage(keptName(0)) : exponential;
  const stages: RowStage[] = [
    { reducer: "Maximum", name: "largest", value: x },
    {
      reducer: "Sum",
      name: "total",
      value: exponential,
      finish: nodes.of(finish, nodes.sum),
      ...(keeps ? { keeps: 0 } : {}),
    },
  ];
  return { stages, distance, power, total: nodes.stage("total") };
}

/** Whether intermediate values are kept: CUDA threads keep them in registers, loops in the result. */
const isKept = ({ type }: RowNodes, { dtype, context }: Tensor) =>
  dtype === type || DeviceWork.of(context).form === "threads";

function forward(
  action: string,
  x: Tensor,
  all: SoftmaxOptions,
  isLog: boolean,
): Tensor {
  const { axis = -1, ...options } = requireOptions(all, ["axis", "stream"], action);
  requireFloats(x, "x", action);
  const at = requireAxis(axis, x.rank, action);
  const nodes = new RowNodes(rowType(x));
  const { stages, distance, power, total } = powers(
    nodes,
    nodes.input(0, x),
    isLog ? "log" : "reciprocal",
    !isLog && isKept(nodes, x),
  );
  const value = isLog ? nodes.of("subtract", distance, total) : nodes.of("multiply", power, total);
  const program = { stages, elements: [{ value, dtype: x.dtype }], results: [] };
  return runAlong(action, program, [x], x.shape, at, options)[0]!;
}

function backward(
  action: string,
  dy: Tensor,
  y: Tensor,
  all: SoftmaxOptions,
  isLog: boolean,
): Tensor {
  const { axis = -1, ...options } = requireOptions(all, ["axis", "stream"], action);
  requireFloats(dy, "dy", action);
  requireFloats(y, "y", action);
  requireShapeOf(dy, "dy", y.shape, action);
  const at = requireAxis(axis, y.rank, action);
  const nodes = new RowNodes(rowType(dy, y));
  const [gradient, output] = [nodes.input(0, dy), nodes.input(1, y)];
  const total = nodes.stage("total");
  const summed = isLog ? gradient : nodes.of("multiply", gradient, output);
  const value = isLog
    ? nodes.of("subtract", gradient, nodes.of("multiply", nodes.of("exp", output), total))
    : nodes.of("multiply", output, nodes.of("subtract", gradient, total));
  const stages: RowStage[] = [{ reducer: "Sum", name: "total", value: summed }];
  const program = { stages, elements: [{ value, dtype: y.dtype }], results: [] };
  return runAlong(action, program, [dy, y], y.shape, at, options)[0]!;
}

/**
 * e to the power of the elements, divided by the sum along an axis. Computed with differences to the
 * largest element, so that large elements do not overflow. A row with +inf or NaN, or of -inf alone,
 * gives NaN, as in PyTorch.
 *
 * 16-bit floats are computed as `float32`.
 *
 * @param x The tensor.
 * @param options The axis, the last by default, and the stream.
 * @throws {TypeError} If the elements are not of a floating type of 16 bits or more.
 * @throws {RangeError} If the axis is out of range.
 *
 * @example
 * ```ts
 * import { softmax, tensor } from "@gridstride/cuda/tensor";
 *
 * using x = tensor([[0, 0], [1000, -1000]]);
 * using y = softmax(x);
 * console.log(await y.toNested()); // [ [ 0.5, 0.5 ], [ 1, 0 ] ]
 * ```
 * @category Row operations
 */
export function softmax<D extends DType>(x: Tensor<D>, options: SoftmaxOptions = {}): Tensor<D> {
  return forward("softmax", x as Tensor, options, false) as Tensor as Tensor<D>;
}

/**
 * The gradient of {@linkcode softmax}: y · (dy − Σ dy · y).
 *
 * @param dy The gradient of the result.
 * @param y The result.
 * @param options The axis, the last by default, and the stream.
 * @returns The gradient of the operand.
 * @throws {RangeError} If the shapes differ.
 *
 * @example
 * ```ts
 * import { softmaxBackward, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = softmaxBackward(tensor([1, 0]), tensor([0.5, 0.5]));
 * console.log(await y.toNested()); // [ 0.25, -0.25 ]
 * ```
 * @category Row operations
 */
export function softmaxBackward<D extends DType>(
  dy: Tensor<RowDType>,
  y: Tensor<D>,
  options: SoftmaxOptions = {},
): Tensor<D> {
  return backward("softmaxBackward", dy as Tensor, y as Tensor, options, false) as
    & Tensor
    & Tensor<D>;
}

/**
 * The logarithm of {@linkcode softmax}, exact where that is tiny.
 *
 * @param x The tensor.
 * @param options The axis, the last by default, and the stream.
 * @throws {TypeError} If the elements are not of a floating type of 16 bits or more.
 * @throws {RangeError} If the axis is out of range.
 *
 * @example
 * ```ts
 * import { logSoftmax, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = logSoftmax(tensor([0, 0]));
 * console.log(await y.toNested()); // [ -0.6931, -0.6931 ]
 * ```
 * @category Row operations
 */
export function logSoftmax<D extends DType>(
  x: Tensor<D>,
  options: SoftmaxOptions = {},
): Tensor<D> {
  return forward("logSoftmax", x as Tensor, options, true) as Tensor as Tensor<D>;
}

/**
 * The gradient of {@linkcode logSoftmax}: dy − e^y · Σ dy.
 *
 * @param dy The gradient of the result.
 * @param y The result.
 * @param options The axis, the last by default, and the stream.
 * @returns The gradient of the operand.
 * @throws {RangeError} If the shapes differ.
 *
 * @example
 * ```ts
 * import { logSoftmaxBackward, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = logSoftmaxBackward(tensor([1, 0]), tensor([0, 0]).subtract(Math.LN2));
 * console.log(await y.toNested()); // [ 0.5000, -0.5000 ]
 * ```
 * @category Row operations
 */
export function logSoftmaxBackward<D extends DType>(
  dy: Tensor<RowDType>,
  y: Tensor<D>,
  options: SoftmaxOptions = {},
): Tensor<D> {
  return backward("logSoftmaxBackward", dy as Tensor, y as Tensor, options, true) as
    & Tensor
    & Tensor<D>;
}

/**
 * Options of {@linkcode crossEntropy} and its gradient.
 * @category Row operations
 */
export interface CrossEntropyOptions extends TensorOptions {
  /** The mean or the sum of the losses of all rows, or each of them; the mean by default. */
  readonly reduction?: "mean" | "sum" | "none";
}

const REDUCTIONS = ["mean", "sum", "none"];

/** Checks the operands of a cross entropy, of which the labels become a column. */
function classified(
  action: string,
  logits: Tensor,
  labels: Tensor,
  { reduction = "mean" }: CrossEntropyOptions,
) {
  requireFloats(logits, "logits", action);
  requireDType(labels, "labels", ["int32", "int64"], action);
  const classes = logits.shape.at(-1);
  if (classes === undefined || classes === 0) {
    throw new RangeError(
      `${cannot(action)} as logits must have classes along the last axis: the shape is ${
        shapeText(logits.shape)
      }`,
    );
  }
  requireShapeOf(labels, "labels", logits.shape.slice(0, -1), action);
  if (!REDUCTIONS.includes(reduction)) {
    throw new TypeError(
      `${cannot(action)} as options.reduction must be ${REDUCTIONS.join(", ")}: it is ${
        describeValue(reduction)
      }`,
    );
  }
  const pick: RowPick = {
    name: "chosen",
    index: 0,
    position: {
      kind: "cast",
      dtype: "int64",
      operand: { kind: "input", index: 1, dtype: labels.dtype },
    },
    error: (label) =>
      new RangeError(
        `${cannot(action)} as labels must be class numbers in 0..${classes - 1}: one is ${label}`,
      ),
  };
  return { reduction, pick, column: labels.expandDims(-1) };
}

/**
 * The cross entropy of classifications: the negative logarithm of the {@linkcode softmax} of each
 * row at its label, in one pass without the softmax in memory.
 *
 * @param logits Scores, with the classes along the last axis.
 * @param labels Class numbers, `int32` or `int64`, of the shape without that axis.
 * @param options The reduction of the losses, and the stream.
 * @returns A tensor without dimensions, or one loss for each row with `reduction: "none"`.
 * @throws {TypeError} If an element type does not fit.
 * @throws {RangeError} If the shapes do not fit. A label out of range is reported when a result is
 * read.
 *
 * @example
 * ```ts
 * import { crossEntropy, tensor } from "@gridstride/cuda/tensor";
 *
 * using logits = tensor([[0, 0], [-100, 100]]);
 * using labels = tensor([1, 1], { dtype: "int32" });
 * using loss = crossEntropy(logits, labels);
 * console.log(await loss.item()); // 0.3465735912322998
 * ```
 * @category Row operations
 */
export function crossEntropy<D extends DType>(
  logits: Tensor<D>,
  labels: Tensor<"int32" | "int64">,
  options: CrossEntropyOptions = {},
): Tensor<D> {
  const action = "crossEntropy";
  requireOptions(options, ["reduction", "stream"], action);
  const x = logits as Tensor;
  using scope = new TensorScope();
  const { reduction, pick, column: labelColumn } = classified(
    action,
    x,
    labels as Tensor,
    options,
  );
  const nodes = new RowNodes(rowType(x));
  const { stages, total } = powers(nodes, nodes.input(0, x), "log", false);
  const chosen: ExpressionNode = { kind: "name", name: "chosen()", dtype: x.dtype };
  const scored: ExpressionNode = { kind: "cast", dtype: nodes.type, operand: chosen };
  const value = nodes.of("add", nodes.of("subtract", nodes.stage("largest"), scored), total);
  // Losses of rows are added up before they are rounded to a narrow type.
  const dtype = reduction === "none" ? x.dtype : nodes.type;
  const program = { pick, stages, elements: [], results: [{ value, dtype }] };
  const place = options.stream === undefined ? {} : { stream: options.stream };
  const [losses] = runRows({
    action,
    program,
    tensors: [x, labelColumn],
    shape: x.shape,
    rowRank: 1,
  }, place);
  const result = reduction === "none"
    ? losses!
    : reduction === "mean"
    ? mean(losses!, place)
    : sum(losses!, place);
  return scope.keep(
    result.dtype === x.dtype ? result : copyOf(result as Tensor, x.dtype, place),
  ) as Tensor as Tensor<D>;
}

/**
 * The gradient of {@linkcode crossEntropy} by the logits: dy · (softmax − 1 at the label), divided
 * by the number of rows for a mean.
 *
 * @param dy The gradient of the result, of its shape; 1 for a loss that is the end.
 * @param logits The scores of the forward call.
 * @param labels The class numbers of the forward call.
 * @param options The reduction of the forward call, and the stream.
 * @returns The gradient of the logits.
 * @throws {RangeError} If the shapes do not fit. A label out of range is reported when a result is
 * read.
 *
 * @example
 * ```ts
 * import { crossEntropyBackward, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = crossEntropyBackward(1, tensor([[0, 0]]), tensor([1], { dtype: "int32" }));
 * console.log(await y.toNested()); // [ [ 0.5, -0.5 ] ]
 * ```
 * @category Row operations
 */
export function crossEntropyBackward<D extends DType>(
  dy: Tensor<RowDType> | number,
  logits: Tensor<D>,
  labels: Tensor<"int32" | "int64">,
  options: CrossEntropyOptions = {},
): Tensor<D> {
  const action = "crossEntropyBackward";
  requireOptions(options, ["reduction", "stream"], action);
  const x = logits as Tensor;
  using scope = new TensorScope();
  const { reduction, pick, column: labelColumn } = classified(
    action,
    x,
    labels as Tensor,
    options,
  );
  const isNumber = typeof dy === "number";
  const tensors: Tensor[] = [x, labelColumn];
  if (!isNumber) {
    requireFloats(dy, "dy", action);
    requireShapeOf(dy as Tensor, "dy", reduction === "none" ? labels.shape : [], action);
    tensors.push(dy.expandDims(-1) as Tensor);
  }
  const nodes = new RowNodes(rowType(...tensors.filter((_, k) => k !== 1)));
  const { stages, power, total } = powers(
    nodes,
    nodes.input(0, x),
    "reciprocal",
    isKept(nodes, x),
  );
  const isLabel: ExpressionNode = {
    kind: "operation",
    name: "equal",
    dtype: "bool",
    operands: [POSITION, { kind: "name", name: "at_chosen", dtype: "int64" }],
  };
  const share: ExpressionNode = {
    kind: "select",
    dtype: nodes.type,
    condition: isLabel,
    operands: [nodes.number(1), nodes.number(0)],
  };
  const difference = nodes.of("subtract", nodes.of("multiply", power, total), share);
  const scale: ExpressionNode = { kind: "scalar", index: 0, dtype: nodes.type };
  const scaled = nodes.of("multiply", difference, scale);
  const value = isNumber ? scaled : nodes.of("multiply", scaled, nodes.input(2, tensors[2]!));
  const rows = Math.max(1, labels.size);
  const factor = (isNumber ? dy : 1) / (reduction === "mean" ? rows : 1);
  const program = { pick, stages, elements: [{ value, dtype: x.dtype }], results: [] };
  const place = options.stream === undefined ? {} : { stream: options.stream };
  const scalars = [{ dtype: nodes.type, value: factor }];
  const [result] = runRows(
    { action, program, tensors, scalars, shape: x.shape, rowRank: 1 },
    place,
  );
  return scope.keep(result) as Tensor as Tensor<D>;
}
