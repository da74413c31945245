/**
 * What all uploads are told, and what they tell.
 *
 * @module
 */

import { requireInstance, requireObject } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import { DeviceContext } from "../../hardware/device_context.ts";
import { refuseCaptured, refuseWhileCapturing } from "../../stream/running_captures.ts";
import type { Stream } from "../../stream/stream.ts";
import { streamFor } from "../buffer_copy.ts";
import type { StreamChoice } from "../buffer_options.ts";
import { bytesPerElement, type DType } from "../dtype.ts";
import { UploadRing } from "./upload_ring.ts";

/** How far an upload has come. */
export interface UploadProgress {
  /** Bytes that have arrived on the device. */
  readonly bytes: number;
  /** Bytes in all; `undefined` for a stream that has not told yet. */
  readonly totalBytes: number | undefined;
}

/** Options of every upload. */
export interface TransferOptions extends StreamChoice {
  /**
   * The stream whose work enqueued so far comes before the upload; the device's default stream when
   * absent. Work enqueued later does not wait for the upload: the promise tells when it is done.
   */
  readonly stream?: Stream;
  /** The pinned memory it passes through; that of the device when absent. */
  readonly ring?: UploadRing;
  /**
   * Called as bytes arrive, never with fewer than before, the last time with all of them. What it
   * throws ends the upload.
   */
  readonly onProgress?: (progress: UploadProgress) => void;
  /** Cancels the upload, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** Checked options. */
export interface UploadSettings {
  /** The pinned memory. */
  readonly ring: UploadRing;
  /** The stream whose work comes before. */
  readonly stream: Stream;
  /** Who is told of the progress. */
  readonly onProgress: ((progress: UploadProgress) => void) | undefined;
  /** Who cancels. */
  readonly signal: AbortSignal | undefined;
}

/**
 * Checks the options of an upload.
 *
 * @param action What the caller is about to do, as the error message says it.
 * @throws {TypeError} If one is of a wrong kind, or of another device, or a stream is captured.
 * @throws The signal's reason, if it is aborted already.
 */
export function uploadSettings(
  context: DeviceContext,
  options: TransferOptions,
  action: string,
): UploadSettings {
  requireInstance(context, DeviceContext, "context", action);
  requireObject(options, "options", action);
  const { onProgress, signal } = options;
  if (signal !== undefined) requireInstance(signal, AbortSignal, "signal", action);
  if (onProgress !== undefined && typeof onProgress !== "function") {
    throw new TypeError(
      `Cannot ${action} as onProgress must be a function: it is ${describeValue(onProgress)}`,
    );
  }
  signal?.throwIfAborted();
  const stream = streamFor(context, options.stream);
  refuseCaptured(stream, action, "a graph does not read files again");
  refuseWhileCapturing(context.library, action);
  return { ring: ringFor(context, options.ring, action), stream, onProgress, signal };
}

function ringFor(context: DeviceContext, ring: UploadRing | undefined, action: string): UploadRing {
  if (ring === undefined) return UploadRing.ofDevice(context);
  requireInstance(ring, UploadRing, "ring", action);
  if (ring.context.isSameDevice(context)) return ring;
  throw new TypeError(
    `Cannot ${action} as ring must be of ${context.label}: it is of ${ring.context.label}`,
  );
}

/**
 * How many elements so many bytes are.
 *
 * @param what What has the bytes, as the error message says it.
 * @throws {RangeError} If they are no whole number of elements.
 */
export function elementsOf(bytes: number, dtype: DType, what: string, action: string): number {
  const size = bytesPerElement(dtype);
  if (bytes % size === 0) return bytes / size;
  throw new RangeError(
    `Cannot ${action} as ${dtype} as ${what} must be a multiple of ${size} bytes: it is ${bytes}`,
  );
}
