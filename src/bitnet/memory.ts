/**
 * The memory that a model takes, before it is loaded.
 *
 * @module
 */

import { checkInteger, requireOptions } from "../ffi/arguments.ts";
import { OutOfMemoryError } from "../ffi/cuda_error.ts";
import { formatBytes } from "../ffi/describe_value.ts";
import { deviceMemory } from "../ffi/native_device.ts";
import type { DeviceContext } from "../hardware/device_context.ts";
import { usableMemory } from "../hardware/memory_reserve.ts";
import { bytesPerElement } from "../memory/dtype.ts";
import { poolOfDevice } from "../memory/pool/memory_pool.ts";
import { placeOf, type TensorDevice } from "../tensor/kit/placement.ts";
import type { ModelConfig } from "./config.ts";
import type { DecoderDType } from "./decoder/table.ts";
import { tableType } from "./decoder/weights.ts";
import type { ModelSource } from "./files/model_source.ts";

/**
 * Options of {@linkcode memoryOf}.
 * @category Files
 */
export interface MemoryOptions {
  /** The element type of the embedding and of the head; that of the file by default. */
  readonly dtype?: DecoderDType;
  /** Whether the head is a table of 8-bit integers; by default if the file has such a one. */
  readonly head?: "float" | "int8";
  /**
   * The element type of keys and values; `float16` by default. `fits()` takes that of `openModel()`,
   * which is `float32` on the host device.
   */
  readonly cacheDType?: DecoderDType;
  /** Positions of the cache, of all sequences together; those of the context by default. */
  readonly cacheTokens?: number;
  /** The largest number of sequences that run at once; 8 by default. */
  readonly maxSequences?: number;
  /** The largest number of tokens of prompts in a step; 512 by default. */
  readonly chunk?: number;
  /** The number of layers whose matrices stay on the device; all of them by default. */
  readonly residentLayers?: number;
}

/**
 * Bytes of device memory.
 * @category Files
 */
export interface ModelMemory {
  /** The embedding, and the head if it is another table. */
  readonly tables: number;
  /** The ternary matrices. */
  readonly matrices: number;
  /** The weights of norms, and the scales of matrices. */
  readonly norms: number;
  /** Keys and values. */
  readonly cache: number;
  /** What a step needs at most: activations and logits; an estimate from above. */
  readonly workspace: number;
  /** The sum. */
  readonly bytes: number;
  /** The matrices of a layer, for which a model that does not fit may use memory of the host. */
  readonly layer: number;
}

/**
 * Whether a model fits in the memory of a device.
 * @category Files
 */
export interface ModelFit {
  /** The memory that the model takes. */
  readonly memory: ModelMemory;
  /** The bytes that the device has for it. */
  readonly available: number;
  /** Whether these are enough. */
  readonly fits: boolean;
  /** The largest number of layers whose matrices can stay on the device; undefined if not even none. */
  readonly residentLayers: number | undefined;
}

const ACTION = "calculate the memory of a model";
const NAMES = [
  "dtype",
  "head",
  "cacheDType",
  "cacheTokens",
  "maxSequences",
  "chunk",
  "residentLayers",
];
/** Positions of a page of the cache. */
const PAGE = 16;

/** Bytes of the packed codes of the matrices of a layer. */
function codesOfLayer(config: ModelConfig): number {
  const { hiddenSize, feedForwardSize, heads, keyValueHeads, headSize } = config;
  const codes = (rows: number, columns: number) => rows * 16 * Math.ceil(columns / 64);
  return codes((heads + 2 * keyValueHeads) * headSize, hiddenSize) +
    codes(hiddenSize, heads * headSize) + codes(2 * feedForwardSize, hiddenSize) +
    codes(hiddenSize, feedForwardSize);
}

/** Bytes of norms and scales. */
function normsOf({ layers, hasSubNorms, ...config }: ModelConfig): number {
  const { hiddenSize, feedForwardSize, heads, keyValueHeads, headSize } = config;
  const norms = (2 + Number(hasSubNorms)) * hiddenSize + Number(hasSubNorms) * feedForwardSize;
  // Matrices that stand alone may have a scale for each row, too.
  const scales = (heads + 2 * keyValueHeads) * headSize + 2 * feedForwardSize + 2 * hiddenSize;
  return 4 * (layers * (norms + scales) + hiddenSize);
}

/** Bytes of activations for each row of a step: what a layer holds until its end. */
function activationsOf(config: ModelConfig): number {
  const { hiddenSize, feedForwardSize, heads, keyValueHeads, headSize } = config;
  const width = heads * headSize;
  const residual = 4 * 4 * hiddenSize;
  const attention = 4 * (width + 2 * keyValueHeads * headSize) + 4 * 4 * width;
  const products = 4 * 3 * hiddenSize + 4 * 2 * feedForwardSize;
  const quantised = 3 * hiddenSize + width + feedForwardSize;
  return residual + attention + products + quantised + 4 * headSize;
}

/**
 * Calculates the device memory of a model from its configuration and its files' table of weights.
 *
 * @param source The opened model.
 * @param options How it is to be loaded.
 * @returns Bytes of its parts.
 * @throws {RangeError} If a number is out of range.
 *
 * @example
 * ```ts
 * import { memoryOf, openSource } from "@gridstride/cuda/bitnet";
 *
 * async function bytesOf(path: string): Promise<number> {
 *   await using source = await openSource(path);
 *   return memoryOf(source, { cacheTokens: 4096 }).bytes;
 * }
 * console.log(typeof bytesOf); // function
 * ```
 * @category Files
 */
export function memoryOf(
  source: Pick<ModelSource, "config" | "weights">,
  options: MemoryOptions = {},
): ModelMemory {
  requireOptions(options, NAMES, ACTION);
  const { config } = source;
  const { layers, hiddenSize, vocabularySize, keyValueHeads, headSize } = config;
  const { cacheDType = "float16", cacheTokens = config.contextLength } = options;
  const { maxSequences = 8, chunk = 512, residentLayers = layers } = options;
  const counts = { cacheTokens, maxSequences, chunk };
  for (const [name, value] of Object.entries(counts)) {
    checkInteger(value, `options.${name}`, ACTION, 1, 2 ** 31 - 1);
  }
  checkInteger(residentLayers, "options.residentLayers", ACTION, 0, layers);
  const tableOf = (name: "embedding" | "head") => {
    const dtype = tableType(source.weights.get(name)!, config, options);
    const scales = dtype === "int8" ? 4 * vocabularySize : 0;
    return vocabularySize * hiddenSize * bytesPerElement(dtype) + scales;
  };
  const tables = tableOf("embedding") + (config.isHeadTied ? 0 : tableOf("head"));
  const layer = codesOfLayer(config);
  const matrices = Math.min(layers, residentLayers + 1) * layer;
  const norms = normsOf(config);
  const positions = Math.ceil(cacheTokens / PAGE) * PAGE;
  const cache = 2 * layers * positions * keyValueHeads * headSize * bytesPerElement(cacheDType);
  // Prompts, and a graph for each number of sequences has memory of its own.
  const rows = chunk + maxSequences;
  const logits = 4 * maxSequences * vocabularySize;
  const workspace = (rows + maxSequences) * activationsOf(config) + 4 * logits;
  const parts = { tables, matrices, norms, cache, workspace };
  const bytes = Object.values(parts).reduce((sum, part) => sum + part, 0);
  return { ...parts, bytes, layer };
}

/** The element type of keys and values on a device. */
export function defaultCacheDType({ info }: DeviceContext): DecoderDType {
  return info.kind === "cuda" ? "float16" : "float32";
}

/** The bytes of a device for further memory: usable ones, and free ones of its pool. */
function availableOf(context: DeviceContext): number {
  const pool = poolOfDevice(context);
  const { free, allocated } = pool.stats();
  const { usable } = usableMemory(deviceMemory(context.library, context.ordinal));
  return Math.max(0, Math.min(usable + free, pool.limitBytes - allocated));
}

/**
 * Calculates whether a model fits in the free memory of a device.
 *
 * @param source The opened model.
 * @param options The device, the default one otherwise, and how the model is to be loaded.
 * @returns The memory of the model and of the device, and the layers that can stay on the device.
 * @throws {RangeError} If a number is out of range.
 *
 * @example
 * ```ts
 * import { fits, openSource } from "@gridstride/cuda/bitnet";
 *
 * async function check(path: string): Promise<boolean> {
 *   await using source = await openSource(path);
 *   return fits(source, { device: "host:0", cacheTokens: 4096 }).fits;
 * }
 * console.log(typeof check); // function
 * ```
 * @category Files
 */
export function fits(
  source: Pick<ModelSource, "config" | "weights">,
  options: MemoryOptions & { readonly device?: TensorDevice } = {},
): ModelFit {
  const { device, ...own } = options;
  const context = placeOf(device === undefined ? {} : { device }, ACTION);
  const memory = memoryOf(source, {
    ...own,
    cacheDType: own.cacheDType ?? defaultCacheDType(context),
  });
  const available = availableOf(context);
  const { layers } = source.config;
  const { layer, bytes, matrices } = memory;
  const room = Math.floor((available - (bytes - matrices)) / layer);
  // All layers, or some and the memory that the others share.
  const resident = room >= layers ? layers : room - 1;
  return {
    memory,
    available,
    fits: bytes <= available,
    residentLayers: resident < 0 ? undefined : resident,
  };
}

/** The parts of the sum, in words. */
export function memoryText(
  { tables, matrices, norms, cache, workspace, bytes }: ModelMemory,
): string {
  return `${formatBytes(bytes)}: embedding and head ${formatBytes(tables)}, ternary matrices ${
    formatBytes(matrices)
  }, norms and scales ${formatBytes(norms)}, keys and values ${
    formatBytes(cache)
  }, activations and logits ${formatBytes(workspace)}`;
}

/**
 * The number of layers that stay on a device.
 *
 * @param isOffloaded Whether those that do not fit may lie in memory of the host.
 * @throws {OutOfMemoryError} If the model does not fit.
 */
export function requireRoom(
  source: Pick<ModelSource, "config" | "weights">,
  context: DeviceContext,
  options: MemoryOptions,
  isOffloaded: boolean,
  action: string,
): number {
  const { memory, available, fits: isFitting, residentLayers } = fits(source, {
    ...options,
    device: { context },
  });
  if (isFitting) return source.config.layers;
  if (isOffloaded && residentLayers !== undefined) return residentLayers;
  const { free, total } = deviceMemory(context.library, context.ordinal);
  throw new OutOfMemoryError({
    action,
    requested: memory.bytes,
    device: context.label,
    detail: `the model needs ${memoryText(memory)}; there are ${formatBytes(available)}`,
    free,
    total,
  });
}
