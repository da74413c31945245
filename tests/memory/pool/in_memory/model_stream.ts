/**
 * Streams and events of an upstream in memory.
 *
 * A stream is two counts: how much work it was given and how much of that is done. An event is a
 * stream and such a count.
 *
 * @module
 */

import type { MemoryStream } from "../../../../src/memory/pool/memory_upstream.ts";

/**
 * When work is done: `recorded` when an event is recorded behind it, as replays have it, so that
 * nothing is ever waited for; `explicit` when the test says so or somebody blocks for it.
 */
export type CompletionRule = "recorded" | "explicit";

/** How many streams of an upstream are part of a capture. */
export interface CaptureCount {
  /** Their number. */
  streams: number;
  /** How often that has changed. */
  changes: number;
}

/** A stream of an `InMemoryUpstream`. */
export class ModelStream implements MemoryStream {
  /** Its number, which no other stream of its upstream has had; also when it is disposed. */
  readonly number: number;
  readonly #closers = new Set<() => void>();
  readonly #captures: CaptureCount;
  #captureToken: object | undefined;
  #disposed = false;
  /** Work given to it so far. */
  enqueued = 0;
  /** How much of that is done, counted from the beginning. */
  completed = 0;

  /** Makes a stream; `InMemoryUpstream.createStream` does. */
  constructor(number: number, captures: CaptureCount) {
    this.number = number;
    this.#captures = captures;
  }

  /** Its number, as its handle. */
  get id(): number {
    if (this.#disposed) throw new TypeError("Cannot use a stream as it is disposed");
    return this.number;
  }

  /** Whether it is disposed. */
  get disposed(): boolean {
    return this.#disposed;
  }

  /** Which capture it is part of; a test sets it and, when the capture ends, unsets it. */
  get captureToken(): object | undefined {
    return this.#captureToken;
  }

  set captureToken(token: object | undefined) {
    this.#captures.streams += Number(token !== undefined) -
      Number(this.#captureToken !== undefined);
    this.#captures.changes++;
    this.#captureToken = token;
  }

  /** Whether all of its work is done. */
  get idle(): boolean {
    return this.completed === this.enqueued;
  }

  /**
   * Registers what is to happen before the stream is given back.
   *
   * @returns Takes the registration back.
   */
  onDispose(close: () => void): () => void {
    this.#closers.add(close);
    return () => void this.#closers.delete(close);
  }

  /** How many have registered something that is to happen then. */
  get listeners(): number {
    return this.#closers.size;
  }

  /** Gives it back; its work still completes. Doing it twice is allowed. */
  [Symbol.dispose](): void {
    if (this.#disposed) return;
    for (const close of this.#closers) close();
    this.#disposed = true;
  }
}

interface EventPoint {
  stream: ModelStream | undefined;
  position: number;
}

interface Waiter extends EventPoint {
  readonly resolve: () => void;
}

/** The events of an upstream, and who waits for them. */
export class ModelEvents {
  readonly #points = new Map<number, EventPoint>();
  #waiters: Waiter[] = [];
  #last = 0;

  /** How many there are. */
  get size(): number {
    return this.#points.size;
  }

  /** Makes an event; nothing is recorded yet, so it counts as done. */
  create(): number {
    this.#points.set(++this.#last, { stream: undefined, position: 0 });
    return this.#last;
  }

  /** Forgets an event; false where there is none. */
  destroy(event: number): boolean {
    return this.#points.delete(event);
  }

  /** Whether there is such an event. */
  has(event: number): boolean {
    return this.#points.has(event);
  }

  /** Sets the event to the point that the stream's work so far reaches. */
  record(event: number, stream: ModelStream): void {
    const point = this.#points.get(event)!;
    point.stream = stream;
    point.position = ++stream.enqueued;
  }

  /** Whether the event's point is reached. */
  done(event: number): boolean {
    return isReached(this.#points.get(event)!);
  }

  /** Lets the event's stream do its work up to the event. */
  reach(event: number): void {
    const { stream, position } = this.#points.get(event)!;
    if (stream === undefined) return;
    stream.completed = Math.max(stream.completed, position);
    this.wake();
  }

  /** Resolves when the event's present point is reached. */
  wait(event: number): Promise<void> {
    const point = this.#points.get(event)!;
    if (isReached(point)) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiters.push({ ...point, resolve });
    return promise;
  }

  /** Resolves the promises whose points are reached. */
  wake(): void {
    if (this.#waiters.length === 0) return;
    const reached = this.#waiters.filter(isReached);
    this.#waiters = this.#waiters.filter((waiter) => !isReached(waiter));
    for (const { resolve } of reached) resolve();
  }
}

function isReached({ stream, position }: EventPoint): boolean {
  return stream === undefined || stream.completed >= position;
}
