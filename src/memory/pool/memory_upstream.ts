/**
 * The source of a pool's memory. `native_upstream.ts` implements it for devices.
 *
 * @module
 */

/** A stream as the pool sees it. A `Stream` is one. */
export interface MemoryStream {
  /** The native handle; throws if the stream is disposed. */
  readonly id: number;
  /** Whether the stream is disposed. */
  readonly disposed: boolean;
  /** The capture that it is part of; `undefined` while its work runs. */
  readonly captureToken: object | undefined;
  /** Whether it is its device's default stream. */
  readonly isDefault?: boolean;
  /** Registers a function to call before disposal; the result takes the registration back. */
  onDispose(close: () => void): () => void;
}

/**
 * A source of device memory, and of events that mark the progress of streams.
 *
 * A call that takes memory returns 0 or `false` if there is none left. Every other failure throws
 * and has no effect. All sizes are bytes.
 */
export interface MemoryUpstream {
  /** The device's label in messages. */
  readonly label: string;
  /** The device's total memory. */
  readonly totalBytes: number;
  /**
   * Mapped addresses and sizes are multiples of this. 0 without virtual memory management: then the
   * pool uses {@linkcode allocate} and {@linkcode free} only.
   */
  readonly granularity: number;

  /** Queries the free memory of the device. */
  freeBytes(): number;

  /** Allocates plain memory, aligned to at least 512 bytes; 0 if there is none. */
  allocate(bytes: number): number;
  /** Frees plain memory; waits for the device, as `cudaFree` does. */
  free(address: number): void;

  /** Reserves addresses without memory, a multiple of the granularity; 0 if there are none. */
  reserve(bytes: number): number;
  /** Releases a range of addresses without memory. */
  release(address: number): void;
  /**
   * Maps memory in pieces of `handleBytes`, of which the last may be shorter. False if there is
   * none; then nothing is mapped.
   */
  map(address: number, bytes: number, handleBytes: number): boolean;
  /** Unmaps whole pieces at once, without waiting for work that uses them. */
  unmap(address: number, bytes: number): void;

  /** Whether this thread captures a stream; then querying or waiting would break the capture. */
  readonly capturing: boolean;
  /** Whether the device is lost: its memory is gone, and nothing runs. */
  readonly lost: boolean;
  /** Whether the device of a stream is lost, which may be another one. */
  isLostFor(stream: MemoryStream): boolean;

  /** Creates an event for points of a stream, which may be of another device. */
  createEvent(stream: MemoryStream): number;
  /** Destroys an event, after the waits for it. */
  destroyEvent(event: number): void;
  /** Records the end of the work that the stream has so far. */
  recordEvent(event: number, stream: MemoryStream): void;
  /** Whether the last recorded point has been reached. */
  queryEvent(event: number): boolean;
  /** Waits for the event, blocking this thread. */
  waitSync(event: number): void;
  /** Waits for the event without blocking the event loop. */
  wait(event: number): Promise<void>;
  /** Whether a {@linkcode wait} for the event has not resolved; it must not be recorded then. */
  isAwaited(event: number): boolean;

  /** Declares a live block, or its end, for the library's checks in debug mode. */
  declare(address: number, bytes: number, isLive: boolean): void;
  /** Sets bytes on the stream to a pattern of one byte. */
  fill(address: number, bytes: number, pattern: number, stream: MemoryStream): void;
  /** Reads bytes after the stream's work so far, blocking this thread. */
  read(address: number, target: Uint8Array<ArrayBuffer>, stream: MemoryStream): void;

  /** Requests the pools of other isolates to return free memory. */
  press(): void;
  /**
   * A number that changes when a pool pressed, a device was lost, or a capture began or ended.
   * Reading it makes no native call.
   */
  readonly signal: number;
  /** Whether a pool pressed for this device since the last call. */
  wasPressed(): boolean;
}

/**
 * Returns a resource and then forgets it. A failure keeps it, unless the device is lost, which took
 * the resource along.
 */
export function releaseTo(
  upstream: Pick<MemoryUpstream, "lost">,
  release: () => void,
  forget: () => void,
): void {
  try {
    release();
  } catch (error) {
    if (upstream.lost) forget();
    throw error;
  }
  forget();
}

/** Counts the waits for events, and destroys an event only after them. */
export class AwaitedEvents {
  readonly #waits = new Map<number, number>();
  /** Events to destroy after the last wait. */
  readonly #due = new Set<number>();
  readonly #destroy: (event: number) => void;

  /** No waits yet. */
  constructor(destroy: (event: number) => void) {
    this.#destroy = destroy;
  }

  /** Destroys an event now or after the last wait for it. */
  destroy(event: number): void {
    if (this.#waits.has(event)) this.#due.add(event);
    else this.#destroy(event);
  }

  /** Whether a wait for an event has not resolved. */
  has(event: number): boolean {
    return this.#waits.has(event);
  }

  /** Keeps an event during a wait. */
  async during(event: number, wait: () => Promise<void>): Promise<void> {
    this.#waits.set(event, (this.#waits.get(event) ?? 0) + 1);
    try {
      await wait();
    } finally {
      const left = this.#waits.get(event)! - 1;
      if (left > 0) this.#waits.set(event, left);
      else {
        this.#waits.delete(event);
        if (this.#due.delete(event)) this.#destroy(event);
      }
    }
  }
}
