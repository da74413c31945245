// Models in GGUF files. The files of Python's package gguf, and @huggingface/gguf's reading of the
// same files, are references.

import { crc32 } from "node:zlib";
import { gguf } from "@huggingface/gguf";
import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { widenToFloat32 } from "../../../mod.ts";
import {
  decodeBlocks,
  describeModel,
  type I2sLayout,
  type ModelSource,
  openSource,
  type WeightSource,
} from "../../../src/device/bitnet.ts";
import { TensorFileError } from "../../../src/device/tensor.ts";
import { decode, encode, type TernaryFormat } from "../../../src/device/ternary.ts";
import "../../support/cache_directory.ts";
import { python } from "../../support/python.ts";
import { patternBytes, TemporaryDirectory } from "../../support/temporary_file.ts";
import {
  bytesOf,
  floatBytes,
  ggufFile,
  type GivenTensor,
  type KeyValue,
  MATRICES,
  modelKeys,
  modelTensors,
  ternaryTensor,
  ternaryValues,
} from "./model_files.ts";

/** All bytes of a weight, read in two parts. */
async function bytesFrom(weight: WeightSource): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(weight.byteLength);
  const middle = Math.trunc(bytes.length / 3);
  await Promise.all([
    weight.readInto(bytes.subarray(middle), middle),
    weight.readInto(bytes.subarray(0, middle), 0),
  ]);
  return bytes;
}

/** The elements of a weight as its format, options and scale say. */
async function valuesFrom(weight: WeightSource): Promise<Float32Array> {
  const { format, shape, scale, formatOptions } = weight;
  const bytes = await bytesFrom(weight);
  if (format === "float32") return new Float32Array(bytes.buffer);
  if (format === "float16") return Float32Array.from(new Float16Array(bytes.buffer));
  if (format === "bfloat16") return widenToFloat32("bfloat16", new Uint16Array(bytes.buffer));
  const options = scale === undefined ? formatOptions : { ...formatOptions, scale };
  return decode(bytes, shape, format as TernaryFormat, options);
}

const LINEAR = ["query", "key", "value", "attentionOutput", "gate", "up", "down"] as const;

/** Compares all matrices of a model with the values from which it was written. */
async function expectMatrices(source: ModelSource): Promise<void> {
  for (const [seed, part] of LINEAR.entries()) {
    const weight = source.weights.get(`layers.0.${part}`)!;
    const [rows, columns] = [MATRICES[seed]![2], MATRICES[seed]![3]];
    assertEquals(weight.shape, [rows, columns]);
    assertEquals(await valuesFrom(weight), ternaryValues(seed, rows * columns), part);
  }
}

/** A scale as a tensor of its own. */
const scaleTensor = (name: string, ...scales: number[]): GivenTensor => ({
  ...{ name, shape: [scales.length], type: 0, bytes: bytesOf(Float32Array.from(scales)) },
});

interface Case {
  readonly title: string;
  readonly matrix: Parameters<typeof modelTensors>[0];
  readonly format: string;
  readonly layout?: I2sLayout;
  readonly expected?: Partial<WeightSource>;
}

const i2s = (
  layout: "i2s-128" | "i2s-64" | "i2s-seq",
  bytes: (encoded: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer> = (it) => it,
  companion?: number,
): Case["matrix"] =>
(name, values, shape) => [
  {
    ...{ name: `${name}.weight`, shape, type: 36 },
    bytes: bytes(encode(values, shape, "i2_s", { layout })),
  },
  ...companion === undefined ? [] : [scaleTensor(`${name}.weight_scale`, companion)],
];

const float =
  (type: number, dtype: "float32" | "float16" | "bfloat16"): Case["matrix"] =>
  (name, values, shape) => [
    { name: `${name}.weight`, shape, type, bytes: floatBytes(values, dtype) },
  ];

const CASES: readonly Case[] = [
  { title: "tq1_0", matrix: ternaryTensor(34, "tq1_0"), format: "tq1_0" },
  { title: "tq2_0", matrix: ternaryTensor(35, "tq2_0"), format: "tq2_0" },
  { title: "I2_S of bitnet.cpp", matrix: i2s("i2s-128"), format: "i2_s" },
  {
    title: "I2_S of builds for ARM, by option",
    ...{ matrix: i2s("i2s-64"), layout: "i2s-64", format: "i2_s" },
  },
  {
    title: "I2_S in sequence, with a scale that divides",
    ...{ matrix: i2s("i2s-seq", undefined, 2), format: "i2_s", expected: { scale: 0.5 } },
  },
  {
    title: "I2_S in bitnet.cpp's order, with the scale in a tensor, by option",
    matrix: i2s("i2s-128", (bytes) => bytes.slice(0, -32), 0.5),
    ...{ layout: "i2s-128", format: "i2_s", expected: { place: undefined } },
  },
  {
    title: "I2_S in blocks of 32 with inline scales",
    ...{ matrix: ternaryTensor(36, "bn32-offset2"), format: "bn32-offset2" },
  },
  {
    title: "I2_S in blocks of 32 with scales in a tensor, by option",
    matrix: (name, values, shape) => [
      {
        ...{ name: `${name}.weight`, shape, type: 36 },
        bytes: encode(values, shape, "bn32-offset2", { scales: "apart" }),
      },
      scaleTensor(`${name}.weight_scale`, ...new Array(values.length / 32).fill(0.5)),
    ],
    ...{ layout: "bn32-offset2", format: "bn32-offset2" },
  },
  {
    title: "float32",
    ...{ matrix: float(0, "float32"), format: "float32", expected: { quantization: "largest" } },
  },
  {
    title: "float16",
    ...{ matrix: float(1, "float16"), format: "float16", expected: { quantization: "largest" } },
  },
  {
    title: "bfloat16",
    ...{ matrix: float(30, "bfloat16"), format: "bfloat16", expected: { quantization: "largest" } },
  },
];

for (const { title, matrix, format, layout, expected = {} } of CASES) {
  Deno.test(`openSource() opens matrices of ${title}`, async () => {
    using folder = new TemporaryDirectory();
    const path = folder.file(ggufFile(modelKeys(), modelTensors(matrix)), "model.gguf");
    await using source = await openSource(path, layout === undefined ? {} : { layout });
    const query = source.weights.get("layers.0.query")!;
    assertEquals(query.format, format as WeightSource["format"]);
    for (const [name, value] of Object.entries(expected)) {
      assertEquals(query[name as keyof WeightSource] as unknown, value, name);
    }
    await expectMatrices(source);
  });
}

Deno.test("openSource() gives the configuration, facts and tokenizer of a GGUF file", async () => {
  using folder = new TemporaryDirectory();
  for (const architecture of ["bitnet-b1.58", "bitnet", "bitnet-25"] as const) {
    const tensors = modelTensors(ternaryTensor(35, "tq2_0"));
    const path = folder.file(ggufFile(modelKeys(architecture), tensors, 64), "model.gguf");
    await using source = await openSource(new URL(`file://${path}`));
    assertEquals(source.config, {
      ...{ architecture, layers: 1, hiddenSize: 256, feedForwardSize: 512, heads: 4 },
      ...{ keyValueHeads: 2, headSize: 64, vocabularySize: 8, contextLength: 128 },
      ...{ epsilon: 2 ** -17, ropeTheta: 500_000.5, ropePairs: "halves" },
      activation: architecture === "bitnet" ? "silu" : "squaredRelu",
      ...{ hasSubNorms: true, isHeadTied: true, beginToken: 7, endTokens: [7, 6] },
    });
    assertEquals(source.facts.get("name"), "a small model");
    assertEquals(source.chatTemplate, "{{ messages }}");
    const { tokenizer } = source;
    assert(tokenizer?.kind === "gguf");
    const { "tokenizer.ggml.tokens": tokens, ...others } = tokenizer.metadata();
    assertEquals(tokens, modelKeys()["tokenizer.ggml.tokens"]);
    assertEquals(others["tokenizer.ggml.token_type"], [1, 1, 1, 1, 1, 1, 3, 3]);
    assertEquals(others["tokenizer.ggml.model"], "gpt2");
    assertEquals("general.name" in others, false);
    const embedding = source.weights.get("embedding")!;
    assertEquals([embedding.format, embedding.byteLength], ["float16", 4096]);
    assertEquals((await valuesFrom(source.weights.get("outputNorm")!))[6], 7);
  }
});

Deno.test("openSource() multiplies scales of llama.cpp with those of the format", async () => {
  using folder = new TemporaryDirectory();
  const tensors = modelTensors((name, values, shape) => [
    ...ternaryTensor(35, "tq2_0")(name, values, shape),
    scaleTensor(`${name}.scale`, 0.25),
  ]);
  const path = folder.file(ggufFile(modelKeys("bitnet"), tensors), "model.gguf");
  await using source = await openSource(path);
  assertEquals(source.weights.get("layers.0.down")!.scale, 0.25);
});

Deno.test("openSource() recognises master weights", async () => {
  using folder = new TemporaryDirectory();
  const tensors = modelTensors((name, values, shape) =>
    float(0, "float32")(name, values.with(values.length - 1, 0.3), shape)
  );
  const path = folder.file(ggufFile(modelKeys(), tensors), "model.gguf");
  await using source = await openSource(path);
  // The first piece decides: it has one magnitude in a matrix that is larger than a piece.
  assertEquals(source.weights.get("layers.0.gate")!.quantization, "largest");
  const own = modelTensors((name, values, shape) =>
    float(1, "float16")(name, values.map((it, i) => it * (1 + i % 5)), shape)
  );
  const other = folder.file(ggufFile(modelKeys(), own), "other.gguf");
  await using masters = await openSource(other);
  assertEquals(masters.weights.get("layers.0.gate")!.quantization, "mean");
});

/** A model of the size of a preset, whose bytes are a pattern in front of the scale. */
function tiledModel(type: 38 | 39, isTail: boolean) {
  const [hidden, data] = [1536, type === 38 ? 589_824 : 491_520];
  const padded = type === 38 ? data : 507_904;
  const keys = modelKeys();
  Object.assign(keys, {
    "bitnet-b1.58.embedding_length": hidden,
    "bitnet-b1.58.attention.head_count": 12,
    "bitnet-b1.58.attention.head_count_kv": 12,
    "bitnet-b1.58.rope.dimension_count": 128,
  });
  const ones = (name: string, length: number, rows?: number): GivenTensor => ({
    ...{ name, shape: rows === undefined ? [length] : [rows, length], type: 0 },
    bytes: new Uint8Array(4 * length * (rows ?? 1)),
  });
  const square = (name: string): GivenTensor[] => {
    const bytes = new Uint8Array(isTail ? padded + 32 : data);
    bytes.set(patternBytes(data));
    if (isTail) new DataView(bytes.buffer).setFloat32(padded, 0.5, true);
    const weight = { name: `${name}.weight`, shape: [hidden, hidden], type, bytes };
    return isTail ? [weight] : [weight, scaleTensor(`${name}.weight_scale`, 0.5)];
  };
  const zeros = (name: string, rows: number, columns: number): GivenTensor => ({
    ...{ name, shape: [rows, columns], type: 35 },
    bytes: new Uint8Array(rows * columns / 256 * 66),
  });
  const tensors = [
    ones("token_embd.weight", hidden, 8),
    ones("blk.0.attn_norm.weight", hidden),
    ...["attn_q", "attn_k", "attn_v", "attn_output"].flatMap((name) => square(`blk.0.${name}`)),
    ones("blk.0.attn_sub_norm.weight", hidden),
    ones("blk.0.ffn_norm.weight", hidden),
    ones("blk.0.ffn_sub_norm.weight", 512),
    zeros("blk.0.ffn_gate.weight", 512, hidden),
    zeros("blk.0.ffn_up.weight", 512, hidden),
    zeros("blk.0.ffn_down.weight", hidden, 512),
    ones("output_norm.weight", hidden),
  ];
  return { file: ggufFile(keys, tensors), data, padded };
}

for (const [type, format] of [[38, "tl1"], [39, "tl2"]] as const) {
  for (const isTail of [true, false]) {
    const place = isTail ? "behind the data" : "in a tensor of its own";
    Deno.test(`openSource() opens ${format} by its preset, with the scale ${place}`, async () => {
      using folder = new TemporaryDirectory();
      const { file, data, padded } = tiledModel(type, isTail);
      await using source = await openSource(folder.file(file, "model.gguf"));
      const weight = source.weights.get("layers.0.value")!;
      assertEquals([weight.format, weight.byteLength], [format, padded + 32]);
      const bytes = await bytesFrom(weight);
      assertEquals(bytes.subarray(0, data), patternBytes(data));
      assertEquals(new DataView(bytes.buffer).getFloat32(padded, true), 0.5);
      assert(bytes.subarray(data, padded).every((byte) => byte === 0), "the space in between");
      assert(bytes.subarray(padded + 4).every((byte) => byte === 0), "the end");
    });
  }
}

/** Asserts that a model is refused, with a part of the message. */
async function expectRefused(
  folder: TemporaryDirectory,
  bytes: Uint8Array<ArrayBuffer>,
  message: string,
): Promise<void> {
  const path = folder.file(bytes, "wrong.gguf");
  const error = await assertRejects(() => openSource(path), TensorFileError);
  assertStringIncludes(error.message, message);
}

Deno.test("openSource() names the key of a wrong value", async () => {
  using folder = new TemporaryDirectory();
  const tensors = modelTensors(ternaryTensor(35, "tq2_0"));
  const own = (name: string) => `bitnet-b1.58.${name}`;
  const cases: readonly (readonly [string, KeyValue | undefined, string])[] = [
    ["general.architecture", "llama", '"general.architecture" in'],
    ["general.architecture", undefined, '"general.architecture" in'],
    ["general.architecture", 5, "is 5, and must be a text"],
    ["general.alignment", 24, '"general.alignment" in'],
    [own("block_count"), undefined, 'bitnet-b1.58.block_count" in'],
    [own("block_count"), 0, "bitnet-b1.58.block_count 0, which must be"],
    [own("block_count"), 2, '"blk.1.attn_norm.weight" in'],
    [own("block_count"), 0xffffffff, "which must be an integer in 1..65536"],
    [own("embedding_length"), "x", "must be a number"],
    [own("embedding_length"), 512, '"bitnet-b1.58.rope.dimension_count" in'],
    [own("attention.head_count_kv"), 3, "a divisor of 4 heads"],
    [own("attention.layer_norm_rms_epsilon"), 1.5, "layer_norm_rms_epsilon 1.5"],
    [own("feed_forward_length"), 256, "has the shape (512, 256)"],
    [own("vocab_size"), 9, '"token_embd.weight" in'],
    [own("rope.scaling.type"), "yarn", 'rope.scaling.type" in'],
    [own("hidden_act"), "gelu", "silu or relu2"],
    ["tokenizer.ggml.bos_token_id", 8, "tokenizer.ggml.bos_token_id 8"],
    ["tokenizer.ggml.eos_token_id", 99, "tokenizer.ggml.eos_token_id"],
    ["tokenizer.ggml.tokens", "a", "an array of elements of type string"],
  ];
  for (const [key, value, message] of cases) {
    const { [key]: _, ...others } = modelKeys();
    const keys = value === undefined ? others : { ...others, [key]: value };
    await expectRefused(folder, ggufFile(keys, tensors), message);
  }
});

Deno.test("openSource() names the tensor that does not fit", async () => {
  using folder = new TemporaryDirectory();
  const changed = (name: string, change: Partial<GivenTensor> | undefined) =>
    modelTensors(ternaryTensor(35, "tq2_0")).flatMap((tensor) =>
      tensor.name !== name ? [tensor] : change === undefined ? [] : [{ ...tensor, ...change }]
    );
  const down = "blk.0.ffn_down.weight";
  const cases: readonly (readonly [string, Partial<GivenTensor> | undefined, string])[] = [
    ["blk.0.ffn_norm.weight", undefined, '"blk.0.ffn_norm.weight" in'],
    ["blk.0.ffn_norm.weight", { type: 35 }, "elements of tq2_0, which layers.0.feedForwardNorm"],
    ["output_norm.weight", { shape: [255] }, "has the shape (255,), and its place (256,)"],
    [down, { type: 2 }, "elements of type 2, which is neither ternary nor floating point"],
    [down, { type: 8 }, "elements of q8_0, which layers.0.down cannot have"],
    [down, { type: 0 }, "needs 524288 bytes, and there are 33792"],
    [down, { type: 36 }, "needs 32800 bytes as i2_s or 40960 bytes as bn32-offset2"],
    [down, { type: 36, bytes: new Uint8Array(32768) }, "needs 32800 bytes as i2_s"],
    [down, { type: 38 }, "there is no preset of tl1 for 256 × 512"],
    ["output_norm.weight", { bytes: new Uint8Array(1020) }, "needs 1024 bytes, and there are 1020"],
  ];
  for (const [name, change, message] of cases) {
    await expectRefused(folder, ggufFile(modelKeys(), changed(name, change)), message);
  }
  const infinite = encode(ternaryValues(1, 131072), [256, 512], "i2_s");
  new DataView(infinite.buffer).setFloat32(32768, Infinity, true);
  const file = ggufFile(modelKeys(), changed(down, { type: 36, bytes: infinite }));
  await expectRefused(folder, file, "has the scale Infinity");
  const tensors = [...changed(down, {}), ...changed(down, {}).slice(0, 1)];
  await expectRefused(folder, ggufFile(modelKeys(), tensors), "wrong.gguf as it is there twice");
});

Deno.test("openSource() checks its arguments", async () => {
  await assertRejects(() => openSource(5 as never), TypeError, "source must be");
  await assertRejects(() => openSource("/no/x.gguf"), Deno.errors.NotFound, '"/no/x.gguf"');
  const wrong = { layout: "i2s-32" as never };
  await assertRejects(() => openSource("x", wrong), TypeError, "options.layout must be one of");
  await assertRejects(
    () => openSource("x", { x: 1 } as never),
    TypeError,
    "options must be layout",
  );
});

Deno.test("readInto() refuses parts outside of the weight, and reads of a closed model", async () => {
  using folder = new TemporaryDirectory();
  const file = ggufFile(modelKeys(), modelTensors(ternaryTensor(35, "tq2_0")));
  const source = await openSource(folder.file(file, "model.gguf"));
  const weight = source.weights.get("layers.0.query")!;
  await assertRejects(() => weight.readInto(new Uint8Array(9), weight.byteLength - 8), RangeError);
  await assertRejects(() => weight.readInto(new Uint8Array(1), -1), RangeError);
  await source[Symbol.asyncDispose]();
  await assertRejects(() => weight.readInto(new Uint8Array(1), 0), TypeError, "is closed");
});

Deno.test("describeModel() reads headers as @huggingface/gguf does", async () => {
  using folder = new TemporaryDirectory();
  const tensors = modelTensors(ternaryTensor(35, "tq2_0"));
  const path = folder.file(ggufFile(modelKeys(), tensors), "model.gguf");
  const theirs = await gguf(path, { allowLocalFile: true });
  const ours = await describeModel(path);
  assertEquals(ours.problem, undefined);
  const metadata = theirs.metadata as unknown as Record<string, unknown>;
  const names = Object.keys(metadata).filter((name) => !/^(version|(tensor|kv)_count)$/.test(name));
  assertEquals(Object.keys(ours.keys), names);
  for (const name of names) {
    const value = metadata[name];
    const type = Array.isArray(value) && typeof value[0] === "string" ? "string" : "int32";
    const expected = Array.isArray(value) ? `${value.length} × ${type}` : value;
    assertEquals(ours.keys[name] as unknown, expected, name);
  }
  assertEquals(
    ours.tensors.map(({ name, shape }) => [name, shape]),
    theirs.tensorInfos.map(({ name, shape }) => [name, shape.toReversed().map(Number)]),
  );
});

/** Blocks of a pattern, whose scales in these bytes are about 0.5 and 1.5. */
function patternBlocks(count: number, size: number, scales: readonly number[]) {
  const bytes = patternBytes(count * size, size);
  for (let block = 0; block < count; block++) {
    for (const [index, at] of scales.entries()) bytes[block * size + at] = 0x38 + 4 * index;
  }
  return bytes;
}

const BLOCKS = [["q8_0", 34, [1]], ["q4_k", 144, [1, 3]], ["q6_k", 210, [209]]] as const;

Deno.test("decodeBlocks() gives known bits, and refuses parts of blocks", () => {
  // Python's gguf 0.19 gives the same sums; see below.
  const known = { q8_0: 422112531, q4_k: 721235058, q6_k: 2440042356 };
  for (const [name, size, scales] of BLOCKS) {
    const values = decodeBlocks(patternBlocks(3, size, scales), name);
    assertEquals(crc32(bytesOf(values)), known[name], name);
  }
  assertThrows(() => decodeBlocks(new Uint8Array(35), "q8_0"), RangeError, "blocks of 34 bytes");
  assertThrows(
    () => decodeBlocks(new Uint8Array(34), "q5_0" as never),
    TypeError,
    "q8_0, q4_k, q6_k",
  );
  assertThrows(() => decodeBlocks([] as never, "q8_0"), TypeError, "bytes must be an Uint8Array");
});

const DEQUANTIZE = `import json, sys
import numpy as np, gguf
for line in json.loads(sys.argv[1]):
    data = np.frombuffer(bytes.fromhex(line[1]), np.uint8)
    kind = gguf.GGMLQuantizationType[line[0].upper()]
    print(gguf.dequantize(data, kind).astype("<f4").tobytes().hex())`;

Deno.test("decodeBlocks() gives the bits of Python's gguf", async () => {
  const cases = BLOCKS.map(([name, size, scales]) =>
    [name, patternBlocks(3, size, scales)] as const
  );
  const given = cases.map(([name, bytes]) => [name.replace("_k", "_K"), bytes.toHex()]);
  const output = await python("gguf", DEQUANTIZE, JSON.stringify(given));
  if (output === undefined) return;
  for (const [index, hex] of output.trim().split("\n").entries()) {
    const [name, bytes] = cases[index]!;
    assertEquals(bytesOf(decodeBlocks(bytes, name)).toHex(), hex, name);
  }
});

const WRITE = `import json, sys
import numpy as np, gguf

folder, types, matrices, norms = json.loads(sys.argv[1])
ones = lambda *shape: np.ones(shape, np.float32)
for kind in [gguf.GGMLQuantizationType[name] for name in types]:
    writer = gguf.GGUFWriter(f"{folder}/{kind.name}.gguf", "bitnet")
    writer.add_name("written by Python")
    writer.add_block_count(1)
    writer.add_embedding_length(256)
    writer.add_feed_forward_length(512)
    writer.add_context_length(128)
    writer.add_vocab_size(8)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(500000.0)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(list("abcdefgh"))
    writer.add_token_merges(["a b"])
    q8 = gguf.GGMLQuantizationType.Q8_0
    writer.add_tensor("token_embd.weight", gguf.quantize(ones(8, 256), q8), raw_dtype=q8)
    for name, length in norms:
        writer.add_tensor(name, ones(length))
    for name, path, rows, columns in matrices:
        values = np.fromfile(path, np.float32).reshape(rows, columns)
        writer.add_tensor(name, gguf.quantize(values, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()`;

Deno.test("openSource() opens files of Python's gguf", async () => {
  using folder = new TemporaryDirectory();
  const matrices = MATRICES.map(([name, , rows, columns], seed) => {
    const path = folder.file(bytesOf(ternaryValues(seed, rows * columns)));
    return [`blk.0.${name}.weight`, path, rows, columns];
  });
  const norms = [
    ...["attn_norm", "attn_sub_norm", "ffn_norm"].map((name) => [`blk.0.${name}.weight`, 256]),
    ...[["blk.0.ffn_sub_norm.weight", 512], ["output_norm.weight", 256]],
  ];
  const types = {
    TQ1_0: "tq1_0",
    TQ2_0: "tq2_0",
    F16: "float16",
    BF16: "bfloat16",
    F32: "float32",
  };
  const given = JSON.stringify([folder.path, Object.keys(types), matrices, norms]);
  if (await python("gguf", WRITE, given) === undefined) return;
  for (const [type, format] of Object.entries(types)) {
    await using source = await openSource(`${folder.path}/${type}.gguf`);
    assertEquals(source.weights.get("layers.0.up")!.format as string, format);
    await expectMatrices(source);
    const embedding = source.weights.get("embedding")!;
    assert(embedding.format === "q8_0");
    const values = decodeBlocks(await bytesFrom(embedding), embedding.format);
    assert(values.every((value) => Math.abs(value - 1) < 1e-3));
    assertEquals(source.facts.get("name"), "written by Python");
    assertEquals(source.config.epsilon, Math.fround(1e-5));
  }
});
