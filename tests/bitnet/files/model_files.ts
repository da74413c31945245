/**
 * Writes small models as GGUF files and as folders of Hugging Face.
 *
 * @module
 */

import { encode, type FormatOptions, type TernaryFormat } from "../../../src/device/ternary.ts";
import { narrowFromFloat32 } from "../../../mod.ts";

/** The sizes of the model: the least that every format takes. */
export const SIZES = {
  layers: 1,
  hidden: 256,
  feedForward: 512,
  heads: 4,
  keyValueHeads: 2,
  headSize: 64,
  vocabulary: 8,
} as const;

/** The matrices of a layer: names in GGUF files, in safetensors, rows and columns. */
export const MATRICES = [
  ["attn_q", "self_attn.q_proj", 256, 256],
  ["attn_k", "self_attn.k_proj", 128, 256],
  ["attn_v", "self_attn.v_proj", 128, 256],
  ["attn_output", "self_attn.o_proj", 256, 256],
  ["ffn_gate", "mlp.gate_proj", 512, 256],
  ["ffn_up", "mlp.up_proj", 512, 256],
  ["ffn_down", "mlp.down_proj", 256, 512],
] as const;

const NORMS = [
  ["attn_norm", "input_layernorm", 256],
  ["attn_sub_norm", "self_attn.attn_sub_norm", 256],
  ["ffn_norm", "post_attention_layernorm", 256],
  ["ffn_sub_norm", "mlp.ffn_sub_norm", 512],
] as const;

/** Weights 0, 0.5 and -0.5 of a matrix; the first one is not 0. */
export function ternaryValues(seed: number, length: number): Float32Array<ArrayBuffer> {
  let state = seed + 1;
  const values = Float32Array.from({ length }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return ((state >>> 24) % 3 - 1) / 2;
  });
  values[0] = 0.5;
  return values;
}

/** The bytes of numbers in little endian. */
export function bytesOf(array: ArrayBufferView<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

/** Values as bytes of an element type. */
export function floatBytes(
  values: Float32Array<ArrayBuffer>,
  dtype: "float32" | "float16" | "bfloat16",
): Uint8Array<ArrayBuffer> {
  return bytesOf(
    dtype === "float32" ? values : narrowFromFloat32(dtype, values) as Uint16Array<ArrayBuffer>,
  );
}

/** A value of a key: a text, a flag, an integer, a fraction, or an array of texts or integers. */
export type KeyValue = string | boolean | number | readonly string[] | readonly number[];

/** A row of the table of tensors of a GGUF file. */
export interface TensorRow {
  readonly name: string;
  readonly shape: readonly number[];
  readonly type: number;
  /** The number of its bytes. */
  readonly length: number;
}

/** A tensor of a GGUF file. */
export interface GivenTensor extends Omit<TensorRow, "length"> {
  readonly bytes: Uint8Array<ArrayBuffer>;
}

class Writer {
  readonly #parts: Uint8Array<ArrayBuffer>[] = [];
  length = 0;

  bytes(bytes: Uint8Array<ArrayBuffer>): void {
    this.#parts.push(bytes);
    this.length += bytes.length;
  }

  uint32(value: number): void {
    this.bytes(bytesOf(Uint32Array.of(value)));
  }

  uint64(value: number | bigint): void {
    this.bytes(bytesOf(BigUint64Array.of(BigInt(value))));
  }

  text(text: string): void {
    const bytes = new TextEncoder().encode(text);
    this.uint64(bytes.length);
    this.bytes(bytes);
  }

  value(value: KeyValue): void {
    if (typeof value === "string") {
      this.uint32(8);
      this.text(value);
    } else if (typeof value === "boolean") {
      this.uint32(7);
      this.bytes(Uint8Array.of(Number(value)));
    } else if (typeof value === "number") {
      this.uint32(Number.isInteger(value) ? 4 : 6);
      this.bytes(bytesOf(Number.isInteger(value) ? Uint32Array.of(value) : Float32Array.of(value)));
    } else {
      this.uint32(9);
      this.uint32(typeof value[0] === "string" ? 8 : 5);
      this.uint64(value.length);
      for (const element of value) {
        if (typeof element === "string") this.text(element);
        else this.uint32(element);
      }
    }
  }

  align(alignment: number): void {
    this.bytes(new Uint8Array(-this.length & (alignment - 1)));
  }

  result(): Uint8Array<ArrayBuffer> {
    const result = new Uint8Array(this.length);
    let at = 0;
    for (const part of this.#parts) {
      result.set(part, at);
      at += part.length;
    }
    return result;
  }
}

/** All of a GGUF file before the tensors' bytes, which follow one another, each aligned. */
export function ggufHeader(
  keys: Readonly<Record<string, KeyValue>>,
  tensors: readonly TensorRow[],
  alignment = 32,
): Uint8Array<ArrayBuffer> {
  const writer = new Writer();
  writer.bytes(new TextEncoder().encode("GGUF"));
  writer.uint32(3);
  writer.uint64(tensors.length);
  const own = alignment === 32 ? keys : { "general.alignment": alignment, ...keys };
  writer.uint64(Object.keys(own).length);
  for (const [key, value] of Object.entries(own)) {
    writer.text(key);
    writer.value(value);
  }
  let offset = 0;
  for (const { name, shape, type, length } of tensors) {
    writer.text(name);
    writer.uint32(shape.length);
    for (const extent of shape.toReversed()) writer.uint64(extent);
    writer.uint32(type);
    writer.uint64(offset);
    offset += Math.ceil(length / alignment) * alignment;
  }
  writer.align(alignment);
  return writer.result();
}

/** A GGUF file. */
export function ggufFile(
  keys: Readonly<Record<string, KeyValue>>,
  tensors: readonly GivenTensor[],
  alignment = 32,
): Uint8Array<ArrayBuffer> {
  const writer = new Writer();
  const rows = tensors.map(({ bytes, ...row }) => ({ ...row, length: bytes.length }));
  writer.bytes(ggufHeader(keys, rows, alignment));
  for (const { bytes } of tensors) {
    writer.align(alignment);
    writer.bytes(bytes);
  }
  return writer.result();
}

/** The keys of the model. */
export function modelKeys(architecture = "bitnet-b1.58"): Record<string, KeyValue> {
  const own = {
    block_count: SIZES.layers,
    embedding_length: SIZES.hidden,
    feed_forward_length: SIZES.feedForward,
    context_length: 128,
    vocab_size: SIZES.vocabulary,
    "attention.head_count": SIZES.heads,
    "attention.head_count_kv": SIZES.keyValueHeads,
    "attention.layer_norm_rms_epsilon": 2 ** -17,
    "rope.dimension_count": SIZES.headSize,
    "rope.freq_base": 500_000.5,
  };
  const keys = Object.entries(own).map(([name, value]) => [`${architecture}.${name}`, value]);
  return {
    "general.architecture": architecture,
    "general.name": "a small model",
    ...Object.fromEntries(keys),
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.tokens": ["a", "b", "ab", "Ġ", "é", "f", "<|eot_id|>", "<|end|>"],
    "tokenizer.ggml.token_type": [1, 1, 1, 1, 1, 1, 3, 3],
    "tokenizer.ggml.merges": ["a b"],
    "tokenizer.ggml.bos_token_id": 7,
    "tokenizer.ggml.eos_token_id": 7,
    "tokenizer.chat_template": "{{ messages }}",
  };
}

/** The tensors of the model, whose matrices a function writes. */
export function modelTensors(
  matrix: (
    name: string,
    values: Float32Array<ArrayBuffer>,
    shape: readonly [number, number],
  ) => readonly GivenTensor[],
): GivenTensor[] {
  const float = (name: string, shape: readonly number[], type: number) => {
    const length = shape.reduce((size, extent) => size * extent, 1);
    const values = Float32Array.from({ length }, (_, i) => 1 + i % 7);
    const bytes = floatBytes(values, type === 0 ? "float32" : "float16");
    return { name, shape, type, bytes };
  };
  return [
    float("token_embd.weight", [SIZES.vocabulary, SIZES.hidden], 1),
    ...NORMS.map(([name, , length]) => float(`blk.0.${name}.weight`, [length], 0)),
    ...MATRICES.flatMap(([name, , rows, columns], seed) =>
      matrix(`blk.0.${name}`, ternaryValues(seed, rows * columns), [rows, columns])
    ),
    float("output_norm.weight", [SIZES.hidden], 0),
  ];
}

/** A matrix in a ternary format. */
export function ternaryTensor(
  type: number,
  format: TernaryFormat,
  options: FormatOptions = {},
): Parameters<typeof modelTensors>[0] {
  return (name, values, shape) => [
    { name: `${name}.weight`, shape, type, bytes: encode(values, shape, format, options) },
  ];
}

/** A tensor of a safetensors file. */
export type ShardTensor = readonly [
  name: string,
  dtype: string,
  shape: readonly number[],
  bytes: Uint8Array<ArrayBuffer>,
];

/** A safetensors file. */
export function safetensorsFile(
  tensors: readonly ShardTensor[],
): Uint8Array<ArrayBuffer> {
  let offset = 0;
  const entries = tensors.map(([name, dtype, shape, { length }]) => {
    const entry = { dtype, shape, data_offsets: [offset, offset += length] };
    return [name, entry] as const;
  });
  const header = new TextEncoder().encode(JSON.stringify(Object.fromEntries(entries)));
  const writer = new Writer();
  writer.uint64(header.length);
  writer.bytes(header);
  for (const [, , , bytes] of tensors) writer.bytes(bytes);
  return writer.result();
}

/** The content of `config.json`. */
export const HF_CONFIG = {
  architectures: ["BitNetForCausalLM"],
  model_type: "bitnet",
  hidden_act: "relu2",
  hidden_size: SIZES.hidden,
  intermediate_size: SIZES.feedForward,
  num_hidden_layers: SIZES.layers,
  num_attention_heads: SIZES.heads,
  num_key_value_heads: SIZES.keyValueHeads,
  vocab_size: SIZES.vocabulary,
  max_position_embeddings: 128,
  rms_norm_eps: 1e-5,
  rope_theta: 500000,
  bos_token_id: 7,
  eos_token_id: [6, 7],
  tie_word_embeddings: true,
};

/** The tensors of the model in safetensors: packed, or as master weights. */
export function folderTensorsOf(weights: "packed" | "master"): ShardTensor[] {
  const ones = (length: number) => floatBytes(new Float32Array(length).fill(1), "bfloat16");
  const matrices = MATRICES.flatMap(([, name, rows, columns], seed): ShardTensor[] => {
    const values = ternaryValues(seed, rows * columns);
    const full = `model.layers.0.${name}.weight`;
    if (weights === "master") {
      return [[full, "BF16", [rows, columns], floatBytes(values, "bfloat16")] as const];
    }
    const bytes = encode(values, [rows, columns], "hf-quarters");
    const scale = floatBytes(Float32Array.of(4), "bfloat16");
    return [
      [full, "U8", [rows / 4, columns], bytes] as const,
      [`${full}_scale`, "BF16", [1], scale] as const,
    ];
  });
  const { vocabulary, hidden } = SIZES;
  return [
    ["model.embed_tokens.weight", "BF16", [vocabulary, hidden], ones(vocabulary * hidden)],
    ...NORMS.map(([, name, length]) =>
      [`model.layers.0.${name}.weight`, "BF16", [length], ones(length)] as const
    ),
    ...matrices,
    ["model.norm.weight", "BF16", [hidden], ones(hidden)],
  ];
}
