/**
 * Models in GGUF files: of bitnet.cpp, of llama.cpp and of BitNet.rs.
 *
 * @module
 */

import { TensorFileError } from "../../tensor/mod.ts";
import { entrySubject } from "../../tensor/files/tensor_file.ts";
import { shapeText, sizeOf } from "../../tensor/kit/layout.ts";
import type { ModelConfig } from "../config.ts";
import { checkConfig, type ConfigFields } from "./checked_config.ts";
import { bytesOfShape, fileWeight, isFloat } from "./file_weight.ts";
import {
  describe,
  GgufArray,
  type GgufHeader,
  type GgufTensor,
  readGgufHeader,
} from "./gguf_header.ts";
import { ternaryPlace } from "./gguf_ternary.ts";
import {
  type I2sLayout,
  isLinear,
  type LayerWeightName,
  type ModelSource,
  shapeAt,
  type TokenizerFiles,
  type WeightName,
  weightNames,
  type WeightSource,
} from "./model_source.ts";
import { SourceFile } from "./source_file.ts";

const ARCHITECTURES = ["bitnet-b1.58", "bitnet", "bitnet-25"] as const;

/** The names of types that need no ternary layout, by ggml's type ids. */
const PLAIN_TYPES = {
  0: "float32",
  1: "float16",
  8: "q8_0",
  12: "q4_k",
  14: "q6_k",
  30: "bfloat16",
} as const;

/** Other types, for messages and lists. */
const OTHER_TYPES: Readonly<Record<number, string>> = {
  ...{ 2: "q4_0", 3: "q4_1", 6: "q5_0", 7: "q5_1", 10: "q2_k", 11: "q3_k", 13: "q5_k" },
  ...{ 15: "q8_k", 24: "int8", 25: "int16", 26: "int32", 27: "int64", 28: "float64" },
  ...{ 34: "tq1_0", 35: "tq2_0", 36: "i2_s", 38: "tl1", 40: "nvfp4", 41: "q1_0", 42: "q2_0" },
};

/** The name of a type id in a file of an architecture. */
export function typeName(type: number, architecture: string | undefined): string {
  const plain: Readonly<Record<number, string>> = PLAIN_TYPES;
  if (type === 39) return architecture?.startsWith("bitnet") ? "tl2" : "mxfp4";
  return plain[type] ?? OTHER_TYPES[type] ?? `type ${type}`;
}

/** The names of a layer's weights, between `blk.N.` and `.weight`. */
const LAYER_NAMES: Readonly<Record<LayerWeightName, string>> = {
  attentionNorm: "attn_norm",
  query: "attn_q",
  key: "attn_k",
  value: "attn_v",
  attentionSubNorm: "attn_sub_norm",
  attentionOutput: "attn_output",
  feedForwardNorm: "ffn_norm",
  gate: "ffn_gate",
  up: "ffn_up",
  feedForwardSubNorm: "ffn_sub_norm",
  down: "ffn_down",
};

/** The name of a weight's tensor, without `.weight`. */
function tensorName(name: WeightName): string {
  if (name === "embedding") return "token_embd";
  if (name === "outputNorm") return "output_norm";
  if (name === "head") return "output";
  const [, layer, part] = name.split(".") as [string, string, LayerWeightName];
  return `blk.${layer}.${LAYER_NAMES[part]}`;
}

/** The values of a header's keys, checked. */
export class GgufKeys {
  constructor(readonly header: GgufHeader, readonly subject: string) {}

  /** The error for the value of a key. */
  error(key: string, allowed: string): TensorFileError {
    const value = this.header.values.get(key);
    const found = value === undefined ? "is missing" : `is ${describe(value)}`;
    return new TensorFileError(`${found}, and must be ${allowed}`, entrySubject(key, this.subject));
  }

  /** A number; undefined if there is none. */
  number(key: string): number | undefined {
    const value = this.header.values.get(key);
    if (value === undefined || typeof value === "number") return value;
    if (typeof value === "bigint" && BigInt(Number(value)) === value) return Number(value);
    throw this.error(key, "a number");
  }

  /** A number that must be there. */
  required(key: string): number {
    const value = this.number(key);
    if (value === undefined) throw this.error(key, "a number");
    return value;
  }

  /** A text; undefined if there is none. */
  text(key: string): string | undefined {
    const value = this.header.values.get(key);
    if (value === undefined || typeof value === "string") return value;
    throw this.error(key, "a text");
  }

  /** An array; undefined if there is none. */
  array(key: string, type: RegExp): GgufArray | undefined {
    const value = this.header.values.get(key);
    if (value === undefined) return undefined;
    if (value instanceof GgufArray && type.test(value.type)) return value;
    throw this.error(key, `an array of elements of type ${type.source}`);
  }
}

/** The configuration in the keys, with the shapes of some tensors. */
function configOf(
  keys: GgufKeys,
  tensors: ReadonlyMap<string, GgufTensor>,
): ModelConfig {
  const given = keys.text("general.architecture");
  const architecture = ARCHITECTURES.find((name) => name === given);
  if (architecture === undefined) {
    throw keys.error("general.architecture", ARCHITECTURES.join(", "));
  }
  const key = (name: string) => `${architecture}.${name}`;
  const heads = keys.required(key("attention.head_count"));
  const hiddenSize = keys.required(key("embedding_length"));
  const headSize = keys.number(key("attention.key_length")) ?? hiddenSize / heads;
  for (const name of ["rope.dimension_count", "attention.value_length"]) {
    if ((keys.number(key(name)) ?? headSize) !== headSize) {
      throw keys.error(key(name), `the length of a head, ${headSize}`);
    }
  }
  const scaling = keys.text(key("rope.scaling.type")) ?? "none";
  const factor = keys.number(key("rope.scaling.factor")) ?? 1;
  if (scaling !== "none" && (scaling !== "linear" || factor !== 1)) {
    throw keys.error(key("rope.scaling.type"), "none: other scalings are not supported");
  }
  const activation = keys.text(key("hidden_act")) ?? (architecture === "bitnet" ? "silu" : "relu2");
  if (activation !== "silu" && activation !== "relu2") {
    throw keys.error(key("hidden_act"), "silu or relu2");
  }
  const embedding = tensors.get("token_embd.weight");
  const config: ModelConfig = {
    architecture,
    layers: keys.required(key("block_count")),
    hiddenSize,
    feedForwardSize: keys.required(key("feed_forward_length")),
    heads,
    keyValueHeads: keys.number(key("attention.head_count_kv")) ?? heads,
    headSize,
    vocabularySize: keys.number(key("vocab_size")) ?? embedding?.shape[0] ??
      keys.required(key("vocab_size")),
    contextLength: keys.required(key("context_length")),
    epsilon: keys.required(key("attention.layer_norm_rms_epsilon")),
    // llama.cpp's default.
    ropeTheta: keys.number(key("rope.freq_base")) ?? 10_000,
    ropePairs: "halves",
    activation: activation === "silu" ? "silu" : "squaredRelu",
    hasSubNorms: tensors.has("blk.0.attn_sub_norm.weight") ||
      tensors.has("blk.0.ffn_sub_norm.weight"),
    isHeadTied: !tensors.has("output.weight"),
    beginToken: keys.number("tokenizer.ggml.bos_token_id"),
    endTokens: endTokensOf(keys),
  };
  const fields: ConfigFields = {
    layers: key("block_count"),
    hiddenSize: key("embedding_length"),
    feedForwardSize: key("feed_forward_length"),
    heads: key("attention.head_count"),
    keyValueHeads: key("attention.head_count_kv"),
    headSize: `${key("embedding_length")} / ${key("attention.head_count")}`,
    vocabularySize: key("vocab_size"),
    contextLength: key("context_length"),
    epsilon: key("attention.layer_norm_rms_epsilon"),
    ropeTheta: key("rope.freq_base"),
    beginToken: "tokenizer.ggml.bos_token_id",
    endTokens: "tokenizer.ggml.eos_token_id",
  };
  return checkConfig(config, fields, keys.subject);
}

/** The tokenizer in the keys. */
function tokenizerOf({ header }: GgufKeys): TokenizerFiles | undefined {
  if (!header.values.has("tokenizer.ggml.model")) return undefined;
  return {
    kind: "gguf",
    metadata: () =>
      Object.fromEntries(
        [...header.values].filter(([key]) => key.startsWith("tokenizer."))
          .map(([key, value]) => [key, value instanceof GgufArray ? value.values() : value]),
      ),
  };
}

/** The tokens that end a sequence: those of the keys, and the end of a turn of LLaMA 3. */
function endTokensOf(keys: GgufKeys): number[] {
  const tokens = keys.array("tokenizer.ggml.tokens", /string/);
  const turn = tokens?.indexOfText("<|eot_id|>") ?? -1;
  const given = ["eos", "eot"].map((name) => keys.number(`tokenizer.ggml.${name}_token_id`));
  const all = [...given, turn].filter((token) => token !== undefined && token !== -1);
  return [...new Set(all)] as number[];
}

/** How elements become ternary: all of them are 0 or one magnitude, or they are master weights. */
async function quantizationOf(weight: WeightSource): Promise<"mean" | "largest"> {
  const { format, byteLength } = weight;
  const piece = new Uint8Array(Math.min(2 ** 16, byteLength));
  for (let offset = 0; offset < byteLength; offset += piece.length) {
    const part = piece.subarray(0, Math.min(piece.length, byteLength - offset));
    await weight.readInto(part, offset);
    const bits = format === "float32" ? new Uint32Array(part.buffer) : new Uint16Array(part.buffer);
    const sign = format === "float32" ? 0x7fffffff : 0x7fff;
    const sizes = new Set<number>();
    for (const element of bits.subarray(0, part.length / bits.BYTES_PER_ELEMENT)) {
      if ((element & sign) !== 0) sizes.add(element & sign);
      if (sizes.size > 1) return "mean";
    }
    if (sizes.size === 1) return "largest";
  }
  return "largest";
}

/** A number that a tensor of one element holds; undefined without such a tensor. */
async function loneNumber(
  tensor: GgufTensor | undefined,
  file: SourceFile,
): Promise<number | undefined> {
  if (tensor === undefined) return undefined;
  const subject = entrySubject(tensor.name, file.path);
  if (tensor.type !== 0 || sizeOf(tensor.shape) !== 1 || tensor.room < 4) {
    throw new TensorFileError("must be one float32", subject);
  }
  const number = new DataView((await file.bytes(tensor.offset, 4)).buffer).getFloat32(0, true);
  if (number > 0 && number < Infinity) return number;
  throw new TensorFileError(`is ${number}, which must be positive and finite`, subject);
}

/** Opens the weight at a place. */
async function weightAt(
  name: WeightName,
  config: ModelConfig,
  tensors: ReadonlyMap<string, GgufTensor>,
  file: SourceFile,
  options: { readonly layout: I2sLayout | undefined; readonly alignment: number },
): Promise<WeightSource> {
  const fileName = `${tensorName(name)}.weight`;
  const tensor = tensors.get(fileName);
  const subject = entrySubject(fileName, file.path);
  if (tensor === undefined) throw new TensorFileError("is missing", subject);
  const shape = shapeAt(name, config);
  if (shapeText(tensor.shape) !== shapeText(shape)) {
    throw new TensorFileError(
      `has the shape ${shapeText(tensor.shape)}, and its place ${shapeText(shape)}`,
      subject,
    );
  }
  const format = PLAIN_TYPES[tensor.type as keyof typeof PLAIN_TYPES];
  if (format === undefined) {
    if (!isLinear(name)) {
      const type = typeName(tensor.type, config.architecture);
      throw new TensorFileError(`has elements of ${type}, which ${name} cannot have`, subject);
    }
    const factor = await loneNumber(tensors.get(`${tensorName(name)}.scale`), file);
    const companion = tensors.get(`${fileName}_scale`);
    const place = await ternaryPlace(tensor, companion, file, { ...options, ...config });
    const scale = scaled(place.scale, factor);
    return fileWeight(file, { ...place, name, fileName, shape, ...scale });
  }
  const isBlocked = !isFloat(format);
  if (isBlocked && (isLinear(name) || shape.length === 1)) {
    throw new TensorFileError(`has elements of ${format}, which ${name} cannot have`, subject);
  }
  const length = bytesOfShape(format, shape);
  if (length === undefined) {
    throw new TensorFileError(
      `has ${shape.at(-1)} columns, which are no blocks of ${format}`,
      subject,
    );
  }
  if (length > tensor.room) {
    throw new TensorFileError(`needs ${length} bytes, and there are ${tensor.room}`, subject);
  }
  const description = { name, fileName, shape, format, offset: tensor.offset, length };
  if (!isLinear(name)) return fileWeight(file, description);
  const quantization = await quantizationOf(fileWeight(file, description));
  const factor = await loneNumber(tensors.get(`${tensorName(name)}.scale`), file);
  return fileWeight(file, { ...description, quantization, ...scaled(undefined, factor) });
}

/** The product of the scales that a file keeps apart, as a field; none if it keeps none. */
function scaled(
  scale: number | Float32Array<ArrayBuffer> | undefined,
  factor: number | undefined,
): { readonly scale?: number | Float32Array<ArrayBuffer> } {
  if (scale === undefined && factor === undefined) return {};
  if (scale === undefined || factor === undefined) return { scale: scale ?? factor! };
  return { scale: typeof scale === "number" ? scale * factor : scale.map((it) => it * factor) };
}

/** The keys with facts about the model, by the words for them. */
const FACTS = {
  "name": "general.name",
  "license": "general.license",
  "file type": "general.file_type",
  "author": "general.author",
} as const;

/** Opens a GGUF file. */
export async function openGguf(path: string, layout?: I2sLayout): Promise<ModelSource> {
  await using cleanup = new AsyncDisposableStack();
  const file = cleanup.use(await SourceFile.open(path));
  const header = await readGgufHeader(file);
  const keys = new GgufKeys(header, file.path);
  const tensors = new Map(header.tensors.map((tensor) => [tensor.name, tensor]));
  const config = configOf(keys, tensors);
  const weights = new Map<WeightName, WeightSource>();
  const options = { layout, alignment: header.alignment };
  for (const name of weightNames(config)) {
    weights.set(name, await weightAt(name, config, tensors, file, options));
  }
  const facts = Object.entries(FACTS).flatMap(([words, key]) => {
    const value = header.values.get(key);
    return value === undefined ? [] : [[words, String(value)] as const];
  });
  const owned = cleanup.move();
  return {
    config,
    weights,
    tokenizer: tokenizerOf(keys),
    chatTemplate: keys.text("tokenizer.chat_template"),
    facts: new Map(facts),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
