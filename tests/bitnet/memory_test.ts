// The memory of models: what is calculated before loading, what is allocated, and layers in host memory.

import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { Decoder } from "../../src/bitnet/decoder/decoder.ts";
import { loadDecoderWeights } from "../../src/bitnet/decoder/weights.ts";
import { fits, memoryOf } from "../../src/device/bitnet.ts";
import { openDevice, OutOfMemoryError } from "../../mod.ts";
import type { ModelOptions } from "../../src/device/bitnet.ts";
import { CONFIG, smallModel } from "./generation/model.ts";
import { requireRoom } from "../../src/bitnet/memory.ts";
import { device, onHostDevice } from "../support/device.ts";
import { type RandomModel, sourceOf } from "./random_model.ts";

const MODEL: RandomModel = {
  linearClass: "autobitlinear",
  config: {
    ...{ architecture: "bitnet-b1.58", layers: 4, hiddenSize: 256, feedForwardSize: 320 },
    ...{ heads: 4, keyValueHeads: 2, headSize: 64, vocabularySize: 300, contextLength: 256 },
    ...{ epsilon: 1e-5, ropeTheta: 1e4, ropePairs: "halves", activation: "squaredRelu" },
    ...{ hasSubNorms: true, isHeadTied: false, beginToken: undefined, endTokens: [] },
  },
};

Deno.test("memoryOf() gives what weights, pages and steps take", async () => {
  const source = sourceOf(MODEL);
  for (const head of ["float", "int8"] as const) {
    for (const residentLayers of [4, 1]) {
      const memory = memoryOf(source, {
        ...{ head, cacheDType: "float32", cacheTokens: 100, maxSequences: 2, chunk: 128 },
        residentLayers,
      });
      const before = device.memory.memoryAllocated();
      using weights = await loadDecoderWeights(source, { device, head, residentLayers });
      const ofWeights = device.memory.memoryAllocated() - before;
      const { tables, matrices, norms, cache, workspace } = memory;
      // Scales of single matrices are one number here.
      assert(ofWeights <= tables + matrices + norms, `${ofWeights} of ${JSON.stringify(memory)}`);
      assert(
        ofWeights > tables + matrices + norms / 2,
        `${ofWeights} of ${JSON.stringify(memory)}`,
      );
      using decoder = new Decoder(weights, { pages: 7, cacheDType: "float32" });
      assertEquals(device.memory.memoryAllocated() - before - ofWeights, cache);
      const sequence = decoder.add();
      for (let call = 0; call < 2; call++) {
        device.pool.resetStats();
        const own = device.pool.memoryAllocated();
        using logits = decoder.forward([{ sequence, tokens: new Array(48).fill(7) }]);
        const peak = device.pool.stats().peakUsage - own;
        await logits.toArray();
        const chunk = memoryOf(source, { head, maxSequences: 1, chunk: 48 });
        // Operations hold memory until their kernels are compiled; libraries of a GPU have their own.
        if (call === 0 || device.info.kind !== "host") continue;
        assert(peak <= chunk.workspace, `${peak} of ${chunk.workspace}`);
        assert(chunk.workspace <= 3 * peak, `${chunk.workspace} for ${peak}`);
      }
      const { bytes } = memory;
      assertEquals(bytes, tables + matrices + norms + cache + workspace);
    }
  }
});

Deno.test("memoryOf() and fits() refuse numbers out of range", () => {
  const source = sourceOf(MODEL);
  assertThrows(() => memoryOf(source, { cacheTokens: 0 }), RangeError, "options.cacheTokens");
  assertThrows(() => memoryOf(source, { residentLayers: 5 }), RangeError, "residentLayers");
  assertThrows(() => fits(source, { device, maxSequences: -1 }), RangeError, "maxSequences");
});

Deno.test("fits() gives the layers that stay, and a model without room is refused with the sum", () => {
  const source = sourceOf(MODEL);
  // As openModel() takes it.
  const cacheDType = device.info.kind === "cuda" ? "float16" : "float32";
  const all = memoryOf(source, { cacheDType });
  // The matrices of a layer and a half have no room; one of those that have is for all others.
  for (
    const [missing, fitting, resident] of [[0, true, 4], [1.5, false, 1], [
      3.5,
      false,
      undefined,
    ]] as const
  ) {
    using small = openDevice(device.label, {
      memory: { maxPoolSize: Math.ceil(all.bytes - missing * all.layer) },
    });
    const found = fits(source, { device: small });
    assertEquals(found.memory, all);
    assertEquals([found.fits, found.residentLayers], [fitting, resident]);
    const require = (isOffloaded: boolean) =>
      requireRoom(source, small.context, {}, isOffloaded, "open a model");
    if (resident !== undefined) assertEquals(require(true), resident);
    if (fitting) continue;
    const { message } = assertThrows(() => require(false), OutOfMemoryError);
    for (
      const part of [
        "embedding and head 600 KiB",
        "ternary matrices",
        "keys and values",
        "; there are",
      ]
    ) {
      assertStringIncludes(message, part);
    }
    if (resident === undefined) assertThrows(() => require(true), OutOfMemoryError);
  }
});

Deno.test({
  name: "openModel() runs a model that does not fit with offload, and refuses it without",
  // The pool has no room for the workspace of a GPU's libraries.
  ...onHostDevice,
  async fn() {
    const config = { layers: 6, hiddenSize: 256, feedForwardSize: 512, heads: 4, headSize: 64 };
    const options = { cacheTokens: 64, maxSequences: 1, cacheDType: "float32" } as const;
    const textOf = async (options: ModelOptions) => {
      await using model = await smallModel(options, config);
      return await model.generate("hello", { maxTokens: 12, temperature: 0 }).text();
    };
    const expected = await textOf(options);
    const source = sourceOf({ linearClass: "autobitlinear", config: { ...CONFIG, ...config } });
    const { bytes, layer } = memoryOf(source, { ...options, chunk: 512 });
    using small = openDevice(device.label, {
      memory: { maxPoolSize: Math.ceil(bytes - 2.5 * layer) },
    });
    await assertRejects(
      () => textOf({ ...options, device: small }),
      OutOfMemoryError,
      "the model needs",
    );
    assertEquals(await textOf({ ...options, device: small, offload: true }), expected);
  },
});

Deno.test("a decoder gives the same logits with layers in memory of the host", async () => {
  const source = sourceOf(MODEL);
  const before = device.memory.stats().live;
  const run = async (residentLayers: number) => {
    using weights = await loadDecoderWeights(source, { device, residentLayers });
    using decoder = new Decoder(weights, { pages: 16 });
    const sequence = decoder.add();
    using first = decoder.prefill(sequence, [3, 1, 4, 1, 5]);
    using second = decoder.forward([{ sequence, tokens: [9] }]);
    using step = await decoder.captureStep(2, 64);
    const rows: Float32Array[] = [await first.toArray(), await second.toArray()];
    for (const token of [2, 6, 5]) {
      rows.push((await step.run([{ sequence, token }]).toArray()).slice(0, 300));
    }
    return rows;
  };
  const expected = await run(4);
  for (const resident of [3, 1, 0]) assertEquals(await run(resident), expected, `${resident} stay`);
  assert(device.memory.stats().live <= before + 8192);
  await assertRejects(() => run(5), RangeError, "options.residentLayers must be");
});

Deno.test("loadDecoderWeights() ends with the signal's reason, and keeps nothing", async () => {
  const source = sourceOf(MODEL);
  const before = device.memory.memoryAllocated();
  const reason = new Error("not wanted any more");
  const load = (onProgress: (read: number) => void, signal?: AbortSignal) =>
    loadDecoderWeights(source, { device, onProgress, ...signal === undefined ? {} : { signal } });
  await assertRejects(() => load(() => {}, AbortSignal.abort(reason)), Error, reason.message);
  const controller = new AbortController();
  const loading = load((read) => read > 200_000 && controller.abort(reason), controller.signal);
  await assertRejects(() => loading, Error, reason.message);
  const failing = load((read) => {
    if (read > 200_000) throw new Error("a broken listener");
  });
  await assertRejects(() => failing, Error, "a broken listener");
  assertEquals(device.memory.memoryAllocated(), before);
});
