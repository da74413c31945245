// The decoder beside transformers' BitNetForCausalLM, and its own calls in different orders.

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { Decoder, type DecoderOptions } from "../../src/bitnet/decoder/decoder.ts";
import { loadDecoderWeights } from "../../src/bitnet/decoder/weights.ts";
import type { ModelConfig } from "../../src/bitnet/config.ts";
import type { ModelSource, WeightName, WeightSource } from "../../src/bitnet/files/model_source.ts";
import { device } from "../support/device.ts";
import { python } from "../support/python.ts";
import { type RandomModel, sourceOf } from "./random_model.ts";

const COMMON = {
  architecture: "bitnet-b1.58",
  contextLength: 256,
  epsilon: 1e-5,
  ropePairs: "halves",
  activation: "squaredRelu",
  hasSubNorms: true,
  beginToken: undefined,
  endTokens: [],
} as const;

/** Sizes that are no multiples of those of kernels, and each way to have a head, norms and scales. */
const MODELS: readonly RandomModel[] = [
  {
    linearClass: "autobitlinear",
    config: {
      ...COMMON,
      ...{ layers: 3, hiddenSize: 64, feedForwardSize: 100, heads: 4, keyValueHeads: 2 },
      ...{ headSize: 16, vocabularySize: 101, ropeTheta: 500000, isHeadTied: false },
    },
  },
  {
    // As the models of BitLinear, which have the layers of LLaMA.
    linearClass: "bitlinear",
    config: {
      ...COMMON,
      ...{ layers: 2, hiddenSize: 96, feedForwardSize: 72, heads: 6, keyValueHeads: 2 },
      ...{ headSize: 16, vocabularySize: 64, ropeTheta: 10000, isHeadTied: false },
      ...{ hasSubNorms: false, activation: "silu" },
    },
  },
  {
    linearClass: "online",
    config: {
      ...COMMON,
      ...{ layers: 2, hiddenSize: 64, feedForwardSize: 128, heads: 2, keyValueHeads: 1 },
      ...{ headSize: 32, vocabularySize: 67, ropeTheta: 10000, isHeadTied: true },
    },
  },
];

/** Tokens that are generated after a prompt. */
const COUNT = 200;

const promptOf = ({ vocabularySize }: ModelConfig, length = 13) =>
  Array.from({ length }, (_, at) => (29 * at + 3) % vocabularySize);

/** What transformers gives for a model. */
interface Expected {
  /** Greedily chosen after the prompt. */
  readonly tokens: readonly number[];
  /** Of the first positions; transformers itself gives those of all. */
  readonly logits: readonly (readonly number[])[];
  /** How far the logit of each token is above the next best. */
  readonly leads: readonly number[];
}

/** The fixture was written with 8. */
const POSITIONS = COUNT;

/** The results of transformers, or those that it has given before where it is absent. */
async function expectedResults(): Promise<readonly Expected[]> {
  const program = await Deno.readTextFile(new URL("transformers_model.py", import.meta.url));
  const calls = MODELS.map((model) => {
    const prompt = promptOf(model.config);
    return { model, prompt, count: COUNT, positions: POSITIONS };
  });
  const text = await python("torch and transformers", program, JSON.stringify(calls));
  const stored = new URL("fixtures/transformers_model.jsonl", import.meta.url);
  const lines = (text ?? await Deno.readTextFile(stored)).trim().split("\n");
  return lines.map((line) => JSON.parse(line));
}

let known: Promise<readonly Expected[]> | undefined;
const expected = () => known ??= expectedResults();

/**
 * Where an activation is almost halfway between two integers, sums in another order round it to the
 * other one. So positions differ by no more than the errors of `float32`, or by those of roundings.
 */
const EXACT = 2e-5;
const ROUNDED = 0.2;

async function withDecoder<Result>(
  model: RandomModel,
  f: (decoder: Decoder) => Promise<Result>,
  options: Partial<DecoderOptions> = {},
): Promise<Result> {
  await using source = sourceOf(model);
  using weights = await loadDecoderWeights(source, { device });
  using decoder = new Decoder(weights, { pages: 64, pageSize: 8, ...options });
  return await f(decoder);
}

const bestOf = (row: Float32Array) => row.indexOf(row.reduce((a, b) => Math.max(a, b)));

/** Tokens that are generated greedily after logits. */
async function generate(
  decoder: Decoder,
  sequence: number,
  first: ReturnType<Decoder["forward"]>,
  count: number,
): Promise<number[]> {
  const tokens: number[] = [];
  let logits = first;
  for (;;) {
    const row = await logits.toArray();
    logits.dispose();
    tokens.push(bestOf(row));
    if (tokens.length === count) return tokens;
    logits = decoder.forward([{ sequence, tokens: tokens.slice(-1) }]);
  }
}

/** Asserts equal tokens; on a GPU, whose sums have other orders, also if those before are a near tie. */
function assertTokens(
  tokens: readonly number[],
  { tokens: wanted, leads }: Expected,
  name: string,
): void {
  const at = tokens.findIndex((token, k) => token !== wanted[k]);
  if (at < 0) return;
  const isTie = device.info.kind === "cuda" && leads[at]! < ROUNDED;
  assert(isTie, `${name}: token ${at} is ${tokens[at]}, not ${wanted[at]}`);
}

Deno.test("Decoder gives the logits of transformers at each position", async () => {
  for (const [index, model] of MODELS.entries()) {
    const { tokens, logits } = (await expected())[index]!;
    const all = [...promptOf(model.config), ...tokens].slice(0, logits.length);
    await withDecoder(model, async (decoder) => {
      const inputs = [{ sequence: decoder.add(), tokens: all }];
      using result = decoder.forward(inputs, { logits: "all" });
      const { vocabularySize } = model.config;
      assertEquals(result.shape, [all.length, vocabularySize]);
      const values = await result.toArray();
      const errors = logits.map((row, position) =>
        Math.max(...row.map((it, k) => Math.abs(it - values[position * vocabularySize + k]!)))
      ).sort((a, b) => a - b);
      const median = errors[errors.length >> 1]!;
      assert(median <= EXACT, `${model.linearClass}: the median error is ${median}`);
      assert(errors.at(-1)! <= ROUNDED, `${model.linearClass}: an error is ${errors.at(-1)}`);
    });
  }
});

Deno.test(`Decoder generates the tokens of transformers for ${COUNT} steps`, async () => {
  for (const [index, model] of MODELS.entries()) {
    const own = (await expected())[index]!;
    await withDecoder(model, async (decoder) => {
      const sequence = decoder.add();
      const first = decoder.prefill(sequence, promptOf(model.config));
      const tokens = await generate(decoder, sequence, first, COUNT);
      assertTokens(tokens, own, model.linearClass);
      assertEquals(decoder.lengthOf(sequence), promptOf(model.config).length + COUNT - 1);
    });
  }
});

Deno.test("Decoder.prefill() gives the same tokens in chunks of any size", async () => {
  const model = MODELS[0]!;
  const prompt = promptOf(model.config, 40);
  await withDecoder(model, async (decoder) => {
    const results: number[][] = [];
    for (const chunk of [512, 40, 39, 17, 8, 3, 1]) {
      const sequence = decoder.add();
      const first = decoder.prefill(sequence, prompt, chunk);
      assertEquals([first.shape, decoder.lengthOf(sequence)], [[1, 101], 40]);
      results.push(await generate(decoder, sequence, first, 12));
      decoder.remove(sequence);
    }
    for (const tokens of results) assertEquals(tokens, results[0]);
  });
});

Deno.test("Decoder.forward() gives sequences together the tokens that they have alone", async () => {
  const model = MODELS[0]!;
  // Two of one length, and the second before the first one's like.
  const prompts = [5, 1, 5, 23].map((length, at) =>
    promptOf(model.config, length).map((token) => (token + 7 * at) % 101)
  );
  await withDecoder(model, async (decoder) => {
    const alone: number[][] = [];
    for (const prompt of prompts) {
      const sequence = decoder.add();
      const first = decoder.prefill(sequence, prompt);
      alone.push(await generate(decoder, sequence, first, 10));
      decoder.remove(sequence);
    }
    const sequences = prompts.map(() => decoder.add());
    const together: number[][] = prompts.map(() => []);
    let inputs = prompts.map((tokens, at) => ({ sequence: sequences[at]!, tokens }));
    for (let step = 0; step < 10; step++) {
      using logits = decoder.forward(inputs);
      const rows = await logits.toArray();
      together.forEach((tokens, at) =>
        tokens.push(bestOf(rows.subarray(101 * at, 101 * (at + 1))))
      );
      inputs = sequences.map((sequence, at) => ({ sequence, tokens: together[at]!.slice(-1) }));
    }
    assertEquals(together, alone);
    // Rows of all tokens are in the order of the inputs too.
    const again = prompts.map((tokens) => ({ sequence: decoder.add(), tokens }));
    using all = decoder.forward(again, { logits: "all" });
    const rows = await all.toArray();
    let end = 0;
    const last = prompts.map(({ length }) =>
      bestOf(rows.subarray(101 * (end += length) - 101, 101 * end))
    );
    assertEquals(last, alone.map((tokens) => tokens[0]!));
  });
});

/** A model whose weights are changed on their way. */
function changed(
  source: ModelSource,
  change: (weight: WeightSource) => WeightSource | undefined,
  config: Partial<ModelConfig> = {},
): ModelSource {
  const weights = source.weights.values().map(change).filter((weight) => weight !== undefined);
  return {
    ...source,
    config: { ...source.config, ...config },
    weights: new Map(weights.map((weight): [WeightName, WeightSource] => [weight.name, weight])),
  };
}

Deno.test("Decoder rotates neighbouring elements when ropePairs is interleaved", async () => {
  const model = MODELS[2]!;
  const { headSize } = model.config;
  const source = sourceOf(model);
  // The rows of both halves of a head, one by one.
  const interleaved = changed(source, (weight) => {
    if (!/\.(query|key)$/.test(weight.name)) return weight;
    const width = weight.byteLength / weight.shape[0]!;
    const readInto = async (target: Uint8Array, offset: number) => {
      const bytes = new Uint8Array(weight.byteLength);
      await weight.readInto(bytes, 0);
      const moved = bytes.slice();
      for (let row = 0; row < weight.shape[0]!; row++) {
        const own = row % headSize;
        const from = row - own + (own % 2) * headSize / 2 + Math.floor(own / 2);
        moved.set(bytes.subarray(from * width, (from + 1) * width), row * width);
      }
      target.set(moved.subarray(offset, offset + target.length));
    };
    return { ...weight, readInto };
  }, { ropePairs: "interleaved" });
  const results: number[][] = [];
  for (const own of [source, interleaved]) {
    using weights = await loadDecoderWeights(own, { device });
    using decoder = new Decoder(weights, { pages: 16 });
    const sequence = decoder.add();
    const first = decoder.prefill(sequence, promptOf(model.config));
    results.push(await generate(decoder, sequence, first, 40));
  }
  assertEquals(results[1], results[0]);
});

Deno.test("Decoder stays near with 16-bit keys, values and embeddings", async () => {
  const model = MODELS[1]!;
  const prompt = promptOf(model.config, 32);
  await using source = sourceOf(model);
  const results: Float32Array[] = [];
  for (const dtype of ["float32", "float16", "bfloat16"] as const) {
    using weights = await loadDecoderWeights(source, { device, dtype });
    using decoder = new Decoder(weights, { pages: 8, cacheDType: dtype });
    assertEquals([weights.embedding.values.dtype, weights.outputNorm.dtype], [dtype, "float32"]);
    using logits = decoder.forward([{ sequence: decoder.add(), tokens: prompt }], {
      logits: "all",
    });
    results.push(await logits.toArray());
  }
  const [exact, ...narrow] = results as [Float32Array, ...Float32Array[]];
  const size = Math.hypot(...exact) / Math.sqrt(exact.length);
  for (const [at, limit] of [0.05, 0.2].entries()) {
    const distance = Math.hypot(...exact.map((it, k) => it - narrow[at]![k]!));
    const error = distance / Math.sqrt(exact.length) / size;
    assert(error > 0 && error < limit, `${error} of the logits' size`);
  }
});

Deno.test("Decoder.forward() refuses inputs and adds nothing", async () => {
  const model = MODELS[1]!;
  await withDecoder(model, (decoder) => {
    const sequence = decoder.add();
    using _first = decoder.forward([{ sequence, tokens: [1, 2, 3] }]);
    const run = (...tokens: number[]) => decoder.forward([{ sequence, tokens }]);
    assertThrows(() => decoder.forward([]), TypeError, "a list that is not empty");
    assertThrows(() => run(), TypeError, "tokens must be a list that is not empty");
    assertThrows(() => run(64), RangeError, "tokens[0] must be an integer in 0..63: it is 64");
    assertThrows(() => run(1, 1.5), RangeError, "tokens[1] must be an integer");
    assertThrows(
      () => decoder.forward([{ sequence: 9, tokens: [1] }]),
      RangeError,
      "numbers that add() returned",
    );
    const twice = [{ sequence, tokens: [1] }, { sequence, tokens: [2] }];
    assertThrows(() => decoder.forward(twice), TypeError, `${sequence} is there twice`);
    assertThrows(
      () => run(...new Array(254).fill(0)),
      RangeError,
      "at most 256 tokens, those of the context: it would have 257",
    );
    assertThrows(
      () => decoder.prefill(sequence, new Array(30).fill(0), 2),
      RangeError,
      "it needs 4 of 3",
    );
    assertEquals([decoder.lengthOf(sequence), decoder.freePages], [3, 3]);
    // The last place of the context, and of the pages.
    decoder.prefill(sequence, new Array(29).fill(0), 8).dispose();
    assertEquals([decoder.lengthOf(sequence), decoder.freePages], [32, 0]);
    decoder.remove(sequence);
    assertEquals(decoder.freePages, 4);
    return Promise.resolve();
  }, { pages: 4 });
});

Deno.test("loadDecoderWeights() refuses weights that do not fit, and keeps none", async () => {
  const source = sourceOf(MODELS[0]!);
  const before = device.memory.stats().live;
  const refused = async (
    Kind: typeof TypeError | typeof RangeError,
    message: string,
    change: (weight: WeightSource) => WeightSource | undefined,
    config?: Partial<ModelConfig>,
  ) => {
    const own = changed(source, change, config);
    await assertRejects(() => loadDecoderWeights(own, { device }), Kind, message);
  };
  const name = "layers.2.up";
  const at = (change: Partial<WeightSource> | undefined) => (weight: WeightSource) =>
    weight.name !== name ? weight : change && { ...weight, ...change };
  await refused(TypeError, `it must have ${name}`, at(undefined));
  await refused(RangeError, `${name} must have the shape (100, 64)`, at({ shape: [64, 100] }));
  await refused(TypeError, `the format of ${name} must be float32`, at({ format: "q6_k" }));
  await refused(RangeError, "bytes", at({ byteLength: 7 }));
  await refused(
    RangeError,
    "embedding must have 25856 bytes: it has 25852",
    (it) => it.name === "embedding" ? { ...it, byteLength: it.byteLength - 4 } : it,
  );
  await refused(RangeError, "keyValueHeads must be a divisor of 4", (it) => it, {
    keyValueHeads: 3,
  });
  await refused(RangeError, "headSize must be 64 / 4", (it) => it, { headSize: 8 });
  await refused(Error, "broken", at({ readInto: () => Promise.reject(new Error("broken")) }));
  assertEquals(device.memory.stats().live, before);
});

Deno.test("Decoder.captureStep() gives the tokens of steps that are no graph", async () => {
  const model = MODELS[0]!;
  const prompts = [4, 13, 30].map((length) => promptOf(model.config, length));
  await withDecoder(model, async (decoder) => {
    const before = device.memory.memoryAllocated();
    const step = await decoder.captureStep(4, 60);
    assertEquals(decoder.freePages, 64);
    const sequences: number[] = [];
    const tokens: number[][] = [];
    const alone: number[][] = [];
    for (const prompt of prompts) {
      const sequence = decoder.add();
      alone.push(await generate(decoder, sequence, decoder.prefill(sequence, prompt), 20));
      decoder.remove(sequence);
      sequences.push(decoder.add());
      using first = decoder.prefill(sequences.at(-1)!, prompt);
      tokens.push([bestOf(await first.toArray())]);
    }
    for (let at = 1; at < 20; at++) {
      // One after another joins, the last one first; fewer than the graph takes.
      const joined = [2, 0, 1].slice(0, at);
      for (
        const members of at < 3
          ? [joined, [0, 1, 2].filter((it) => !joined.includes(it))]
          : [joined]
      ) {
        const inputs = members.map((it) => ({
          sequence: sequences[it]!,
          token: tokens[it]!.at(-1)!,
        }));
        const rows = await step.run(inputs).toArray();
        members.forEach((it, row) =>
          tokens[it]!.push(bestOf(rows.subarray(101 * row, 101 * (row + 1))))
        );
      }
    }
    assertEquals(tokens, alone);
    const token = 0;
    const five = [...sequences, decoder.add(), decoder.add()];
    assertThrows(
      () => step.run(five.map((sequence) => ({ sequence, token }))),
      RangeError,
      "at most 4 sequences of 60 tokens: there are 5 of up to 50",
    );
    using _long = decoder.prefill(sequences[2]!, new Array(11).fill(0));
    assertEquals(decoder.lengthOf(sequences[2]!), 60);
    assertThrows(() => step.run([{ sequence: sequences[2]!, token }]), RangeError, "of up to 61");
    assertThrows(() => step.run([]), TypeError, "a list that is not empty");
    assertEquals(decoder.lengthOf(sequences[0]!), 23);
    step[Symbol.dispose]();
    assertThrows(() => step.run([{ sequence: sequences[0]!, token }]), TypeError, "disposed");
    await _long.toArray();
    _long.dispose();
    assertEquals(device.memory.memoryAllocated(), before);
  });
});

Deno.test("Decoder removes the sequences of a call that fails on its way", async () => {
  const model = MODELS[0]!;
  await using source = sourceOf(model);
  using weights = await loadDecoderWeights(source, { device });
  using decoder = new Decoder(weights, { pages: 8 });
  const [failing, other] = [decoder.add(), decoder.add()];
  using first = decoder.forward([{ sequence: other, tokens: [1] }]);
  await first.toArray();
  weights.layers[1]!.down.dispose();
  const before = device.memory.memoryAllocated();
  assertThrows(() => decoder.forward([{ sequence: failing, tokens: [1, 2] }]), TypeError);
  assertThrows(() => decoder.lengthOf(failing), RangeError);
  const second = decoder.add();
  assertThrows(() => decoder.prefill(second, [1, 2, 3], 2), TypeError);
  assertThrows(() => decoder.lengthOf(second), RangeError);
  assertEquals([decoder.lengthOf(other), decoder.freePages], [1, 7]);
  // Operations of the failed calls may wait for a compiler, and hold memory until then.
  await weights.outputNorm.ready();
  assertEquals(device.memory.memoryAllocated(), before);
});

Deno.test("Decoder and its weights hold the memory of weights and pages alone", async () => {
  const before = device.memory.memoryAllocated();
  const model = MODELS[2]!;
  const { layers, vocabularySize, hiddenSize, feedForwardSize } = model.config;
  await using source = sourceOf(model);
  const weights = await loadDecoderWeights(source, { device, dtype: "float16" });
  // Queries, keys and values; the output; gate and up; the way down: codes, then scales.
  const codes = (128 + 64 + 2 * feedForwardSize) * hiddenSize / 4 +
    hiddenSize * feedForwardSize / 4;
  const scales = 4 * (128 + 2 * feedForwardSize + 1 + 1);
  const norms = 4 * (3 * hiddenSize + feedForwardSize);
  const held = vocabularySize * hiddenSize * 2 + 4 * hiddenSize + layers * (codes + scales + norms);
  assertEquals(device.memory.memoryAllocated() - before, held);
  const decoder = new Decoder(weights, { pages: 3, pageSize: 4, cacheDType: "float16" });
  const pages = layers * 2 * 3 * 4 * 32 * 2;
  assertEquals(device.memory.memoryAllocated() - before, held + pages);
  const logits = decoder.prefill(decoder.add(), promptOf(model.config, 9), 4);
  await logits.toArray();
  logits.dispose();
  assertEquals(device.memory.memoryAllocated() - before, held + pages);
  decoder[Symbol.dispose]();
  weights[Symbol.dispose]();
  assertEquals(device.memory.memoryAllocated(), before);
});

Deno.test("loadDecoderWeights() counts the bytes that it has read", async () => {
  const calls: (readonly [number, number])[] = [];
  const source = sourceOf(MODELS[0]!);
  const onProgress = (read: number, bytes: number) => calls.push([read, bytes]);
  using weights = await loadDecoderWeights(source, { device, onProgress });
  assertEquals(calls.length, source.weights.size);
  const total = source.weights.values().reduce((sum, { byteLength }) => sum + byteLength, 0);
  assertEquals(calls.at(-1), [total, total]);
  assert(weights.layers[0]!.queryKeyValue.shape.join() === "128,64");
});

Deno.test("Decoder.forward() takes no more memory for more layers", async () => {
  const model = MODELS[0]!;
  const tokens = promptOf(model.config, 120);
  /** The most memory that a call takes beside weights and pages. */
  const peakOf = async (layers: number) => {
    const own = { ...model, config: { ...model.config, layers } };
    return await withDecoder(own, async (decoder) => {
      const peaks: number[] = [];
      // Operations hold their memory until their kernels are compiled, which the first call awaits.
      for (let call = 0; call < 2; call++) {
        device.pool.resetStats();
        const before = device.pool.memoryAllocated();
        using logits = decoder.forward([{ sequence: decoder.add(), tokens }]);
        peaks.push(device.pool.stats().peakUsage - before);
        await logits.toArray();
      }
      return peaks[1]!;
    });
  };
  const [few, more] = [await peakOf(2), await peakOf(6)];
  assert(few > 0 && more === few, `${few} bytes with 2 layers, ${more} with 6`);
});
