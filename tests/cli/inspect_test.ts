// `gridstride inspect` with GGUF files and folders.

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import {
  folderTensorsOf,
  ggufFile,
  HF_CONFIG,
  modelKeys,
  modelTensors,
  safetensorsFile,
  type ShardTensor,
  ternaryTensor,
} from "../bitnet/files/model_files.ts";
import "../support/cache_directory.ts";
import { TemporaryDirectory } from "../support/temporary_file.ts";
import { assertFails, runInProcess } from "./in_process.ts";

const run = (...args: string[]) => runInProcess(["inspect", ...args]);

const TENSORS = modelTensors(ternaryTensor(35, "tq2_0"));

Deno.test("`inspect` prints the keys, types, decoder and weights of a GGUF file", async () => {
  using folder = new TemporaryDirectory();
  const keys = { ...modelKeys(), "general.license": "mit\x1b[2J" };
  const path = folder.file(ggufFile(keys, TENSORS), "m.gguf");
  const { code, stdout, stderr } = await run(path);
  assertEquals([code, stderr], [0, ""]);
  assertStringIncludes(stdout.replaceAll(/\s+/g, " "), "gguf, 13 tensors, 593,408 elements");
  for (
    const line of [
      /^tokenizer\.ggml\.tokens +8 × string$/m,
      /^general\.license +mit \[2J$/m,
      /^float16 +1 +2,048 +4 KiB$/m,
      /^tq2_0 +7 +589,824 +148.5 KiB$/m,
      /^keyValueHeads +2$/m,
      /^gate +1 +512 × 256 +33 KiB +tq2_0$/m,
    ]
  ) assertMatch(stdout, line);
  assertEquals(stdout.includes("blk.0.attn_q.weight"), false);
  assertMatch((await run(path, "--tensors")).stdout, /^blk\.0\.attn_q\.weight +256 × 256 +tq2_0/m);
});

Deno.test("`inspect --json` prints the description of a folder, and its lack of a tokenizer", async () => {
  using folder = new TemporaryDirectory();
  folder.file(safetensorsFile(folderTensorsOf("packed")), "model.safetensors");
  const config = { ...HF_CONFIG, quantization_config: { quant_method: "bitnet" } };
  folder.file(new TextEncoder().encode(JSON.stringify(config)), "config.json");
  const { code, stdout } = await run(folder.path, "--json");
  const { kind, config: decoder, weights, tensors, problem } = JSON.parse(stdout);
  assertEquals([code, kind, decoder.hiddenSize], [1, "safetensors", 256]);
  assertStringIncludes(problem, "must have a tokenizer: there is none");
  assertEquals(tensors.length, 20);
  assertEquals(weights[2], {
    ...{ name: "layers.0.query", fileName: "model.layers.0.self_attn.q_proj.weight" },
    ...{ shape: [256, 256], format: "hf-quarters", formatOptions: {}, bytes: 16384, scale: 0.25 },
  });
});

Deno.test("`inspect` lists the content of other models, and says why they cannot be run", async () => {
  using folder = new TemporaryDirectory();
  const keys = { ...modelKeys(), "general.architecture": "llama" };
  const path = folder.file(ggufFile(keys, TENSORS), "m.gguf");
  const { code, stdout } = await run(path);
  assertEquals(code, 1);
  assertMatch(stdout, /^tq2_0 +7/m);
  assertStringIncludes(
    stdout.replaceAll(/\s+/g, " "),
    'This model cannot be run. Cannot read "general.arch',
  );
  for (
    const [name, value, reason] of [
      ["tokenizer.ggml.model", "t5", "tokenizer.ggml.model"],
      ["tokenizer.chat_template", "{% for %}", "valid Jinja"],
    ] as const
  ) {
    folder.file(ggufFile({ ...modelKeys(), [name]: value }, TENSORS), "wrong.gguf");
    const { code, stdout } = await run(`${folder.path}/wrong.gguf`, "--json");
    assertEquals(code, 1, name);
    assertStringIncludes(JSON.parse(stdout).problem, reason);
  }
  const wrong = await run(path, "--json");
  assertEquals([wrong.code, "config" in JSON.parse(wrong.stdout)], [1, false]);
});

Deno.test("`inspect` says that heads must have as many elements as a token", async () => {
  using folder = new TemporaryDirectory();
  const tensors = folderTensorsOf("packed").map(([name, type, shape, bytes]): ShardTensor => {
    if (!/(?:[qkvo]_proj\.weight|attn_sub_norm\.weight)$/.test(name)) {
      return [name, type, shape, bytes];
    }
    const widened = name.includes("o_proj") ? 1 : 0;
    const wide = shape.map((extent, axis) => axis === widened ? 2 * extent : extent);
    return [name, type, wide, new Uint8Array([...bytes, ...bytes])];
  });
  folder.file(safetensorsFile(tensors), "model.safetensors");
  const config = { ...HF_CONFIG, head_dim: 128, quantization_config: { quant_method: "bitnet" } };
  folder.file(new TextEncoder().encode(JSON.stringify(config)), "config.json");
  const { code, stdout } = await run(folder.path, "--json");
  const { problem, config: { headSize } } = JSON.parse(stdout);
  assertEquals([code, headSize], [1, 128]);
  assertStringIncludes(problem, "config.headSize must be 256 / 4");
});

Deno.test("`inspect` refuses files that hold no model, and wrong options", async () => {
  using folder = new TemporaryDirectory();
  const path = folder.file(new TextEncoder().encode("not a model"), "m.gguf");
  await assertFails(1, (args: string[]) => run(...args), [
    [[path], "the magic number in"],
    [[`${folder.path}/none.gguf`], "none.gguf"],
    [[folder.path], "model.safetensors"],
  ]);
  await assertFails(2, (args: string[]) => run(...args), [
    [[path, "--layout", "i2s-32"], "--layout"],
    [[], "FILE"],
  ]);
});
