/**
 * Attention: softmax(q kᵀ · scale + mask) v.
 *
 * @module
 */

import { cannot, refuseOption, requireObject, requireOptions } from "../../ffi/arguments.ts";
import { streamFor } from "../../memory/buffer_copy.ts";
import { commonContext, requireDType, requireStored, type TensorOptions } from "../kit/checks.ts";
import { copyOf, dense } from "../elementwise_kernel.ts";
import { newTensor } from "../kit/kernel_call.ts";
import { shapeText } from "../kit/layout.ts";
import { type PrecisionMode, precisionOf } from "../kit/precision.ts";
import { operationStream } from "../kit/storage.ts";
import { TensorScope } from "../scope.ts";
import { storageOf, type Tensor } from "../tensor.ts";
import {
  chooseAttention,
  KEY_TILE,
  MAX_HEAD,
  planAttention,
  runAttention,
} from "./attention_kernel.ts";

/**
 * The element types of {@linkcode attention}.
 * @category Attention
 */
export type AttentionDType = "float32" | "float16" | "bfloat16";
const DTYPES: readonly AttentionDType[] = ["float32", "float16", "bfloat16"];
/** Kernels count keys in 32 bits, some steps of keys beyond the last one. */
export const MAX_LENGTH = 2 ** 31 - 2 ** 16;

/**
 * Options of all kinds of attention.
 * @category Attention
 */
export interface AttentionWindowOptions extends TensorOptions {
  /**
   * Whether a query sees no later keys. The last query is beside the last key: with m queries and n
   * keys, query i sees the keys up to i + n − m.
   */
  readonly causal?: boolean;
  /**
   * How many keys a query sees before and after the key beside it, such as `[1023, 0]`; `Infinity` for
   * all.
   */
  readonly window?: readonly [before: number, after: number];
  /** The factor of the products; 1 / √headSize by default. */
  readonly scale?: number;
  /**
   * The kernel: `"mma"` on tensor cores, `"simt"` of CUDA threads without them, or `"loops"` of the
   * host device. By default tensor cores, on a GPU of compute capability 8.0 or higher, for `float16`
   * and `bfloat16` whose rows begin at multiples of 16 bytes. They round weights to that type, except
   * if at most 8 rows of queries share a head of keys, and heads have a multiple of 16 and at most 128
   * elements; `"loops"` does so for `bfloat16` on x86-64 processors with AMX.
   */
  readonly variant?: "mma" | "simt" | "loops";
}

/**
 * Options of {@linkcode attention}.
 * @category Attention
 */
export interface AttentionOptions extends AttentionWindowOptions {
  /**
   * Either `bool`, true for visible keys, or of a floating type and added to the scores: −∞ hides a
   * key, and a finite number never does. The shape broadcasts to [batch, heads, queries, keys].
   */
  readonly mask?: Tensor;
  /**
   * Visible blocks of `blockSize` queries by as many keys; others take no time. The mask is `bool`
   * and broadcasts to [batch, heads, ⌈queries / blockSize⌉, ⌈keys / blockSize⌉].
   */
  readonly blockMask?: {
    readonly mask: Tensor<"bool">;
    /** A multiple of 64. */
    readonly blockSize: number;
  };
}

/**
 * A result with the logarithms of the sums of the exponentials of each query's scores.
 * @category Attention
 */
export interface AttentionResult<D extends AttentionDType> {
  /** As without `logSumExp`. */
  readonly output: Tensor<D>;
  /** The shape of the output without its last axis; −∞ for a query that sees no key. */
  readonly logSumExp: Tensor<"float32">;
}

/** The options of a window, checked. */
export function checkWindow(
  { causal = false, window = [Infinity, Infinity], scale, variant }: AttentionWindowOptions,
  headSize: number,
  action: string,
) {
  if (typeof causal !== "boolean") {
    refuseOption(TypeError, action, "causal", "true or false", causal);
  }
  const isDistance = (it: unknown) => Number.isInteger(it) && Number(it) >= 0 || it === Infinity;
  if (!Array.isArray(window) || window.length !== 2 || !window.every(isDistance)) {
    const allowed = "two integers of at least 0, or Infinity";
    refuseOption(TypeError, action, "window", allowed, window);
  }
  const factor = scale ?? 1 / Math.sqrt(headSize);
  if (typeof factor !== "number") {
    refuseOption(TypeError, action, "scale", "a finite number", scale);
  }
  if (!Number.isFinite(Math.fround(factor))) {
    refuseOption(RangeError, action, "scale", "a finite number", scale);
  }
  return { left: window[0], right: causal ? 0 : window[1], scale: factor, variant };
}

/** Names of options. */
export const WINDOW_NAMES = [
  "stream",
  "causal",
  "window",
  "scale",
  "variant",
  "logSumExp",
] as const;

/** Checks the element types and the extents of queries, keys and values with four axes. */
export function requireOperands(
  q: unknown,
  k: unknown,
  v: unknown,
  rank: number,
  axes: string,
  action: string,
): readonly [Tensor, Tensor, Tensor] {
  const tensors = Object.entries({ q, k, v }).map(([name, value]) => {
    const tensor = requireDType(requireStored(value, name, action), name, DTYPES, action);
    if (tensor.rank === rank) return tensor;
    throw new RangeError(
      `${cannot(action)} as ${name} must have the axes ${axes}: its shape is ${
        shapeText(tensor.shape)
      }`,
    );
  });
  const [queries, keys, values] = tensors as [Tensor, Tensor, Tensor];
  if (keys.dtype !== queries.dtype || values.dtype !== queries.dtype) {
    throw new TypeError(
      `${cannot(action)} as the element types must be equal: they are ${
        tensors.map((it) => it.dtype).join(", ")
      }. Cast to one first`,
    );
  }
  return [queries, keys, values];
}

/** Checks sizes of heads, and that those of keys divide those of queries. */
export function requireHeads(
  heads: number,
  keyHeads: number,
  valueHeads: number,
  [size, keySize, valueSize]: readonly number[],
  action: string,
): void {
  if (keyHeads < 1 || heads % keyHeads !== 0 || valueHeads !== keyHeads) {
    throw new RangeError(
      `${cannot(action)} as k and v must have equally many heads, which divide those of q: q has ` +
        `${heads}, k ${keyHeads} and v ${valueHeads}`,
    );
  }
  if (size !== keySize) {
    throw new RangeError(
      `${
        cannot(action)
      } as the heads of q and k must have one size: they have ${size} and ${keySize}`,
    );
  }
  for (const [name, value] of Object.entries({ k: keySize, v: valueSize })) {
    if (value! >= 1 && value! <= MAX_HEAD) continue;
    throw new RangeError(
      `${
        cannot(action)
      } as the heads of ${name} must have a size in 1..${MAX_HEAD}: it is ${value}`,
    );
  }
}

/** Checks that a mask broadcasts to a shape. */
function requireBroadcast(mask: Tensor, name: string, shape: readonly number[], action: string) {
  const skipped = shape.length - mask.rank;
  const fits = skipped >= 0 &&
    mask.shape.every((extent, axis) => extent === 1 || extent === shape[axis + skipped]);
  if (fits) return mask;
  throw new RangeError(
    `${cannot(action)} as ${name} must broadcast to ${shapeText(shape)}: its shape is ${
      shapeText(mask.shape)
    }`,
  );
}

/** Tensors whose heads are contiguous; copies are disposed with the result. */
export function contiguousHeads(
  tensors: readonly Tensor[],
  options: TensorOptions,
): { readonly heads: readonly Tensor[] } & Disposable {
  const place = options.stream === undefined ? {} : { stream: options.stream };
  const heads = tensors.map((it) =>
    it.shape.at(-1) === 1 || it.strides.at(-1) === 1 ? it : dense(it, place)
  );
  return {
    heads,
    [Symbol.dispose]: () => heads.forEach((it, at) => it === tensors[at] || it.dispose()),
  };
}

/** The element types of the modes that narrow `float32` operands. */
const NARROW: Readonly<Partial<Record<PrecisionMode, AttentionDType>>> = {
  fp16: "float16",
  bf16: "bfloat16",
};

/** A tensor that attention takes. */
export type AttentionTensor = Tensor<AttentionDType>;
/** The operands of attention. */
export type AttentionOperands = readonly [
  q: AttentionTensor,
  k: AttentionTensor,
  v: AttentionTensor,
];

/** The type to which `setPrecision()` narrows operands; undefined if they stay. */
function narrowDType({ context, dtype }: Tensor, action: string): AttentionDType | undefined {
  return dtype === "float32" ? NARROW[precisionOf(context, undefined, dtype, action)] : undefined;
}

/** Attention in the type to which `setPrecision()` narrows `float32` operands; undefined without one. */
export function narrowed(
  operands: readonly [Tensor, Tensor, Tensor],
  options: TensorOptions,
  action: string,
  run: (...operands: AttentionOperands) => AttentionTensor | AttentionResult<AttentionDType>,
): AttentionTensor | AttentionResult<AttentionDType> | undefined {
  const dtype = narrowDType(operands[0], action);
  if (dtype === undefined) return undefined;
  commonContext(action, operands);
  const place = options.stream === undefined ? {} : { stream: options.stream };
  using scope = new TensorScope();
  const own = operands.map((it) => copyOf(it, dtype, place)) as Tensor[] as AttentionTensor[];
  const result = run(...own as readonly AttentionTensor[] as AttentionOperands);
  const wide = (output: AttentionTensor) =>
    copyOf(output as Tensor, "float32", place) as Tensor as AttentionTensor;
  return scope.keep(
    "output" in result
      ? { output: wide(result.output), logSumExp: result.logSumExp }
      : wide(result),
  );
}

/**
 * Attention with any number of heads: softmax(q kᵀ · scale + mask) v, without the scores in memory.
 * A query that sees no key gives zeros. Keys and values that a query may not see do not reach its
 * result, even if they are NaN. Products are added up as `float32`. Operands of `float32` are rounded
 * to `bfloat16` or `float16` if {@linkcode setPrecision} says so. The method is that of Dao,
 * "FlashAttention-2: faster attention with better parallelism and work partitioning" (2023).
 *
 * @param q [batch, heads, queries, headSize]; a head has at most 256 elements.
 * @param k [batch, keyHeads, keys, headSize]. `keyHeads` divides `heads`: neighbouring heads of `q`
 * share one (grouped queries).
 * @param v [batch, keyHeads, keys, valueSize].
 * @param options `logSumExp`: also returns the logarithms of the sums.
 * @returns [batch, heads, queries, valueSize], of the element type of `q`.
 * @throws {RangeError} If shapes do not fit.
 * @throws {TypeError} If element types differ or are not `float32`, `float16` or `bfloat16`.
 *
 * @example
 * ```ts
 * import { attention, ones, tensor } from "@gridstride/cuda/tensor";
 *
 * using q = ones([1, 1, 2, 1]);
 * using v = tensor([[[[10], [20]]]]);
 * using y = attention(q, q, v, { causal: true });
 * console.log(await y.toNested()); // [ [ [ [ 10 ], [ 15 ] ] ] ]
 * ```
 * @category Attention
 */
export function attention<D extends AttentionDType>(
  q: Tensor<D>,
  k: Tensor<D>,
  v: Tensor<D>,
  options: AttentionOptions & { readonly logSumExp: true },
): AttentionResult<D>;
/**
 * Attention without the logarithms of the sums.
 * @category Attention
 */
export function attention<D extends AttentionDType>(
  q: Tensor<D>,
  k: Tensor<D>,
  v: Tensor<D>,
  options?: AttentionOptions & { readonly logSumExp?: false },
): Tensor<D>;
export function attention<D extends AttentionDType>(
  q: Tensor<D>,
  k: Tensor<D>,
  v: Tensor<D>,
  options: AttentionOptions & { readonly logSumExp?: boolean } = {},
): Tensor<D> | AttentionResult<D> {
  const action = "attention";
  const { operands, all, call } = checkAttention(q, k, v, options, action);
  const { batches, queries } = call;
  const context = commonContext(action, all);
  const run = (...narrow: AttentionOperands) => attention(...narrow, options as AttentionOptions);
  const result = narrowed(operands, options, action, run);
  if (result !== undefined) return result as Tensor as Tensor<D>;
  const stream = operationStream(context, options.stream, all.map(storageOf));
  const shape = [batches, q.shape[1]!, queries, v.shape[3]!];
  using scope = new TensorScope();
  const out = newTensor(context, q.dtype, shape, stream);
  const sums = logSumTensor(options.logSumExp, out as Tensor, options, action);
  if (out.size > 0) {
    using own = contiguousHeads(operands, options);
    const [ownQ, ownK, ownV] = own.heads as [Tensor, Tensor, Tensor];
    runAttention({ ...call, q: ownQ, k: ownK, v: ownV, out: out as Tensor, sums }, stream);
  }
  return scope.keep(
    sums === undefined ? out : { output: out, logSumExp: sums as Tensor as Tensor<"float32"> },
  );
}

/**
 * The kernel that {@linkcode attention} takes for the same arguments, without running it. Heads that
 * are not contiguous are copied, as there.
 *
 * @param q The queries.
 * @param k The keys.
 * @param v The values.
 * @param options Those of `attention()`.
 * @returns `variant`: its name; `launch`: its blocks and threads per block; `reason`: the reason, and
 * that against tensor cores.
 * @throws {TypeError} As `attention()`.
 * @throws {RangeError} As `attention()`.
 *
 * @example
 * ```ts
 * import { explainAttention, zeros } from "@gridstride/cuda/tensor";
 *
 * using q = zeros([1, 8, 512, 64], { dtype: "float16" });
 * console.log(explainAttention(q, q, q, { causal: true }).reason);
 * ```
 * @category Attention
 */
export function explainAttention(
  q: Tensor,
  k: Tensor,
  v: Tensor,
  options: AttentionOptions & { readonly logSumExp?: boolean } = {},
): {
  readonly variant: string;
  readonly launch: { readonly grid: number; readonly block: number };
  readonly reason: string;
} {
  const { operands, all, call } = checkAttention(q, k, v, options, "explain attention");
  commonContext(call.action, all);
  const narrow = narrowDType(q, call.action);
  using _scope = new TensorScope();
  // The kernel depends on the element type and the layout, not on elements.
  const narrowOperands = narrow === undefined
    ? operands
    : operands.map((it) => newTensor(it.context, narrow, it.shape) as Tensor);
  using own = contiguousHeads(narrowOperands, options);
  const [ownQ, ownK, ownV] = own.heads as [Tensor, Tensor, Tensor];
  const plan = { ...call, q: ownQ, k: ownK, v: ownV };
  const { grid, kernel } = planAttention(plan);
  return { ...chooseAttention(plan), launch: { grid, block: kernel.block } };
}

/** Checks the arguments of attention. */
function checkAttention(
  q: Tensor,
  k: Tensor,
  v: Tensor,
  options: AttentionOptions,
  action: string,
) {
  requireOptions(options, [...WINDOW_NAMES, "mask", "blockMask"], action);
  const axes = "[batch, heads, length, headSize]";
  const operands = requireOperands(q, k, v, 4, axes, action);
  const [batches, heads, queries, size] = q.shape as [number, number, number, number];
  const [, keyHeads, keys, keySize] = k.shape as [number, number, number, number];
  const [, valueHeads, values, valueSize] = v.shape as [number, number, number, number];
  if (k.shape[0] !== batches || v.shape[0] !== batches || keys !== values) {
    throw new RangeError(
      `${
        cannot(action)
      } as q, k and v must have one batch size, and k and v one length: the shapes ` +
        `are ${[q, k, v].map((it) => shapeText(it.shape)).join(", ")}`,
    );
  }
  requireHeads(heads, keyHeads, valueHeads, [size, keySize, valueSize], action);
  if (Math.max(keys, queries) > MAX_LENGTH) {
    throw new RangeError(`${cannot(action)} as lengths must be at most ${MAX_LENGTH}`);
  }
  const limits = checkWindow(options, size, action);
  const mask = options.mask === undefined ? undefined : requireBroadcast(
    requireDType(
      requireStored(options.mask, "options.mask", action),
      "options.mask",
      ["bool", ...DTYPES],
      action,
    ),
    "options.mask",
    [batches, heads, queries, keys],
    action,
  );
  const blocks = checkBlocks(options.blockMask, [batches, heads, queries, keys], action);
  const all = [...operands, ...[mask, blocks?.mask].filter((it) => it !== undefined)];
  const lengths = { batches, queries, keys };
  const call = { action, source: "dense", ...lengths, ...limits, mask, blocks } as const;
  return { operands, all, call };
}

/** A tensor for the logarithms of sums, if they are wanted: the shape without the last axis. */
export function logSumTensor(
  isWanted: unknown,
  out: Tensor,
  options: TensorOptions,
  action: string,
): Tensor | undefined {
  if (isWanted === undefined || isWanted === false) return undefined;
  if (isWanted !== true) {
    refuseOption(TypeError, action, "logSumExp", "true or false", isWanted);
  }
  const { context, shape } = out;
  return newTensor(context, "float32", shape.slice(0, -1), streamFor(context, options.stream));
}

/** Checks a mask of blocks. */
function checkBlocks(
  blockMask: AttentionOptions["blockMask"],
  [batches, heads, queries, keys]: readonly number[],
  action: string,
) {
  if (blockMask === undefined) return undefined;
  requireObject(blockMask, "options.blockMask", action);
  const { mask, blockSize, ...others } = blockMask;
  requireOptions(others, [], action);
  if (!Number.isInteger(blockSize) || blockSize < 1 || blockSize % KEY_TILE !== 0) {
    const allowed = `a multiple of ${KEY_TILE}`;
    refuseOption(RangeError, action, "blockMask.blockSize", allowed, blockSize);
  }
  const name = "options.blockMask.mask";
  const flags = requireDType(requireStored(mask, name, action), name, ["bool"], action);
  const shape = [
    batches!,
    heads!,
    Math.ceil(queries! / blockSize),
    Math.ceil(keys! / blockSize),
  ];
  return {
    mask: requireBroadcast(flags, name, shape, action),
    rows: blockSize,
    columns: blockSize,
  };
}
