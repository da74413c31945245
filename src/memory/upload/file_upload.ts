/**
 * Uploads files to the device.
 *
 * @module
 */

import { fileURLToPath } from "node:url";
import { requireInstance, requireObject } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import { giveBackAfterFailure } from "../../ffi/give_back.ts";
import { closeFile, type OpenedFile, openFile, readFile } from "../../ffi/native_file.ts";
import type { DeviceContext } from "../../hardware/device_context.ts";
import { DeviceBuffer } from "../device_buffer.ts";
import type { DType } from "../dtype.ts";
import {
  elementsOf,
  runUpload,
  TRANSFER_NAMES,
  type TransferOptions,
  type UploadSettings,
  uploadSettings,
  type UploadTask,
} from "./upload_task.ts";

/**
 * Options of `device.uploadFile()`.
 * @category Memory
 */
export interface FileUploadOptions<D extends DType = DType> extends TransferOptions {
  /** The first byte of the part; 0 by default. */
  readonly offset?: number;
  /** The bytes of the part; the rest of the file by default. */
  readonly bytes?: number;
  /** The element type; `uint8` by default. The file has the device's byte order: little endian. */
  readonly dtype?: D;
}

/** A part of an opened file, in bytes. */
export interface FileRange {
  readonly file: OpenedFile;
  readonly offset: number;
  readonly bytes: number;
}

/**
 * Opens a file and checks a part of it; the caller closes the file.
 *
 * @param bytes The length of the part; the rest of the file if `undefined`.
 */
export function openFileRange(
  context: DeviceContext,
  path: string | URL,
  offset: number,
  bytes: number | undefined,
  action: string,
): FileRange {
  const file = openFile(context.library, checkedPath(path, action));
  const requireSize = (value: number, name: string, limit: number) => {
    if (Number.isInteger(value) && value >= 0 && value <= limit) return;
    throw new RangeError(
      `Cannot ${action} as ${name} must be an integer in 0..${limit}: it is ${
        describeValue(value)
      }, and ${JSON.stringify(file.path)} has ${file.bytes} bytes`,
    );
  };
  try {
    requireSize(offset, "offset", file.bytes);
    const rest = file.bytes - offset;
    if (bytes !== undefined) requireSize(bytes, `bytes from ${offset} on`, rest);
    return { file, offset, bytes: bytes ?? rest };
  } catch (error) {
    closeFile(context.library, file);
    throw error;
  }
}

function checkedPath(path: string | URL, action: string): string {
  if (path instanceof URL && path.protocol === "file:") return fileURLToPath(path);
  if (typeof path === "string" && path !== "") return path;
  throw new TypeError(
    `Cannot ${action} as path must be a text that is not empty, or a file's URL: it is ${
      describeValue(path instanceof URL ? path.href : path)
    }`,
  );
}

/**
 * Allocates a buffer and reads a file, or a part of it, into it without blocking the event loop.
 *
 * Several threads fill slots of pinned memory while the device copies from full slots: see
 * {@linkcode UploadRing}. The file does not pass through JavaScript. The promise resolves when all
 * bytes have arrived.
 *
 * @typeParam D The element type.
 * @param context The device.
 * @param path The file, with Deno's permission to read it.
 * @throws {Deno.errors.NotCapable} If the permission is missing.
 * @throws {Deno.errors.NotFound} If the file does not exist.
 * @throws {Deno.errors.UnexpectedEof} If the file shrinks during the upload.
 * @throws {TypeError} If it is not a regular file.
 * @throws {RangeError} If the part exceeds the file or is not a whole number of elements.
 * @throws {OutOfMemoryError} If the device has no room.
 * @throws The signal's reason after a cancellation, and exceptions of `onProgress`.
 *
 * @example
 * ```ts
 * import { openDevice } from "@gridstride/cuda";
 *
 * const path = await Deno.makeTempFile();
 * await Deno.writeFile(path, new Uint8Array(1 << 20));
 * const controller = new AbortController(); // its abort() cancels the upload
 * using device = openDevice();
 * using weights = await device.uploadFile(path, {
 *   dtype: "float16",
 *   onProgress: ({ bytes, totalBytes }) => console.log(`${bytes} of ${totalBytes} bytes`),
 *   signal: controller.signal,
 * });
 * console.log(weights.length); // 524288
 * await Deno.remove(path);
 * ```
 */
export async function uploadFile<D extends DType = "uint8">(
  context: DeviceContext,
  path: string | URL,
  options: FileUploadOptions<D> = {},
): Promise<DeviceBuffer<D>> {
  const action = "upload a file";
  const settings = uploadSettings(
    context,
    options,
    [...TRANSFER_NAMES, "offset", "bytes", "dtype"],
    action,
  );
  const { dtype = "uint8" as D, offset = 0, bytes } = options;
  const range = openFileRange(context, path, offset, bytes, action);
  return await uploadRange(range, dtype, settings, action);
}

/** Uploads a part of a file into a new buffer and closes the file. */
export async function uploadRange<D extends DType>(
  range: FileRange,
  dtype: D,
  settings: UploadSettings,
  action: string,
): Promise<DeviceBuffer<D>> {
  using cleanup = new DisposableStack();
  cleanup.defer(() => closeFile(settings.ring.context.library, range.file));
  const what = `the part of ${JSON.stringify(range.file.path)}`;
  const length = elementsOf(range.bytes, dtype, what, action);
  let buffer: DeviceBuffer<D> | undefined;
  try {
    await runUpload(settings, range.bytes, async (task) => {
      buffer = await task.allocate(dtype, length);
      await copyRange(task, range, buffer);
    });
  } catch (error) {
    if (buffer !== undefined) giveBackAfterFailure(buffer);
    throw error;
  }
  return buffer!;
}

/**
 * Fills a buffer from a file without blocking the event loop; see `uploadFile()`. Pass a view
 * to fill a part of a buffer.
 *
 * The content of the buffer is undefined until the promise resolves, and if it rejects.
 *
 * @param buffer The target.
 * @param path The file, with Deno's permission to read it.
 * @returns Resolves when all bytes have arrived.
 * @throws {RangeError} If the rest of the file from `offset` on is too short.
 */
export async function uploadFileInto(
  buffer: DeviceBuffer,
  path: string | URL,
  options: Omit<FileUploadOptions, "bytes" | "dtype"> = {},
): Promise<void> {
  const action = "upload a file into a buffer";
  requireInstance(buffer, DeviceBuffer, "buffer", action);
  requireObject(options, "options", action);
  void buffer.address; // throws for a disposed buffer
  const { context } = buffer;
  const settings = uploadSettings(context, options, [...TRANSFER_NAMES, "offset"], action);
  const range = openFileRange(context, path, options.offset ?? 0, buffer.byteLength, action);
  using cleanup = new DisposableStack();
  cleanup.defer(() => closeFile(context.library, range.file));
  await runUpload(settings, range.bytes, (task) => copyRange(task, range, buffer));
}

async function copyRange(task: UploadTask, range: FileRange, buffer: DeviceBuffer): Promise<void> {
  const { slotBytes, readers } = task.slots.limits;
  const { file, bytes } = range;
  let next = 0;
  /** Fills and sends slots. It never rejects: the upload waits for all of its readers. */
  const read = async () => {
    try {
      while (next < bytes) {
        const start = next;
        next += slotBytes;
        const slot = await task.take();
        if (slot === undefined) return;
        const length = Math.min(slotBytes, bytes - start);
        try {
          const target = { pinned: slot.pinned.handle, offset: 0 };
          await readFile(buffer.context.library, file, range.offset + start, target, length);
        } catch (error) {
          task.slots.giveBack(slot);
          throw error;
        }
        task.send(slot, buffer, start, length);
      }
    } catch (error) {
      task.fail(error);
    }
  };
  const count = Math.min(readers, Math.ceil(bytes / slotBytes));
  await Promise.all(Array.from({ length: count }, read));
}
