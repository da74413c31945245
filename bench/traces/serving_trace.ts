/**
 * The trace `serving`: serving a language model to requests that come and go.
 *
 * The model has the shape of Llama 3.2 1B (Meta's model card and its configuration: 16 layers, width
 * 2 048, 32 heads and 8 of keys and values of 64 elements, inner width 8 192, vocabulary 128 256) in
 * bfloat16. Requests are batched continuously (Yu et al., "Orca", OSDI 2022): one joins when there is
 * room, its prompt is read in one pass, then every running request gains a token per iteration until
 * it ends. The keys and values of a request grow by doubling, one tensor per layer: the larger
 * tensor is allocated before the smaller one is freed.
 *
 * The same requests come again in each step.
 *
 * @module
 */

import type { TraceBuilder } from "../../src/lab/memory/trace/memory_trace.ts";
import { type GeneratedTrace, generatedTrace } from "./generated_trace.ts";

const LAYERS = 16;
const WIDTH = 2048;
const KEY_VALUE_WIDTH = 8 * 64;
const INNER = 8192;
const VOCABULARY = 128256;
const BF16 = 2;
const SINGLE = 4;
/** Requests of a step, and the most that run at a time. */
const REQUESTS = 20;
const BATCH = 12;
const STEPS = 4;
/** The unit of the initial capacity of keys and values, in tokens. */
const CAPACITY_UNIT = 64;

/** The elements of a layer's parameters. */
const PARAMETERS: readonly number[] = [
  WIDTH, // norm
  WIDTH * (WIDTH + 2 * KEY_VALUE_WIDTH), // query, key and value
  WIDTH * WIDTH,
  WIDTH, // norm
  WIDTH * 2 * INNER, // gate and up
  INNER * WIDTH,
];

interface Request {
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** The iteration of its arrival. */
  readonly arrival: number;
}

/** A request during its service. */
interface Running {
  tokens: number;
  left: number;
  capacity: number;
  /** Keys and values by layer. */
  cache: number[];
}

function layer(builder: TraceBuilder, tokens: number, hidden: number): number {
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

/** A pass of tokens through the model, of which some are sampled. */
function forward(builder: TraceBuilder, tokens: number, sampled: number): void {
  const indices = builder.allocate(tokens * 8);
  let hidden = builder.allocate(tokens * WIDTH * BF16);
  for (let index = 0; index < LAYERS; index++) hidden = layer(builder, tokens, hidden);
  const last = builder.allocate(sampled * WIDTH * BF16);
  builder.freeAll([hidden, indices]);
  const logits = builder.allocate(sampled * VOCABULARY * BF16);
  const probabilities = builder.allocate(sampled * VOCABULARY * SINGLE);
  builder.freeAll([logits, last]);
  builder.scratch(sampled * 8);
  builder.free(probabilities);
}

function allocateCache(builder: TraceBuilder, capacity: number): number {
  return builder.allocate(2 * capacity * KEY_VALUE_WIDTH * BF16);
}

function start(builder: TraceBuilder, { promptTokens, outputTokens }: Request): Running {
  const capacity = Math.ceil(promptTokens / CAPACITY_UNIT) * CAPACITY_UNIT;
  const cache = Array.from({ length: LAYERS }, () => allocateCache(builder, capacity));
  forward(builder, promptTokens, 1);
  return { tokens: promptTokens, left: outputTokens, capacity, cache };
}

/** Adds a token to a request. */
function append(builder: TraceBuilder, request: Running): void {
  request.tokens++;
  if (request.tokens <= request.capacity) return;
  request.capacity *= 2;
  request.cache = request.cache.map((smaller) => {
    const larger = allocateCache(builder, request.capacity);
    builder.free(smaller);
    return larger;
  });
}

/** Serves all requests once. */
function serve(builder: TraceBuilder, requests: readonly Request[]): void {
  const waiting = [...requests];
  let running: Running[] = [];
  for (let iteration = 0; waiting.length + running.length > 0; iteration++) {
    while (waiting.length > 0 && running.length < BATCH && waiting[0]!.arrival <= iteration) {
      running.push(start(builder, waiting.shift()!));
    }
    if (running.length === 0) continue;
    for (const request of running) append(builder, request);
    forward(builder, running.length, running.length);
    running = running.filter((request) => {
      if (--request.left > 0) return true;
      builder.freeAll(request.cache);
      return false;
    });
  }
}

/** The trace. */
export const SERVING: GeneratedTrace = generatedTrace(
  "serving",
  `Serving a language model of 1.2 billion parameters to ${REQUESTS} requests of different ` +
    `lengths, ${STEPS} times over: continuous batching, keys and values that grow by doubling.`,
  2,
  (builder, random) => {
    let arrival = 0;
    const requests = Array.from({ length: REQUESTS }, (): Request => {
      arrival += random.integer(0, 3);
      const promptTokens = random.logarithmic(30, 8000);
      return { promptTokens, outputTokens: random.logarithmic(4, 60), arrival };
    });
    builder.allocate(VOCABULARY * WIDTH * BF16);
    for (let index = 0; index < LAYERS; index++) {
      for (const elements of PARAMETERS) builder.allocate(elements * BF16);
    }
    builder.allocate(WIDTH * BF16);
    for (let step = 0; step < STEPS; step++) {
      serve(builder, requests);
      builder.point("step");
    }
  },
);
