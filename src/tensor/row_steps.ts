/**
 * Runs row programs along an axis: one kernel over the rows, or one kernel for each stage.
 *
 * @module
 */

import { cannot } from "../ffi/arguments.ts";
import { kernelFormOf } from "../kernels/kernel_form.ts";
import { commonContext, requireDType, requireTensor, type TensorOptions } from "./kit/checks.ts";
import { newTensor } from "./kit/kernel_call.ts";
import { runMap } from "./elementwise_kernel.ts";
import {
  castNode,
  type ExpressionNode,
  keyOf,
  operationNode,
  replaceLeaves,
} from "./kit/expression/node.ts";
import type { OperationName } from "./kit/expression/operations.ts";
import { type Shape, shapeText, sizeOf } from "./kit/layout.ts";
import { reduceExpression } from "./reductions.ts";
import { keptName, meanNode, mergedNode, type RowProgram, type RowStage } from "./row_program.ts";
import { runRows } from "./rows.ts";
import { TensorScope } from "./scope.ts";
import type { Tensor } from "./tensor.ts";

/** Rows of at least this length are divided among blocks if there are few of them. */
const LONG_ROW = 32768;
/**
 * So many rows of CUDA threads are few, on every GPU: results depend on the shape alone. On the host
 * device it is half of the threads, of which rows that are not divided leave the others idle.
 */
const FEW_ROWS = 64;
/** With at least so many elements behind the axis, columns are reduced side by side. */
const MIN_COLUMNS = 16;

/**
 * The element types of row operations.
 * @category Row operations
 */
export type RowDType = "float16" | "bfloat16" | "float32" | "float64";
const ROW_DTYPES: readonly RowDType[] = ["float16", "bfloat16", "float32", "float64"];

/** Refuses tensors that are not of floating element types. */
export function requireFloats(x: unknown, name: string, action: string): Tensor {
  return requireDType(x, name, ROW_DTYPES, action);
}

/** Refuses a tensor of another shape. */
export function requireShapeOf(x: Tensor, name: string, shape: Shape, action: string): void {
  requireTensor(x, name, action);
  if (x.rank === shape.length && shape.every((extent, axis) => extent === x.shape[axis])) return;
  throw new RangeError(
    `${cannot(action)} as ${name} must have the shape ${shapeText(shape)}: it has ${
      shapeText(x.shape)
    }`,
  );
}

/** The type in which rows are computed: `float32`, but `float64` with operands of that type. */
export function rowType(...tensors: readonly Tensor[]): "float32" | "float64" {
  return tensors.some(({ dtype }) => dtype === "float64") ? "float64" : "float32";
}

/** Operands and stages of a program as nodes of its type. */
export class RowNodes {
  readonly type: "float32" | "float64";

  constructor(type: "float32" | "float64") {
    this.type = type;
  }

  /** An operand, converted. */
  input(index: number, { dtype }: Tensor): ExpressionNode {
    const node: ExpressionNode = { kind: "input", index, dtype };
    return dtype === this.type ? node : { kind: "cast", dtype: this.type, operand: node };
  }

  /** The result of a stage. */
  stage(name: string): ExpressionNode {
    return { kind: "name", name, dtype: this.type };
  }

  /** A constant of the kernel. */
  number(value: number): ExpressionNode {
    const type = this.type === "float64" ? "double" : "float";
    return { kind: "name", name: `${type}(${value})`, dtype: this.type };
  }

  of(name: OperationName, ...operands: readonly ExpressionNode[]): ExpressionNode {
    return operationNode(name, operands, this.type);
  }

  /** The largest of a stage's values. */
  get largest(): ExpressionNode {
    return mergedNode("Maximum", this.type);
  }

  /** The sum of a stage's values. */
  get sum(): ExpressionNode {
    return castNode(mergedNode("Sum", this.type), this.type);
  }

  /** The mean of a stage's values. */
  get mean(): ExpressionNode {
    return castNode(meanNode(this.type), this.type);
  }
}

/** Replaces the names of stages by operands, and kept values by their expressions. */
function resolved(
  node: ExpressionNode,
  names: ReadonlyMap<string, ExpressionNode>,
): ExpressionNode {
  return replaceLeaves(node, (leaf) => leaf.kind === "name" ? names.get(leaf.name) ?? leaf : leaf);
}

/** Runs each stage as a reduction, which divides long rows among blocks, then the outputs. */
function runSteps(
  action: string,
  { stages, elements, results }: RowProgram,
  tensors: readonly Tensor[],
  shape: Shape,
  axis: number,
  options: TensorOptions,
): Tensor[] {
  const all = [...tensors];
  const names = new Map<string, ExpressionNode>();
  try {
    for (const own of stages) {
      const dtype = own.finish?.dtype ?? own.value.dtype;
      const { keeps, ...plain } = own;
      const stage = (value: ExpressionNode): RowStage => ({ ...plain, value });
      const reduction = { action, dtype, stage, identity: true };
      const value = resolved(own.value, names);
      const reduceOptions = { ...options, axis, keepDims: true };
      const result = reduceExpression(reduction, { value, tensors: all }, reduceOptions);
      names.set(own.name, { kind: "input", index: all.push(result) - 1, dtype });
      if (keeps !== undefined) names.set(keptName(keeps), value);
    }
    const output = (
      { value, dtype }: RowProgram["elements"][number],
      target: Shape,
      operands: readonly Tensor[],
    ) => {
      const root = resolved(value, names);
      const key = `steps ${keyOf(root)}`;
      const call = { action, key, root: () => root, tensors: operands, shape: target, dtype };
      return runMap(call, options);
    };
    // Results of rows have no dimension along the axis, and use the stages only.
    const outer = shape.toSpliced(axis, 1);
    const flat = all.map((tensor, k) =>
      k < tensors.length ? all[tensors.length]!.squeeze(axis) : tensor.squeeze(axis)
    );
    try {
      return [
        ...elements.map((element) => output(element, shape, all)),
        ...results.map((result) => output(result, outer, flat)),
      ];
    } finally {
      for (const view of flat) view.dispose();
    }
  } finally {
    for (const result of all.slice(tensors.length)) result.dispose();
  }
}

/**
 * Runs a program along an axis of broadcast operands.
 *
 * @returns The tensors of the program's elements, then those of its results.
 */
export function runAlong(
  action: string,
  program: RowProgram,
  tensors: readonly Tensor[],
  shape: Shape,
  axis: number,
  options: TensorOptions = {},
): Tensor[] {
  const context = commonContext(action, tensors);
  using scope = new TensorScope();
  const { pick, elements, results } = program;
  const outer = shape.toSpliced(axis, 1);
  const place = options.stream === undefined ? {} : { stream: options.stream };
  if (sizeOf(shape) === 0) {
    if (results.length > 0 && shape[axis] === 0 && sizeOf(outer) > 0) {
      throw new RangeError(
        `${cannot(action)} as rows must have elements: the extent of axis ${axis} is 0`,
      );
    }
    return scope.keep([
      ...elements.map(({ dtype }) => newTensor(context, dtype, shape, place.stream)),
      ...results.map(({ dtype }) => newTensor(context, dtype, outer, place.stream)),
    ]);
  }
  const behind = sizeOf(shape.slice(axis + 1));
  const rows = sizeOf(outer);
  const fewRows = kernelFormOf(context) === "threads"
    ? FEW_ROWS
    : context.info.multiprocessorCount / 2;
  const isLong = shape[axis]! >= LONG_ROW && rows <= fewRows;
  if (pick === undefined && (isLong || behind >= MIN_COLUMNS)) {
    return scope.keep(runSteps(action, program, tensors, shape, axis, place));
  }
  if (axis === shape.length - 1) {
    return scope.keep(runRows({ action, program, tensors, shape, rowRank: 1 }, place));
  }
  const order = [...shape.keys()].filter((at) => at !== axis).concat(axis);
  const views = tensors.map((tensor) => tensor.broadcastTo(shape).permute(order));
  const outputs = runRows({
    action,
    program,
    tensors: views,
    shape: [...outer, shape[axis]!],
    rowRank: 1,
  }, place);
  const inverse = order.map((_, at) => order.indexOf(at));
  return scope.keep(
    outputs.map((output, k) => k >= elements.length ? output : output.permute(inverse)),
  );
}
