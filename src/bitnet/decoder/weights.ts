/**
 * The weights of a decoder on a device.
 *
 * @module
 */

import { cannot, refuseOption, requireOptions } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import type { DeviceContext } from "../../hardware/device_context.ts";
import { bytesPerElement } from "../../memory/dtype.ts";
import { uploadStream } from "../../memory/upload/stream_upload.ts";
import { shapeText, sizeOf } from "../../tensor/kit/layout.ts";
import { placeOf, type TensorDevice } from "../../tensor/kit/placement.ts";
import { fromBuffer, type Tensor } from "../../tensor/mod.ts";
import { TERNARY_FORMATS, type TernaryFormat } from "../../ternary/layouts.ts";
import { TernaryWeights } from "../../ternary/weights.ts";
import { type ModelConfig, requireConfig } from "../config.ts";
import type {
  LayerWeightName,
  ModelSource,
  WeightName,
  WeightSource,
} from "../files/model_source.ts";

const ACTION = "load a decoder";

/**
 * The floating element types of weights in files and of the embedding on the device.
 * @category Generation
 */
export type DecoderDType = "float32" | "float16" | "bfloat16";
const DTYPES: readonly string[] = ["float32", "float16", "bfloat16"] satisfies DecoderDType[];

/** Options of {@linkcode loadDecoderWeights}. */
export interface DecoderWeightsOptions {
  /** The device; the default one otherwise. */
  readonly device?: TensorDevice;
  /** The element type of the embedding and of the head; that of the file by default. */
  readonly dtype?: DecoderDType;
  /** Is called after each weight with the bytes read so far, and those of all weights. */
  readonly onProgress?: (read: number, bytes: number) => void;
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
}

/** The weights of a decoder on a device. */
export interface DecoderWeights extends Disposable {
  readonly config: ModelConfig;
  readonly context: DeviceContext;
  /** [vocabularySize, hiddenSize]. */
  readonly embedding: Tensor<DecoderDType>;
  /** [vocabularySize, hiddenSize]; the embedding itself if the head is tied. */
  readonly head: Tensor<DecoderDType>;
  readonly outputNorm: Tensor<"float32">;
  readonly layers: readonly LayerWeights[];
}

/** The shape that a layer's weight has. */
function layerShape(config: ModelConfig, name: LayerWeightName): readonly number[] {
  const { hiddenSize, feedForwardSize, heads, keyValueHeads, headSize } = config;
  switch (name) {
    case "attentionNorm":
    case "feedForwardNorm":
      return [hiddenSize];
    case "attentionSubNorm":
      return [heads * headSize];
    case "feedForwardSubNorm":
      return [feedForwardSize];
    case "query":
      return [heads * headSize, hiddenSize];
    case "key":
    case "value":
      return [keyValueHeads * headSize, hiddenSize];
    case "attentionOutput":
      return [hiddenSize, heads * headSize];
    case "gate":
    case "up":
      return [feedForwardSize, hiddenSize];
    case "down":
      return [hiddenSize, feedForwardSize];
  }
}

/** Bytes that are read at once: a slot of the device's upload ring. */
const READ_BYTES = 8 * 2 ** 20;

/** The bytes of a weight, in pieces of one array. */
async function* piecesOf(source: WeightSource): AsyncGenerator<Uint8Array> {
  const piece = new Uint8Array(Math.min(READ_BYTES, source.byteLength));
  for (let offset = 0; offset < source.byteLength; offset += piece.length) {
    const part = piece.subarray(0, Math.min(piece.length, source.byteLength - offset));
    await source.readInto(part, offset);
    yield part;
  }
}

/** Reads weights, and owns those that were read until they are released. */
class WeightReader implements Disposable {
  readonly #source: ModelSource;
  readonly #context: DeviceContext;
  readonly #onProgress: DecoderWeightsOptions["onProgress"];
  readonly #bytes: number;
  #read = 0;
  readonly #owned = new Set<Disposable>();

  constructor(source: ModelSource, context: DeviceContext, options: DecoderWeightsOptions) {
    this.#source = source;
    this.#context = context;
    this.#onProgress = options.onProgress;
    this.#bytes = source.weights.values().reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  #find(name: WeightName, shape: readonly number[]): WeightSource {
    const found = this.#source.weights.get(name);
    if (found === undefined) throw new TypeError(`${cannot(ACTION)} as it must have ${name}`);
    if (shapeText(found.shape) === shapeText(shape)) return found;
    throw new RangeError(
      `${cannot(ACTION)} as ${name} must have the shape ${shapeText(shape)}: it has ${
        shapeText(found.shape)
      }`,
    );
  }

  #own<Value extends Disposable>(value: Value): Value {
    this.#owned.add(value);
    return value;
  }

  /** Frees a weight that another one holds now. */
  #drop(value: Disposable): void {
    this.#owned.delete(value);
    value[Symbol.dispose]();
  }

  #count({ byteLength }: WeightSource): void {
    this.#read += byteLength;
    this.#onProgress?.(this.#read, this.#bytes);
  }

  /** A weight of a floating type, as that type or another. */
  async floats<D extends DecoderDType>(
    name: WeightName,
    shape: readonly number[],
    dtype: D | undefined,
  ): Promise<Tensor<D>> {
    const source = this.#find(name, shape);
    const { format, byteLength } = source;
    if (!DTYPES.includes(format)) {
      throw new TypeError(
        `${cannot(ACTION)} as the format of ${name} must be ${DTYPES.join(", ")}: it is ${
          describeValue(format)
        }`,
      );
    }
    const bytes = sizeOf(shape) * bytesPerElement(format as D);
    if (byteLength !== bytes) {
      throw new RangeError(
        `${cannot(ACTION)} as ${name} must have ${bytes} bytes: it has ${byteLength}`,
      );
    }
    const options = { bytes, dtype: format as D };
    const buffer = await uploadStream(this.#context, piecesOf(source), options);
    this.#count(source);
    const stored = this.#own(fromBuffer(buffer, shape));
    if (dtype === undefined || dtype === format) return stored;
    const converted = this.#own(stored.astype(dtype));
    this.#drop(stored);
    return converted as Tensor as Tensor<D>;
  }

  /** A ternary matrix; one of a floating type is quantised. */
  async ternary(name: WeightName, shape: readonly number[]): Promise<TernaryWeights> {
    const source = this.#find(name, shape);
    const { format, byteLength, scale } = source;
    if (!(TERNARY_FORMATS as readonly string[]).includes(format)) {
      const floats = await this.floats(name, shape, undefined);
      const weights = this.#own(TernaryWeights.from(floats));
      this.#drop(floats);
      return weights;
    }
    const bytes = new Uint8Array(byteLength);
    await source.readInto(bytes, 0);
    this.#count(source);
    return this.#own(TernaryWeights.from(bytes, {
      format: format as TernaryFormat,
      shape,
      device: { context: this.#context },
      ...(scale === undefined ? {} : { scale }),
    }));
  }

  /** Several matrices, the rows of one below those of another. */
  async joined(
    names: readonly (readonly [WeightName, readonly number[]])[],
  ): Promise<TernaryWeights> {
    const parts: TernaryWeights[] = [];
    for (const [name, shape] of names) parts.push(await this.ternary(name, shape));
    const all = this.#own(TernaryWeights.concat(parts));
    for (const part of parts) this.#drop(part);
    return all;
  }

  /** Passes all weights to the caller, who disposes them. */
  release(): Disposable {
    const owned = new Set(this.#owned);
    this.#owned.clear();
    return { [Symbol.dispose]: () => owned.forEach((weight) => weight[Symbol.dispose]()) };
  }

  [Symbol.dispose](): void {
    this.release()[Symbol.dispose]();
  }
}

async function readLayer(
  reader: WeightReader,
  config: ModelConfig,
  layer: number,
): Promise<LayerWeights> {
  const named = (name: LayerWeightName) =>
    [`layers.${layer}.${name}`, layerShape(config, name)] as const;
  const norm = (name: LayerWeightName) => reader.floats(...named(name), "float32");
  return {
    attentionNorm: await norm("attentionNorm"),
    attentionSubNorm: config.hasSubNorms ? await norm("attentionSubNorm") : undefined,
    feedForwardNorm: await norm("feedForwardNorm"),
    feedForwardSubNorm: config.hasSubNorms ? await norm("feedForwardSubNorm") : undefined,
    queryKeyValue: await reader.joined([named("query"), named("key"), named("value")]),
    attentionOutput: await reader.ternary(...named("attentionOutput")),
    gateUp: await reader.joined([named("gate"), named("up")]),
    down: await reader.ternary(...named("down")),
  };
}

/**
 * Reads the weights of a decoder to a device, one after another. Ternary matrices keep 2 bits for
 * each weight; those of a floating type are quantised.
 *
 * @param source The opened model.
 * @throws {TypeError} If a weight is missing, or its format is none that the decoder takes.
 * @throws {RangeError} If a weight has another shape than the configuration says, or its bytes are no
 * weights.
 */
export async function loadDecoderWeights(
  source: ModelSource,
  options: DecoderWeightsOptions = {},
): Promise<DecoderWeights> {
  requireOptions(options, ["device", "dtype", "onProgress"], ACTION);
  const { dtype, device } = options;
  if (dtype !== undefined && !DTYPES.includes(dtype)) {
    refuseOption(TypeError, ACTION, "dtype", DTYPES.join(", "), dtype);
  }
  const config = requireConfig(source.config, ACTION);
  const context = placeOf(device === undefined ? {} : { device }, ACTION);
  using reader = new WeightReader(source, context, options);
  const table = [config.vocabularySize, config.hiddenSize];
  const embedding = await reader.floats("embedding", table, dtype);
  const head = config.isHeadTied ? embedding : await reader.floats("head", table, dtype);
  const outputNorm = await reader.floats("outputNorm", [config.hiddenSize], "float32");
  const layers: LayerWeights[] = [];
  for (let layer = 0; layer < config.layers; layer++) {
    layers.push(await readLayer(reader, config, layer));
  }
  const weights = { config, context, embedding, head, outputNorm, layers };
  return { ...weights, ...reader.release() };
}
