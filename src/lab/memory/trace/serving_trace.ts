/**
 * The trace `serving`: serving a language model to requests that come and go.
 *
 * The model has the shape of Llama 3.2 1B (Meta's model card and its configuration: 16 layers,
 * width 2 048, 32 heads and 8 of keys and values of 64 elements, 8 192 inside, vocabulary 128 256)
 * in bfloat16. Requests are batched continuously (Yu et al., "Orca", OSDI 2022): one joins whenever
 * there is room, its prompt is read in one go, then every running request gains a token per
 * iteration until it ends. The keys and values of a request grow by doubling, one tensor per layer,
 * as where tensors are appended to: the larger one is allocated before the smaller one is freed.
 *
 * The same requests come again and again; a `step` ends when all of them are served.
 *
 * @module
 */

import type { MemoryTrace } from "./memory_trace.ts";
import { SeededRandom } from "./seeded_random.ts";
import { TraceBuilder } from "./trace_builder.ts";

const LAYERS = 16;
const WIDTH = 2048;
const KEY_VALUE_WIDTH = 8 * 64;
const INNER = 8192;
const VOCABULARY = 128256;
const BF16 = 2;
const SINGLE = 4;
/** Requests of a step, and how many run at a time. */
const REQUESTS = 20;
const BATCH = 12;
const STEPS = 4;
/** Tokens that a request's keys and values have room for at the least. */
const SMALLEST_CAPACITY = 64;

/** A request as it arrives. */
interface Request {
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** The iteration in which it arrives. */
  readonly arrival: number;
}

/** A request that is being served. */
interface Running {
  tokens: number;
  left: number;
  capacity: number;
  /** Keys and values, by layer. */
  cache: number[];
}

function makeRequests(random: SeededRandom): Request[] {
  let arrival = 0;
  return Array.from({ length: REQUESTS }, () => {
    arrival += random.integer(0, 3);
    return {
      promptTokens: random.logarithmic(30, 8000),
      outputTokens: random.logarithmic(4, 60),
      arrival,
    };
  });
}

class ServingRun {
  readonly builder = new TraceBuilder();
  readonly #requests: readonly Request[];

  constructor(random: SeededRandom) {
    this.#requests = makeRequests(random);
  }

  run(): void {
    this.#loadWeights();
    for (let step = 0; step < STEPS; step++) {
      this.#serve();
      this.builder.point("step");
    }
  }

  #loadWeights(): void {
    const layer = [
      WIDTH, // norm
      WIDTH * (WIDTH + 2 * KEY_VALUE_WIDTH), // query, key and value
      WIDTH * WIDTH,
      WIDTH, // norm
      WIDTH * 2 * INNER, // gate and up
      INNER * WIDTH,
    ];
    this.builder.allocate(VOCABULARY * WIDTH * BF16);
    for (let index = 0; index < LAYERS; index++) {
      for (const elements of layer) this.builder.allocate(elements * BF16);
    }
    this.builder.allocate(WIDTH * BF16);
  }

  #serve(): void {
    const waiting = [...this.#requests];
    let running: Running[] = [];
    for (let iteration = 0; waiting.length + running.length > 0; iteration++) {
      while (waiting.length > 0 && running.length < BATCH && waiting[0]!.arrival <= iteration) {
        running.push(this.#start(waiting.shift()!));
      }
      if (running.length === 0) continue;
      for (const request of running) this.#append(request);
      this.#forward(running.length, running.length);
      running = running.filter((request) => this.#isGoingOn(request));
    }
  }

  #start({ promptTokens, outputTokens }: Request): Running {
    const capacity = roundUp(promptTokens, SMALLEST_CAPACITY);
    const cache = Array.from({ length: LAYERS }, () => this.#allocateCache(capacity));
    this.#forward(promptTokens, 1);
    return { tokens: promptTokens, left: outputTokens, capacity, cache };
  }

  #allocateCache(capacity: number): number {
    return this.builder.allocate(2 * capacity * KEY_VALUE_WIDTH * BF16);
  }

  /** Makes room for one token more. */
  #append(request: Running): void {
    request.tokens++;
    if (request.tokens <= request.capacity) return;
    request.capacity *= 2;
    request.cache = request.cache.map((smaller) => {
      const larger = this.#allocateCache(request.capacity);
      this.builder.free(smaller);
      return larger;
    });
  }

  #isGoingOn(request: Running): boolean {
    if (--request.left > 0) return true;
    this.builder.freeAll(request.cache);
    return false;
  }

  /** One pass of so many tokens through the model, of which `sampled` are sampled from. */
  #forward(tokens: number, sampled: number): void {
    const { builder } = this;
    const indices = builder.allocate(tokens * 8);
    let hidden = builder.allocate(tokens * WIDTH * BF16);
    for (let layer = 0; layer < LAYERS; layer++) hidden = this.#layer(tokens, hidden);
    const last = builder.allocate(sampled * WIDTH * BF16);
    builder.freeAll([hidden, indices]);
    const logits = builder.allocate(sampled * VOCABULARY * BF16);
    const probabilities = builder.allocate(sampled * VOCABULARY * SINGLE);
    builder.freeAll([logits, last]);
    builder.scratch(sampled * 8);
    builder.free(probabilities);
  }

  #layer(tokens: number, hidden: number): number {
    const { builder } = this;
    const wide = tokens * WIDTH * BF16;
    const normal = builder.allocate(wide);
    const projected = builder.allocate(tokens * (WIDTH + 2 * KEY_VALUE_WIDTH) * BF16);
    builder.free(normal);
    const attention = builder.allocate(wide);
    builder.free(projected);
    const sum = builder.allocate(wide);
    builder.freeAll([attention, hidden]);
    const inner = builder.allocate(tokens * 2 * INNER * BF16);
    const active = builder.allocate(tokens * INNER * BF16);
    builder.free(inner);
    const output = builder.allocate(wide);
    builder.freeAll([active, sum]);
    return output;
  }
}

function roundUp(value: number, multiple: number): number {
  return Math.ceil(value / multiple) * multiple;
}

/** Makes the trace `serving`. */
export function createServingTrace(): MemoryTrace {
  const run = new ServingRun(new SeededRandom(2));
  run.run();
  return run.builder.build("serving", SERVING_DESCRIPTION);
}

/** What the trace is. */
export const SERVING_DESCRIPTION: string =
  `Serving a language model of 1.2 billion parameters to ${REQUESTS} requests of different ` +
  `lengths, ${STEPS} times over: continuous batching, keys and values that grow by doubling.`;
