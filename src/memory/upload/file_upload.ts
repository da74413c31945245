/**
 * From files to the device.
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
import type { StagingSlab } from "../staging.ts";
import {
  elementsOf,
  type TransferOptions,
  type UploadSettings,
  uploadSettings,
} from "./upload_options.ts";
import { allocateTarget, runUpload, type UploadTask } from "./upload_task.ts";

/** Options of {@linkcode uploadFileInto}. */
export interface FileIntoOptions extends TransferOptions {
  /** The first byte of the file that is read; 0 by default. */
  readonly offset?: number;
}

/** Options of {@linkcode uploadFile}. */
export interface FileUploadOptions<D extends DType = DType> extends FileIntoOptions {
  /** How many bytes are read; all from `offset` on by default. */
  readonly bytes?: number;
  /** The element type; `uint8` by default. The file has the device's byte order: little endian. */
  readonly dtype?: D;
}

/** A part of an opened file, in bytes. */
export interface FileRange {
  /** The file. */
  readonly file: OpenedFile;
  /** Where it begins. */
  readonly offset: number;
  /** Its length. */
  readonly bytes: number;
}

/**
 * Opens a file and checks the part of it that is asked for; the caller closes it.
 *
 * @param bytes How much; all from `offset` on when `undefined`.
 * @throws {RangeError} If the file has no such part.
 */
export function openFileRange(
  context: DeviceContext,
  path: string | URL,
  offset: number,
  bytes: number | undefined,
  action: string,
): FileRange {
  const file = openFile(context.library, checkedPath(path, action));
  try {
    requireSize(offset, "offset", file, file.bytes, action);
    const rest = file.bytes - offset;
    if (bytes !== undefined) requireSize(bytes, `bytes from ${offset} on`, file, rest, action);
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

function requireSize(
  value: number,
  name: string,
  { path, bytes }: OpenedFile,
  limit: number,
  action: string,
): void {
  if (Number.isInteger(value) && value >= 0 && value <= limit) return;
  throw new RangeError(
    `Cannot ${action} as ${name} must be an integer in 0..${limit}: it is ${
      describeValue(value)
    }, and ${JSON.stringify(path)} has ${bytes} bytes`,
  );
}

/**
 * Allocates a buffer and reads a file, or a part of it, into it, without blocking the event loop.
 *
 * Several threads read, each into a slot of pinned memory, while the device copies from slots that
 * are full: see {@linkcode UploadRing}. Nothing of the file passes through JavaScript. The buffer
 * is there when all of it has arrived.
 *
 * @typeParam D The element type.
 * @param context The device.
 * @param path The file; Deno's permission to read it is needed.
 * @throws {Deno.errors.NotCapable} If the file may not be read.
 * @throws {Deno.errors.NotFound} If there is no such file.
 * @throws {Deno.errors.UnexpectedEof} If the file becomes shorter while it is read.
 * @throws {TypeError} If it is no regular file.
 * @throws {RangeError} If it has no such part, or that is no whole number of elements.
 * @throws {OutOfMemoryError} If the device has no room.
 * @throws The signal's reason, if it cancels the upload; and what `onProgress` throws.
 *
 * @example
 * ```ts
 * import { openDevice } from "@gridstride/cuda";
 *
 * const path = await Deno.makeTempFile();
 * await Deno.writeFile(path, new Uint8Array(1 << 20));
 * const cancelling = new AbortController(); // its abort() ends the upload
 * using device = openDevice();
 * using weights = await device.uploadFile(path, {
 *   dtype: "float16",
 *   onProgress: ({ bytes, totalBytes }) => console.log(`${bytes} of ${totalBytes} bytes`),
 *   signal: cancelling.signal,
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
  const settings = uploadSettings(context, options, action);
  const { dtype = "uint8" as D, offset = 0, bytes } = options;
  const range = openFileRange(context, path, offset, bytes, action);
  return await uploadRange(range, dtype, settings, action);
}

/**
 * Uploads a part of a file into a new buffer, and closes the file.
 *
 * @throws {RangeError} If the part is no whole number of elements.
 */
export async function uploadRange<D extends DType>(
  range: FileRange,
  dtype: D,
  settings: UploadSettings,
  action: string,
): Promise<DeviceBuffer<D>> {
  const { context } = settings.ring;
  using cleanup = new DisposableStack();
  cleanup.defer(() => closeFile(context.library, range.file));
  const what = `the part of ${JSON.stringify(range.file.path)}`;
  const length = elementsOf(range.bytes, dtype, what, action);
  let buffer: DeviceBuffer<D> | undefined;
  try {
    await runUpload(settings, range.bytes, async (task) => {
      buffer = await allocateTarget(dtype, length, settings.stream, task);
      await copyRange(task, range, buffer);
    });
  } catch (error) {
    if (buffer !== undefined) giveBackAfterFailure(buffer);
    throw error;
  }
  return buffer!;
}

/**
 * Reads a part of a file, as long as the buffer, into the buffer, without blocking the event loop;
 * see {@linkcode uploadFile}. To fill a part of a buffer, pass a view of it.
 *
 * The buffer's content is undefined until the promise resolves, and if it rejects.
 *
 * @param buffer What is filled.
 * @param path The file; Deno's permission to read it is needed.
 * @returns Resolves when all of it has arrived.
 * @throws {RangeError} If the file has not that many bytes from the offset on.
 */
export async function uploadFileInto(
  buffer: DeviceBuffer,
  path: string | URL,
  options: FileIntoOptions = {},
): Promise<void> {
  const action = "upload a file into a buffer";
  requireInstance(buffer, DeviceBuffer, "buffer", action);
  requireObject(options, "options", action);
  void buffer.address; // throws when it is disposed
  const { context } = buffer;
  const settings = uploadSettings(context, options, action);
  const range = openFileRange(context, path, options.offset ?? 0, buffer.byteLength, action);
  using cleanup = new DisposableStack();
  cleanup.defer(() => closeFile(context.library, range.file));
  await runUpload(settings, range.bytes, (task) => copyRange(task, range, buffer));
}

async function copyRange(task: UploadTask, range: FileRange, buffer: DeviceBuffer): Promise<void> {
  const offsets = slotOffsets(range.bytes, task.slotBytes);
  const readers = Math.min(task.readers, Math.ceil(range.bytes / task.slotBytes));
  await Promise.all(
    Array.from({ length: readers }, () => readSlots(task, offsets, range, buffer)),
  );
}

/** Where the content of each slot begins. Several readers take from it, each the next one. */
function* slotOffsets(bytes: number, slotBytes: number): Generator<number> {
  for (let offset = 0; offset < bytes; offset += slotBytes) yield offset;
}

/**
 * Reads one slot after the other, as long as there is something left. Never rejects: the upload must
 * not end before all its readers have.
 */
async function readSlots(
  task: UploadTask,
  offsets: Iterator<number>,
  range: FileRange,
  buffer: DeviceBuffer,
): Promise<void> {
  try {
    for (let next = offsets.next(); !next.done; next = offsets.next()) {
      const slot = await task.take();
      if (slot === undefined) return;
      await readSlot(task, slot, next.value, range, buffer);
    }
  } catch (error) {
    task.fail(error);
  }
}

async function readSlot(
  task: UploadTask,
  slot: StagingSlab,
  start: number,
  { file, offset, bytes }: FileRange,
  buffer: DeviceBuffer,
): Promise<void> {
  const length = Math.min(task.slotBytes, bytes - start);
  try {
    const target = { pinned: slot.pinned.handle, offset: 0 };
    await readFile(buffer.context.library, file, offset + start, target, length);
  } catch (error) {
    task.giveBack(slot);
    throw error;
  }
  task.send(slot, buffer, start, length);
}
