/**
 * Keys and values of growing sequences in pages, and attention to them.
 *
 * @module
 */

import { templates } from "../kit/expression/kernel_template.ts";
import { cannot, checkInteger, refuseOption, requireOptions } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import type { DeviceContext } from "../../hardware/device_context.ts";
import { streamFor } from "../../memory/buffer_copy.ts";
import { commonContext, requireDType, type TensorOptions } from "../kit/checks.ts";
import { newTensor } from "../kit/kernel_call.ts";
import { type CreationOptions, fromTypedArray } from "../creation.ts";
import { placeOf } from "../kit/placement.ts";
import { shapeText } from "../kit/layout.ts";
import { runTemplate } from "../kit/templates.ts";
import { TensorScope } from "../scope.ts";
import type { Tensor } from "../tensor.ts";
import {
  type AttentionDType,
  type AttentionResult,
  type AttentionTensor,
  type AttentionWindowOptions,
  checkWindow,
  contiguousHeads,
  logSumTensor,
  requireHeads,
  requireOperands,
  WINDOW_NAMES,
} from "./attention.ts";
import { MAX_HEAD, runAttention } from "./attention_kernel.ts";
import { PageTable, requireSequences } from "./page_table.ts";

/**
 * Options of {@linkcode PagedCache}.
 * @category Attention
 */
export interface PagedCacheOptions<D extends AttentionDType> extends CreationOptions<D> {
  /** The number of pages, which are allocated at once. */
  readonly pages: number;
  /** Positions of a page; 16 by default. */
  readonly pageSize?: number;
  /** Heads of keys and values. */
  readonly heads: number;
  /** Elements of a head of keys. */
  readonly headSize: number;
  /** Elements of a head of values; as of keys by default. */
  readonly valueSize?: number;
}

const SIZES = ["pages", "pageSize", "heads", "headSize", "valueSize"];

/** The pages of the sequences of a cache. */
let tableOf: <D extends AttentionDType>(cache: PagedCache<D>) => PageTable;

/**
 * Keys and values of growing sequences, in pages that sequences take as they grow and give back when
 * they are removed (Kwon et al., "Efficient memory management for large language model serving with
 * PagedAttention", 2023).
 *
 * @typeParam D The element type.
 *
 * @example
 * ```ts
 * import { decodeAttention, ones, PagedCache } from "@gridstride/cuda/tensor";
 *
 * using cache = new PagedCache({ pages: 8, heads: 1, headSize: 4 });
 * const sequence = cache.add();
 * using row = ones([1, 1, 1, 4]);
 * cache.append([sequence], row, row);
 * using y = decodeAttention(row, cache, [sequence]);
 * console.log(await y.toNested(), cache.lengthOf(sequence)); // [ [ [ [ 1, 1, 1, 1 ] ] ] ] 1
 * ```
 * @category Attention
 */
export class PagedCache<D extends AttentionDType = "float32"> implements Disposable {
  /** [pages, pageSize, heads, headSize]. */
  readonly keys: Tensor<D>;
  /** [pages, pageSize, heads, valueSize]. */
  readonly values: Tensor<D>;
  readonly #table: PageTable;

  static {
    tableOf = (cache) => cache.#table;
  }

  /**
   * Allocates the pages.
   *
   * @throws {RangeError} If a number is out of range.
   */
  constructor(options: PagedCacheOptions<D>) {
    const action = "make a cache";
    requireOptions(options, ["device", "dtype", "stream", ...SIZES], action);
    const { pages, pageSize = 16, heads, headSize, valueSize = headSize } = options;
    const dtype = options.dtype ?? "float32" as D;
    if (!["float32", "float16", "bfloat16"].includes(dtype)) {
      refuseOption(TypeError, action, "dtype", "float32, float16 or bfloat16", dtype);
    }
    checkInteger(pageSize, "options.pageSize", action, 1, 2 ** 16);
    checkInteger(pages, "options.pages", action, 1, Math.floor((2 ** 31 - 2 ** 16) / pageSize));
    checkInteger(heads, "options.heads", action, 1, 2 ** 16);
    checkInteger(headSize, "options.headSize", action, 1, MAX_HEAD);
    checkInteger(valueSize, "options.valueSize", action, 1, MAX_HEAD);
    const context: DeviceContext = placeOf(options, action);
    using scope = new TensorScope();
    this.keys = newTensor(context, dtype, [pages, pageSize, heads, headSize], options.stream);
    this.values = newTensor(context, dtype, [pages, pageSize, heads, valueSize], options.stream);
    scope.keep([this.keys, this.values]);
    this.#table = new PageTable(pages, pageSize);
  }

  /** The number of pages that no sequence has. */
  get freePages(): number {
    return this.#table.freePages;
  }

  /** Adds an empty sequence, and returns its number. */
  add(): number {
    return this.#table.add();
  }

  /**
   * The number of keys of a sequence.
   *
   * @throws {RangeError} If there is no such sequence.
   */
  lengthOf(sequence: number): number {
    return this.#table.lengthOf(sequence, "query the length");
  }

  /**
   * Removes a sequence. Its pages are free for later operations.
   *
   * @throws {RangeError} If there is no such sequence.
   */
  remove(sequence: number): void {
    this.#table.remove(sequence, "remove a sequence");
  }

  /**
   * Adds equally many keys and values to the ends of sequences.
   *
   * @param sequences Numbers that `add()` returned, each once.
   * @param k [sequences, heads, new keys, headSize].
   * @param v [sequences, heads, new keys, valueSize].
   * @throws {RangeError} If shapes do not fit, or too few pages are free. Nothing is added then.
   * @throws {TypeError} If the element types are not the cache's.
   */
  append(
    sequences: readonly number[],
    k: Tensor<D>,
    v: Tensor<D>,
    options: TensorOptions = {},
  ): void {
    const action = "append to a cache";
    requireOptions(options, ["stream"], action);
    const all = requireSequences(sequences, action);
    for (const sequence of all) this.#table.lengthOf(sequence, action);
    const heads = this.keys.shape[2]!;
    const tokens = k?.shape?.[2] ?? 0;
    const pairs = Object.entries({ k, v }).map(([name, given]) => {
      const pool = name === "k" ? this.keys : this.values;
      const tensor = requireDType(given, name, [pool.dtype], action);
      const wanted = [all.length, heads, tokens, pool.shape[3]!];
      if (tensor.rank === 4 && wanted.every((extent, axis) => tensor.shape[axis] === extent)) {
        return [tensor, pool as Tensor] as const;
      }
      throw new RangeError(
        `${cannot(action)} as ${name} must have the shape ${shapeText(wanted)}: it has ${
          shapeText(tensor.shape)
        }`,
      );
    });
    const context = commonContext(action, pairs.flat());
    const stream = streamFor(context, options.stream);
    const { slots, commit } = this.#table.grow(all, all.map(() => tokens), action);
    if (slots.length === 0) return;
    using places = fromTypedArray(slots, [slots.length], {
      device: this.keys,
      stream,
    });
    for (const [x, out] of pairs) {
      const [s0, s1, s2, s3] = x.strides as [number, number, number, number];
      const width = x.shape[3]!;
      runTemplate({
        action: "append",
        template: templates.map,
        inputs: { x, places: places as Tensor },
        results: { out },
        numbers: { rows: slots.length * heads, heads, tokens, width, s0, s1, s2, s3 },
        body: `  Space<2, 1> space{{rows, width}, {{1}, {0}}};
  map(space, size, chunk, [=](const i64* at, i64 i) {
    const i64 row = at[0] / heads;
    const i64 from = row / tokens * s0 + at[0] % heads * s1 + row % tokens * s2;
    out[(places[row] * heads + at[0] % heads) * width + i] = x[from + i * s3];
  });`,
        size: x.size,
      }, stream);
    }
    commit();
  }

  /** Whether the memory is freed. */
  get disposed(): boolean {
    return this.keys.disposed;
  }

  /** Frees the memory. */
  [Symbol.dispose](): void {
    this.keys.dispose();
    this.values.dispose();
  }
}

/** The pages as one batch of positions for each head. */
function asBatch(pool: Tensor): Tensor {
  using flat = pool.reshape([-1, ...pool.shape.slice(2)]);
  using headsFirst = flat.permute([1, 0, 2]);
  return headsFirst.expandDims(0);
}

/**
 * {@linkcode attention} of new queries to cached keys and values. Append their own keys before: the
 * last query is beside the last key. If there are few queries, several blocks share the keys of a
 * sequence.
 *
 * @param q [sequences, heads, new queries, headSize]; the cache's heads divide `heads`.
 * @param cache The keys and values.
 * @param sequences Numbers that `cache.add()` returned, each once.
 * @param options `causal` is true by default. `logSumExp`: also returns the logarithms of the sums.
 * @returns [sequences, heads, new queries, valueSize].
 * @throws {RangeError} If shapes do not fit, or there is no such sequence.
 * @throws {TypeError} If the element type is not the cache's.
 *
 * @example
 * ```ts
 * import { decodeAttention, ones, PagedCache } from "@gridstride/cuda/tensor";
 *
 * using cache = new PagedCache({ pages: 8, heads: 1, headSize: 4 });
 * const sequence = cache.add();
 * using row = ones([1, 1, 1, 4]);
 * cache.append([sequence], row, row);
 * using y = decodeAttention(row, cache, [sequence]);
 * console.log(await y.toNested()); // [ [ [ [ 1, 1, 1, 1 ] ] ] ]
 * ```
 * @category Attention
 */
export function decodeAttention<D extends AttentionDType>(
  q: Tensor<D>,
  cache: PagedCache<D>,
  sequences: readonly number[],
  options: AttentionWindowOptions & { readonly logSumExp: true },
): AttentionResult<D>;
/**
 * Attention to cached keys without the logarithms of the sums.
 * @category Attention
 */
export function decodeAttention<D extends AttentionDType>(
  q: Tensor<D>,
  cache: PagedCache<D>,
  sequences: readonly number[],
  options?: AttentionWindowOptions & { readonly logSumExp?: false },
): Tensor<D>;
export function decodeAttention<D extends AttentionDType>(
  q: Tensor<D>,
  cache: PagedCache<D>,
  sequences: readonly number[],
  options: AttentionWindowOptions & { readonly logSumExp?: boolean } = {},
): Tensor<D> | AttentionResult<D> {
  const action = "decodeAttention";
  requireOptions(options, WINDOW_NAMES, action);
  if (!(cache instanceof PagedCache)) {
    throw new TypeError(
      `${cannot(action)} as cache must be a PagedCache: it is ${describeValue(cache)}`,
    );
  }
  const [keys, values] = [cache.keys as Tensor, cache.values as Tensor];
  const numbers = requireSequences(sequences, action);
  const { table, width, longest } = tableOf(cache).rowsOf(numbers, action);
  const stream = streamFor(keys.context, options.stream);
  using places = fromTypedArray(table, [table.length], { device: keys, stream });
  const rows = { places: places as Tensor, count: numbers.length, width, longest };
  return attendPages(q as Tensor, { keys, values }, rows, options, action) as
    & Tensor
    & Tensor<D>;
}

/** Keys and values in pages. */
export interface PagedKeys {
  /** [pages, pageSize, heads, headSize]. */
  readonly keys: Tensor;
  /** [pages, pageSize, heads, valueSize]. */
  readonly values: Tensor;
}

/** The lengths and the pages of sequences on a device, as `PageTable.rowsOf()` gives them. */
export interface PlacedRows {
  readonly places: Tensor;
  /** The number of sequences. */
  readonly count: number;
  readonly width: number;
  readonly longest: number;
}

/** {@linkcode decodeAttention} to pages whose numbers are on the device. */
export function attendPages(
  q: Tensor,
  { keys, values }: PagedKeys,
  { places, count, width, longest }: PlacedRows,
  options: AttentionWindowOptions & { readonly logSumExp?: boolean },
  action: string,
): Tensor | AttentionResult<AttentionDType> {
  using k = asBatch(keys);
  using v = asBatch(values);
  const axes = "[sequences, heads, length, headSize]";
  requireOperands(q, k, v, 4, axes, action);
  const [batches, heads, queries, size] = q.shape as [number, number, number, number];
  const valueSize = v.shape[3]!;
  requireHeads(heads, k.shape[1]!, v.shape[1]!, [size, k.shape[3]!, valueSize], action);
  if (count !== batches) {
    throw new RangeError(
      `${cannot(action)} as sequences must be as many as the batches of q: they are ` +
        `${count} and ${batches}`,
    );
  }
  const limits = checkWindow({ ...options, causal: options.causal ?? true }, size, action);
  const context = commonContext(action, [q, k]);
  const stream = streamFor(context, options.stream);
  using scope = new TensorScope();
  const out = newTensor(context, q.dtype, [batches, heads, queries, valueSize], stream);
  const sums = logSumTensor(options.logSumExp, out, options, action);
  if (out.size > 0) {
    using own = contiguousHeads([q], options);
    runAttention({
      action,
      source: "paged",
      q: own.heads[0]!,
      k,
      v,
      out,
      sums,
      batches,
      queries,
      keys: longest,
      ...limits,
      places: { tensor: places, width, page: keys.shape[1]! },
    }, stream);
  }
  return scope.keep(
    sums === undefined
      ? out
      : { output: out as AttentionTensor, logSumExp: sums as Tensor as Tensor<"float32"> },
  );
}
