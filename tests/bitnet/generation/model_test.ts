// Models that make text: limits, ends, pieces of text, seeds and scores.

import { assert, assertAlmostEquals, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { Decoder } from "../../../src/bitnet/decoder/decoder.ts";
import { loadDecoderWeights } from "../../../src/bitnet/decoder/weights.ts";
import {
  type GeneratedPiece,
  type Generation,
  GenerationRequest,
} from "../../../src/bitnet/generation/generation.ts";
import { type GenerateOptions, requireSettings } from "../../../src/bitnet/generation/settings.ts";
import { Model } from "../../../src/bitnet/model.ts";
import type { ModelTokenizer } from "../../../src/bitnet/tokenizer/tokenizer.ts";
import { openModel } from "../../../src/device/bitnet.ts";
import { device } from "../../support/device.ts";
import { sourceOf } from "../random_model.ts";
import { BEGIN } from "../tokenizer/vocabularies.ts";
import { CONFIG, smallModel } from "./model.ts";

async function read(generation: Generation): Promise<GeneratedPiece[]> {
  const pieces: GeneratedPiece[] = [];
  for await (const piece of generation) pieces.push(piece);
  return pieces;
}

const textOf = (pieces: readonly GeneratedPiece[]) => pieces.map(({ text }) => text).join("");
const tokensOf = (pieces: readonly GeneratedPiece[]) => pieces.map(({ token }) => token);

Deno.test("Model.generate() gives the text of its tokens in pieces", async () => {
  await using model = await smallModel();
  const generation = model.generate("hello world", { maxTokens: 15, temperature: 1, seed: 3 });
  assertEquals([generation.promptTokens, generation.generatedTokens], [3, 0]);
  const pieces = await read(generation);
  assertEquals(textOf(pieces), model.tokenizer.decode(tokensOf(pieces)));
  assertEquals([generation.generatedTokens, generation.finishReason], [15, "length"]);
  // The same as tokens, and by another name.
  const prompt = model.tokenizer.encode("hello world");
  const again = model.generate(prompt, { maxTokens: 15, temperature: 1, seed: 3n });
  assertEquals(await again.text(), textOf(pieces));
  const other = model.generate(prompt, { maxTokens: 15, temperature: 1, seed: 4 });
  assert(await other.text() !== textOf(pieces));
  // Without a seed, each call has another.
  const texts = await Promise.all(
    [1, 2].map(() => model.generate(prompt, { maxTokens: 15, temperature: 1 }).text()),
  );
  assert(texts[0] !== texts[1]);
});

Deno.test("Model.generate() ends at a stop text that spans tokens, and at an end token", async () => {
  await using model = await smallModel();
  const options: GenerateOptions = { maxTokens: 60, temperature: 1.2, seed: 11 };
  const all = await read(model.generate("hello", options));
  const text = textOf(all);
  // Of two pieces, found nowhere earlier.
  const at = all.findIndex(({ text: own }, index) =>
    index > 10 && own.length > 0 && (all[index + 1]?.text ?? "").length > 0
  );
  const stop = all[at]!.text + all[at + 1]!.text;
  const stopped = model.generate("hello", { ...options, stop: ["never to be found", stop] });
  const pieces = await read(stopped);
  assertEquals(textOf(pieces), text.slice(0, text.indexOf(stop)));
  assertEquals(stopped.finishReason, "stop");
  assertEquals(tokensOf(pieces), tokensOf(all).slice(0, pieces.length));
  // What may begin a stop text is shown at the end if it does not go on as one.
  const withheld = model.generate("hello", { ...options, stop: `${text.at(-1)}\u{10ffff}` });
  assertEquals(await withheld.text(), text);
  // The token that ends an answer is the last piece, and has no text.
  const end = tokensOf(all).find((token, index) =>
    index > 5 && tokensOf(all).indexOf(token) === index
  )!;
  await using ending = await smallModel({}, { endTokens: [end] });
  const answer = ending.generate("hello", options);
  const before = await read(answer);
  const count = tokensOf(all).indexOf(end) + 1;
  assertEquals(tokensOf(before), tokensOf(all).slice(0, count));
  assertEquals([answer.finishReason, before.at(-1)!.text], ["stop", ""]);
});

Deno.test("Generation gives whole characters of tokens that cut them", async () => {
  await using model = await smallModel();
  const { tokenizer } = model;
  const text = "a😀é\u{1f469}\u200d\u{1f4bb}!";
  const tokens = tokenizer.encode(text, { addSpecialTokens: false });
  const request = (options: GenerateOptions) => {
    const settings = requireSettings(options, "generate");
    const queue = {
      submit(own: GenerationRequest) {
        for (const token of tokens) if (!own.hasEnded) own.push({ token, logProbability: -1 });
      },
      cancel() {},
    };
    const decoder = tokenizer.streamDecoder();
    return new GenerationRequest([1], settings, {
      ...{ limit: 1000, endTokens: new Set([BEGIN]), decoder, queue },
    });
  };
  const whole = await read(request({ maxTokens: tokens.length }));
  assertEquals(textOf(whole), text);
  assert(whole.every((piece) => piece.text.isWellFormed() && !piece.text.includes("\ufffd")));
  assertEquals(whole.length, tokens.length);
  // The last character is cut off by the limit: only that one is lost.
  assertEquals(await request({ maxTokens: 3 }).text(), "a\ufffd");
  assertEquals(await request({ stop: "\u{1f469}" }).text(), "a😀é");
});

Deno.test("Model.generate() takes prompts up to the context", async () => {
  await using model = await smallModel();
  const { contextLength } = CONFIG;
  const prompt = (length: number) => new Array(length).fill(5);
  const one = model.generate(prompt(1), { maxTokens: 1 });
  assertEquals([(await read(one)).length, one.finishReason], [1, "length"]);
  // An empty text is the begin token.
  const empty = model.generate("", { maxTokens: 5 });
  assertEquals(empty.promptTokens, 1);
  assertEquals(await empty.text(), await model.generate([BEGIN], { maxTokens: 5 }).text());
  await using plain = await smallModel({}, {}, { "tokenizer.ggml.add_bos_token": false });
  const none = plain.generate("", { maxTokens: 5 });
  assertEquals([none.promptTokens, await none.text()], [
    1,
    await plain.generate([BEGIN], { maxTokens: 5 }).text(),
  ]);
  const longest = model.generate(prompt(contextLength));
  assertEquals([(await read(longest)).length, longest.finishReason], [1, "length"]);
  const near = model.generate(prompt(contextLength - 3));
  assertEquals([(await read(near)).length, near.finishReason], [4, "length"]);
  const refused = (act: () => unknown, kind: typeof TypeError, message: string) =>
    assertThrows(act, kind, message);
  refused(
    () => model.generate(prompt(contextLength + 1)),
    RangeError,
    "Cannot call generate() as the prompt must have at most 256 tokens, those of the context: it has 257",
  );
  refused(() => model.generate([]), TypeError, "at least one");
  refused(() => model.generate(undefined as unknown as string), TypeError, "undefined");
  refused(() => model.generate([CONFIG.vocabularySize]), RangeError, "prompt[0]");
  refused(() => model.chat([]), TypeError, "messages");
  await using small = await smallModel({ cacheTokens: 32 });
  refused(() => small.generate(prompt(33)), RangeError, "at most 32 tokens, those of the cache");
  const cached = small.generate(prompt(30));
  assertEquals([(await read(cached)).length, cached.finishReason], [3, "length"]);
});

Deno.test("Model.generate() refuses options out of range", async () => {
  await using model = await smallModel();
  for (
    const [options, message] of [
      [{ temperature: -1 }, "options.temperature must be a finite number of at least 0"],
      [{ temperature: NaN }, "options.temperature"],
      [{ topK: 1.5 }, "options.topK"],
      [{ topP: 0 }, "options.topP must be above 0 and at most 1"],
      [{ minP: 1.5 }, "options.minP must be in 0..1"],
      [{ repetitionPenalty: 0 }, "options.repetitionPenalty"],
      [{ seed: -1 }, "options.seed"],
      [{ seed: 1.5 }, "options.seed"],
      [{ maxTokens: 0 }, "options.maxTokens"],
      [{ stop: [""] }, "stop[0]"],
      [{ signal: {} }, "options.signal"],
      [{ temprature: 1 }, "temprature"],
    ] as const
  ) {
    assertThrows(() => model.generate("hello", options as GenerateOptions), Error, message);
  }
  for (
    const [options, message] of [
      [{ cacheTokens: 0 }, "options.cacheTokens"],
      [{ maxSequences: 1.5 }, "options.maxSequences"],
      [{ cacheDType: "int8" }, "options.cacheDType"],
    ] as const
  ) {
    await assertRejects(() => smallModel(options as never), Error, message);
  }
  await assertRejects(
    () => openModel("/nowhere", { sequences: 3 } as never),
    TypeError,
    "sequences",
  );
  const signal = AbortSignal.abort(new Error("unwanted"));
  await assertRejects(() => smallModel({ signal }), Error, "unwanted");
});

Deno.test("Model.chat() continues the prompt of the template", async () => {
  await using model = await smallModel();
  const messages = [{ role: "user", content: "hello" }];
  const prompt = model.tokenizer.encodeChat(messages);
  assertEquals(
    await model.chat(messages, { maxTokens: 10 }).text(),
    await model.generate(prompt, { maxTokens: 10 }).text(),
  );
});

Deno.test("Model.score() gives the logarithms of softmax, also while others run", async () => {
  await using model = await smallModel();
  const tokens = Array.from({ length: 150 }, (_, at) => (at * at + 3) % 260);
  await using source = sourceOf({ linearClass: "autobitlinear", config: CONFIG });
  using weights = await loadDecoderWeights(source, { device });
  using decoder = new Decoder(weights, { pages: 20 });
  using logits = decoder.forward([{ sequence: decoder.add(), tokens }], { logits: "all" });
  const values = await logits.toArray();
  const wanted = tokens.slice(1).map((token, at) => {
    const row = values.subarray(at * 272, (at + 1) * 272);
    const top = row.reduce((a, b) => Math.max(a, b));
    return row[token]! - top - Math.log(row.reduce((sum, it) => sum + Math.exp(it - top), 0));
  });
  const text = model.generate("hello", { maxTokens: 30 });
  const [score, running] = await Promise.all([model.score(tokens), text.text()]);
  assertEquals(score.tokens, tokens);
  assertEquals(score.logProbabilities.length, wanted.length);
  // On a GPU parts of a text have sums in another order, and activations may round otherwise.
  const [bound, meanBound] = device.info.kind === "cuda" ? [0.2, 0.02] : [1e-4, 1e-5];
  wanted.forEach((it, at) => assertAlmostEquals(score.logProbabilities[at]!, it, bound));
  const mean = wanted.reduce((a, b) => a + b) / wanted.length;
  assertAlmostEquals(Math.log(score.perplexity), -mean, meanBound);
  assertEquals(running, await model.generate("hello", { maxTokens: 30 }).text());
  assertEquals(model.statistics().freePages, model.statistics().pages);
  await assertRejects(() => model.score([3]), RangeError, "at least two tokens: it has one");
});

Deno.test("Model ends generations when it is disposed, and frees its memory", async () => {
  {
    // What a device keeps after the first use.
    await using first = await smallModel();
    await first.generate("hello", { maxTokens: 3 }).text();
  }
  const before = device.memory.memoryAllocated();
  const model = await smallModel();
  const iterator = model.generate("hello")[Symbol.asyncIterator]();
  await iterator.next();
  await model[Symbol.asyncDispose]();
  await assertRejects(
    async () => {
      while ((await iterator.next()).done !== true);
    },
    TypeError,
    "the model is disposed",
  );
  await assertRejects(() => model.generate("hello").text(), TypeError, "the model is disposed");
  assertEquals(device.memory.memoryAllocated(), before);
});

Deno.test("Model frees its cache and its other buffers when one of them cannot be made", async () => {
  await using source = sourceOf({ linearClass: "autobitlinear", config: CONFIG });
  using weights = await loadDecoderWeights(source, { device });
  const before = device.memory.memoryAllocated();
  // The last buffer has a size that follows from the vocabulary.
  const tokenizer = { vocabularySize: NaN, endTokens: [] } as unknown as ModelTokenizer;
  assertThrows(() => new Model("small", tokenizer, weights, { cacheTokens: 32 }), Error, "NaN");
  assertEquals(device.memory.memoryAllocated(), before);
});
