/**
 * Models in folders of Hugging Face: `config.json`, and safetensors in one file or in several with an
 * index.
 *
 * @module
 */

import { join } from "node:path";
import { describeValue } from "../../ffi/describe_value.ts";
import { namedFile, readNamed } from "../../launch/module/named_file.ts";
import { namesIn } from "../../launch/compile/files.ts";
import { widenToFloat32 } from "../../memory/element_bits.ts";
import {
  headerLength,
  type PlacedArray,
  PREFIX,
  readHeader,
} from "../../tensor/files/safetensors.ts";
import { entrySubject } from "../../tensor/files/tensor_file.ts";
import { TensorFileError } from "../../tensor/mod.ts";
import { shapeText, sizeOf } from "../../tensor/kit/layout.ts";
import type { ModelConfig } from "../config.ts";
import { checkConfig, type ConfigFields } from "./checked_config.ts";
import { bytesOfShape, fileWeight, isFloat } from "./file_weight.ts";
import {
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

const ACTION = "open a model";
/** Bytes of the largest JSON file: tokenizers have up to 20 MB. */
const MAX_JSON = 2 ** 28;
const INDEX = "model.safetensors.index.json";

type Json = Readonly<Record<string, unknown>>;

/** A tensor of a safetensors file. */
export interface ShardTensor extends PlacedArray {
  readonly file: SourceFile;
  /** The first byte in the file. */
  readonly offset: number;
}

/** The names of a layer's weights. */
const LAYER_NAMES: Readonly<Record<LayerWeightName, string>> = {
  attentionNorm: "input_layernorm",
  query: "self_attn.q_proj",
  key: "self_attn.k_proj",
  value: "self_attn.v_proj",
  attentionSubNorm: "self_attn.attn_sub_norm",
  attentionOutput: "self_attn.o_proj",
  feedForwardNorm: "post_attention_layernorm",
  gate: "mlp.gate_proj",
  up: "mlp.up_proj",
  feedForwardSubNorm: "mlp.ffn_sub_norm",
  down: "mlp.down_proj",
};

/** The name of a weight's tensor, without `.weight`. */
function tensorName(name: WeightName): string {
  if (name === "embedding") return "model.embed_tokens";
  if (name === "outputNorm") return "model.norm";
  if (name === "head") return "lm_head";
  const [, layer, part] = name.split(".") as [string, string, LayerWeightName];
  return `model.layers.${layer}.${LAYER_NAMES[part]}`;
}

/** The object in a JSON file; undefined if there is no such file. */
async function jsonIn(folder: string, name: string): Promise<Json | undefined> {
  const path = join(folder, name);
  let text: string;
  try {
    text = await readNamed(namedFile(path, ACTION), ACTION, async (path) => {
      const { size } = await Deno.stat(path);
      if (size <= MAX_JSON) return await Deno.readTextFile(path);
      throw new TensorFileError(`has ${size} bytes: the maximum is ${MAX_JSON}`, path);
    });
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new TensorFileError("is not JSON", path, { cause });
  }
  if (isObject(value)) return value;
  throw new TensorFileError("is no JSON object", path);
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The fields of a JSON object, checked. */
class Fields {
  constructor(readonly json: Json, readonly subject: string) {}

  /** The error for a field. */
  error(name: string, allowed: string): TensorFileError {
    const value = this.json[name];
    const found = value === undefined ? "is missing" : `is ${describeValue(value)}`;
    return new TensorFileError(
      `${found}, and must be ${allowed}`,
      entrySubject(name, this.subject),
    );
  }

  /** A number; undefined if there is none, or null. */
  number(name: string): number | undefined {
    const value = this.json[name] ?? undefined;
    if (value === undefined || typeof value === "number") return value;
    throw this.error(name, "a number");
  }

  /** A number that must be there. */
  required(name: string): number {
    const value = this.number(name);
    if (value === undefined) throw this.error(name, "a number");
    return value;
  }

  /** An object, which is empty if there is none. */
  object(name: string): Fields {
    const value = this.json[name] ?? {};
    if (isObject(value)) return new Fields(value, entrySubject(name, this.subject));
    throw this.error(name, "an object");
  }

  /** One of some texts. */
  text<const Text extends string>(name: string, allowed: readonly Text[], otherwise?: Text): Text {
    const value = this.json[name] ?? otherwise;
    const found = allowed.find((text) => text === value);
    if (found !== undefined) return found;
    throw this.error(name, allowed.join(" or "));
  }
}

/** A number, or several. */
function tokensOf(fields: Fields, name: string): number[] {
  const value = fields.json[name] ?? [];
  const tokens: unknown[] = Array.isArray(value) ? value : [value];
  if (tokens.every((token) => typeof token === "number")) return tokens;
  throw fields.error(name, "a number, or an array of numbers");
}

/** The configuration in `config.json`; ends of sequences may also be in `generation_config.json`. */
function configOf(
  fields: Fields,
  generation: Fields,
  tensors: ReadonlyMap<string, ShardTensor>,
): ModelConfig {
  fields.text("model_type", ["bitnet"]);
  const heads = fields.required("num_attention_heads");
  const hiddenSize = fields.required("hidden_size");
  const rope = fields.object("rope_parameters");
  const scaling = fields.object("rope_scaling");
  for (const it of [rope, scaling]) {
    it.text("rope_type", ["default"], it.json.type === undefined ? "default" : undefined);
  }
  // The class of the model has untied heads by default; its files say what they have.
  const tied = fields.json.tie_word_embeddings ?? !tensors.has("lm_head.weight");
  if (typeof tied !== "boolean") throw fields.error("tie_word_embeddings", "true or false");
  const activation = fields.text("hidden_act", ["relu2", "silu"], "relu2");
  const ends = [fields, generation].flatMap((it) => tokensOf(it, "eos_token_id"));
  const config: ModelConfig = {
    architecture: "bitnet-b1.58",
    layers: fields.required("num_hidden_layers"),
    hiddenSize,
    feedForwardSize: fields.required("intermediate_size"),
    heads,
    keyValueHeads: fields.number("num_key_value_heads") ?? heads,
    headSize: fields.number("head_dim") ?? hiddenSize / heads,
    vocabularySize: fields.required("vocab_size"),
    contextLength: fields.required("max_position_embeddings"),
    epsilon: fields.required("rms_norm_eps"),
    ropeTheta: rope.number("rope_theta") ?? fields.required("rope_theta"),
    ropePairs: "halves",
    activation: activation === "silu" ? "silu" : "squaredRelu",
    hasSubNorms: true,
    isHeadTied: tied,
    beginToken: fields.number("bos_token_id"),
    endTokens: [...new Set(ends)],
  };
  const names: ConfigFields = {
    layers: "num_hidden_layers",
    hiddenSize: "hidden_size",
    feedForwardSize: "intermediate_size",
    heads: "num_attention_heads",
    keyValueHeads: "num_key_value_heads",
    headSize: fields.json.head_dim === undefined ? "hidden_size / num_attention_heads" : "head_dim",
    vocabularySize: "vocab_size",
    contextLength: "max_position_embeddings",
    epsilon: "rms_norm_eps",
    ropeTheta: "rope_theta",
    beginToken: "bos_token_id",
    endTokens: "eos_token_id",
  };
  return checkConfig(config, names, fields.subject);
}

/** The names of the safetensors files of a folder, from the index if there is one. */
async function shardNames(folder: string): Promise<readonly string[]> {
  const index = await jsonIn(folder, INDEX);
  if (index === undefined) return ["model.safetensors"];
  const subject = join(folder, INDEX);
  const map = new Fields(index, subject).object("weight_map").json;
  const names = [...new Set(Object.values(map))];
  const isName = (name: unknown) =>
    typeof name === "string" && /^[^/\\\0]+\.safetensors$/.test(name);
  const wrong = names.find((name) => !isName(name));
  if (wrong === undefined && names.length > 0) return names as string[];
  throw new TensorFileError(
    names.length === 0
      ? "names no files"
      : `names ${describeValue(wrong)}, which must be a .safetensors file of the folder`,
    entrySubject("weight_map", subject),
  );
}

/** The tensors of one safetensors file. */
async function shardTensors(file: SourceFile): Promise<ShardTensor[]> {
  const prefix = await file.bytes(0, Math.min(PREFIX, file.size));
  const length = headerLength(prefix, file.size, file.path);
  const start = PREFIX + length;
  const header = await file.bytes(PREFIX, length);
  const { placed } = readHeader(header, file.size - start, file.path);
  return placed.map((array) => ({ ...array, file, offset: start + array.start }));
}

/** The tensors of all safetensors files of a folder. */
export async function folderTensors(
  folder: string,
  cleanup: AsyncDisposableStack,
): Promise<Map<string, ShardTensor>> {
  const tensors = new Map<string, ShardTensor>();
  for (const name of await shardNames(folder)) {
    const file = cleanup.use(await SourceFile.open(join(folder, name)));
    for (const tensor of await shardTensors(file)) {
      const other = tensors.get(tensor.name);
      if (other !== undefined) {
        const subject = entrySubject(tensor.name, file.path);
        throw new TensorFileError(`is also in ${other.file.path}`, subject);
      }
      tensors.set(tensor.name, tensor);
    }
  }
  return tensors;
}

/** The scale beside packed weights. */
async function weightScale(tensor: ShardTensor | undefined, name: string, folder: string) {
  const subject = entrySubject(name, tensor?.file.path ?? folder);
  if (tensor === undefined) throw new TensorFileError("is missing", subject);
  const { dtype, file, offset, start, end } = tensor;
  if (sizeOf(tensor.shape) !== 1 || !isFloat(dtype)) {
    throw new TensorFileError("must be one number of a floating-point type", subject);
  }
  const { buffer } = await file.bytes(offset, end - start);
  const [scale] = dtype === "float32"
    ? new Float32Array(buffer)
    : dtype === "float16"
    ? new Float16Array(buffer)
    : widenToFloat32(dtype, new Uint16Array(buffer));
  if (scale! > 0 && scale! < Infinity) return scale!;
  throw new TensorFileError(`is ${scale}, which must be positive and finite`, subject);
}

/** How a model keeps the weights of linear layers. */
interface Quantization {
  /** The class of transformers; undefined if the model is not quantised. */
  readonly linearClass: "bitlinear" | "autobitlinear" | undefined;
  /** Whether linear layers are packed in the file; otherwise they are master weights. */
  readonly isPacked: boolean;
}

/** The quantisation in `config.json`, with the defaults of transformers. */
function quantizationOf(fields: Fields): Quantization {
  if (fields.json.quantization_config === undefined) {
    return { linearClass: undefined, isPacked: false };
  }
  const own = fields.object("quantization_config");
  own.text("quant_method", ["bitnet"]);
  if (own.json.use_rms_norm === true) {
    throw own.error("use_rms_norm", "false: norms in linear layers are not supported");
  }
  return {
    linearClass: own.text("linear_class", ["bitlinear", "autobitlinear"], "bitlinear"),
    isPacked: own.text("quantization_mode", ["offline", "online"], "offline") === "offline",
  };
}

/** Opens the weight at a place. */
async function weightAt(
  name: WeightName,
  config: ModelConfig,
  tensors: ReadonlyMap<string, ShardTensor>,
  folder: string,
  quantization: Quantization,
): Promise<WeightSource> {
  const fileName = `${tensorName(name)}.weight`;
  const tensor = tensors.get(fileName);
  const subject = entrySubject(fileName, tensor?.file.path ?? folder);
  if (tensor === undefined) throw new TensorFileError("is missing", subject);
  const { dtype, file, offset } = tensor;
  const shape = shapeAt(name, config);
  const requireShape = (stored: readonly number[]) => {
    if (shapeText(tensor.shape) === shapeText(stored)) return;
    throw new TensorFileError(
      `has the shape ${shapeText(tensor.shape)}, and its place ${shapeText(stored)}`,
      subject,
    );
  };
  const description = { name, fileName, shape, offset };
  if (isLinear(name) && quantization.isPacked) {
    if (dtype !== "uint8") {
      const allowed = "uint8, because its quantization_mode is offline";
      throw new TensorFileError(`has elements of ${dtype}, and must have ${allowed}`, subject);
    }
    const [rows, columns] = shape as [number, number];
    if (rows % 4 !== 0) {
      throw new TensorFileError(`has ${rows} rows, which are no quarters`, subject);
    }
    requireShape([rows / 4, columns]);
    const scaleName = `${fileName}_scale`;
    const scale = await weightScale(tensors.get(scaleName), scaleName, folder);
    return fileWeight(file, {
      ...description,
      format: "hf-quarters",
      length: rows / 4 * columns,
      scale: quantization.linearClass === "bitlinear" ? 1 / scale : scale,
    });
  }
  if (!isFloat(dtype)) {
    throw new TensorFileError(`has elements of ${dtype}, which ${name} cannot have`, subject);
  }
  requireShape(shape);
  return fileWeight(file, {
    ...description,
    format: dtype,
    length: bytesOfShape(dtype, shape)!,
    ...isLinear(name) ? { quantization: "mean" as const } : {},
  });
}

/** The tokenizer of a folder, and the template of chats. */
async function tokenizerIn(folder: string): Promise<{
  readonly tokenizer: TokenizerFiles | undefined;
  readonly chatTemplate: string | undefined;
}> {
  const tokenizer = await jsonIn(folder, "tokenizer.json");
  const config = await jsonIn(folder, "tokenizer_config.json") ?? {};
  const { chat_template: given } = config;
  // Several templates have names.
  const template = Array.isArray(given)
    ? given.find((it) => isObject(it) && it.name === "default")?.template
    : given;
  const own = (namesIn(folder) ?? []).includes("chat_template.jinja")
    ? await Deno.readTextFile(join(folder, "chat_template.jinja"))
    : undefined;
  return {
    tokenizer: tokenizer === undefined ? undefined : { kind: "json", tokenizer, config },
    chatTemplate: own ?? (typeof template === "string" ? template : undefined),
  };
}

/** Opens a folder of Hugging Face. */
export async function openFolder(folder: string): Promise<ModelSource> {
  await using cleanup = new AsyncDisposableStack();
  const path = join(folder, "config.json");
  const json = await jsonIn(folder, "config.json");
  if (json === undefined) throw new TensorFileError("has no config.json", folder);
  const fields = new Fields(json, path);
  const generation = new Fields(
    await jsonIn(folder, "generation_config.json") ?? {},
    join(folder, "generation_config.json"),
  );
  const tensors = await folderTensors(folder, cleanup);
  const config = configOf(fields, generation, tensors);
  const quantization = quantizationOf(fields);
  const weights = new Map<WeightName, WeightSource>();
  for (const name of weightNames(config)) {
    const weight = await weightAt(name, config, tensors, folder, quantization);
    weights.set(name, weight);
  }
  const facts = Object.entries({
    "linear class": quantization.linearClass,
    "element type": fields.json.dtype ?? fields.json.torch_dtype,
    "written by": fields.json.transformers_version === undefined
      ? undefined
      : `transformers ${fields.json.transformers_version}`,
  }).flatMap(([words, value]) => typeof value === "string" ? [[words, value] as const] : []);
  const texts = await tokenizerIn(folder);
  const owned = cleanup.move();
  return {
    config,
    weights,
    ...texts,
    facts: new Map(facts),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
