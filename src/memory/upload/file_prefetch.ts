/**
 * Uploads parts of files in order, ahead of their use.
 *
 * @module
 */

import { checkInteger, checkSize, requireObject } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import { giveBackAfterFailure } from "../../ffi/give_back.ts";
import { closeFile } from "../../ffi/native_file.ts";
import type { DeviceContext } from "../../hardware/device_context.ts";
import type { DeviceBuffer } from "../device_buffer.ts";
import type { DType } from "../dtype.ts";
import {
  type FileRange,
  type FileUploadOptions,
  openFileRange,
  uploadRange,
} from "./file_upload.ts";
import { type TransferOptions, type UploadSettings, uploadSettings } from "./upload_task.ts";

/**
 * A part of a file that becomes a buffer, such as a tensor.
 * @category Memory
 */
export interface FilePart<D extends DType = DType>
  extends Pick<FileUploadOptions<D>, "offset" | "bytes" | "dtype"> {
  /** The file, with Deno's permission to read it. */
  readonly path: string | URL;
}

/**
 * A part of a file on the device.
 * @category Memory
 */
export interface PrefetchedFile<Part extends FilePart = FilePart> {
  /** The requested part, with all properties of the caller, such as a name. */
  readonly part: Part;
  /** Its content, which the receiver frees. */
  readonly buffer: DeviceBuffer<
    Part extends { readonly dtype: infer D extends DType } ? D
      : Part extends { readonly dtype?: infer D extends DType } ? D | "uint8"
      : "uint8"
  >;
}

/**
 * Options of `device.prefetchFiles()`.
 * @category Memory
 */
export interface PrefetchOptions extends Omit<TransferOptions, "onProgress"> {
  /** The maximum number of buffers that are read ahead; 4 by default. */
  readonly ahead?: number;
  /** Their maximum bytes, unless a single one has more; 1 GiB by default. */
  readonly aheadBytes?: number;
}

const ACTION = "prefetch files";
const NAMES = ["stream", "ring", "signal", "ahead", "aheadBytes"];

/**
 * Uploads parts of files and yields their buffers in order. While the caller uses one buffer, the
 * next ones are loaded: up to `ahead` buffers of `aheadBytes` in all.
 *
 * The caller frees the yielded buffers. The others are freed if the loop ends early, after a
 * cancellation, and after a failure. A failed part throws at its turn.
 *
 * @param context The device.
 * @param parts The parts in order, requested one by one, also while the caller uses a buffer.
 * @throws {TypeError | RangeError} If an option is invalid.
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
  // Checked before the first request for a buffer.
  const settings = uploadSettings(context, options, NAMES, ACTION);
  const { ahead = 4, aheadBytes = 2 ** 30 } = options;
  checkInteger(ahead, "ahead", ACTION, 1, Number.MAX_SAFE_INTEGER);
  checkSize(aheadBytes, "aheadBytes", ACTION);
  if (typeof (parts as Partial<Iterable<Part>>)?.[Symbol.iterator] !== "function") {
    throw new TypeError(
      `Cannot ${ACTION} as parts must be iterable: it is ${describeValue(parts)}`,
    );
  }
  return yieldBuffers(parts, settings, ahead, aheadBytes);
}

/** A part that is loaded or ready. */
interface StartedPart<Part extends FilePart> {
  readonly part: Part;
  readonly bytes: number;
  readonly buffer: Promise<DeviceBuffer>;
}

async function* yieldBuffers<Part extends FilePart>(
  parts: Iterable<Part>,
  settings: UploadSettings,
  ahead: number,
  aheadBytes: number,
): AsyncGenerator<PrefetchedFile<Part>, void, void> {
  const { context } = settings.ring;
  const closing = new AbortController();
  const signals = settings.signal === undefined ? [] : [settings.signal];
  const signal = AbortSignal.any([closing.signal, ...signals]);
  const iterator = parts[Symbol.iterator]();
  const started: StartedPart<Part>[] = [];
  /** The next part, if there was no room for it. */
  let opened: { readonly part: Part; readonly range: FileRange } | undefined;
  let isExhausted = false;
  let hasFailed = false;

  const openNext = () => {
    const { done, value: part } = iterator.next();
    if (done) {
      isExhausted = true;
      return undefined;
    }
    requireObject(part, "each part", ACTION);
    const { path, offset = 0, bytes } = part;
    return { part, range: openFileRange(context, path, offset, bytes, ACTION) };
  };
  const push = (part: Part, bytes: number, buffer: Promise<DeviceBuffer>) => {
    buffer.catch(() => {}); // thrown at its turn
    started.push({ part, bytes, buffer });
  };
  /** Starts as many uploads as there is room for. */
  const start = () => {
    while (!hasFailed && !isExhausted && started.length < ahead) {
      try {
        opened ??= openNext();
        // The caller's iterator may have cancelled.
        if (opened === undefined || signal.aborted) return;
        const { part, range } = opened;
        const { dtype = "uint8" } = part;
        const startedBytes = started.reduce((sum, { bytes }) => sum + bytes, range.bytes);
        if (started.length > 0 && startedBytes > aheadBytes) return;
        opened = undefined; // the upload closes the file
        push(part, range.bytes, uploadRange(range, dtype, { ...settings, signal }, ACTION));
      } catch (error) {
        // Thrown at its turn; later parts are not needed.
        hasFailed = true;
        push({} as Part, 0, Promise.reject(error));
      }
    }
  };

  try {
    while (!isExhausted || started.length > 0) {
      // A cancellation also holds back buffers that are ready.
      signal.throwIfAborted();
      start();
      signal.throwIfAborted();
      const first = started[0];
      if (first === undefined) return;
      const buffer = await first.buffer;
      started.shift();
      // The yielded buffer makes room for others.
      start();
      yield { part: first.part, buffer: buffer as PrefetchedFile<Part>["buffer"] };
    }
  } finally {
    closing.abort();
    if (opened !== undefined) closeFile(context.library, opened.range.file);
    for (const { buffer } of started) {
      const [outcome] = await Promise.allSettled([buffer]);
      if (outcome.status === "fulfilled") giveBackAfterFailure(outcome.value);
    }
    // Last: code of the caller, which may throw.
    if (!isExhausted) iterator.return?.();
  }
}
