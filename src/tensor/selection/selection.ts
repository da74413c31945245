/**
 * Indices of positions, ranges and a mask.
 *
 * @module
 */

import { cannot } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import { commonContext, requireDType, requireStored } from "../kit/checks.ts";
import { shapeText, type Slice, sliceLayout } from "../kit/layout.ts";
import { TensorScope } from "../scope.ts";
import { makeTensor, storageOf, Tensor } from "../tensor.ts";

/**
 * An entry of an index: a position, a range, or a mask of the shape of the axes that it covers.
 * @category Tensors
 */
export type Selector = number | Slice | Tensor<"bool">;

/** What an index selects. */
export interface Selection {
  /** A view of the positions and ranges, in which the axes of the mask are whole. */
  readonly view: Tensor;
  readonly mask: Tensor | undefined;
  /** The first axis of the mask in the view, which is its axis in the selection. */
  readonly axis: number;
}

/** Refuses an index with more than one mask, or one of a wrong type; its position, or -1. */
function findMask(index: readonly unknown[], action: string): number {
  const isTensor = (entry: unknown) => entry instanceof Tensor;
  const [first, last] = [index.findIndex(isTensor), index.findLastIndex(isTensor)];
  if (first !== last) {
    throw new TypeError(
      `${cannot(action)} as index must have one mask at most: index[${first}] and index[${last}] ` +
        "are tensors",
    );
  }
  if (first >= 0) storageOf(requireDType(index[first], `index[${first}]`, ["bool"], action));
  return first;
}

/** Checks an index. */
export function selectionOf(x: Tensor, index: unknown, action: string): Selection {
  requireStored(x, "the tensor", action);
  if (!Array.isArray(index)) {
    throw new TypeError(
      `${cannot(action)} as index must be an array of positions, ranges and a mask: it is ${
        describeValue(index)
      }`,
    );
  }
  const at = findMask(index, action);
  const mask: Tensor | undefined = index[at];
  const covered = mask?.rank ?? 0;
  const axesOf = (entry: unknown): unknown[] =>
    entry instanceof Tensor ? entry.shape.map(() => ({})) : [entry];
  const ranges = index.flatMap(axesOf);
  if (ranges.length > x.rank) {
    throw new RangeError(
      `${cannot(action)} as index must cover at most ${x.rank} axes: it covers ${ranges.length}`,
    );
  }
  const names = index.flatMap((entry, place) => axesOf(entry).map(() => `index[${place}]`));
  const layout = sliceLayout(x, ranges, action, names);
  if (mask === undefined) {
    return { view: makeTensor(storageOf(x), x.dtype, layout), mask, axis: 0 };
  }
  commonContext(action, [x, mask]);
  const shape = x.shape.slice(at, at + covered);
  if (covered === 0 || mask.shape.some((extent, axis) => extent !== shape[axis])) {
    throw new RangeError(
      `${cannot(action)} as index[${at}] must have the shape of ${
        covered === 0 ? "one axis or more" : `its axes, ${shapeText(shape)}`
      }: it has ${shapeText(mask.shape)}`,
    );
  }
  using scope = new TensorScope();
  const view = makeTensor(storageOf(x), x.dtype, layout);
  // The rule of NumPy: positions and masks select together. If a range is between them, their axis
  // is the first.
  const isFixed = index.map((entry: unknown) => typeof entry === "number" || entry === mask);
  const isApart = isFixed.slice(isFixed.indexOf(true), isFixed.lastIndexOf(true)).includes(false);
  const before = isFixed.slice(0, at).filter((it) => !it).length;
  if (!isApart) return scope.keep({ view, mask, axis: before });
  const axes = [...view.shape.keys()];
  return scope.keep({
    view: view.permute([...axes.splice(before, covered), ...axes]),
    mask,
    axis: 0,
  });
}
