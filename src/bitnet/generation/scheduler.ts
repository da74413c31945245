/**
 * Runs many requests at once.
 *
 * @module
 */

import type { Decoder } from "../decoder/decoder.ts";
import { scoreTokens } from "../decoder/score.ts";
import { StepGraphs } from "../decoder/step_graphs.ts";
import type { GenerationRequest, RequestQueue } from "./generation.ts";
import {
  readTokens,
  type SampledRow,
  type SampledToken,
  type Sampler,
  settingsOf,
} from "./sampling.ts";
import { PrefixCache } from "./prefix_cache.ts";

/** Options of {@linkcode Scheduler}. */
export interface SchedulerOptions {
  /** The largest number of sequences of a step. */
  readonly maxSequences: number;
  /** The largest number of tokens of prompts in a step. */
  readonly maxTokens: number;
}

/**
 * Counts of the requests of a model.
 * @category Generation
 */
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
  /** Pages that no running request has. */
  readonly freePages: number;
}

/** A request with a sequence. */
interface Run {
  readonly request: GenerationRequest;
  readonly sequence: number;
  /** Its place in the sampler. */
  readonly slot: number;
  /** Whether others may have the pages of its prompt. */
  isKept: boolean;
  /** The number of its last tokens that only the device knows. */
  unknown: number;
}

/** New tokens of a run in a step. */
interface Planned {
  readonly run: Run;
  readonly count: number;
}

/** A step whose tokens are not read yet. */
interface InFlight {
  readonly runs: readonly Run[];
  readonly chosen: Promise<Int32Array>;
}

/** Tokens whose probabilities are asked for. */
interface Scoring extends PromiseWithResolvers<Float32Array<ArrayBuffer>> {
  readonly tokens: readonly number[];
}

/** The share of a step's tokens that prompts have beside next tokens. */
const BESIDE = 4;

const DISPOSED = "Cannot generate as the model is disposed";

/**
 * Runs requests together, each step with new tokens of all that are admitted: a request joins as soon as
 * there are pages for its tokens, and leaves with its last token. Prompts are computed in chunks, beside
 * the next tokens of others. If no page is free for a next token, the youngest request gives up its
 * pages and waits, to be computed again.
 */
export class Scheduler implements RequestQueue {
  readonly #decoder: Decoder;
  readonly #sampler: Sampler;
  readonly #steps: StepGraphs;
  readonly #prefixes: PrefixCache;
  readonly #options: SchedulerOptions;
  readonly #waiting: GenerationRequest[] = [];
  /** In the order of their admission. */
  readonly #running: Run[] = [];
  /** Places in the sampler that no request has. */
  readonly #slots: number[];
  #inFlight: InFlight | undefined;
  readonly #scorings: Scoring[] = [];
  #loop: Promise<void> | undefined;
  #isClosed = false;
  #promptTokens = 0;
  #generatedTokens = 0;
  #preemptions = 0;

  constructor(decoder: Decoder, sampler: Sampler, options: SchedulerOptions) {
    this.#decoder = decoder;
    this.#sampler = sampler;
    this.#steps = new StepGraphs(decoder, sampler, options.maxSequences);
    this.#prefixes = new PrefixCache(decoder.table, decoder.pageSize);
    this.#options = options;
    this.#slots = Array.from({ length: options.maxSequences }, (_, slot) => slot);
  }

  statistics(): SchedulerStatistics {
    return {
      running: this.#running.length,
      waiting: this.#waiting.length,
      promptTokens: this.#promptTokens,
      generatedTokens: this.#generatedTokens,
      preemptions: this.#preemptions,
      freePages: this.#decoder.freePages + this.#prefixes.evictable,
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
    this.#steps[Symbol.dispose]();
  }

  #remove(run: Run, isKept = true): void {
    this.#running.splice(this.#running.indexOf(run), 1);
    this.#slots.push(run.slot);
    // An error of the device has removed it.
    if (!this.#decoder.has(run.sequence)) return;
    if (isKept) this.#keepPages(run);
    this.#decoder.remove(run.sequence);
  }

  #failAll(error: unknown): void {
    const runs = [...this.#running];
    for (const run of runs) this.#remove(run, false);
    const all = [...runs.map(({ request }) => request), ...this.#waiting.splice(0)];
    for (const request of all) request.fail(error);
    for (const { reject } of this.#scorings.splice(0)) reject(error);
  }

  get #isBusy(): boolean {
    return this.#inFlight !== undefined ||
      this.#running.length + this.#waiting.length + this.#scorings.length > 0;
  }

  async #run(): Promise<void> {
    // Requests that are submitted at the same time begin together.
    await Promise.resolve();
    while (this.#isBusy) {
      try {
        // One text at a time, so answers go on between them.
        if (this.#scorings.length > 0) await this.#score();
        await this.#step();
      } catch (error) {
        this.#failAll(error);
      }
    }
    this.#loop = undefined;
  }

  async #score(): Promise<void> {
    // If the step in flight fails, the text is among those that end with its error.
    await this.#settle();
    const scoring = this.#scorings.shift();
    // The model may have been closed meanwhile.
    if (scoring === undefined) return;
    const { tokens, resolve, reject } = scoring;
    try {
      while (!this.#hasRoom(this.#pagesOf(tokens.length))) this.#preempt();
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

  /** Lets later requests have the full pages of a sequence. */
  #keepPages(run: Run): void {
    const { request: { tokens }, sequence } = run;
    // The last step may have added a token that the request has not taken.
    const length = Math.min(tokens.length, this.#decoder.lengthOf(sequence));
    this.#prefixes.keep(tokens, length, this.#decoder.table.pagesOf(sequence, "keep pages"));
    run.isKept = true;
  }

  /** Whether so many pages are free, also by taking those that no sequence has. */
  #hasRoom(pages: number): boolean {
    const lacking = pages - this.#decoder.freePages;
    if (lacking <= 0) return true;
    // Pages that would not be enough stay for others.
    if (lacking > this.#prefixes.evictable) return false;
    this.#prefixes.evict(lacking);
    return true;
  }

  /** All tokens, with those that only the device knows. */
  #tokens({ request, unknown }: Run): number {
    return request.tokens.length + unknown;
  }

  /** Tokens that are not in the cache yet; none of a request that needs no more. */
  #missing(run: Run): number {
    const tokens = this.#tokens(run);
    return tokens >= run.request.limit ? 0 : tokens - this.#decoder.lengthOf(run.sequence);
  }

  #pagesOf(tokens: number): number {
    return Math.ceil(tokens / this.#decoder.pageSize);
  }

  /** The pages that a sequence lacks for some tokens. */
  #lacks({ sequence }: Run, tokens: number): number {
    return this.#pagesOf(tokens) - this.#pagesOf(this.#decoder.lengthOf(sequence));
  }

  /** Gives sequences to requests that wait, as long as there are pages for all of their tokens. */
  #admit(): void {
    while (this.#slots.length > 0 && this.#waiting.length > 0) {
      const request = this.#waiting[0]!;
      const pages = this.#prefixes.find(request.tokens);
      const sequence = this.#decoder.add(pages);
      const run = { request, sequence, slot: this.#slots.at(-1)!, isKept: false, unknown: 0 };
      const needed = [...this.#running, run].reduce(
        (sum, it) => sum + this.#lacks(it, this.#tokens(it)),
        0,
      );
      if (!this.#hasRoom(needed)) return this.#decoder.remove(sequence);
      this.#waiting.shift();
      this.#slots.pop();
      this.#running.push(run);
      const { settings, tokens } = request;
      if (settings.repetitionPenalty !== 1) this.#sampler.remember(run.slot, tokens);
    }
  }

  /** The new tokens of a step: the next ones of all answers before parts of prompts. */
  #plan(): Planned[] {
    const { maxTokens } = this.#options;
    // For prompts only: a graph has a row for each that needs its next token.
    let left = maxTokens;
    const byNeed = this.#running.toSorted((a, b) => this.#missing(a) - this.#missing(b));
    const planned: Planned[] = [];
    for (const run of byNeed) {
      const missing = this.#missing(run);
      // Those who wait for their next token wait for a small part of a prompt only.
      if (missing > 1 && planned.length > 0) left = Math.min(left, Math.ceil(maxTokens / BESIDE));
      const count = missing > 1 ? Math.min(missing, left) : missing;
      if (count === 0) continue;
      planned.push({ run, count });
      if (missing > 1) left -= count;
    }
    return planned;
  }

  /** Whether there are pages for a step. */
  #fits(planned: readonly Planned[]): boolean {
    const needed = planned.reduce(
      (sum, { run, count }) => sum + this.#lacks(run, this.#decoder.lengthOf(run.sequence) + count),
      0,
    );
    return this.#hasRoom(needed);
  }

  async #step(): Promise<void> {
    this.#admit();
    let planned = this.#plan();
    const isNext = planned.length > 0 &&
      planned.every(({ count, run }) => count === 1 && this.#missing(run) === 1);
    if (isNext && this.#fits(planned)) return await this.#graphStep();
    // A chunk of a prompt, or a lack of pages, needs all tokens known.
    if (this.#inFlight !== undefined) return await this.#settle();
    while (!this.#fits(planned)) {
      this.#preempt();
      planned = this.#plan();
    }
    if (planned.length > 0) await this.#mixedStep(planned);
  }

  /** Next tokens of all by a graph, whose results are read while the next one runs. */
  async #graphStep(): Promise<void> {
    const longest = Math.max(...this.#running.map((run) => this.#tokens(run)));
    const step = await this.#steps.of(this.#running.length, longest);
    // Some may have been cancelled meanwhile.
    const runs = this.#running.filter((run) => this.#missing(run) === 1);
    if (runs.length === 0) return;
    const inputs = runs.map(({ request, sequence, slot }) => ({
      sequence,
      token: request.tokens[this.#decoder.lengthOf(sequence)] ?? -1 - slot,
    }));
    this.#countPrompts(runs.map((run) => ({ run, count: 1 })));
    step.run(inputs, settingsOf(runs.map((run) => this.#row(run)), step.sizes.sequences));
    const before = this.#inFlight;
    for (const run of runs) run.unknown++;
    this.#inFlight = { runs, chosen: step.chosen!.toArray() };
    // A failure is seen when it is awaited.
    this.#inFlight.chosen.catch(() => {});
    if (before !== undefined) await this.#receive(before);
  }

  #countPrompts(planned: readonly Planned[]): void {
    for (const { run: { request, sequence }, count } of planned) {
      const left = request.promptTokens - this.#decoder.lengthOf(sequence);
      this.#promptTokens += Math.max(0, Math.min(count, left));
    }
  }

  #row(run: Run): SampledRow {
    const { request: { settings }, slot } = run;
    return { settings, slot, draw: this.#tokens(run) };
  }

  /** Chunks of prompts beside next tokens. */
  async #mixedStep(planned: readonly Planned[]): Promise<void> {
    const rows = planned.map(({ run, count }) =>
      count === this.#missing(run) ? this.#row(run) : undefined
    );
    const inputs = planned.map(({ run: { request, sequence }, count }) => {
      const done = this.#decoder.lengthOf(sequence);
      return { sequence, tokens: request.tokens.slice(done, done + count) };
    });
    this.#countPrompts(planned);
    using logits = this.#decoder.forward(inputs);
    const sampled = await this.#sampler.choose(logits, rows);
    for (const [at, { run }] of planned.entries()) {
      if (rows[at] === undefined || !this.#running.includes(run)) continue;
      if (!run.isKept) this.#keepPages(run);
      this.#push(run, sampled[at]!);
    }
  }

  /** Awaits the tokens of the graph that runs. */
  async #settle(): Promise<void> {
    const inFlight = this.#inFlight;
    this.#inFlight = undefined;
    if (inFlight !== undefined) await this.#receive(inFlight);
  }

  async #receive({ runs, chosen }: InFlight): Promise<void> {
    const tokens = readTokens(await chosen, runs.length);
    for (const [at, run] of runs.entries()) {
      run.unknown--;
      this.#push(run, tokens[at]!);
    }
  }

  #push(run: Run, token: SampledToken): void {
    // It may have ended with the token before, or have been cancelled.
    if (!this.#running.includes(run)) return;
    this.#generatedTokens++;
    run.request.push(token);
    if (run.request.hasEnded) this.#remove(run);
  }
}
