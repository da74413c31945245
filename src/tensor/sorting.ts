/**
 * Sorting, searching and running sums.
 *
 * @module
 */

import { templates } from "./kit/expression/kernel_template.ts";
import { cannot, requireInteger, requireOptions } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import { bytesPerElement, cTypeOf, type DType, isFloatDType } from "../memory/dtype.ts";
import { applyOperation, copyOf, dense } from "./elementwise_kernel.ts";
import { CHUNK, newTensor } from "./kit/kernel_call.ts";
import { commonContext, commonType, requireStored, type TensorOptions } from "./kit/checks.ts";
import { arange, ones, zeros } from "./creation.ts";
import { valueType } from "./kit/expression/operations.ts";
import { denseStrides, requireAxis, shapeText } from "./kit/layout.ts";
import { type AxisOptions, concat } from "./manipulation.ts";
import { type SumResult, sumResult } from "./kit/promotion.ts";
import { requireSumType } from "./reductions.ts";
import { operationStream } from "./kit/storage.ts";
import { runTemplate } from "./kit/templates.ts";
import { TensorScope } from "./scope.ts";
import { storageOf, type Tensor } from "./tensor.ts";

/**
 * Options of {@linkcode sort} and {@linkcode argsort}.
 * @category Tensors
 */
export interface SortOptions extends TensorOptions {
  /** The axis, the last by default. */
  readonly axis?: number;
  /** Whether the largest element comes first. */
  readonly descending?: boolean;
}

const SORT_NAMES = ["axis", "descending", "stream"];

/** Elements of a run that the first pass sorts. */
const RUN = 16;
/** Elements that a job merges at most in the block form; a CUDA thread merges one run's length. */
const SEGMENT = 4096;

/** Refuses element types without an order. */
export function requireOrdered(value: unknown, name: string, action: string): Tensor {
  const tensor = requireStored(value, name, action);
  if (!tensor.dtype.startsWith("float8")) return tensor;
  throw new TypeError(
    `${cannot(action)} as ${name} must be numbers, not 8-bit floats: it is ${tensor.dtype}. ` +
      "Cast it first",
  );
}

/** A dense tensor with an axis moved to the end; a new tensor or a view. */
function rowsAlong(x: Tensor, axis: number, options: TensorOptions): Tensor {
  const order = [...x.shape.keys()].filter((at) => at !== axis);
  const view = x.permute([...order, axis]);
  if (view.isDense) return view;
  using strided = view;
  return dense(strided, options);
}

/** A dense tensor with the last axis moved to its place; disposes the given one. */
function restored(rows: Tensor, axis: number, options: TensorOptions): Tensor {
  const last = rows.rank - 1;
  const order = [...rows.shape.keys()].map((at) => at < axis ? at : at === axis ? last : at - 1);
  using own = rows;
  const view = own.permute(order);
  if (view.isDense && view.size === storageOf(view).buffer.length) return view;
  using strided = view;
  return copyOf(strided, strided.dtype, options);
}

/** Sorted elements along the last axis, and their positions if wanted. */
interface SortedRows {
  readonly keys: Tensor;
  readonly places: Tensor | undefined;
}

/** Sorts along an axis, which becomes the last one. */
function sortRows(
  x: Tensor,
  axis: number,
  isDescending: boolean,
  isIndexed: boolean,
  options: TensorOptions,
): SortedRows {
  const { dtype, context } = x;
  const stream = operationStream(context, options.stream, [storageOf(x)]);
  const { work } = storageOf(x);
  using source = rowsAlong(x, axis, { ...options, stream });
  const { shape, size } = source;
  const n = shape.at(-1)!;
  const make = (): SortedRows => ({
    keys: newTensor(context, dtype, shape, stream),
    places: isIndexed ? newTensor(context, "int64", shape, stream) as Tensor : undefined,
  });
  let sorted = make();
  if (size === 0) return sorted;
  const type = cTypeOf(dtype);
  const places = isIndexed ? "const_cast<i64*>(places)" : "nullptr";
  const sortedPlaces = isIndexed ? "sorted_places" : "nullptr";
  const pass = (from: SortedRows, to: SortedRows, width: number) => {
    const segment = work.form === "block" && width > 0 ? Math.min(2 * width, SEGMENT) : RUN;
    const perRow = Math.ceil(n / segment);
    runTemplate({
      action: "sort",
      template: templates.sort,
      inputs: { keys: from.keys, ...(from.places && { places: from.places }) },
      results: { sorted: to.keys, ...(to.places && { sorted_places: to.places }) },
      numbers: { per_row: perRow, n, segment, width },
      body: [
        "  using namespace sort;",
        `  const Entries<${isIndexed}, const ${type}> in{keys, ${places}};`,
        `  const Entries<${isIndexed}, ${type}> out{sorted, ${sortedPlaces}};`,
        `  sort_pass<${isDescending}>(size, per_row, chunk, n, segment, width, in, out);`,
      ].join("\n"),
      size: size / n * perRow,
      chunk: Math.max(1, Math.floor(CHUNK / segment)),
    }, stream);
  };
  // The first pass writes the positions, and reads none.
  pass({ keys: source, places: sorted.places }, sorted, 0);
  if (n <= RUN) return sorted;
  let other = make();
  for (let width = RUN; width < n; width *= 2) {
    pass(sorted, other, width);
    [sorted, other] = [other, sorted];
  }
  other.keys.dispose();
  other.places?.dispose();
  return sorted;
}

/** Checks the arguments of a sort, and sorts. */
function sorted(action: string, x: Tensor, isIndexed: boolean, options: SortOptions) {
  const { axis = -1, descending = false, ...rest } = requireOptions(options, SORT_NAMES, action);
  const whole = requireOrdered(x, "x", action);
  const at = requireAxis(axis, whole.rank, action);
  if (typeof descending !== "boolean") {
    throw new TypeError(
      `${cannot(action)} as options.descending must be true or false: it is ${
        describeValue(descending)
      }`,
    );
  }
  const { keys, places } = sortRows(whole, at, descending, isIndexed, rest);
  return { keys, places, restore: (rows: Tensor) => restored(rows, at, rest) };
}

/**
 * The elements in order along an axis, the last by default. NaN comes last, also in descending
 * order. Equal elements keep their order.
 *
 * @param x The tensor.
 * @param options The axis, the direction, and the stream.
 * @throws {RangeError} If the axis is out of range.
 * @throws {TypeError} If the elements are 8-bit floats.
 *
 * @example
 * ```ts
 * import { sort, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = sort(tensor([3, 1, 2]), { descending: true });
 * console.log(await y.toNested()); // [ 3, 2, 1 ]
 * ```
 * @category Sorting
 */
export function sort<D extends DType>(x: Tensor<D>, options: SortOptions = {}): Tensor<D> {
  using scope = new TensorScope();
  const { keys, restore } = sorted("sort", x as Tensor, false, options);
  return scope.keep(restore(keys)) as Tensor as Tensor<D>;
}

/**
 * The positions of the elements in the order of {@linkcode sort}: `takeAlongAxis()` with them gives
 * the sorted elements.
 *
 * @param x The tensor.
 * @param options The axis, the direction, and the stream.
 * @throws {RangeError} If the axis is out of range.
 * @throws {TypeError} If the elements are 8-bit floats.
 *
 * @example
 * ```ts
 * import { argsort, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = argsort(tensor([3, 1, 2]));
 * console.log(await y.toNested()); // [ 1n, 2n, 0n ]
 * ```
 * @category Sorting
 */
export function argsort(x: Tensor, options: SortOptions = {}): Tensor<"int64"> {
  using scope = new TensorScope();
  const { keys, places, restore } = sorted("argsort", x, true, options);
  keys.dispose();
  return scope.keep(restore(places!)) as Tensor as Tensor<"int64">;
}

/**
 * The k largest elements along an axis, the last by default, and their positions, in descending
 * order. Of equal elements the first come first. NaN counts as smaller than all numbers.
 *
 * @param x The tensor.
 * @param k At most the extent of the axis.
 * @param options The axis, and the stream.
 * @throws {RangeError} If k or the axis is out of range.
 * @throws {TypeError} If the elements are 8-bit floats.
 *
 * @example
 * ```ts
 * import { tensor, topk } from "@gridstride/cuda/tensor";
 *
 * using scores = tensor([10, 70, 20]);
 * const { values, indices } = topk(scores, 2);
 * console.log(await values.toNested(), await indices.toNested()); // [ 70, 20 ] [ 1n, 2n ]
 * ```
 * @category Sorting
 */
export function topk<D extends DType>(
  x: Tensor<D>,
  k: number,
  options: AxisOptions = {},
): { readonly values: Tensor<D>; readonly indices: Tensor<"int64"> } {
  const { axis: wanted = -1 } = requireOptions(options, ["axis", "stream"], "topk");
  const axis = requireAxis(wanted, requireOrdered(x, "x", "topk").rank, "topk");
  requireInteger(k, "k", "topk", 0, x.shape[axis]);
  using scope = new TensorScope();
  const all = sorted("topk", x as Tensor, true, { ...options, axis, descending: true });
  const first = (rows: Tensor): Tensor => {
    using own = rows;
    return all.restore(own.slice([...own.shape.slice(1).map(() => ({})), { stop: k }]));
  };
  return scope.keep({
    values: first(all.keys) as Tensor as Tensor<D>,
    indices: first(all.places!) as Tensor as Tensor<"int64">,
  });
}

/**
 * The positions at which elements would be inserted into sorted ones.
 *
 * @param x1 One dimension, in ascending order; NaN last.
 * @param x2 The elements to insert.
 * @param options `side`: the position before (`left`, the default) or after (`right`) equal elements.
 * @throws {RangeError} If `x1` has not one dimension.
 * @throws {TypeError} If the element types have no common one, or are 8-bit floats.
 *
 * @example
 * ```ts
 * import { searchsorted, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = searchsorted(tensor([1, 3, 5]), tensor([0, 3, 9]));
 * console.log(await y.toNested()); // [ 0n, 1n, 3n ]
 * ```
 * @category Sorting
 */
export function searchsorted(
  x1: Tensor,
  x2: Tensor,
  options: TensorOptions & { readonly side?: "left" | "right" } = {},
): Tensor<"int64"> {
  const action = "searchsorted";
  const { side = "left", ...others } = requireOptions(options, ["side", "stream"], action);
  const both = [requireOrdered(x1, "x1", action), requireOrdered(x2, "x2", action)];
  if (x1.rank !== 1) {
    throw new RangeError(
      `${cannot(action)} as x1 must have 1 dimension: its shape is ${shapeText(x1.shape)}`,
    );
  }
  if (side !== "left" && side !== "right") {
    throw new TypeError(
      `${cannot(action)} as options.side must be left or right: it is ${describeValue(side)}`,
    );
  }
  const context = commonContext(action, both);
  const stream = operationStream(context, others.stream, both.map(storageOf));
  const dtype = commonType(action, both);
  using scope = new TensorScope();
  const result = newTensor(context, "int64", x2.shape, stream);
  if (result.size === 0) return scope.keep(result);
  const copies = both.map((it) =>
    it.isDense && it.dtype === dtype ? it : copyOf(it, dtype, { ...others, stream })
  );
  runTemplate({
    action,
    template: templates.sort,
    inputs: { sorted: copies[0]!, values: copies[1]! },
    results: { out: result as Tensor },
    numbers: { n: x1.size },
    body: `  map(Space<1, 1>{}, size, chunk, [=](const i64*, i64 i) {
    out[i] = sort::search_sorted<${side === "right"}>(sorted, n, values[i]);
  });`,
    size: result.size,
  }, stream);
  return scope.keep(result);
}

/** The positions of true elements of one dimension. */
export async function positionsOfTrue(
  flags: Tensor,
  options: TensorOptions,
): Promise<Tensor<"int64">> {
  if (flags.size === 0) return zeros([0], { ...options, device: flags, dtype: "int64" });
  using counts = cumulativeSum(flags, options) as Tensor as Tensor<"int64">;
  using last = counts.slice([-1]);
  const count = Number(await last.item());
  const place = { ...options, device: flags, dtype: "int64" } as const;
  using numbers = arange(1, count + 1, 1, place);
  return searchsorted(counts as Tensor, numbers as Tensor, options);
}

/**
 * The positions of the elements that are not zero, in row-major order: a tensor for each axis.
 *
 * @param x The tensor.
 * @param options The stream.
 * @returns Resolves when the number of elements is known.
 * @throws {RangeError} If there are no dimensions.
 *
 * @example
 * ```ts
 * import { nonzero, tensor } from "@gridstride/cuda/tensor";
 *
 * const [positions] = await nonzero(tensor([0, 5, 0, 7]));
 * console.log(await positions!.toNested()); // [ 1n, 3n ]
 * ```
 * @category Sorting
 */
export async function nonzero(
  x: Tensor,
  options: TensorOptions = {},
): Promise<Tensor<"int64">[]> {
  requireOptions(options, ["stream"], "nonzero");
  const { shape, rank } = requireStored(x, "x", "nonzero");
  if (rank === 0) {
    throw new RangeError("Cannot call nonzero() as x must have dimensions: it has none");
  }
  using flags = copyOf(x, "bool", options);
  using flat = flags.flatten();
  using places = await positionsOfTrue(flat, options);
  const strides = denseStrides(shape);
  using scope = new TensorScope();
  return scope.keep(shape.map((extent, axis) => {
    using rows = applyOperation("floorDivide", [places as Tensor, strides[axis] || 1], options);
    return applyOperation("remainder", [rows, extent || 1], options) as Tensor as Tensor<"int64">;
  }));
}

/** Elements of a part of a row: a job of the block form, or of a block of CUDA threads. */
const PART = { block: 8192, threads: 4096 } as const;
/** With this many rows, they are not split. */
const ENOUGH_ROWS = 256;

/** A running sum or product: the public function, and the operation of `sort.cuh`. */
interface Scan {
  readonly action: string;
  readonly operation: "Sum" | "Product";
}

/** Running sums or products along the last axis of a dense tensor. */
function scanRows(scan: Scan, x: Tensor, dtype: DType, options: TensorOptions): Tensor {
  const { action, operation } = scan;
  const { context, shape, size } = x;
  const stream = operationStream(context, options.stream, [storageOf(x)]);
  const result = newTensor(context, dtype, shape, stream) as Tensor;
  if (size === 0) return result;
  const { work } = storageOf(result);
  const n = shape.at(-1)!;
  const rows = size / n;
  const length = rows >= ENOUGH_ROWS ? n : Math.min(n, PART[work.form]);
  const perRow = Math.ceil(n / length);
  const jobs = rows * perRow;
  const type = isFloatDType(dtype) && bytesPerElement(dtype) === 2 ? "float32" : dtype;
  const value = valueType(dtype);
  const perBlock = work.form === "block" ? Math.max(1, Math.floor(CHUNK / length)) : 1;
  const grid = work.form === "block"
    ? { grid: Math.ceil(jobs / perBlock), block: 1 }
    : { grid: Math.min(jobs, 2 ** 20), block: 256 };
  using parts = newTensor(context, type, [rows, perRow], stream) as Tensor;
  const pass = (totals: Tensor, isLast: boolean) =>
    runTemplate({
      action,
      template: templates.sort,
      inputs: { x },
      results: { out: result, totals },
      numbers: { per_row: perRow, length, n, is_last: isLast ? 1 : 0 },
      body:
        `  sort::scan_rows<sort::${operation}<${value}>, ${value}>(size, per_row, chunk, length, n,
    is_last != 0, x, out, totals);`,
      size: jobs,
      chunk: perBlock,
      grid,
    }, stream);
  if (perRow === 1) {
    pass(parts, true);
    return result;
  }
  pass(parts, false);
  using before = scanRows(scan, parts, type, { ...options, stream });
  pass(before, true);
  return result;
}

/**
 * Options of {@linkcode cumulativeSum} and {@linkcode cumulativeProd}.
 * @category Tensors
 */
export interface CumulativeOptions<R extends DType = DType> extends AxisOptions {
  /** The element type of the result, to which elements are converted first. */
  readonly dtype?: R;
  /** Whether the sum or product of no elements comes first, which makes the axis longer by 1. */
  readonly includeInitial?: boolean;
}

function cumulative<R extends DType>(
  scan: Scan,
  x: Tensor,
  all: CumulativeOptions<R>,
): Tensor<R> {
  const { action } = scan;
  const names = ["axis", "dtype", "includeInitial", "stream"];
  const { axis, dtype, includeInitial = false, ...options } = requireOptions(all, names, action);
  const whole = requireOrdered(x, "x", action);
  if (axis === undefined && whole.rank !== 1) {
    throw new TypeError(
      `${
        cannot(action)
      } as options.axis must be given unless x has 1 dimension: it has ${whole.rank}`,
    );
  }
  const at = requireAxis(axis === undefined ? 0 : axis, whole.rank, action);
  const type: DType = dtype ?? sumResult(whole.dtype);
  requireSumType(type, action);
  using scope = new TensorScope();
  const converted = dtype === undefined ? whole : copyOf(whole, type, options);
  const rows = rowsAlong(converted, at, options);
  let result = restored(scanRows(scan, rows, type, options), at, options);
  if (includeInitial) {
    const make = scan.operation === "Sum" ? zeros : ones;
    const shape = result.shape.with(at, 1);
    const initial = make(shape, { ...options, device: result, dtype: type }) as Tensor;
    result = concat([initial, result], { ...options, axis: at });
  }
  return scope.keep(result) as Tensor as Tensor<R>;
}

/**
 * The sums of the elements up to each position along an axis. Integers and `bool` are added up as
 * 64-bit integers, 16-bit floats as `float32`, one after another in parts of a row: errors grow with the
 * length, at most as NumPy's. The same input always gives the same bits.
 *
 * @param x The tensor.
 * @param options `axis`: needed unless there is one dimension. `includeInitial`: whether a 0 comes
 * first, which makes the axis longer by 1.
 * @throws {RangeError} If the axis is out of range.
 * @throws {TypeError} If the elements are 8-bit floats, or an axis is needed.
 *
 * @example
 * ```ts
 * import { cumulativeSum, tensor } from "@gridstride/cuda/tensor";
 *
 * using sums = cumulativeSum(tensor([1, 2, 3]));
 * console.log(await sums.toNested()); // [ 1, 3, 6 ]
 * ```
 * @category Reductions
 */
export function cumulativeSum<D extends DType, R extends DType = SumResult<D>>(
  x: Tensor<D>,
  options: CumulativeOptions<R> = {},
): Tensor<R> {
  return cumulative({ action: "cumulativeSum", operation: "Sum" }, x as Tensor, options);
}

/**
 * The products of the elements up to each position along an axis, in the types of
 * {@linkcode cumulativeSum}.
 *
 * @param x The tensor.
 * @param options `axis`: needed unless there is one dimension. `includeInitial`: whether a 1 comes
 * first, which makes the axis longer by 1.
 * @throws {RangeError} If the axis is out of range.
 * @throws {TypeError} If the elements are 8-bit floats, or an axis is needed.
 *
 * @example
 * ```ts
 * import { cumulativeProd, tensor } from "@gridstride/cuda/tensor";
 *
 * using products = cumulativeProd(tensor([2, 3, 4]), { includeInitial: true });
 * console.log(await products.toNested()); // [ 1, 2, 6, 24 ]
 * ```
 * @category Reductions
 */
export function cumulativeProd<D extends DType, R extends DType = SumResult<D>>(
  x: Tensor<D>,
  options: CumulativeOptions<R> = {},
): Tensor<R> {
  return cumulative({ action: "cumulativeProd", operation: "Product" }, x as Tensor, options);
}
