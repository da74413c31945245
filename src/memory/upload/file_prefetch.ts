/**
 * Uploading files, or parts of files, one after the other, ahead of who uses them.
 *
 * @module
 */

import { requireObject } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import { giveBackAfterFailure } from "../../ffi/give_back.ts";
import { checkInteger, checkSize } from "../../ffi/arguments.ts";
import { closeFile } from "../../ffi/native_file.ts";
import type { DeviceContext } from "../../hardware/device_context.ts";
import type { DeviceBuffer } from "../device_buffer.ts";
import type { DType } from "../dtype.ts";
import { type FileRange, openFileRange, uploadRange } from "./file_upload.ts";
import { type TransferOptions, type UploadSettings, uploadSettings } from "./upload_options.ts";

/** A part of a file that becomes a buffer: a tensor, say. */
export interface FilePart<D extends DType = DType> {
  /** The file; Deno's permission to read it is needed. */
  readonly path: string | URL;
  /** The first byte of the file that is read; 0 by default. */
  readonly offset?: number;
  /** How many bytes are read; all from `offset` on by default. */
  readonly bytes?: number;
  /** The element type; `uint8` by default. The file has the device's byte order: little endian. */
  readonly dtype?: D;
}

/** The buffer that a part of a file becomes. */
export type PartBuffer<Part extends FilePart> = DeviceBuffer<
  Part extends { readonly dtype: infer D extends DType } ? D
    : Part extends { readonly dtype?: infer D extends DType } ? D | "uint8"
    : "uint8"
>;

/** A part of a file that has arrived on the device. */
export interface PrefetchedFile<Part extends FilePart = FilePart> {
  /** What was asked for, with whatever else the caller wrote into it: a name, a shape. */
  readonly part: Part;
  /** Its content; whoever receives it frees it. */
  readonly buffer: PartBuffer<Part>;
}

/** Options of {@linkcode prefetchFiles}. */
export interface PrefetchOptions extends Omit<TransferOptions, "onProgress"> {
  /** How many buffers are read ahead at most; 4 by default. */
  readonly ahead?: number;
  /** Their bytes at most, unless a single one has more; 1 GiB by default. */
  readonly aheadBytes?: number;
}

const DEFAULT_AHEAD = 4;
const DEFAULT_AHEAD_BYTES = 2 ** 30;
const ACTION = "prefetch files";

/**
 * Uploads parts of files in their order and hands the buffers over one by one. While the caller
 * works with one the next ones are on their way: up to `ahead` of them, of `aheadBytes` in all, so
 * that no more device memory than that is taken beyond what the caller has been given.
 *
 * A buffer that was handed over belongs to the caller, who frees it. Those that were not, because
 * the loop was left, was cancelled or something failed, are freed. A part that fails throws when it
 * is its turn.
 *
 * @param context The device.
 * @param parts What to read, in order; asked for one after the other, also while the caller works.
 * @throws {TypeError | RangeError} If an option is wrong.
 *
 * @example
 * ```ts
 * import { openDevice } from "@gridstride/cuda";
 *
 * const path = await Deno.makeTempFile();
 * await Deno.writeFile(path, new Uint8Array(1 << 20));
 * using device = openDevice();
 * const layers = [
 *   { name: "query", path, offset: 0, bytes: 1 << 19, dtype: "float16" },
 *   { name: "key", path, offset: 1 << 19, bytes: 1 << 19, dtype: "float16" },
 * ] as const;
 * for await (const { part, buffer } of device.prefetchFiles(layers)) {
 *   using weights = buffer;
 *   console.log(part.name, weights.length);
 * }
 * await Deno.remove(path);
 * ```
 */
export function prefetchFiles<const Part extends FilePart>(
  context: DeviceContext,
  parts: Iterable<Part>,
  options: PrefetchOptions = {},
): AsyncGenerator<PrefetchedFile<Part>, void, void> {
  // Checked at once, not when the first buffer is asked for.
  const settings = uploadSettings(context, options, ACTION);
  const { ahead = DEFAULT_AHEAD, aheadBytes = DEFAULT_AHEAD_BYTES } = options;
  checkInteger(ahead, "ahead", ACTION, 1, Number.MAX_SAFE_INTEGER);
  checkSize(aheadBytes, "aheadBytes", ACTION);
  if (typeof (parts as Partial<Iterable<Part>>)?.[Symbol.iterator] !== "function") {
    throw new TypeError(
      `Cannot ${ACTION} as parts must be iterable: it is ${describeValue(parts)}`,
    );
  }
  return handOver(new Prefetch(parts, settings, { ahead, aheadBytes }));
}

async function* handOver<Part extends FilePart>(
  prefetch: Prefetch<Part>,
): AsyncGenerator<PrefetchedFile<Part>, void, void> {
  try {
    for (let next = await prefetch.next(); next !== undefined; next = await prefetch.next()) {
      yield next;
    }
  } finally {
    await prefetch.close();
  }
}

/** How much may be on its way, or wait for the caller. */
interface PrefetchLimits {
  readonly ahead: number;
  readonly aheadBytes: number;
}

/** A part with the opened file it is in. */
interface OpenedPart<Part extends FilePart> {
  readonly part: Part;
  readonly range: FileRange;
}

/** A part on its way, or waiting for the caller. */
interface StartedPart<Part extends FilePart> {
  readonly part: Part;
  readonly bytes: number;
  readonly buffer: Promise<DeviceBuffer>;
}

class Prefetch<Part extends FilePart> {
  readonly #context: DeviceContext;
  readonly #parts: Iterator<Part>;
  readonly #settings: UploadSettings;
  readonly #limits: PrefetchLimits;
  readonly #closing = new AbortController();
  readonly #started: StartedPart<Part>[] = [];
  #startedBytes = 0;
  /** The next part, when there was no room for it yet. */
  #opened: OpenedPart<Part> | undefined;
  #isExhausted = false;
  #hasFailed = false;

  constructor(parts: Iterable<Part>, settings: UploadSettings, limits: PrefetchLimits) {
    const { signal } = settings;
    const ending = this.#closing.signal;
    this.#context = settings.ring.context;
    this.#parts = parts[Symbol.iterator]();
    this.#settings = {
      ...settings,
      signal: signal === undefined ? ending : AbortSignal.any([signal, ending]),
    };
    this.#limits = limits;
  }

  /** The next buffer, when it has arrived; `undefined` after the last. */
  async next(): Promise<PrefetchedFile<Part> | undefined> {
    if (this.#isExhausted && this.#started.length === 0) return undefined;
    // What had arrived before it was cancelled is not handed over any more.
    this.#settings.signal?.throwIfAborted();
    this.#start();
    const first = this.#started[0];
    if (first === undefined) return undefined;
    const buffer = await first.buffer;
    this.#started.shift();
    this.#startedBytes -= first.bytes;
    // What the caller now has makes room for others, which arrive while it is used.
    this.#start();
    return { part: first.part, buffer: buffer as PartBuffer<Part> };
  }

  /** Starts as many uploads as there is room for. */
  #start(): void {
    while (!this.#hasFailed && this.#started.length < this.#limits.ahead) {
      try {
        const next = this.#opened ??= this.#openNext();
        if (next === undefined) return;
        const { part, range } = next;
        const { dtype = "uint8" } = part;
        const { bytes } = range;
        const isOverLimit = this.#startedBytes + bytes > this.#limits.aheadBytes;
        if (this.#started.length > 0 && isOverLimit) return;
        this.#opened = undefined; // the upload closes it
        this.#push(part, bytes, uploadRange(range, dtype, this.#settings, ACTION));
      } catch (error) {
        // It is thrown when it is its turn; what would come after it is not needed any more.
        this.#hasFailed = true;
        this.#push({} as Part, 0, Promise.reject(error));
      }
    }
  }

  #push(part: Part, bytes: number, buffer: Promise<DeviceBuffer>): void {
    buffer.catch(() => {}); // whoever waits for it is told; until then it is not unhandled
    this.#started.push({ part, bytes, buffer });
    this.#startedBytes += bytes;
  }

  #openNext(): OpenedPart<Part> | undefined {
    if (this.#isExhausted) return undefined;
    const { done, value: part } = this.#parts.next();
    if (done) {
      this.#isExhausted = true;
      return undefined;
    }
    requireObject(part, "each part", ACTION);
    const { path, offset = 0, bytes } = part;
    return { part, range: openFileRange(this.#context, path, offset, bytes, ACTION) };
  }

  /** Cancels what is on its way, waits for it, and frees what has arrived. */
  async close(): Promise<void> {
    this.#closing.abort();
    if (this.#opened !== undefined) closeFile(this.#context.library, this.#opened.range.file);
    this.#opened = undefined;
    for (const { buffer } of this.#started.splice(0)) {
      const [outcome] = await Promise.allSettled([buffer]);
      if (outcome.status === "fulfilled") giveBackAfterFailure(outcome.value);
    }
    // The caller's, which may throw: last.
    if (!this.#isExhausted) this.#parts.return?.();
  }
}
