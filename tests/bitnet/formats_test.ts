// The same random weights in files of every kind give the same tokens.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { Decoder } from "../../src/bitnet/decoder/decoder.ts";
import {
  type DecoderWeightsOptions,
  loadDecoderWeights,
} from "../../src/bitnet/decoder/weights.ts";
import { type I2sLayout, openSource } from "../../src/device/bitnet.ts";
import { encode, type FormatOptions, type TernaryFormat } from "../../src/device/ternary.ts";
import { device } from "../support/device.ts";
import { TemporaryDirectory } from "../support/temporary_file.ts";
import {
  bytesOf,
  floatBytes,
  ggufFile,
  type GivenTensor,
  HF_CONFIG,
  modelKeys,
  safetensorsFile,
  type ShardTensor,
  SIZES,
} from "./files/model_files.ts";

const LAYERS = 2;
const VOCABULARY = 97;
const TOKENS = 40;

/** A matrix of a layer: its names, and its shape by the sizes of a model. */
const MATRICES = [
  ["attn_q", "self_attn.q_proj", "hidden", "hidden"],
  ["attn_k", "self_attn.k_proj", "keys", "hidden"],
  ["attn_v", "self_attn.v_proj", "keys", "hidden"],
  ["attn_output", "self_attn.o_proj", "hidden", "hidden"],
  ["ffn_gate", "mlp.gate_proj", "feedForward", "hidden"],
  ["ffn_up", "mlp.up_proj", "feedForward", "hidden"],
  ["ffn_down", "mlp.down_proj", "hidden", "feedForward"],
] as const;
const NORMS = [
  ["attn_norm", "input_layernorm", "hidden"],
  ["attn_sub_norm", "self_attn.attn_sub_norm", "hidden"],
  ["ffn_norm", "post_attention_layernorm", "hidden"],
  ["ffn_sub_norm", "mlp.ffn_sub_norm", "feedForward"],
] as const;

type Sizes = Readonly<Record<"layers" | "hidden" | "feedForward" | "keys", number>>;

const SMALL: Sizes = {
  ...{ layers: LAYERS, hidden: SIZES.hidden, feedForward: SIZES.feedForward },
  keys: SIZES.keyValueHeads * SIZES.headSize,
};

interface Matrix {
  readonly name: string;
  readonly folderName: string;
  readonly shape: readonly [number, number];
  readonly codes: Float32Array<ArrayBuffer>;
  /** A power of two, which every format has exactly. */
  readonly scale: number;
}

function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
}

/** The matrices of a model. Half of the codes of each are 0, so that its mean is half its magnitude. */
function matricesOf(sizes: Sizes): Matrix[] {
  return Array.from(
    { length: sizes.layers },
    (_, layer) =>
      MATRICES.map(([name, folderName, rows, columns], at): Matrix => {
        const shape = [sizes[rows], sizes[columns]] as const;
        const codes = new Float32Array(shape[0] * shape[1]);
        const random = randomNumbers(100 * layer + at + 1);
        for (let pair = 0; pair < codes.length; pair += 2) {
          codes[pair + (random() < 0.5 ? 0 : 1)] = random() < 0.5 ? -1 : 1;
        }
        return {
          name: `blk.${layer}.${name}`,
          folderName: `model.layers.${layer}.${folderName}.weight`,
          ...{ shape, codes, scale: 2 ** (at % 3 - 3) },
        };
      }),
  ).flat();
}

const MATRICES_OF_SMALL = matricesOf(SMALL);

function floatsOf(seed: number, length: number, least: number, range: number) {
  const random = randomNumbers(seed);
  return Float32Array.from({ length }, () => Math.f16round(least + range * random()));
}

/** The norms and the embedding, by both names. */
const floatsOfModel = (sizes: Sizes) => [
  ["token_embd", "model.embed_tokens", [VOCABULARY, sizes.hidden], -0.5, 1] as const,
  ["output", "lm_head", [VOCABULARY, sizes.hidden], -0.5, 1] as const,
  ["output_norm", "model.norm", [sizes.hidden], 0.5, 1] as const,
  ...Array.from(
    { length: sizes.layers },
    (_, layer) =>
      NORMS.map(([name, folderName, size]) =>
        [
          `blk.${layer}.${name}`,
          `model.layers.${layer}.${folderName}`,
          [sizes[size]],
          0.5,
          1,
        ] as const
      ),
  ).flat(),
];

function ggufKeys(sizes: Sizes) {
  const own = {
    block_count: sizes.layers,
    embedding_length: sizes.hidden,
    feed_forward_length: sizes.feedForward,
    vocab_size: VOCABULARY,
    "attention.head_count": sizes.hidden / SIZES.headSize,
    "attention.head_count_kv": sizes.keys / SIZES.headSize,
  };
  const entries = Object.entries(own).map(([name, value]) => [`bitnet-b1.58.${name}`, value]);
  return { ...modelKeys(), ...Object.fromEntries(entries) };
}

type WriteMatrix = (matrix: Matrix) => readonly GivenTensor[];

/** A GGUF file. */
function ggufModel(sizes: Sizes, matrices: readonly Matrix[], write: WriteMatrix) {
  const tensors = floatsOfModel(sizes).map(([name, , shape, least, range], at): GivenTensor => ({
    ...{ name: `${name}.weight`, shape, type: 0 },
    bytes: bytesOf(
      floatsOf(at + 50, shape.reduce((product, extent) => product * extent, 1), least, range),
    ),
  }));
  return ggufFile(ggufKeys(sizes), [...tensors, ...matrices.flatMap(write)]);
}

const valuesOf = ({ codes, scale }: Matrix, factor = 1) => codes.map((it) => it * scale * factor);

const scaleTensor = (name: string, scales: readonly number[]): GivenTensor => ({
  ...{ name, shape: [scales.length], type: 0, bytes: bytesOf(Float32Array.from(scales)) },
});

const ternary =
  (type: number, format: TernaryFormat, options: FormatOptions = {}): WriteMatrix => (matrix) => [{
    ...{ name: `${matrix.name}.weight`, shape: matrix.shape, type },
    bytes: encode(valuesOf(matrix), matrix.shape, format, options),
  }];

const float = (
  type: number,
  dtype: "float32" | "float16" | "bfloat16",
  factor = 1,
): WriteMatrix =>
(matrix) => [{
  ...{ name: `${matrix.name}.weight`, shape: matrix.shape, type },
  bytes: floatBytes(valuesOf(matrix, factor), dtype),
}];

/** Weights with a companion that has their scale. */
const beside = (
  write: WriteMatrix,
  suffix: string,
  scales: (matrix: Matrix) => readonly number[],
): WriteMatrix =>
(matrix) => [...write(matrix), scaleTensor(`${matrix.name}.${suffix}`, scales(matrix))];

interface Variant {
  readonly title: string;
  readonly write: WriteMatrix;
  readonly layout?: I2sLayout;
}

/** Master weights, which are quantised by their mean: some that are not alike come first. */
const masters: WriteMatrix = (matrix) => {
  const values = valuesOf(matrix, 2);
  // Their mean is the scale, too.
  const at = values.findIndex((it) => it !== 0);
  const other = values.findIndex((it, k) => k > at && it !== 0);
  values[at]! *= 1.5;
  values[other]! *= 0.5;
  return [{
    ...{ name: `${matrix.name}.weight`, shape: matrix.shape, type: 30 },
    bytes: floatBytes(values, "bfloat16"),
  }];
};

const VARIANTS: readonly Variant[] = [
  { title: "i2_s", write: ternary(36, "i2_s") },
  {
    title: "i2_s in the order of ARM builds",
    ...{ write: ternary(36, "i2_s", { layout: "i2s-64" }), layout: "i2s-64" },
  },
  {
    title: "i2_s in sequence, with a scale that divides",
    write: beside(
      ternary(36, "i2_s", { layout: "i2s-seq" }),
      "weight_scale",
      ({ scale }) => [1 / scale],
    ),
  },
  {
    title: "i2_s with the scale in a tensor",
    write: beside(
      (matrix) =>
        ternary(36, "i2_s")(matrix).map((it) => ({ ...it, bytes: it.bytes.slice(0, -32) })),
      "weight_scale",
      ({ scale }) => [scale],
    ),
    layout: "i2s-128",
  },
  { title: "blocks of 32 with scales inline", write: ternary(36, "bn32-offset2") },
  {
    title: "blocks of 32 with scales in a tensor",
    write: beside(
      ternary(36, "bn32-offset2", { scales: "apart" }),
      "weight_scale",
      ({ codes, scale }) => new Array(codes.length / 32).fill(scale),
    ),
    layout: "bn32-offset2",
  },
  {
    title: "blocks of 32 in two's complement",
    // Its scale is the largest magnitude divided by 1.5.
    write: (matrix) => ternary(36, "bn32-twos")({ ...matrix, scale: 1.5 * matrix.scale }),
    layout: "bn32-twos",
  },
  { title: "tq1_0", write: ternary(34, "tq1_0") },
  { title: "tq2_0", write: ternary(35, "tq2_0") },
  {
    title: "tq2_0 with a factor beside its scales",
    write: beside(
      (matrix) => ternary(35, "tq2_0")({ ...matrix, scale: 4 * matrix.scale }),
      "scale",
      () => [0.25],
    ),
  },
  { title: "float32", write: float(0, "float32") },
  { title: "float16", write: float(1, "float16") },
  {
    title: "bfloat16 with a factor",
    write: beside(float(30, "bfloat16", 4), "scale", () => [0.25]),
  },
  { title: "master weights", write: masters },
];

/** Tokens that a model chooses greedily. */
async function tokensOf(
  path: string,
  layout?: I2sLayout,
  options: DecoderWeightsOptions = {},
): Promise<number[]> {
  await using source = await openSource(path, layout === undefined ? {} : { layout });
  using weights = await loadDecoderWeights(source, { device, ...options });
  using decoder = new Decoder(weights, { pages: 16 });
  const sequence = decoder.add();
  const tokens: number[] = [];
  let logits = decoder.prefill(sequence, [3, 14, 15, 92, 65, 35]);
  for (;;) {
    const row = await logits.toArray();
    logits.dispose();
    tokens.push(row.indexOf(row.reduce((a, b) => Math.max(a, b))));
    if (tokens.length === TOKENS) return tokens;
    logits = decoder.forward([{ sequence, tokens: tokens.slice(-1) }]);
  }
}

let known: Promise<number[]> | undefined;

/** The tokens of a model in a format that is packed in the steps of all formats. */
function expectedTokens(): Promise<number[]> {
  return known ??= (async () => {
    using folder = new TemporaryDirectory();
    const file = ggufModel(SMALL, MATRICES_OF_SMALL, ternary(34, "tq1_0"));
    const tokens = await tokensOf(folder.file(file, "model.gguf"));
    assert(new Set(tokens).size > 10, `few different tokens: ${tokens}`);
    return tokens;
  })();
}

for (const { title, write, layout } of VARIANTS) {
  Deno.test(`a decoder of a GGUF file gives the same tokens with ${title}`, async () => {
    using folder = new TemporaryDirectory();
    const path = folder.file(ggufModel(SMALL, MATRICES_OF_SMALL, write), "model.gguf");
    assertEquals(await tokensOf(path, layout), await expectedTokens());
  });
}

/** A folder of Hugging Face. */
function writeFolder(
  folder: TemporaryDirectory,
  matrix: (matrix: Matrix) => readonly ShardTensor[],
  quantization: Readonly<Record<string, unknown>> | undefined,
): void {
  const floats = floatsOfModel(SMALL).map(([, name, shape, least, range], at): ShardTensor => {
    const length = shape.reduce((product, extent) => product * extent, 1);
    const values = floatsOf(at + 50, length, least, range);
    return [`${name}.weight`, "F32", shape, floatBytes(values, "float32")];
  });
  const tensors = [...floats, ...MATRICES_OF_SMALL.flatMap(matrix)];
  folder.file(safetensorsFile(tensors), "model.safetensors");
  const config = {
    ...HF_CONFIG,
    ...{ num_hidden_layers: LAYERS, vocab_size: VOCABULARY, rms_norm_eps: 2 ** -17 },
    ...{ rope_theta: 500000.5, tie_word_embeddings: false },
    ...quantization && { quantization_config: { quant_method: "bitnet", ...quantization } },
  };
  folder.file(new TextEncoder().encode(JSON.stringify(config)), "config.json");
}

for (const linearClass of ["autobitlinear", "bitlinear", undefined] as const) {
  const title = linearClass === undefined ? "master weights" : `packed weights of ${linearClass}`;
  Deno.test(`a decoder of a folder gives the same tokens with ${title}`, async () => {
    using folder = new TemporaryDirectory();
    writeFolder(folder, (matrix): ShardTensor[] => {
      const { folderName: name, shape, codes, scale } = matrix;
      if (linearClass === undefined) {
        return [[name, "BF16", shape, floatBytes(valuesOf(matrix, 2), "bfloat16")]];
      }
      const bytes = encode(codes, shape, "hf-quarters");
      const own = Float32Array.of(linearClass === "bitlinear" ? 1 / scale : scale);
      return [
        [name, "U8", [shape[0] / 4, shape[1]], bytes],
        [`${name}_scale`, "BF16", [1], floatBytes(own, "bfloat16")],
      ];
    }, linearClass && { linear_class: linearClass });
    assertEquals(await tokensOf(folder.path), await expectedTokens());
  });
}

Deno.test("a decoder of a GGUF file gives the same tokens with tl1 and tl2", async () => {
  // A shape for which bitnet.cpp has tiles, of which one matrix each is enough.
  const sizes = { layers: 1, hidden: 1536, feedForward: 256, keys: 128 };
  const matrices = matricesOf(sizes);
  using folder = new TemporaryDirectory();
  const common = ternary(35, "tq2_0");
  const tiled = { "blk.0.attn_q": ternary(38, "tl1"), "blk.0.attn_output": ternary(39, "tl2") };
  const tokens = await Promise.all([{}, tiled].map((own: Record<string, WriteMatrix>, at) => {
    const file = ggufModel(sizes, matrices, (matrix) => (own[matrix.name] ?? common)(matrix));
    return tokensOf(folder.file(file, `model ${at}.gguf`));
  }));
  assertEquals(tokens[1], tokens[0]);
});

Deno.test("loadDecoderWeights() names the matrix with a wrong code, and keeps nothing", async () => {
  using folder = new TemporaryDirectory();
  const load = async (wrong: string, type: number, format: TernaryFormat, byte: number) => {
    const file = ggufModel(SMALL, MATRICES_OF_SMALL, (matrix) => {
      const [tensor] = ternary(type, format)(matrix);
      if (matrix.name === wrong) tensor!.bytes[byte] = 0xff;
      return [tensor!];
    });
    await using source = await openSource(folder.file(file, "model.gguf"));
    (await loadDecoderWeights(source, { device }))[Symbol.dispose]();
  };
  const cases = [[36, "i2_s", 8133], [35, "tq2_0", 67]] as const;
  // Kernels and reports have memory of their own from the first use on.
  for (const [type, format] of cases) await load("none", type, format, 0);
  const before = device.memory.stats().live;
  for (const [type, format, byte] of cases) {
    const message =
      `Cannot load layers.1.key as bytes must be ${format}, which has no code for a ` +
      `weight in byte ${byte}`;
    await assertRejects(() => load("blk.1.attn_k", type, format, byte), RangeError, message);
  }
  assertEquals(device.memory.stats().live, before);
});
