/**
 * Where in a program something happened: stacks, captured cheaply and kept once each.
 *
 * To capture a stack takes a few microseconds, and to write it down as text twenty times as long,
 * since every frame is looked up in the source map of its module. So the text is made only when
 * somebody wants it. Until then the capture keeps what its frames refer to from being collected;
 * whoever holds captures for long therefore resolves them.
 *
 * @module
 */

/** Frames of this module between a program's call and the capture, at most. */
const OWN_FRAMES = 24;

const SOURCES = new URL("../../", import.meta.url).href;
const MEMORY_SOURCES = new URL("../", import.meta.url).href;

/** What nobody knows the stack of. */
export const UNKNOWN_SITE = "unknown";

/** A stack that was captured. Made by {@linkcode AllocationSites.capture}. */
export class CapturedSite {
  readonly #sites: AllocationSites;
  #captured: { stack?: unknown } | undefined;
  #index = -1;

  /** Keeps what `Error.captureStackTrace()` has left in an object. */
  constructor(sites: AllocationSites, captured: { stack?: unknown }) {
    this.#sites = sites;
    this.#captured = captured;
  }

  /** Whether the stack is text already, so that nothing is kept from being collected. */
  get resolved(): boolean {
    return this.#captured === undefined;
  }

  /** The number of the stack: the same for the same stack. */
  get index(): number {
    if (this.#captured !== undefined) {
      this.#index = this.#sites.intern(this.#captured.stack);
      this.#captured = undefined;
    }
    return this.#index;
  }

  /** The stack, one frame per line, the innermost first. */
  get text(): string {
    return this.#sites.texts[this.index]!;
  }

  /** The innermost frame. */
  get frame(): string {
    return innermostOf(this.text);
  }
}

/** The stacks of a pool. */
export class AllocationSites {
  /** All that were resolved so far, by their numbers. */
  readonly texts: string[] = [];
  readonly #frames: number;
  readonly #numbers = new Map<string, number>();

  /**
   * No stacks yet.
   *
   * @param frames How many frames of the program are kept.
   */
  constructor(frames: number) {
    this.#frames = frames;
  }

  /** Captures the stack as it is now. */
  capture(): CapturedSite {
    const captured: { stack?: unknown } = {};
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = this.#frames + OWN_FRAMES;
    Error.captureStackTrace(captured, this.capture);
    Error.stackTraceLimit = limit;
    return new CapturedSite(this, captured);
  }

  /** The number of a stack as V8 writes it. */
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
 * The program's part of a stack as V8 writes it: without the frames of this module.
 *
 * @param stack The stack; what is no text, because the program has stacks written otherwise, is
 * unknown.
 * @param frames How many frames are kept.
 */
export function siteText(stack: unknown, frames: number): string {
  if (typeof stack !== "string") return UNKNOWN_SITE;
  const all = stack.split("\n")
    .map((line) => /^ +at (.*)$/.exec(line)?.[1])
    .filter((frame) => frame !== undefined);
  // What the command line allocates has no frames but those of this module.
  const kept = [SOURCES, MEMORY_SOURCES].map((own) => all.filter((frame) => !frame.includes(own)))
    .find((rest) => rest.length > 0) ?? all;
  return kept.length === 0 ? UNKNOWN_SITE : kept.slice(0, frames).join("\n");
}

/** The innermost frame of a stack's text. */
export function innermostOf(text: string): string {
  const end = text.indexOf("\n");
  return end < 0 ? text : text.slice(0, end);
}
