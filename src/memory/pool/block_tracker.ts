/**
 * Allocation sites, and the details of blocks where memory is tracked.
 *
 * Capturing a stack takes a few microseconds. Writing it as text takes twenty times as long, because
 * every frame is looked up in the source map of its module. Stacks are therefore resolved on demand.
 * An unresolved stack keeps the objects of its frames alive, which long-lived stacks must not.
 *
 * @module
 */

import type { BlockPool } from "./block_pool.ts";
import type { MemoryStream } from "./memory_upstream.ts";
import type { PoolObserver } from "./pool_observer.ts";

const OWN_FRAMES = 24; // Maximum frames of this package between a program's call and the capture

const SOURCES = new URL("../../", import.meta.url).href;
const MEMORY_SOURCES = new URL("../", import.meta.url).href;

export const UNKNOWN_SITE = "unknown";

const MAX_RESOLVED_AT_ONCE = 64; // Stacks resolved at the end of a task
/** Blocks allocated in one task before freed ones are dropped from the waiting list. */
const MIN_UNRESOLVED = 4096;

/** A captured stack; made by {@linkcode AllocationSites.capture}. */
export class CapturedSite {
  readonly #sites: AllocationSites;
  #captured: { stack?: unknown } | undefined;
  #index = -1;

  constructor(sites: AllocationSites, captured: { stack?: unknown }) {
    this.#sites = sites;
    this.#captured = captured;
  }

  get resolved(): boolean {
    return this.#captured === undefined;
  }

  /** The number of the stack; equal stacks have the same. */
  get index(): number {
    if (this.#captured !== undefined) {
      this.#index = this.#sites.intern(this.#captured.stack);
      this.#captured = undefined;
    }
    return this.#index;
  }

  /** The stack, one frame per line, innermost first. */
  get text(): string {
    return this.#sites.texts[this.index]!;
  }

  get frame(): string {
    return innermostOf(this.text);
  }
}

export class AllocationSites {
  readonly texts: string[] = [];
  readonly #frames: number;
  readonly #numbers = new Map<string, number>();

  /** No stacks yet; each keeps this many frames of the program. */
  constructor(frames: number) {
    this.#frames = frames;
  }

  capture(): CapturedSite {
    const captured: { stack?: unknown } = {};
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = this.#frames + OWN_FRAMES;
    Error.captureStackTrace(captured, this.capture);
    Error.stackTraceLimit = limit;
    return new CapturedSite(this, captured);
  }

  intern(stack: unknown): number {
    const text = siteText(stack, this.#frames);
    let number = this.#numbers.get(text);
    if (number === undefined) {
      number = this.texts.push(text) - 1;
      this.#numbers.set(text, number);
    }
    return number;
  }
}

/**
 * The program's part of a stack, without the frames of this package.
 *
 * @param stack The stack in V8's notation; anything else is unknown.
 * @param frames The number of frames to keep.
 */
export function siteText(stack: unknown, frames: number): string {
  if (typeof stack !== "string") return UNKNOWN_SITE;
  const all = stack.split("\n")
    .map((line) => /^ +at (.*)$/.exec(line)?.[1])
    .filter((frame) => frame !== undefined)
    // Built-in functions, such as Array.from(), have no place.
    .filter((frame) => !frame.endsWith("(<anonymous>)"));
  // An allocation by the command line has frames of this package only.
  const kept = [SOURCES, MEMORY_SOURCES].map((own) => all.filter((frame) => !frame.includes(own)))
    .find((rest) => rest.length > 0) ?? all;
  return kept.length === 0 ? UNKNOWN_SITE : kept.slice(0, frames).join("\n");
}

export function innermostOf(text: string): string {
  const end = text.indexOf("\n");
  return end < 0 ? text : text.slice(0, end);
}

/** Numbers and names of the streams of a pool, in the order of first use. Keeps none alive. */
export class StreamNames {
  readonly #numbers = new WeakMap<MemoryStream, number>();
  readonly #streams: WeakRef<MemoryStream>[] = [];
  readonly #defaults = new Set<number>();

  indexOf(stream: MemoryStream): number {
    const known = this.#numbers.get(stream);
    if (known !== undefined) return known;
    const number = this.#streams.push(new WeakRef(stream)) - 1;
    this.#numbers.set(stream, number);
    if (stream.isDefault === true) this.#defaults.add(number);
    return number;
  }

  nameOf(number: number): string {
    if (number < 0) return "disposed stream";
    if (this.#defaults.has(number)) return "default";
    const stream = this.#streams[number]!.deref();
    // A stream collected as garbage cannot be used any more either.
    const kind = stream === undefined || stream.disposed ? "disposed stream" : "stream";
    return `${kind} ${number + 1}`;
  }

  names(): string[] {
    return this.#streams.map((_, number) => this.nameOf(number));
  }
}

interface TrackedBlock {
  readonly block: number;
  readonly site: CapturedSite;
}

/** Age, stream and allocation site of every block. */
export class BlockTracker implements PoolObserver {
  readonly #pool: BlockPool;
  // By block number.
  readonly #since: number[] = [];
  readonly #streamOf: number[] = [];
  readonly #siteOf: (CapturedSite | undefined)[] = [];
  #unresolved: TrackedBlock[] = [];
  #maxUnresolved = MIN_UNRESOLVED;
  #isScheduled = false;

  constructor(pool: BlockPool) {
    this.#pool = pool;
  }

  allocated(block: number, stream: MemoryStream): void {
    const site = this.#pool.sites.capture();
    this.#since[block] = performance.now();
    this.#streamOf[block] = this.#pool.names.indexOf(stream);
    this.#siteOf[block] = site;
    this.#unresolved.push({ block, site });
    if (this.#unresolved.length > this.#maxUnresolved) {
      // A long task must not keep the stacks of blocks that it has freed.
      this.#unresolved = this.#unresolved.filter((each) => this.#isUnresolved(each));
      this.#maxUnresolved = Math.max(MIN_UNRESOLVED, this.#unresolved.length * 2);
    }
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    queueMicrotask(() => this.#resolveSome());
  }

  freed(block: number): void {
    this.#since[block] = performance.now();
  }

  /** Milliseconds since the block was allocated or, if it is not live, freed. */
  ageOf(block: number): number {
    return Math.max(0, performance.now() - this.#since[block]!);
  }

  siteOf(block: number): CapturedSite {
    return this.#siteOf[block]!;
  }

  streamOf(block: number): number {
    return this.#streamOf[block]!;
  }

  /** Resolves the stacks of blocks that outlive the task; most do not. */
  #resolveSome(): void {
    this.#isScheduled = false;
    let left = MAX_RESOLVED_AT_ONCE;
    while (this.#unresolved.length > 0 && left > 0) {
      const each = this.#unresolved.pop()!;
      if (!this.#isUnresolved(each)) continue;
      void each.site.index;
      left--;
    }
  }

  #isUnresolved({ block, site }: TrackedBlock): boolean {
    return !site.resolved && this.#siteOf[block] === site && this.#pool.isLive(block);
  }
}
