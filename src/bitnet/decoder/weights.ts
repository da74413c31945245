/**
 * The weights of a decoder on a device.
 *
 * @module
 */

import { cannot, checkInteger, refuseOption, requireOptions } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import type { DeviceContext } from "../../hardware/device_context.ts";
import { PinnedBuffer } from "../../memory/pinned_buffer.ts";
import { defaultStream } from "../../stream/stream.ts";
import { shapeText } from "../../tensor/kit/layout.ts";
import { placeOf, type TensorDevice } from "../../tensor/kit/placement.ts";
import { abs, empty, fromTypedArray, max, type Tensor, tidy } from "../../tensor/mod.ts";
import { TERNARY_FORMATS, type TernaryFormat } from "../../ternary/layouts.ts";
import { packBytes, packCodes } from "../../ternary/packing.ts";
import { quantizeWeights } from "../../ternary/quantize.ts";
import { type TernaryWeights, weightsOfCodes } from "../../ternary/weights.ts";
import { type ModelConfig, requireConfig } from "../config.ts";
import { BLOCK_FORMATS } from "../files/block_formats.ts";
import { isFloat } from "../files/file_weight.ts";
import {
  type LayerWeightName,
  type ModelSource,
  shapeAt,
  type WeightName,
  type WeightSource,
} from "../files/model_source.ts";
import { bytesOfRows, type DecoderDType, readTable, type Table } from "./table.ts";
import { WeightTransfer } from "./transfer.ts";

const ACTION = "load a decoder";
const NAMES = ["device", "dtype", "head", "residentLayers", "onProgress", "signal"];
const FLOATS: readonly string[] = ["float32", "float16", "bfloat16"] satisfies DecoderDType[];

/** Options of {@linkcode loadDecoderWeights}. */
export interface DecoderWeightsOptions {
  /** The device; the default one otherwise. */
  readonly device?: TensorDevice;
  /** The element type of the embedding and of the head; that of the file by default. */
  readonly dtype?: DecoderDType;
  /**
   * `int8` makes the head a table of 8-bit integers with a scale for each row, and the embedding if it
   * is the same table. It is the default for files that have blocks of integers, without `dtype`.
   */
  readonly head?: "float" | "int8";
  /**
   * The number of layers whose matrices stay on the device, all of them by default. Those of the others
   * lie in memory of the host, from which each use copies them.
   */
  readonly residentLayers?: number;
  /** Is called with the bytes read so far, and those of all weights. */
  readonly onProgress?: (read: number, bytes: number) => void;
  /** Ends the loading, which rejects with its reason. */
  readonly signal?: AbortSignal;
}

/** The weights of a layer. */
export interface LayerWeights {
  readonly attentionNorm: Tensor<"float32">;
  readonly attentionSubNorm: Tensor<"float32"> | undefined;
  readonly feedForwardNorm: Tensor<"float32">;
  readonly feedForwardSubNorm: Tensor<"float32"> | undefined;
  /** The rows of queries, keys and values, below each other. */
  readonly queryKeyValue: TernaryWeights;
  readonly attentionOutput: TernaryWeights;
  /** The rows of the gate, then those of its factor. */
  readonly gateUp: TernaryWeights;
  readonly down: TernaryWeights;
  /** Of a layer whose matrices lie in memory of the host: brings them to the device before their use. */
  readonly fetch?: () => void;
}

/** The weights of a decoder on a device. */
export interface DecoderWeights extends Disposable {
  readonly config: ModelConfig;
  readonly context: DeviceContext;
  /** [vocabularySize, hiddenSize]. */
  readonly embedding: Table;
  /** [vocabularySize, hiddenSize]; the embedding itself if the head is tied. */
  readonly head: Table;
  readonly outputNorm: Tensor<"float32">;
  readonly layers: readonly LayerWeights[];
}

/** The element type of a table on the device. */
export function tableType(
  { name, format }: WeightSource,
  { isHeadTied }: ModelConfig,
  { dtype, head }: Pick<DecoderWeightsOptions, "dtype" | "head">,
): DecoderDType | "int8" {
  const isHead = name === "head" || isHeadTied;
  if (isHead && head === "int8") return "int8";
  if (dtype !== undefined) return dtype;
  if (isFloat(format)) return format;
  return isHead && head === "float" ? "float16" : "int8";
}

/** Scales of all rows, of matrices with one scale or one for each row. */
function scalesOfAll(
  scales: readonly Float32Array<ArrayBuffer>[],
  rows: readonly number[],
): Float32Array<ArrayBuffer> {
  if (scales.length === 1) return scales[0]!;
  const all = new Float32Array(rows.reduce((sum, count) => sum + count, 0));
  let start = 0;
  for (const [part, own] of scales.entries()) {
    const target = all.subarray(start, start += rows[part]!);
    if (own.length > 1) target.set(own);
    else target.fill(own[0]!);
  }
  return all;
}

/** The magnitude of elements that are 0 or plus or minus one number. */
function magnitudeOf(floats: Tensor<DecoderDType>): Tensor<"float32"> {
  return tidy(() => max(abs(floats as Tensor<"float32">)).astype("float32").reshape([1]));
}

/** Reads weights, and owns those that were read until they are released. */
class WeightReader implements AsyncDisposable {
  readonly #source: ModelSource;
  readonly #context: DeviceContext;
  readonly #options: DecoderWeightsOptions;
  readonly #transfer: WeightTransfer;
  readonly #owned = new Set<Disposable>();
  readonly #own = <Value extends Disposable>(value: Value): Value => {
    this.#owned.add(value);
    return value;
  };

  constructor(source: ModelSource, context: DeviceContext, options: DecoderWeightsOptions) {
    this.#source = source;
    this.#context = context;
    this.#options = options;
    this.#transfer = new WeightTransfer(context, {
      bytes: source.weights.values().reduce((sum, { byteLength }) => sum + byteLength, 0),
      onProgress: options.onProgress,
      signal: options.signal,
    });
  }

  #find(name: WeightName): WeightSource {
    const found = this.#source.weights.get(name);
    if (found === undefined) throw new TypeError(`${cannot(ACTION)} as it must have ${name}`);
    const shape = shapeAt(name, this.#source.config);
    if (shapeText(found.shape) === shapeText(shape)) return found;
    throw new RangeError(
      `${cannot(ACTION)} as ${name} must have the shape ${shapeText(shape)}: it has ${
        shapeText(found.shape)
      }`,
    );
  }

  /** A weight of floats, or also of blocks. */
  #findFloats(name: WeightName, formats: readonly string[]): WeightSource {
    const source = this.#find(name);
    const { format, byteLength, shape } = source;
    if (!formats.includes(format)) {
      throw new TypeError(
        `${cannot(ACTION)} as the format of ${name} must be ${formats.join(", ")}: it is ${
          describeValue(format)
        }`,
      );
    }
    const bytes = bytesOfRows(source, shape[0]!);
    if (byteLength === bytes) return source;
    throw new RangeError(
      `${cannot(ACTION)} as ${name} must have ${bytes} bytes: it has ${byteLength}`,
    );
  }

  /** A norm. */
  norm(name: WeightName): Promise<Tensor<"float32">> {
    return this.#transfer.track(async () => {
      const source = this.#findFloats(name, FLOATS);
      const table = await readTable(source, "float32", this.#context, this.#transfer, this.#own);
      return table.values as Tensor<"float32">;
    });
  }

  /** The embedding or the head. */
  table(name: "embedding" | "head"): Promise<Table> {
    return this.#transfer.track(async () => {
      const source = this.#findFloats(name, [...FLOATS, ...Object.keys(BLOCK_FORMATS)]);
      const dtype = tableType(source, this.#source.config, this.#options);
      return await readTable(source, dtype, this.#context, this.#transfer, this.#own);
    });
  }

  /** A ternary matrix, or several of them, the rows of one below those of another. */
  ternary(...names: readonly WeightName[]): Promise<TernaryWeights> {
    return this.#transfer.track(async () => {
      const sources = names.map((name) => this.#find(name));
      const rows = sources.map(({ shape }) => shape[0]!);
      const shape = [rows.reduce((sum, count) => sum + count, 0), sources[0]!.shape[1]!] as const;
      const device = { context: this.#context };
      const packed = [shape[0], 16 * Math.ceil(shape[1] / 64)];
      const codes = this.#own(empty(packed, { dtype: "uint8", device }));
      let start = 0;
      const scales = await Promise.all(sources.map((source, part) => {
        const out = codes.slice([{ start, stop: start += rows[part]! }]);
        return this.#pack(source, out);
      }));
      const all = scalesOfAll(scales, rows);
      const scale = this.#own(fromTypedArray(all, [all.length], { device }));
      // Reports of wrong codes.
      using one = codes.slice([{ stop: 1 }, { stop: 1 }]);
      await one.toArray();
      return weightsOfCodes(shape, codes, scale);
    });
  }

  /** Packs a matrix, and returns its scale or those of its rows. */
  async #pack(source: WeightSource, out: Tensor<"uint8">): Promise<Float32Array<ArrayBuffer>> {
    using own = out;
    const { name, format, byteLength } = source;
    const action = `load ${name}`;
    const part = { source, offset: 0, bytes: byteLength };
    if ((TERNARY_FORMATS as readonly string[]).includes(format)) {
      const packed = { ...source, format: format as TernaryFormat };
      return await this.#transfer.convert(
        part,
        "uint8",
        (bytes) => packBytes(bytes, own, packed, action),
      );
    }
    const { shape } = this.#findFloats(name, FLOATS);
    return await this.#transfer.convert(part, format as DecoderDType, async (elements) => {
      using floats = elements.reshape(shape);
      const { codes, scale } = source.quantization === "largest"
        ? { codes: floats, scale: magnitudeOf(floats) }
        : quantizeWeights(floats);
      using values = codes as Tensor;
      using factor = scale as Tensor<"float32">;
      const unit = source.quantization === "largest" ? factor as Tensor : undefined;
      packCodes(values, own, action, unit);
      const found = await factor.toArray();
      return found.map((it) => it * (source.scale as number ?? 1));
    });
  }

  /** Reads layers one by one, and moves their matrices to memory of the host. */
  async offload(layers: readonly number[]): Promise<LayerWeights[]> {
    const moved: LayerWeights[] = [];
    for (const layer of layers) {
      const own = await readLayer(this, this.#source.config, layer);
      moved.push(await offloadLayer(own, moved[0], this.#own));
    }
    return moved;
  }

  /** Passes all weights to the caller, who disposes them. */
  release(): Disposable {
    const owned = new Set(this.#owned);
    this.#owned.clear();
    return { [Symbol.dispose]: () => owned.forEach((weight) => weight[Symbol.dispose]()) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#transfer[Symbol.asyncDispose]();
    this.release()[Symbol.dispose]();
  }
}

/** The weights of a layer, which are read at once. */
async function readLayer(reader: WeightReader, config: ModelConfig, layer: number) {
  const named = (name: LayerWeightName) => `layers.${layer}.${name}` as const;
  const norm = (name: LayerWeightName) => reader.norm(named(name));
  const subNorm = (name: LayerWeightName) => config.hasSubNorms ? norm(name) : undefined;
  const ternary = (...names: readonly LayerWeightName[]) => reader.ternary(...names.map(named));
  return await allOf<LayerWeights>({
    attentionNorm: norm("attentionNorm"),
    queryKeyValue: ternary("query", "key", "value"),
    attentionSubNorm: subNorm("attentionSubNorm"),
    attentionOutput: ternary("attentionOutput"),
    feedForwardNorm: norm("feedForwardNorm"),
    gateUp: ternary("gate", "up"),
    feedForwardSubNorm: subNorm("feedForwardSubNorm"),
    down: ternary("down"),
  });
}

/** The matrices of a layer, in the order of their use. */
const MATRICES = ["queryKeyValue", "attentionOutput", "gateUp", "down"] as const;

/**
 * Moves the matrices of a layer to pinned memory. Before each use of the layer, its `fetch()` copies
 * them to the device, in the memory of another layer: that of the first one which is moved.
 *
 * Copies are in the stream of the products, because they take so much longer than these that it
 * would gain nothing to run both at once.
 *
 * @param layer Its matrices must not be used any more.
 * @param shared The layer that was moved first, undefined for that one itself.
 * @param own Owns the pinned memory.
 */
async function offloadLayer(
  layer: LayerWeights,
  shared: LayerWeights | undefined,
  own: (memory: Disposable) => void,
): Promise<LayerWeights> {
  const { context } = layer.down;
  const stream = defaultStream(context);
  const moved = MATRICES.map((name) => {
    const { shape, codes, scale } = layer[name];
    const pinned = new PinnedBuffer(context, "uint8", codes.size);
    own(pinned);
    pinned.copyFrom(codes.buffer, { stream });
    const target = shared === undefined ? codes : shared[name].codes;
    const fetch = () => pinned.copyTo(target.buffer, { stream });
    return { name, fetch, weights: weightsOfCodes(shape, target, scale) };
  });
  await stream.done();
  if (shared !== undefined) MATRICES.forEach((name) => layer[name].codes.dispose());
  return {
    ...layer,
    ...Object.fromEntries(moved.map(({ name, weights }) => [name, weights])),
    fetch: () => moved.forEach(({ fetch }) => fetch()),
  };
}

/** An object of the values that an object of promises gives. */
async function allOf<Values extends object>(
  promises: { readonly [Name in keyof Values]: Values[Name] | Promise<Values[Name]> },
): Promise<Values> {
  const values = await Promise.all(Object.values(promises));
  return Object.fromEntries(Object.keys(promises).map((name, at) => [name, values[at]])) as Values;
}

/**
 * Reads the weights of a decoder to a device, several at once. Ternary matrices keep 2 bits for each
 * weight; those of a floating type are quantised. Beside the weights, it takes some 60 MB.
 *
 * @param source The opened model.
 * @throws {TypeError} If a weight is missing, or its format is none that the decoder takes.
 * @throws {RangeError} If a weight has another shape than the configuration says, or its bytes are no
 * weights.
 * @throws The reason of `signal` after a cancellation, and exceptions of `onProgress`.
 */
export async function loadDecoderWeights(
  source: ModelSource,
  options: DecoderWeightsOptions = {},
): Promise<DecoderWeights> {
  requireOptions(options, NAMES, ACTION);
  const { dtype, device, head } = options;
  if (dtype !== undefined && !FLOATS.includes(dtype)) {
    refuseOption(TypeError, ACTION, "dtype", FLOATS.join(", "), dtype);
  }
  if (head !== undefined && head !== "float" && head !== "int8") {
    refuseOption(TypeError, ACTION, "head", "float or int8", head);
  }
  const config = requireConfig(source.config, ACTION);
  const { residentLayers = config.layers } = options;
  checkInteger(residentLayers, "options.residentLayers", ACTION, 0, config.layers);
  const context = placeOf(device === undefined ? {} : { device }, ACTION);
  const numbers = Array.from({ length: config.layers }, (_, layer) => layer);
  await using reader = new WeightReader(source, context, options);
  const { resident, ...tables } = await allOf({
    embedding: reader.table("embedding"),
    resident: Promise.all(
      numbers.slice(0, residentLayers).map((layer) => readLayer(reader, config, layer)),
    ),
    outputNorm: reader.norm("outputNorm"),
    ...config.isHeadTied ? {} : { head: reader.table("head") },
  });
  const layers = [...resident, ...await reader.offload(numbers.slice(residentLayers))];
  // Operations that wait for a compiler hold memory.
  await tables.embedding.values.ready();
  const weights = { config, context, head: tables.embedding, ...tables, layers };
  return { ...weights, ...reader.release() };
}
