// Requests together: the tokens that each has alone, pages and memory.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { Decoder } from "../../../src/bitnet/decoder/decoder.ts";
import { loadDecoderWeights } from "../../../src/bitnet/decoder/weights.ts";
import { GenerationRequest } from "../../../src/bitnet/generation/generation.ts";
import { PrefixCache } from "../../../src/bitnet/generation/prefix_cache.ts";
import { Sampler } from "../../../src/bitnet/generation/sampling.ts";
import { Scheduler } from "../../../src/bitnet/generation/scheduler.ts";
import { type GenerateOptions, requireSettings } from "../../../src/bitnet/generation/settings.ts";
import { ggufTokenizer } from "../../../src/bitnet/tokenizer/gguf_tokenizer.ts";
import { ModelTokenizer } from "../../../src/bitnet/tokenizer/tokenizer.ts";
import { PageTable } from "../../../src/tensor/attention/page_table.ts";
import { device } from "../../support/device.ts";
import { sourceOf } from "../random_model.ts";
import { smallVocabulary } from "../tokenizer/vocabularies.ts";
import { CONFIG } from "./model.ts";
import { sampleReference } from "./sampling_reference.ts";

const PAGE_SIZE = 8;
const VOCABULARY = CONFIG.vocabularySize;
const tokenizer = new ModelTokenizer(ggufTokenizer(smallVocabulary()));

interface Sizes {
  readonly pages?: number;
  readonly maxSequences?: number;
  readonly maxTokens?: number;
}

interface Fixture {
  readonly decoder: Decoder;
  readonly sampler: Sampler;
  readonly scheduler: Scheduler;
  readonly request: (prompt: readonly number[], options?: GenerateOptions) => GenerationRequest;
}

async function withScheduler(
  { pages = 128, maxSequences = 8, maxTokens = 512 }: Sizes,
  f: (fixture: Fixture) => Promise<void>,
): Promise<void> {
  await using source = sourceOf({ linearClass: "autobitlinear", config: CONFIG });
  using weights = await loadDecoderWeights(source, { device });
  using decoder = new Decoder(weights, { pages, pageSize: PAGE_SIZE });
  using sampler = new Sampler(device.context, maxSequences, VOCABULARY, tokenizer.vocabularySize);
  const scheduler = new Scheduler(decoder, sampler, { maxSequences, maxTokens });
  const request = (prompt: readonly number[], options: GenerateOptions = {}) =>
    new GenerationRequest(prompt, requireSettings(options, "generate"), {
      limit: Math.min(CONFIG.contextLength, pages * PAGE_SIZE) + 1,
      endTokens: new Set(),
      decoder: tokenizer.streamDecoder(),
      queue: scheduler,
    });
  try {
    await f({ decoder, sampler, scheduler, request });
  } finally {
    await scheduler.close();
  }
}

const promptOf = (length: number, start: number) =>
  Array.from({ length }, (_, at) => (29 * at + 31 * start) % tokenizer.vocabularySize);

interface Given {
  readonly prompt: readonly number[];
  readonly options: GenerateOptions & { readonly maxTokens: number };
}

/** Prompts of one token, of a page and one more, with settings of every kind; two begin alike. */
const GIVEN: readonly Given[] = [
  { prompt: promptOf(1, 1), options: { maxTokens: 30 } },
  { prompt: promptOf(PAGE_SIZE, 2), options: { maxTokens: 1 } },
  { prompt: promptOf(PAGE_SIZE + 1, 3), options: { maxTokens: 40, temperature: 1, seed: 5 } },
  { prompt: promptOf(45, 4), options: { maxTokens: 25, repetitionPenalty: 2 } },
  { prompt: [...promptOf(40, 4), 7], options: { maxTokens: 20 } },
  {
    prompt: promptOf(70, 5),
    options: {
      maxTokens: 33,
      temperature: 2,
      topK: 50,
      topP: 0.9,
      seed: 6,
      repetitionPenalty: 1.3,
    },
  },
];

/** The tokens of a request by steps of one sequence, and choices by a reference. */
async function tokensAlone(decoder: Decoder, { prompt, options }: Given): Promise<number[]> {
  const settings = requireSettings(options, "generate");
  const sequence = decoder.add();
  const tokens = [...prompt];
  let added = tokens;
  for (let count = 0; count < options.maxTokens; count++) {
    using logits = decoder.prefill(sequence, added);
    const row = (await logits.toArray()).subarray(0, tokenizer.vocabularySize);
    tokens.push(sampleReference(row, settings, tokens).token);
    added = tokens.slice(-1);
  }
  decoder.remove(sequence);
  return tokens.slice(prompt.length);
}

async function tokensOf(request: GenerationRequest): Promise<number[]> {
  const tokens: number[] = [];
  for await (const { token } of request) tokens.push(token);
  return tokens;
}

let known: Promise<number[][]> | undefined;

/** The tokens of all requests, each alone. */
function expected(): Promise<number[][]> {
  return known ??= (async () => {
    const all: number[][] = [];
    await withScheduler({}, async ({ decoder }) => {
      for (const given of GIVEN) all.push(await tokensAlone(decoder, given));
    });
    return all;
  })();
}

for (
  const [name, sizes] of Object.entries({
    "one after another": { maxSequences: 1 },
    "all at once": {},
    "prompts are cut into chunks of 7": { maxTokens: 7 },
    "3 run and others wait": { maxSequences: 3, maxTokens: 64 },
    "pages are too few for all": { pages: 22 },
  })
) {
  Deno.test(`Scheduler gives requests the tokens that they have alone when ${name}`, async () => {
    const wanted = await expected();
    await withScheduler(sizes, async ({ decoder, scheduler, request }) => {
      // The second time, in another order, and with pages that the first has left.
      for (const order of [[...GIVEN.keys()], [...GIVEN.keys()].reverse()]) {
        const all = await Promise.all(order.map(async (at) => {
          // Requests join at different steps.
          for (let turn = 0; turn < 5 * at; turn++) await Promise.resolve();
          return await tokensOf(request(GIVEN[at]!.prompt, GIVEN[at]!.options));
        }));
        order.forEach((at, k) => assertEquals(all[k], wanted[at], `request ${at}`));
      }
      const { running, waiting, freePages, preemptions } = scheduler.statistics();
      assertEquals([running, waiting, freePages], [0, 0, decoder.pages]);
      // A request is admitted with room for all of its tokens, so few lose their pages.
      assertEquals([preemptions > 0, preemptions < 9], ["pages" in sizes, true], `${preemptions}`);
    });
  });
}

Deno.test("Scheduler computes the common beginning of prompts once", async () => {
  const wanted = await expected();
  await withScheduler({}, async ({ scheduler, request }) => {
    const { prompt, options } = GIVEN[3]!;
    assertEquals(await tokensOf(request(prompt, options)), wanted[3]);
    const first = scheduler.statistics().promptTokens;
    assertEquals(first, prompt.length);
    // 5 pages of 8 are the same; of an equal prompt, too, as its last token must be computed.
    for (const at of [4, 3]) {
      const before = scheduler.statistics().promptTokens;
      const given = GIVEN[at]!;
      assertEquals(await tokensOf(request(given.prompt, given.options)), wanted[at]);
      assertEquals(scheduler.statistics().promptTokens - before, given.prompt.length - 40);
    }
    // The answer of an earlier request is a beginning as well.
    const before = scheduler.statistics().promptTokens;
    await tokensOf(request([...prompt, ...wanted[3]!], { maxTokens: 1 }));
    assertEquals(scheduler.statistics().promptTokens - before, (45 + 25) % PAGE_SIZE);
    // The last token of an answer is in no page: 64 tokens fill 7 pages.
    const other = promptOf(45, 9);
    const answer = await tokensOf(request(other, { maxTokens: 19 }));
    const middle = scheduler.statistics().promptTokens;
    await tokensOf(request([...other, ...answer, 7], { maxTokens: 1 }));
    assertEquals(scheduler.statistics().promptTokens - middle, 65 - 56);
    // A page is the same only behind the same tokens.
    const [first5, next6] = [5, 6].map((token) => new Array(PAGE_SIZE).fill(token));
    await tokensOf(request([...first5!, ...next6!, 7], { maxTokens: 1 }));
    const last = scheduler.statistics().promptTokens;
    await tokensOf(request([...next6!, 7], { maxTokens: 1 }));
    assertEquals(scheduler.statistics().promptTokens - last, PAGE_SIZE + 1);
  });
});

Deno.test("PrefixCache.evict() frees pages that no sequence has, those of the oldest first", () => {
  const table = new PageTable(6, 2);
  const cache = new PrefixCache(table, 2);
  const texts = [[1, 2, 3, 4], [5, 6, 7, 8, 9]];
  const sequences = texts.map((tokens) => {
    const sequence = table.add();
    table.grow([sequence], [tokens.length], "grow").commit();
    cache.keep(tokens, tokens.length, table.pagesOf(sequence, "read pages"));
    return sequence;
  });
  const [first, second] = sequences.map((it) => [...table.pagesOf(it, "read pages")]);
  assertEquals([table.freePages, cache.evictable], [1, 0]);
  table.remove(sequences[1]!, "remove");
  assertEquals([table.freePages, cache.evictable], [2, 2]);
  // The first sequence still has its pages; of the second the last page goes first.
  cache.evict(1);
  assertEquals([table.freePages, cache.evictable], [3, 1]);
  assertEquals(cache.find(texts[1]!), second!.slice(0, 1));
  assertEquals(cache.find([...texts[0]!, 5]), first!);
  cache.evict(5);
  assertEquals([table.freePages, cache.find(texts[1]!)], [4, []]);
  assertEquals(cache.find([...texts[0]!, 5]), first!);
});

Deno.test("Scheduler gives next tokens between small parts of a long prompt", async () => {
  await withScheduler({ maxTokens: 64 }, async ({ request }) => {
    const answering = request(promptOf(5, 1), { maxTokens: 60 });
    const long = request(promptOf(180, 2), { maxTokens: 1 });
    let tokens = 0;
    let before: number | undefined;
    for await (const _ of answering) {
      if (++tokens !== 3) continue;
      tokensOf(long).then(() => before = tokens);
    }
    // 180 tokens in parts of 64 / 4.
    assert(before !== undefined && before >= 3 + 11, `${before}`);
    assert(before <= 3 + 14, `${before}`);
  });
});

Deno.test("Scheduler gives all next tokens when a step takes fewer tokens than there are requests", async () => {
  const given = [1, 2, 3, 4, 5, 6].map((start): Given => ({
    prompt: promptOf(1, start),
    options: { maxTokens: 12 },
  }));
  // Each has a page, and all need their second one in the same step.
  await withScheduler({ pages: 6, maxTokens: 2 }, async ({ decoder, scheduler, request }) => {
    const all = await Promise.all(
      given.map(({ prompt, options }) => tokensOf(request(prompt, options))),
    );
    assert(scheduler.statistics().preemptions > 0);
    for (const [at, own] of given.entries()) {
      const wanted = await tokensAlone(decoder, own);
      assertEquals(all[at], wanted, `request ${at}`);
    }
  });
});

Deno.test("Scheduler goes on with answers between texts to score", async () => {
  await withScheduler({}, async ({ scheduler, request }) => {
    const answering = request(promptOf(5, 1), { maxTokens: 60 });
    const [answer, ...lengths] = await Promise.all([
      tokensOf(answering),
      ...Array.from({ length: 6 }, async (_, start) => {
        await scheduler.score(promptOf(20, start));
        return answering.generatedTokens;
      }),
    ]);
    for (const [at, length] of lengths.entries()) {
      assert(at === 0 || length > lengths[at - 1]!, `${lengths}`);
    }
    assertEquals(answer.length, 60);
  });
});

Deno.test("Scheduler keeps the pages of an answer once while others read their prompts", async () => {
  const { keep } = PrefixCache.prototype;
  let calls = 0;
  PrefixCache.prototype.keep = function (...args): void {
    calls++;
    keep.apply(this, args);
  };
  using _restore = {
    [Symbol.dispose]: () => {
      PrefixCache.prototype.keep = keep;
    },
  };
  await withScheduler({ maxTokens: 16 }, async ({ request }) => {
    const answering = request(promptOf(5, 1), { maxTokens: 60 });
    let long: Promise<number[]> | undefined;
    for await (const _ of answering) long ??= tokensOf(request(promptOf(100, 2), { maxTokens: 1 }));
    await long;
  });
  // For each of the two after its prompt and at its end, in spite of 25 steps with parts of a prompt.
  assertEquals(calls, 4);
});

Deno.test("Scheduler keeps common beginnings while a request waits for more than all free pages", async () => {
  await withScheduler({ pages: 16 }, async ({ scheduler, request }) => {
    await tokensOf(request(promptOf(41, 1), { maxTokens: 1 }));
    const controller = new AbortController();
    const waiting = request(promptOf(100, 3), { signal: controller.signal });
    let ended: Promise<unknown> | undefined;
    let tokens = 0;
    for await (const _ of request(promptOf(60, 2), { maxTokens: 20 })) {
      ended ??= assertRejects(() => tokensOf(waiting), Error, "enough");
      if (++tokens !== 6) continue;
      assertEquals(scheduler.statistics().waiting, 1);
      controller.abort(new Error("enough"));
    }
    await ended;
    const before = scheduler.statistics().promptTokens;
    await tokensOf(request(promptOf(41, 1), { maxTokens: 1 }));
    assertEquals(scheduler.statistics().promptTokens - before, 1);
  });
});

Deno.test("PrefixCache reads each token of a growing list once", () => {
  const table = new PageTable(6, 2);
  const cache = new PrefixCache(table, 2);
  let reads = 0;
  const tokens = new Proxy([1, 2, 3, 4, 5], {
    get(list, key) {
      if (typeof key === "string" && /^\d+$/.test(key)) reads++;
      return Reflect.get(list, key);
    },
  });
  const sequence = table.add();
  table.grow([sequence], [6], "grow").commit();
  const pages = table.pagesOf(sequence, "read pages");
  assertEquals(cache.find(tokens), []);
  cache.keep(tokens, 5, pages);
  tokens.push(6);
  cache.keep(tokens, 6, pages);
  for (let turn = 0; turn < 3; turn++) assertEquals(cache.find(tokens), pages.slice(0, 2));
  assertEquals(reads, 6);
  assertEquals(cache.find([1, 2, 3, 4, 5, 6, 7]), pages);
});

Deno.test("Scheduler ends a request within a step when its reader leaves or aborts", async () => {
  await withScheduler({}, async ({ decoder, scheduler, request }) => {
    for await (const _ of request(promptOf(20, 1), { maxTokens: 100 })) break;
    assertEquals(scheduler.statistics().running, 0);
    assertEquals(scheduler.statistics().freePages, decoder.pages);
    const controller = new AbortController();
    const reason = new Error("enough");
    const aborted = request(promptOf(20, 2), { maxTokens: 100, signal: controller.signal });
    await assertRejects(
      async () => {
        for await (const _ of aborted) {
          if (aborted.generatedTokens === 3) controller.abort(reason);
        }
      },
      Error,
      "enough",
    );
    assert(aborted.generatedTokens <= 4, `${aborted.generatedTokens}`);
    assertEquals([scheduler.statistics().running, aborted.finishReason], [0, undefined]);
    // One that has not begun.
    const early = request(promptOf(20, 2), { signal: AbortSignal.abort(reason) });
    await assertRejects(() => tokensOf(early), Error, "enough");
    assertEquals(early.generatedTokens, 0);
    await assertRejects(() => tokensOf(early), TypeError, "must not be read before");
  });
});

Deno.test("Scheduler has all pages and memory back after 100 requests with aborts", async () => {
  await withScheduler({ pages: 40, maxSequences: 6, maxTokens: 60 }, async (fixture) => {
    const { decoder, scheduler, request } = fixture;
    let state = 1;
    const random = (limit: number) => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return Math.floor(state / 2 ** 32 * limit);
    };
    const round = async (count: number) => {
      const endings = await Promise.all(Array.from({ length: count }, async () => {
        const controller = new AbortController();
        const own = request(promptOf(1 + random(60), random(4)), {
          maxTokens: 1 + random(12),
          temperature: random(2),
          repetitionPenalty: 1 + random(2),
          signal: controller.signal,
        });
        const [end, last] = [random(3), random(10)];
        try {
          for await (const _ of own) {
            if (own.generatedTokens <= last) continue;
            if (end === 0) controller.abort(new Error("enough"));
            if (end === 1) break;
          }
          return own.finishReason ?? "left";
        } catch (error) {
          assertEquals((error as Error).message, "enough");
          return "aborted";
        }
      }));
      const { running, waiting, freePages } = scheduler.statistics();
      assertEquals([running, waiting, freePages], [0, 0, decoder.pages]);
      return new Set(endings);
    };
    // Graphs are captured at their first use.
    await round(20);
    const before = device.memory.memoryAllocated();
    assertEquals(await round(100), new Set(["length", "left", "aborted"]));
    assertEquals(device.memory.memoryAllocated(), before);
  });
});

Deno.test("Scheduler ends all requests with the error of a step", async () => {
  await withScheduler({}, async ({ decoder, scheduler, request }) => {
    const running = request(promptOf(9, 1));
    const iterator = running[Symbol.asyncIterator]();
    for (let count = 0; count < 12; count++) await iterator.next();
    decoder.weights.layers[1]!.down.dispose();
    await Promise.all([
      assertRejects(() => tokensOf(request(promptOf(9, 2))), TypeError, "disposed"),
      assertRejects(
        async () => {
          while ((await iterator.next()).done !== true);
        },
        TypeError,
        "disposed",
      ),
    ]);
    const { running: left, waiting } = scheduler.statistics();
    assertEquals([left, waiting], [0, 0]);
  });
  // Pages of a step that has failed are not kept for others.
  await withScheduler({}, async ({ decoder, sampler, request }) => {
    sampler.fed.dispose();
    await assertRejects(() => tokensOf(request(promptOf(9, 2))), TypeError, "disposed");
    assertEquals(decoder.freePages, decoder.pages);
  });
});

Deno.test("Scheduler ends a text to score with the error of the step before it", async () => {
  const endings: PromiseSettledResult<unknown>[] = [];
  // The first or the second token from now on is that of the step in flight.
  for (const nth of [1, 2]) {
    await withScheduler({}, async ({ scheduler, request }) => {
      const running = request(promptOf(9, 1));
      const iterator = running[Symbol.asyncIterator]();
      for (let count = 0; count < 12; count++) await iterator.next();
      let left = nth;
      running.push = function (token) {
        if (--left === 0) throw new Error("no text");
        GenerationRequest.prototype.push.call(this, token);
      };
      const [ending] = await Promise.allSettled([
        scheduler.score(promptOf(20, 2)),
        assertRejects(
          async () => {
            while ((await iterator.next()).done !== true);
          },
          Error,
          "no text",
        ),
      ]);
      endings.push(ending);
    });
  }
  assert(endings.some((it) => it.status === "rejected" && it.reason.message === "no text"));
});
