/**
 * The seam below the pool: where its memory comes from.
 *
 * The pool knows no more of a device than this. `native_upstream.ts` implements it.
 *
 * @module
 */

/** A stream, as far as memory is concerned. A `Stream` is one. */
export interface MemoryStream {
  /** The native handle; throws when the stream is disposed. */
  readonly id: number;
  /** Whether the stream is disposed. */
  readonly disposed: boolean;
  /** Which capture it is part of; `undefined` while its work runs. */
  readonly captureToken: object | undefined;
  /** Whether it is its device's default stream; nobody needs to say so who does not know. */
  readonly isDefault?: boolean;
  /**
   * Registers what is to happen before the stream is given back.
   *
   * @returns Takes the registration back.
   */
  onDispose(close: () => void): () => void;
}

/**
 * A source of device memory, and of events that tell when a stream has got somewhere.
 *
 * What takes memory returns 0 or `false` when there is none left, since that is an answer that the
 * pool acts on; every other failure is thrown and has had no effect. All sizes are bytes.
 */
export interface MemoryUpstream {
  /** How messages name the device. */
  readonly label: string;
  /** The device's total memory. */
  readonly totalBytes: number;
  /**
   * What mapped addresses and sizes are multiples of; 0 where there is no virtual memory
   * management, and then only {@linkcode allocate} and {@linkcode free} are called.
   */
  readonly granularity: number;

  /** Free memory of the device now, by asking it. */
  freeBytes(): number;

  /** Plain memory, aligned to 512 bytes at least. 0: there is none. */
  allocate(bytes: number): number;
  /** Gives plain memory back; waits for the device, as `cudaFree` does. */
  free(address: number): void;

  /** A range of addresses without memory, a multiple of the granularity long. 0: there is none. */
  reserve(bytes: number): number;
  /** Gives a range of addresses back, when nothing is mapped in it. */
  release(address: number): void;
  /**
   * Puts memory behind addresses, in pieces of `handleBytes` of which the last may be shorter.
   * False: there is none, and nothing was mapped.
   */
  map(address: number, bytes: number, handleBytes: number): boolean;
  /** Takes the memory behind whole pieces away at once, without waiting for what uses it. */
  unmap(address: number, bytes: number): void;

  /**
   * Whether this thread captures a stream: then no event may be asked for or waited for, as that
   * would spoil the capture.
   */
  readonly capturing: boolean;

  /**
   * Whether the device is lost: then its memory is gone, and there is nothing to wait for.
   */
  readonly lost: boolean;
  /**
   * Whether the device of a stream is lost, which may be another one: then nothing that the stream
   * was given uses memory any more, and no event of it can be asked for.
   */
  isLostFor(stream: MemoryStream): boolean;

  /** A new event for points of a stream, which may be of another device. */
  createEvent(stream: MemoryStream): number;
  /** Forgets an event. */
  destroyEvent(event: number): void;
  /** Marks the point that the stream's work has reached when all enqueued so far is done. */
  recordEvent(event: number, stream: MemoryStream): void;
  /** Whether the event's last recorded point has been reached. */
  queryEvent(event: number): boolean;
  /** Waits for it, blocking this thread. */
  waitSync(event: number): void;
  /** Waits for it without blocking the event loop. */
  wait(event: number): Promise<void>;
  /**
   * Whether somebody who {@linkcode wait}s for it is still to be told: recorded anew, it would have
   * them wait for what is enqueued by then as well.
   */
  isAwaited(event: number): boolean;

  /** Tells the library of a live block, or of its end, for checks by block; see debug mode. */
  declare(address: number, bytes: number, isLive: boolean): void;
  /** Sets bytes on the stream, for poisoning; the pattern is one byte. */
  fill(address: number, bytes: number, pattern: number, stream: MemoryStream): void;
  /** Reads bytes after the stream's work so far, blocking this thread, for guard bytes. */
  read(address: number, target: Uint8Array<ArrayBuffer>, stream: MemoryStream): void;

  /** Asks the pools of other isolates to trim. */
  press(): void;
  /**
   * A number that changes when somebody pressed, a device was lost, or a capture began or ended;
   * reading it costs no native call.
   */
  readonly signal: number;
  /**
   * Whether somebody pressed for this device since this was asked last: the number above is one
   * for all devices, and for all libraries that are open.
   */
  wasPressed(): boolean;
}

/**
 * Gives something back to an upstream and then forgets it. If that fails it is still there; but a
 * device that is lost took it along, so that it is forgotten before the loss is thrown.
 *
 * @param release Gives it back.
 * @param forget Forgets it.
 */
export function giveBackTo(
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
