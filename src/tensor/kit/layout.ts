/**
 * Shapes and strides: broadcasting, views, and merging of dimensions.
 *
 * @module
 */

import { cannot } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";

/** The class of an innermost stride: a repeated element, dense, or any stride. */
export function strideClass(stride: number): string {
  return stride === 0 ? "0" : stride === 1 ? "1" : "s";
}

/**
 * The extents of a tensor, outermost first.
 * @category Tensors
 */
export type Shape = readonly number[];

/** The maximum number of dimensions. */
export const MAX_RANK = 8;

/** The place of a tensor's elements in a buffer; strides and the offset count elements. */
export interface Layout {
  readonly shape: Shape;
  readonly strides: readonly number[];
  readonly offset: number;
}

/**
 * A range of positions along an axis, as Python's `start:stop:step`.
 * @category Tensors
 */
export interface Slice {
  /** The first position; negative ones count from the end. */
  readonly start?: number;
  /** The position after the last one; the end by default. */
  readonly stop?: number;
  /** The distance of positions; negative ones go backwards. */
  readonly step?: number;
}

/** The number of elements. */
export function sizeOf(shape: Shape): number {
  let size = 1;
  for (const extent of shape) size *= extent;
  return size;
}

/** The strides of a dense tensor in row-major order. */
export function denseStrides(shape: Shape): number[] {
  const strides = new Array<number>(shape.length);
  let stride = 1;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    strides[axis] = stride;
    stride *= shape[axis]!;
  }
  return strides;
}

/** Whether the elements lie in row-major order without gaps. */
export function isDense({ shape, strides }: Pick<Layout, "shape" | "strides">): boolean {
  if (shape.includes(0)) return true;
  let stride = 1;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    const extent = shape[axis]!;
    if (extent !== 1 && strides[axis] !== stride) return false;
    stride *= extent;
  }
  return true;
}

/** The first and the last element that a layout addresses. */
export function extentOf({ shape, strides, offset }: Layout): readonly [number, number] {
  let [lowest, highest] = [offset, offset];
  shape.forEach((extent, axis) => {
    const reach = (extent - 1) * strides[axis]!;
    if (reach < 0) lowest += reach;
    else highest += reach;
  });
  return [lowest, highest];
}

/** The positions of a layout's elements in row-major order. */
export function positionsOf({ shape, strides, offset }: Layout): number[] {
  return shape.reduce(
    (positions, extent, axis) =>
      positions.flatMap((from) =>
        Array.from({ length: extent }, (_, index) => from + index * strides[axis]!)
      ),
    [offset],
  );
}

/** Text of a shape as in messages: `(2, 3)`. */
export function shapeText(shape: Shape): string {
  return shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(", ")})`;
}

/** Checks a shape that the program gives. */
export function requireShape(shape: unknown, action: string, name = "shape"): Shape {
  if (!Array.isArray(shape)) {
    throw new TypeError(
      `${cannot(action)} as ${name} must be an array of extents: it is ${describeValue(shape)}`,
    );
  }
  if (shape.length > MAX_RANK) {
    throw new RangeError(
      `${
        cannot(action)
      } as ${name} must have at most ${MAX_RANK} dimensions: it has ${shape.length}`,
    );
  }
  for (const extent of shape) {
    if (Number.isSafeInteger(extent) && extent >= 0) continue;
    throw new RangeError(
      `${cannot(action)} as ${name} must have integers of at least 0: it has ${
        describeValue(extent)
      }`,
    );
  }
  const size = sizeOf(shape as number[]);
  if (size <= Number.MAX_SAFE_INTEGER / 8) return [...shape as number[]];
  throw new RangeError(
    `${cannot(action)} as ${name} must have fewer than 2^50 elements: ${
      shapeText(shape)
    } has ${size}`,
  );
}

/** The axis as a number from 0; negative ones count from the end. */
export function requireAxis(axis: unknown, rank: number, action: string, name = "axis"): number {
  if (!Number.isInteger(axis)) {
    throw new TypeError(
      `${cannot(action)} as ${name} must be an integer: it is ${describeValue(axis)}`,
    );
  }
  const index = axis as number;
  if (index >= -rank && index < rank) return index < 0 ? index + rank : index;
  const allowed = rank === 0 ? "there is none in a tensor without dimensions" : undefined;
  throw new RangeError(
    `${cannot(action)} as ${name} must be in ${-rank}..${rank - 1}: it is ${index}` +
      (allowed === undefined ? "" : `, and ${allowed}`),
  );
}

/** Sorted axes from 0; all axes if none are given. */
export function requireAxes(
  axes: number | readonly number[] | undefined,
  rank: number,
  action: string,
): number[] {
  if (axes === undefined) return Array.from({ length: rank }, (_, axis) => axis);
  const list = Array.isArray(axes) ? axes : [axes];
  const all = list.map((axis) => requireAxis(axis, rank, action));
  if (new Set(all).size === all.length) return all.sort((a, b) => a - b);
  throw new RangeError(`${cannot(action)} as axis must not repeat: it is ${list.join(", ")}`);
}

/** Distinct axes in the order in which they are given. */
export function requireAxisOrder(
  axes: number | readonly number[],
  rank: number,
  action: string,
): number[] {
  requireAxes(axes, rank, action);
  return [axes].flat().map((axis) => requireAxis(axis, rank, action));
}

/** The common shape of operands: extents are equal, or one of them is 1. */
export function broadcastShapes(action: string, first: Shape, ...others: readonly Shape[]): Shape {
  let result = first;
  for (const other of others) {
    if (result === other) continue;
    const rank = Math.max(result.length, other.length);
    const merged = new Array<number>(rank);
    for (let back = 1; back <= rank; back++) {
      const a = result[result.length - back] ?? 1;
      const b = other[other.length - back] ?? 1;
      if (a !== b && a !== 1 && b !== 1) {
        throw new RangeError(
          `${cannot(action)} as the shapes must broadcast: they are ${shapeText(result)} and ${
            shapeText(other)
          }, with extents ${a} and ${b} at axis -${back}`,
        );
      }
      merged[rank - back] = a === 1 ? b : a;
    }
    result = merged;
  }
  return result;
}

/** The strides of an operand that is broadcast to a shape. */
export function broadcastStrides({ shape, strides }: Layout, target: Shape): readonly number[] {
  if (shape === target) return strides;
  const skipped = target.length - shape.length;
  const result = new Array<number>(target.length);
  for (let axis = 0; axis < target.length; axis++) {
    const source = axis - skipped;
    result[axis] = source < 0 || (shape[source] === 1 && target[axis] !== 1) ? 0 : strides[source]!;
  }
  return result;
}

/** A space of merged dimensions, with the strides of each operand. */
export interface Space {
  readonly shape: number[];
  /** The strides, by operand and then by dimension. */
  readonly strides: number[][];
}

/**
 * Drops dimensions of extent 1 and merges neighbours where all operands allow it. At least one
 * dimension is left.
 */
export function mergeDimensions(shape: Shape, operands: readonly (readonly number[])[]): Space {
  const sizes: number[] = [];
  const strides: number[][] = operands.map(() => []);
  for (let axis = 0; axis < shape.length; axis++) {
    const extent = shape[axis]!;
    if (extent === 1) continue;
    const last = sizes.length - 1;
    let isMergeable = last >= 0;
    for (let k = 0; isMergeable && k < operands.length; k++) {
      isMergeable = strides[k]![last] === operands[k]![axis]! * extent;
    }
    if (isMergeable) {
      sizes[last]! *= extent;
      for (let k = 0; k < operands.length; k++) strides[k]![last] = operands[k]![axis]!;
    } else {
      sizes.push(extent);
      for (let k = 0; k < operands.length; k++) strides[k]!.push(operands[k]![axis]!);
    }
  }
  if (sizes.length === 0) {
    sizes.push(1);
    for (const strideList of strides) strideList.push(0);
  }
  return { shape: sizes, strides };
}

const SLICE_NAMES: readonly string[] = ["start", "stop", "step"];

/** Refuses what is no range. Arrays, promises and misspelt names would count as the whole axis. */
function requireSlice(slice: object, name: string, action: string): Slice {
  const unknown = Object.keys(slice).find((it) => !SLICE_NAMES.includes(it));
  const prototype = Object.getPrototypeOf(slice);
  const isPlain = prototype === Object.prototype || prototype === null;
  if (unknown === undefined && isPlain) return slice;
  throw new TypeError(
    `${cannot(action)} as ${name} must be a position or a range with start, stop and step: it is ${
      describeValue(slice)
    }${unknown === undefined ? "" : ` with ${unknown}`}`,
  );
}

/** The layout of some positions along an axis. */
function sliceAxis(layout: Layout, axis: number, slice: Slice, action: string): Layout {
  const { start, stop, step = 1 } = slice;
  for (const [name, value] of Object.entries({ start, stop, step })) {
    if (value === undefined || (Number.isInteger(value) && (name !== "step" || value !== 0))) {
      continue;
    }
    throw new RangeError(
      `${cannot(action)} as ${name} must be an integer${name === "step" ? " other than 0" : ""}: ` +
        `it is ${describeValue(value)}`,
    );
  }
  const extent = layout.shape[axis]!;
  const [lowest, highest] = step > 0 ? [0, extent] : [-1, extent - 1];
  const clamp = (position: number) =>
    Math.max(lowest, Math.min(highest, position < 0 ? position + extent : position));
  const from = start === undefined ? (step > 0 ? 0 : extent - 1) : clamp(start);
  const to = stop === undefined ? (step > 0 ? extent : -1) : clamp(stop);
  const length = Math.max(0, Math.ceil((to - from) / step));
  const stride = layout.strides[axis]!;
  return {
    shape: layout.shape.with(axis, length),
    strides: layout.strides.with(axis, stride * step),
    offset: layout.offset + (length === 0 ? 0 : from * stride),
  };
}

/**
 * The layout of positions, each of which drops its axis, and ranges along the first axes.
 *
 * @param names The name of each entry in messages.
 */
export function sliceLayout(
  { shape, strides, offset }: Layout,
  index: readonly unknown[],
  action: string,
  names: readonly string[] = index.map((_, axis) => `index[${axis}]`),
): Layout {
  let layout: Layout = { shape, strides, offset };
  const dropped: number[] = [];
  index.forEach((entry, axis) => {
    if (typeof entry === "object" && entry !== null) {
      layout = sliceAxis(layout, axis, requireSlice(entry, names[axis]!, action), action);
      return;
    }
    const extent = shape[axis]!;
    const position = Number.isInteger(entry) ? entry as number : NaN;
    if (!(position >= -extent && position < extent)) {
      throw new RangeError(
        `${cannot(action)} as ${names[axis]} must be a range or a position in ${-extent}..${
          extent - 1
        }: it is ${describeValue(entry)}`,
      );
    }
    const start = position < 0 ? position + extent : position;
    layout = sliceAxis(layout, axis, { start, stop: start + 1 }, action);
    dropped.push(axis);
  });
  const isKept = (_: number, axis: number) => !dropped.includes(axis);
  return {
    shape: layout.shape.filter(isKept),
    strides: layout.strides.filter(isKept),
    offset: layout.offset,
  };
}

/** The strides of a view of another shape; `undefined` if only a copy has that shape. */
export function reshapedStrides(layout: Layout, shape: Shape): number[] | undefined {
  if (isDense(layout)) return denseStrides(shape);
  const space = mergeDimensions(layout.shape, [layout.strides]);
  const strides = new Array<number>(shape.length).fill(0);
  let axis = shape.length - 1;
  for (let merged = space.shape.length - 1; merged >= 0; merged--) {
    let stride = space.strides[0]![merged]!;
    let remaining = space.shape[merged]!;
    for (
      ;
      axis >= 0 && remaining % shape[axis]! === 0 && (remaining > 1 || shape[axis] === 1);
      axis--
    ) {
      strides[axis] = stride;
      stride *= shape[axis]!;
      remaining /= shape[axis]!;
    }
    if (remaining !== 1) return undefined;
  }
  return strides;
}

/** The shape of a reshape, in which one extent may be -1. */
export function inferShape(shape: unknown, size: number, action: string): Shape {
  const list = Array.isArray(shape) ? shape as number[] : [];
  const unknown = list.indexOf(-1);
  const known = unknown < 0 ? shape : list.with(unknown, 1);
  const checked = requireShape(known, action);
  const knownSize = sizeOf(checked);
  const isFit = unknown < 0 ? knownSize === size : knownSize > 0 && size % knownSize === 0;
  if (!isFit) {
    throw new RangeError(
      `${cannot(action)} as shape must have ${size} elements: it is ${shapeText(list)}`,
    );
  }
  return unknown < 0 ? checked : checked.with(unknown, size / knownSize);
}

/**
 * Adds a space to the numbers of a kernel, with the strides along its first axes: extents `d0`, `d1` and
 * so on, and the stride of operand `k` along an axis as `s0_k`, `s1_k` and so on.
 */
export function addSpace(
  numbers: Record<string, number>,
  { shape, strides }: Space,
  axes: number = shape.length,
): void {
  shape.forEach((extent, axis) => numbers[`d${axis}`] = extent);
  for (let axis = 0; axis < axes; axis++) {
    strides.forEach((operand, k) => numbers[`s${axis}_${k}`] = operand[axis]!);
  }
}

/** The statements that fill a `Space` by the numbers of {@linkcode addSpace}. */
export function spaceText(rank: number, operands: number, axes: number = rank): string[] {
  const indices = (count: number) => Array.from({ length: count }, (_, index) => index);
  return [
    ...indices(rank).map((axis) => `  space.size[${axis}] = d${axis};`),
    ...indices(axes).flatMap((axis) =>
      indices(operands).map((k) => `  space.stride[${axis}][${k}] = s${axis}_${k};`)
    ),
  ];
}
