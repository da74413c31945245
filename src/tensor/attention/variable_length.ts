/**
 * Attention of sequences of several lengths, one after another in memory.
 *
 * @module
 */

import { cannot, requireOptions } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import { streamFor } from "../../memory/buffer_copy.ts";
import { commonContext } from "../kit/checks.ts";
import { newTensor } from "../kit/kernel_call.ts";
import { fromTypedArray } from "../creation.ts";
import { TensorScope } from "../scope.ts";
import type { Tensor } from "../tensor.ts";
import {
  type AttentionDType,
  type AttentionOperands,
  type AttentionResult,
  type AttentionWindowOptions,
  checkWindow,
  contiguousHeads,
  logSumTensor,
  MAX_LENGTH,
  narrowed,
  requireHeads,
  requireOperands,
  WINDOW_NAMES,
} from "./attention.ts";
import { runAttention } from "./attention_kernel.ts";

/** Checks the ends of sequences, and returns the longest one's length. */
function longestOf(ends: unknown, name: string, total: number, action: string): number {
  const isList = Array.isArray(ends) && ends.length > 0 && ends.every(Number.isInteger);
  const isAscending = isList && ends[0] === 0 && ends.at(-1) === total &&
    ends.every((end, at) => at === 0 || end >= ends[at - 1]);
  if (isAscending && total <= MAX_LENGTH) {
    return Math.max(0, ...ends.slice(1).map((end, at) => end - ends[at]));
  }
  throw new RangeError(
    `${cannot(action)} as ${name} must be ascending integers from 0 to ${total}: it is ${
      describeValue(ends)
    }`,
  );
}

/** The axes of one batch of all sequences. */
function asBatch(packed: Tensor): Tensor {
  using headsFirst = packed.permute([1, 0, ...packed.shape.keys().drop(2)]);
  return headsFirst.expandDims(0);
}

/**
 * {@linkcode attention} of each of several sequences by itself. The sequences lie one after another,
 * so none is padded.
 *
 * @param q [queries of all sequences, heads, headSize].
 * @param k [keys of all sequences, keyHeads, headSize].
 * @param v [keys of all sequences, keyHeads, valueSize].
 * @param queryEnds Where sequences begin and end among the queries: 0, then the end of each.
 * @param keyEnds The same among the keys, for equally many sequences.
 * @param options `logSumExp`: also returns the logarithms of the sums.
 * @returns [queries of all sequences, heads, valueSize].
 * @throws {RangeError} If shapes do not fit, or the ends do not ascend from 0 to the number of rows.
 * @throws {TypeError} If element types differ or are not `float32`, `float16` or `bfloat16`.
 *
 * @example
 * ```ts
 * import { attentionVariableLength, ones, tensor } from "@gridstride/cuda/tensor";
 *
 * // Sequences of 1 and 2 elements.
 * using q = ones([3, 1, 1]);
 * using v = tensor([[[10]], [[20]], [[40]]]);
 * using y = attentionVariableLength(q, q, v, [0, 1, 3], [0, 1, 3]);
 * console.log(await y.toNested()); // [ [ [ 10 ] ], [ [ 30 ] ], [ [ 30 ] ] ]
 * ```
 * @category Attention
 */
export function attentionVariableLength<D extends AttentionDType>(
  q: Tensor<D>,
  k: Tensor<D>,
  v: Tensor<D>,
  queryEnds: readonly number[],
  keyEnds: readonly number[],
  options: AttentionWindowOptions & { readonly logSumExp: true },
): AttentionResult<D>;
/**
 * Attention of sequences without the logarithms of the sums.
 * @category Attention
 */
export function attentionVariableLength<D extends AttentionDType>(
  q: Tensor<D>,
  k: Tensor<D>,
  v: Tensor<D>,
  queryEnds: readonly number[],
  keyEnds: readonly number[],
  options?: AttentionWindowOptions & { readonly logSumExp?: false },
): Tensor<D>;
export function attentionVariableLength<D extends AttentionDType>(
  q: Tensor<D>,
  k: Tensor<D>,
  v: Tensor<D>,
  queryEnds: readonly number[],
  keyEnds: readonly number[],
  options: AttentionWindowOptions & { readonly logSumExp?: boolean } = {},
): Tensor<D> | AttentionResult<D> {
  const action = "attentionVariableLength";
  requireOptions(options, WINDOW_NAMES, action);
  const operands = requireOperands(q, k, v, 3, "[length, heads, headSize]", action);
  const [queryRows, heads, size] = q.shape as [number, number, number];
  const [keyRows, keyHeads, keySize] = k.shape as [number, number, number];
  const [valueRows, valueHeads, valueSize] = v.shape as [number, number, number];
  requireHeads(heads, keyHeads, valueHeads, [size, keySize, valueSize], action);
  const queries = longestOf(queryEnds, "queryEnds", queryRows, action);
  const keys = longestOf(keyEnds, "keyEnds", keyRows, action);
  if (keyRows !== valueRows || queryEnds.length !== keyEnds.length) {
    throw new RangeError(
      `${
        cannot(action)
      } as k and v must have equally many rows, and queryEnds and keyEnds equally ` +
        `many ends: they have ${keyRows} and ${valueRows}, ${queryEnds.length} and ${keyEnds.length}`,
    );
  }
  const limits = checkWindow(options, size, action);
  const run = (...narrow: AttentionOperands) =>
    attentionVariableLength(...narrow, queryEnds, keyEnds, options as AttentionWindowOptions);
  const result = narrowed(operands, options, action, run);
  if (result !== undefined) return result as Tensor as Tensor<D>;
  const context = commonContext(action, operands);
  const stream = streamFor(context, options.stream);
  using scope = new TensorScope();
  const out = newTensor(context, q.dtype, [queryRows, heads, valueSize], stream);
  const sums = logSumTensor(options.logSumExp, out as Tensor, options, action);
  if (out.size > 0) {
    using own = contiguousHeads(operands, options);
    const [ownQ, ownK, ownV] = own.heads.map(asBatch) as [Tensor, Tensor, Tensor];
    const width = queryEnds.length;
    const ends = Int32Array.of(...queryEnds, ...keyEnds);
    using tensor = fromTypedArray(ends, [2 * width], { device: q, stream }) as Tensor;
    using ownOut = asBatch(out as Tensor);
    using ownSums = sums === undefined ? undefined : asBatch(sums);
    runAttention({
      action,
      source: "ragged",
      q: ownQ,
      k: ownK,
      v: ownV,
      out: ownOut,
      sums: ownSums,
      batches: width - 1,
      queries,
      keys,
      ...limits,
      places: { tensor, width },
    }, stream);
  }
  return scope.keep(
    sums === undefined ? out : { output: out, logSumExp: sums as Tensor as Tensor<"float32"> },
  );
}
