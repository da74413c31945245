// Models in folders of Hugging Face. Python's safetensors writes the same tensors as a reference.

import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { widenToFloat32 } from "../../../mod.ts";
import { openSource } from "../../../src/device/bitnet.ts";
import { TensorFileError } from "../../../src/device/tensor.ts";
import { decode } from "../../../src/device/ternary.ts";
import "../../support/cache_directory.ts";
import { python } from "../../support/python.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";
import {
  floatBytes,
  folderTensorsOf,
  HF_CONFIG,
  MATRICES,
  safetensorsFile,
  type ShardTensor,
  ternaryValues,
} from "./model_files.ts";

type Tensors = readonly ShardTensor[];

const PLACES = ["query", "key", "value", "attentionOutput", "gate", "up", "down"] as const;

/** Writes a folder with one file of tensors. */
function writeFolder(
  folder: TemporaryDirectory,
  tensors: Tensors,
  config: Readonly<Record<string, unknown>> = {},
): void {
  folder.file(safetensorsFile(tensors), "model.safetensors");
  writeJson(folder, "config.json", { ...HF_CONFIG, ...config });
}

function writeJson(folder: TemporaryDirectory, name: string, value: unknown): void {
  folder.file(new TextEncoder().encode(JSON.stringify(value)), name);
}

const quantized = (linear_class?: string) => ({
  quantization_config: { quant_method: "bitnet", ...linear_class && { linear_class } },
});

for (
  const [linearClass, scale] of [["autobitlinear", 4], ["bitlinear", 1 / 4], [
    undefined,
    1 / 4,
  ]] as const
) {
  const way = scale === 4 ? "multiplies by" : "divides by";
  Deno.test(`openSource() ${way} the scale with linear_class ${linearClass}`, async () => {
    using folder = new TemporaryDirectory();
    writeFolder(folder, folderTensorsOf("packed"), quantized(linearClass));
    await using source = await openSource(folder.path);
    for (const [seed, part] of PLACES.entries()) {
      const weight = source.weights.get(`layers.0.${part}`)!;
      assertEquals([weight.format, weight.scale], ["hf-quarters", scale]);
      const bytes = new Uint8Array(weight.byteLength);
      await weight.readInto(bytes, 0);
      const values = ternaryValues(seed, MATRICES[seed]![2] * MATRICES[seed]![3]);
      const decoded = decode(bytes, weight.shape, "hf-quarters", { scale: 0.5 });
      assertEquals(decoded, values, part);
    }
    assertEquals(source.facts.get("linear class"), linearClass ?? "bitlinear");
  });
}

Deno.test("openSource() opens master weights and sharded files by their index", async () => {
  using folder = new TemporaryDirectory();
  const tensors = folderTensorsOf("master");
  const shards = [tensors.slice(0, 5), tensors.slice(5)];
  const names = shards.map((_, i) => `model-0000${i + 1}-of-00002.safetensors`);
  shards.forEach((shard, i) => folder.file(safetensorsFile(shard), names[i]));
  const map = shards.flatMap((shard, i) => shard.map(([name]) => [name, names[i]]));
  writeJson(folder, "model.safetensors.index.json", { weight_map: Object.fromEntries(map) });
  writeJson(folder, "config.json", {
    ...{ ...HF_CONFIG, rope_theta: undefined, tie_word_embeddings: undefined },
    rope_parameters: { rope_type: "default", rope_theta: 10000 },
  });
  writeJson(folder, "generation_config.json", { eos_token_id: 5 });
  writeJson(folder, "tokenizer.json", { version: "1.0" });
  writeJson(folder, "tokenizer_config.json", {
    chat_template: [{ name: "other", template: "" }, { name: "default", template: "{{ a }}" }],
  });
  for (const path of [folder.path, `${folder.path}/config.json`]) {
    await using source = await openSource(path);
    assertEquals(source.config, {
      ...{ architecture: "bitnet-b1.58", layers: 1, hiddenSize: 256, feedForwardSize: 512 },
      ...{ heads: 4, keyValueHeads: 2, headSize: 64, vocabularySize: 8, contextLength: 128 },
      ...{ epsilon: 1e-5, ropeTheta: 10000, ropePairs: "halves", activation: "squaredRelu" },
      ...{ hasSubNorms: true, isHeadTied: true, beginToken: 7, endTokens: [6, 7, 5] },
    });
    const up = source.weights.get("layers.0.up")!;
    assertEquals([up.format, up.quantization, up.scale], ["bfloat16", "mean", undefined]);
    const bytes = new Uint8Array(up.byteLength);
    await up.readInto(bytes, 0);
    const values = widenToFloat32("bfloat16", new Uint16Array(bytes.buffer));
    assertEquals(values, ternaryValues(5, 512 * 256));
    assertEquals(up.place!.path, `${folder.path}/${names[1]}`);
    assertEquals(source.chatTemplate, "{{ a }}");
    assert(source.tokenizer?.kind === "json");
    assertEquals(source.tokenizer.tokenizer, { version: "1.0" });
  }
});

Deno.test("openSource() opens a head of its own", async () => {
  using folder = new TemporaryDirectory();
  const head = floatBytes(new Float32Array(8 * 256).fill(2), "float16");
  const tensors: Tensors = [...folderTensorsOf("packed"), [
    "lm_head.weight",
    "F16",
    [8, 256],
    head,
  ]];
  writeFolder(folder, tensors, { ...quantized("autobitlinear"), tie_word_embeddings: false });
  await using source = await openSource(folder.path);
  assertEquals([source.config.isHeadTied, source.weights.get("head")!.format], [false, "float16"]);
});

Deno.test("openSource() names the field or tensor that is wrong in a folder", async () => {
  using folder = new TemporaryDirectory();
  const tensors = folderTensorsOf("packed");
  const query = "model.layers.0.self_attn.q_proj.weight";
  const replaced = (name: string, ...change: unknown[]): Tensors =>
    tensors.map((tensor) => tensor[0] === name ? [name, ...change] as never : tensor);
  const without = (name: string): Tensors => tensors.filter(([other]) => other !== name);
  const scale = (value: number) => floatBytes(Float32Array.of(value), "bfloat16");
  const cases: readonly (readonly [Tensors, Readonly<Record<string, unknown>>, string])[] = [
    [tensors, { model_type: "llama" }, '"model_type" in'],
    [tensors, { hidden_size: undefined }, '"hidden_size" in'],
    [tensors, { hidden_size: 1e300 }, "hidden_size 1e+300"],
    [tensors, { num_attention_heads: 0 }, "num_attention_heads 0"],
    [tensors, { num_hidden_layers: 2 }, '"model.layers.1.input_layernorm.weight" in'],
    [tensors, { hidden_act: "gelu" }, '"hidden_act" in'],
    [tensors, { rope_scaling: { rope_type: "yarn" } }, '"rope_type" in "rope_scaling" in'],
    [tensors, { quantization_config: { linear_class: "x" } }, '"quant_method" in'],
    [tensors, quantized("x"), '"linear_class" in'],
    [
      tensors,
      { quantization_config: { quant_method: "bitnet", quantization_mode: "online" } },
      "has elements of uint8, which layers.0.query cannot have",
    ],
    [
      tensors,
      { quantization_config: { quant_method: "bitnet", use_rms_norm: true } },
      '"use_rms_norm" in',
    ],
    [folderTensorsOf("master"), {}, "has elements of bfloat16, and must have uint8"],
    [tensors, { quantization_config: 5 }, '"quantization_config" in'],
    [tensors, { eos_token_id: "x" }, '"eos_token_id" in'],
    [tensors, { eos_token_id: 8 }, "eos_token_id [8]"],
    [tensors, { tie_word_embeddings: false }, '"lm_head.weight" in'],
    [tensors, { intermediate_size: 256 }, "has the shape (128, 256), and its place (64, 256)"],
    [without(query), {}, `"${query}" in`],
    [without(`${query}_scale`), {}, `"${query}_scale" in`],
    [replaced(`${query}_scale`, "BF16", [1], scale(0)), {}, `"${query}_scale" in`],
    [replaced(`${query}_scale`, "BF16", [1], scale(Infinity)), {}, "is Infinity"],
    [replaced(`${query}_scale`, "I16", [1], scale(1)), {}, "one number of a floating-point type"],
    [replaced(query, "I8", [64, 256], new Uint8Array(16384)), {}, "has elements of int8, and must"],
    [
      replaced("model.norm.weight", "U8", [256], new Uint8Array(256)),
      {},
      "has elements of uint8, which outputNorm cannot have",
    ],
  ];
  for (const [own, config, message] of cases) {
    writeFolder(folder, own, { ...quantized("autobitlinear"), ...config });
    const error = await assertRejects(() => openSource(folder.path), TensorFileError);
    assertStringIncludes(error.message, message);
  }
});

Deno.test("openSource() refuses an index that names other files, and files that repeat tensors", async () => {
  using folder = new TemporaryDirectory();
  const tensors = folderTensorsOf("packed");
  writeFolder(folder, tensors, quantized());
  const refused = async (index: unknown, message: string) => {
    writeJson(folder, "model.safetensors.index.json", index);
    const error = await assertRejects(() => openSource(folder.path), TensorFileError);
    assertStringIncludes(error.message, message);
  };
  const named = (...names: unknown[]) => ({
    weight_map: Object.fromEntries(names.map((name, i) => [`tensor ${i}`, name])),
  });
  await refused(named("../secret.safetensors"), '"weight_map" in');
  await refused(named("/etc/x.safetensors"), '"weight_map" in');
  await refused(named(5), '"weight_map" in');
  await refused({}, "names no files");
  await refused([], "is no JSON object");
  folder.file(safetensorsFile(tensors.slice(0, 1)), "other.safetensors");
  await refused(named("model.safetensors", "other.safetensors"), '"model.embed_tokens.weight" in');
  folder.file(new TextEncoder().encode("{"), "config.json");
  await refused(named("model.safetensors"), "is not JSON");
  Deno.removeSync(`${folder.path}/config.json`);
  await refused(named("model.safetensors"), "has no config.json");
  const alone = () => openSource(`${folder.path}/model.safetensors`);
  const error = await assertRejects(alone, TensorFileError);
  assertStringIncludes(error.message, "name the folder");
});

const WRITE = `import sys, json
import numpy as np
from safetensors.numpy import load_file, save_file
tensors = load_file(sys.argv[1])
save_file(tensors, sys.argv[2], metadata={"format": "pt"})`;

Deno.test("openSource() opens a file that Python's safetensors wrote", async () => {
  using folder = new TemporaryDirectory();
  // NumPy has no bfloat16 of its own.
  const tensors = folderTensorsOf("packed").map(([name, dtype, shape, bytes]) =>
    dtype === "U8" ? [name, dtype, shape, bytes] as const : [
      ...[name, "F16", shape] as const,
      floatBytes(widenToFloat32("bfloat16", new Uint16Array(bytes.buffer)), "float16"),
    ] as const
  );
  const given = folder.file(safetensorsFile(tensors), "given.safetensors");
  const path = `${folder.path}/model.safetensors`;
  if (await python("safetensors and NumPy", WRITE, given, path) === undefined) return;
  writeJson(folder, "config.json", { ...HF_CONFIG, ...quantized("autobitlinear") });
  await using source = await openSource(folder.path);
  const down = source.weights.get("layers.0.down")!;
  const bytes = new Uint8Array(down.byteLength);
  await down.readInto(bytes, 0);
  const decoded = decode(bytes, down.shape, "hf-quarters", { scale: 0.5 });
  assertEquals(decoded, ternaryValues(6, 256 * 512));
  assertEquals(down.scale, 4);
});
