/**
 * Runs many requests at once.
 *
 * @module
 */

import type { Decoder } from "../decoder/decoder.ts";
import type { GenerationRequest, RequestQueue } from "./generation.ts";
import { sampleRows } from "./sampling.ts";
import { scoreTokens } from "./score.ts";

/** Options of {@linkcode Scheduler}. */
export interface SchedulerOptions {
  /** The largest number of sequences of a step. */
  readonly maxSequences: number;
  /** The largest number of tokens of a step. */
  readonly maxTokens: number;
  /** Tokens from here on are never chosen. */
  readonly vocabularySize: number;
}

/** Counts of a scheduler. */
export interface SchedulerStatistics {
  /** Requests whose sequences have pages. */
  readonly running: number;
  /** Requests that wait for pages. */
  readonly waiting: number;
  /** Tokens of prompts that were computed; those of preempted requests again. */
  readonly promptTokens: number;
  /** Tokens that were generated. */
  readonly generatedTokens: number;
  /** How often a request gave its pages to others, to be computed again later. */
  readonly preemptions: number;
}

/** A request with a sequence. */
interface Run {
  readonly request: GenerationRequest;
  readonly sequence: number;
}

/** Tokens whose probabilities are asked for. */
interface Scoring extends PromiseWithResolvers<Float32Array<ArrayBuffer>> {
  readonly tokens: readonly number[];
}

const DISPOSED = "Cannot generate as the model is disposed";

/**
 * Runs requests together, each step with new tokens of all that are admitted: a request joins as soon as
 * there are pages for its tokens, and leaves with its last token. Prompts are computed in chunks, beside
 * the next tokens of others. If no page is free for a next token, the youngest request gives up its
 * pages and waits, to be computed again.
 */
export class Scheduler implements RequestQueue {
  readonly #decoder: Decoder;
  readonly #options: SchedulerOptions;
  readonly #waiting: GenerationRequest[] = [];
  /** In the order of their admission. */
  readonly #running: Run[] = [];
  readonly #scorings: Scoring[] = [];
  #loop: Promise<void> | undefined;
  #isClosed = false;
  #promptTokens = 0;
  #generatedTokens = 0;
  #preemptions = 0;

  constructor(decoder: Decoder, options: SchedulerOptions) {
    this.#decoder = decoder;
    this.#options = options;
  }

  statistics(): SchedulerStatistics {
    return {
      running: this.#running.length,
      waiting: this.#waiting.length,
      promptTokens: this.#promptTokens,
      generatedTokens: this.#generatedTokens,
      preemptions: this.#preemptions,
    };
  }

  submit(request: GenerationRequest): void {
    if (this.#isClosed) throw new TypeError(DISPOSED);
    this.#waiting.push(request);
    this.#loop ??= this.#run();
  }

  /** The logarithms of the probabilities of tokens; they are computed between two steps of others. */
  score(tokens: readonly number[]): Promise<Float32Array<ArrayBuffer>> {
    if (this.#isClosed) throw new TypeError(DISPOSED);
    const scoring = { tokens, ...Promise.withResolvers<Float32Array<ArrayBuffer>>() };
    this.#scorings.push(scoring);
    this.#loop ??= this.#run();
    return scoring.promise;
  }

  cancel(request: GenerationRequest): void {
    const place = this.#waiting.indexOf(request);
    if (place >= 0) this.#waiting.splice(place, 1);
    const run = this.#running.find((it) => it.request === request);
    if (run !== undefined) this.#remove(run);
  }

  /** Ends all requests, and resolves when nothing runs any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#failAll(new TypeError(DISPOSED));
    await this.#loop;
  }

  #remove(run: Run): void {
    this.#running.splice(this.#running.indexOf(run), 1);
    // An error of the device has removed it.
    if (this.#decoder.has(run.sequence)) this.#decoder.remove(run.sequence);
  }

  #failAll(error: unknown): void {
    const runs = [...this.#running];
    for (const run of runs) this.#remove(run);
    const all = [...runs.map(({ request }) => request), ...this.#waiting.splice(0)];
    for (const request of all) request.fail(error);
    for (const { reject } of this.#scorings.splice(0)) reject(error);
  }

  async #run(): Promise<void> {
    // Requests that are submitted at the same time begin together.
    await Promise.resolve();
    while (this.#running.length + this.#waiting.length + this.#scorings.length > 0) {
      try {
        const scoring = this.#scorings.shift();
        if (scoring !== undefined) await this.#score(scoring);
        else await this.#step();
      } catch (error) {
        this.#failAll(error);
      }
    }
    this.#loop = undefined;
  }

  async #score({ tokens, resolve, reject }: Scoring): Promise<void> {
    while (this.#pagesOf(tokens.length) > this.#decoder.freePages) this.#preempt();
    try {
      resolve(await scoreTokens(this.#decoder, tokens));
    } catch (error) {
      reject(error);
    }
  }

  /** Takes the pages of the youngest request. */
  #preempt(): void {
    const youngest = this.#running.at(-1)!;
    this.#remove(youngest);
    this.#waiting.unshift(youngest.request);
    this.#preemptions++;
  }

  /** Tokens that are not in the cache yet. */
  #missing({ request, sequence }: Run): number {
    return request.tokens.length - this.#decoder.lengthOf(sequence);
  }

  #pagesOf(tokens: number): number {
    return Math.ceil(tokens / this.#decoder.pageSize);
  }

  #admit(): void {
    let free = this.#decoder.freePages;
    for (const run of this.#running) {
      free -= this.#pagesOf(run.request.tokens.length) -
        this.#pagesOf(this.#decoder.lengthOf(run.sequence));
    }
    while (this.#running.length < this.#options.maxSequences && this.#waiting.length > 0) {
      const request = this.#waiting[0]!;
      const needed = this.#pagesOf(request.tokens.length);
      if (needed > free) return;
      free -= needed;
      this.#waiting.shift();
      this.#running.push({ request, sequence: this.#decoder.add() });
    }
  }

  /** The new tokens of a step: the next ones of answers before parts of prompts. */
  #plan(): { readonly run: Run; readonly count: number }[] {
    let left = this.#options.maxTokens;
    const byNeed = this.#running.toSorted((a, b) => this.#missing(a) - this.#missing(b));
    const planned: { run: Run; count: number }[] = [];
    for (const run of byNeed) {
      const count = Math.min(this.#missing(run), left);
      if (count === 0) continue;
      planned.push({ run, count });
      left -= count;
    }
    return planned;
  }

  /** Whether there are pages for a step. */
  #fits(planned: readonly { readonly run: Run; readonly count: number }[]): boolean {
    const needed = planned.reduce((sum, { run, count }) => {
      const length = this.#decoder.lengthOf(run.sequence);
      return sum + this.#pagesOf(length + count) - this.#pagesOf(length);
    }, 0);
    return needed <= this.#decoder.freePages;
  }

  async #step(): Promise<void> {
    this.#admit();
    let planned = this.#plan();
    while (!this.#fits(planned)) {
      this.#preempt();
      planned = this.#plan();
    }
    using logits = this.#decoder.forward(planned.map(({ run: { request, sequence }, count }) => {
      const done = this.#decoder.lengthOf(sequence);
      return { sequence, tokens: request.tokens.slice(done, done + count) };
    }));
    const rows = planned.map(({ run }) => run.request);
    const completed = planned.map(({ run }) => this.#missing(run) === 0);
    for (const [at, { count }] of planned.entries()) {
      if (!completed[at] || count > 1) this.#promptTokens += count;
    }
    const sampled = await sampleRows(logits, rows, this.#options.vocabularySize);
    for (const [at, { run }] of planned.entries()) {
      // Others may have been cancelled meanwhile.
      if (!completed[at] || run.request.hasEnded || !this.#running.includes(run)) continue;
      this.#generatedTokens++;
      run.request.push(sampled[at]!);
      if (run.request.hasEnded) this.#remove(run);
    }
  }
}
