// The kernels of a decoder on a GPU: how many a layer launches, and that NVRTC compiles them.
// Needs no GPU: a device that only records takes them.

import { assert, assertEquals } from "@std/assert";
import { Decoder } from "../../src/bitnet/decoder/decoder.ts";
import { blockElements } from "../../src/bitnet/decoder/table.ts";
import { loadDecoderWeights } from "../../src/bitnet/decoder/weights.ts";
import { BLOCK_FORMATS, type BlockFormat } from "../../src/bitnet/files/block_formats.ts";
import { Sampler } from "../../src/bitnet/generation/sampling.ts";
import { empty, zeros } from "../../src/device/tensor.ts";
import { multiplyScaledRows } from "../../src/ternary/integer_product.ts";
import { layoutOf } from "../../src/ternary/layouts.ts";
import { canRepack, repack } from "../../src/ternary/repacking.ts";
import { nvrtc, withoutNvrtc } from "../support/nvrtc.ts";
import { compileKernels } from "../tensor/cuda/compile_units.ts";
import { type RecordingDevice, recordingDevice } from "../tensor/cuda/recording_device.ts";
import { type RandomModel, sourceOf } from "./random_model.ts";

/** Columns that are multiples of 64, as those of real models, so that no row is padded. */
const modelOf = (layers: number): RandomModel => ({
  linearClass: "autobitlinear",
  config: {
    ...{ architecture: "bitnet-b1.58", layers, hiddenSize: 256, feedForwardSize: 128 },
    ...{ heads: 4, keyValueHeads: 1, headSize: 64, vocabularySize: 80, contextLength: 128 },
    ...{ epsilon: 1e-5, ropeTheta: 1e4, ropePairs: "halves", activation: "squaredRelu" },
    ...{ hasSubNorms: true, isHeadTied: true, beginToken: undefined, endTokens: [] },
  },
});

/** Launches of the calls of a decoder with so many layers. */
async function launchesOf(
  recording: RecordingDevice,
  layers: number,
  inputs: readonly number[],
): Promise<number> {
  await using source = sourceOf(modelOf(layers));
  const { device } = recording;
  using weights = await loadDecoderWeights(source, { device, dtype: "float16" });
  using decoder = new Decoder(weights, { pages: 16, cacheDType: "float16" });
  const before = recording.launches;
  using logits = decoder.forward(inputs.map((count) => ({
    sequence: decoder.add(),
    tokens: new Uint8Array(count),
  })));
  await logits.ready();
  return recording.launches - before;
}

Deno.test("a layer launches at most 10 kernels for a step", async () => {
  const recording = recordingDevice("9.0");
  for (const inputs of [[1], [1, 1, 1]]) {
    const [few, more] = [
      await launchesOf(recording, 1, inputs),
      await launchesOf(recording, 3, inputs),
    ];
    assert((more - few) / 2 <= 10, `${(more - few) / 2} for ${inputs.length} sequences`);
  }
});

Deno.test({
  name: `the kernels of a decoder compile for CUDA${withoutNvrtc}`,
  ignore: nvrtc === undefined,
  async fn() {
    const recording = recordingDevice("9.0");
    await launchesOf(recording, 1, [1, 2, 1]);
    const { device } = recording;
    using sampler = new Sampler(device.context, 2, 80, 80);
    sampler.remember(0, [1]);
    using logits = zeros([2, 80], { device });
    using settings = zeros([2 * sampler.columns], { dtype: "int32", device });
    using chosen = zeros([4], { dtype: "int32", device });
    sampler.enqueue(logits, settings, chosen);
    await chosen.ready();
    const texts = recording.kernels.map(({ text }) => text);
    const names = texts.map(({ name }) => name);
    for (
      const name of [
        "tensor_rotation",
        "tensor_rotate_and_store",
        "tensor_embed_tokens",
        "tensor_sample_tokens",
      ]
    ) {
      assert(names.includes(name), `${name} is none of ${names}`);
    }
    const { failed, warnings } = await compileKernels(texts, "9.0", () => false);
    assertEquals([failed, warnings], [[], []]);
  },
});

Deno.test({
  name: `the kernels of weights and of an int8 head compile for CUDA${withoutNvrtc}`,
  ignore: nvrtc === undefined,
  async fn() {
    const recording = recordingDevice("9.0");
    const { device } = recording;
    const bytes = (count: number) => empty([count], { dtype: "uint8", device });
    const rows = (count: number) => ({
      values: empty([count, 256], { dtype: "int8", device }),
      scale: empty([count], { device }),
    });
    using memory = new DisposableStack();
    for (const format of ["i2_s", "tq2_0", "hf-quarters"] as const) {
      const layout = layoutOf(format, [4, 256], {}, "test");
      assert(canRepack(layout));
      repack(
        memory.use(bytes(layout.bytes)),
        layout,
        memory.use(empty([4, 64], { dtype: "uint8", device })),
        "test",
      );
    }
    for (const format of Object.keys(BLOCK_FORMATS) as BlockFormat[]) {
      const { bytes: size } = BLOCK_FORMATS[format];
      memory.use(blockElements(memory.use(bytes(size)), format, [BLOCK_FORMATS[format].elements]));
    }
    for (const count of [1, 2, 3, 8, 9]) {
      await memory.use(multiplyScaledRows(rows(count), rows(64))).ready();
    }
    const texts = recording.kernels.map(({ text }) => text);
    const names = texts.map(({ name }) => name);
    for (const name of ["ternary_repack_i2_s", "decode_q6_k", "multiply_integer_rows"]) {
      assert(names.some((it) => it.endsWith(name)), `${name} is none of ${names}`);
    }
    const { failed, warnings } = await compileKernels(texts, "9.0", () => false);
    assertEquals([failed, warnings], [[], []]);
  },
});
