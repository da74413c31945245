/**
 * Writes elements in place. Those of a mask need no number: all elements of its axes are written, and
 * those where it is false keep their value.
 *
 * @module
 */

import { cannot, requireOptions } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import { zeros } from "../creation.ts";
import { applyExpression, copyOf, runMap } from "../elementwise_kernel.ts";
import { where } from "../elementwise.ts";
import { taken } from "../indexing.ts";
import {
  commonContext,
  type Operand,
  requireDistinct,
  requireStored,
  scalarFor,
  type TensorOptions,
} from "../kit/checks.ts";
import { type ExpressionNode, operationNode } from "../kit/expression/node.ts";
import { shapeText } from "../kit/layout.ts";
import { promote } from "../kit/promotion.ts";
import { TensorScope } from "../scope.ts";
import { cumulativeSum } from "../sorting.ts";
import { storageOf, Tensor } from "../tensor.ts";
import { type Selection, selectionOf, type Selector } from "./selection.ts";

/** Refuses a value that does not broadcast to the selection, or is of a type that loses digits. */
function requireValue(value: Tensor, { view, mask, axis }: Selection, action: string): void {
  requireStored(value, "value", action);
  commonContext(action, [view, value]);
  if (promote(view.dtype, value.dtype) !== view.dtype) {
    throw new TypeError(
      `${cannot(action)} as value must have a type that promotes to ${view.dtype}: it is ` +
        `${value.dtype}. Cast it by astype()`,
    );
  }
  const shape: (number | "n")[] = [...view.shape];
  if (mask !== undefined) shape.splice(axis, mask.rank, "n");
  const skipped = shape.length - value.rank;
  const isFit = skipped >= 0 && value.shape.every((extent, at) => {
    const wanted = shape[at + skipped]!;
    return extent === 1 || wanted === "n" || extent === wanted;
  });
  if (isFit) return;
  throw new RangeError(
    `${cannot(action)} as value must broadcast to the selection, ${shapeText(shape as number[])}${
      mask === undefined ? "" : " with n true elements of the mask"
    }: its shape is ${shapeText(value.shape)}`,
  );
}

/**
 * The elements of a value at the places of a mask: one for all of them, or its elements in their
 * order at the true ones, and any elsewhere.
 *
 * @param axis The axis of the value that the axes of the mask replace; negative if it has none.
 */
function spread(
  value: Tensor,
  axis: number,
  mask: Tensor,
  action: string,
  options: TensorOptions,
): Tensor {
  if (axis < 0) return value;
  const count = value.shape[axis]!;
  if (count === 1) return value.reshape(value.shape.toSpliced(axis, 1, ...mask.shape.map(() => 1)));
  const error = (total: bigint) =>
    new RangeError(
      `${
        cannot(action)
      } as value must have as many elements along axis ${axis} as the mask has true ` +
        `ones, ${total}, or 1: it has ${count}`,
    );
  if (mask.size === 0) {
    if (count !== 0) throw error(0n);
    return value.reshape(value.shape.toSpliced(axis, 1, ...mask.shape));
  }
  // No element is an error only if the mask has a true one.
  const source = count > 0
    ? value
    : zeros(value.shape.with(axis, 1), { ...options, device: value, dtype: value.dtype }) as Tensor;
  const extent = source.shape[axis]!;
  const sums = cumulativeSum(mask.flatten() as Tensor<"bool">, options);
  // A wrong number gives positions out of range, which tell it.
  const build = ([sum, total, wanted, outside, one, zero]: readonly ExpressionNode[]) => {
    const place = operationNode("subtract", [sum!, one!], "int64");
    return {
      kind: "select",
      dtype: "int64",
      condition: operationNode("equal", [total!, wanted!], "int64"),
      operands: [
        operationNode("maximum", [place, zero!], "int64"),
        operationNode("add", [total!, outside!], "int64"),
      ],
    } satisfies ExpressionNode;
  };
  const places = applyExpression({
    action,
    key: "places of values",
    operands: [sums as Tensor, sums.slice([-1]) as Tensor, count, extent, 1, 0],
    scalarTypes: new Array(6).fill("int64"),
    dtype: "int64",
    build,
  }, options);
  return taken(
    action,
    source,
    places.reshape(mask.shape),
    axis,
    options,
    (position) => error(position - BigInt(extent)),
  );
}

/** The writing of {@linkcode Tensor.set}. */
export function setElements(
  x: Tensor,
  index: readonly Selector[],
  value: Operand,
  all: TensorOptions,
): void {
  const action = "set elements";
  const options = requireOptions(all, ["stream"], action);
  using _scope = new TensorScope();
  const selection = selectionOf(x, index, action);
  const { view, mask, axis } = selection;
  const { shape, dtype, context } = view;
  requireDistinct(action, "the tensor", view);
  if (value instanceof Tensor) requireValue(value, selection, action);
  else if (!["number", "bigint", "boolean"].includes(typeof value)) {
    throw new TypeError(
      `${cannot(action)} as value must be a number or a tensor: it is ${describeValue(value)}`,
    );
  }
  const to = { ...options, out: view };
  // A write must not change what it still reads.
  const apart = (tensor: Tensor) =>
    storageOf(tensor) === storageOf(x) ? copyOf(tensor, tensor.dtype, options) : tensor;
  const source = value instanceof Tensor ? apart(value) : scalarFor(value, dtype, action);
  if (mask !== undefined) {
    const trailing = view.rank - axis - mask.rank;
    const own = apart(mask);
    const condition = own.reshape([...mask.shape, ...new Array<number>(trailing).fill(1)]);
    const elements = source instanceof Tensor
      ? spread(source, source.rank - 1 - trailing, own, action, options)
      : source;
    where(condition as Tensor<"bool">, elements, view, to);
  } else if (source instanceof Tensor) {
    copyOf(source.broadcastTo(shape), dtype, to);
  } else {
    const scalars = [{ dtype, value: source }];
    const root = (): ExpressionNode => ({ kind: "scalar", index: 0, dtype });
    runMap({ action, key: `fill ${dtype}`, root, tensors: [], scalars, shape, dtype, context }, to);
  }
}
