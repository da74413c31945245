/**
 * Copies between device, pinned and JavaScript memory.
 *
 * @module
 */

import { statusError } from "./check.ts";
import { DEVICE, OPERAND, STREAM } from "./command_block.ts";
import { checkInt32, checkSize } from "./integers.ts";
import type { NativeLibrary } from "./library.ts";

/** JavaScript memory that a copy reads or writes. */
export type HostMemory = ArrayBufferView<ArrayBufferLike>;

function fail(library: NativeLibrary, status: number, device: number, bytes: number): never {
  throw statusError(library, status, { action: `copy ${bytes} bytes`, device });
}

/** Enqueues a copy within a device. */
export function copyDevice(
  library: NativeLibrary,
  device: number,
  stream: number,
  destination: number,
  source: number,
  bytes: number,
): void {
  const { block } = library;
  block[DEVICE] = device;
  block[STREAM] = stream;
  block[OPERAND] = destination;
  block[OPERAND + 1] = source;
  block[OPERAND + 2] = bytes;
  const status = library.symbols.gs_copy_device();
  if (status !== 0) fail(library, status, device, bytes);
}

/** A rectangle in linear memory: rows of `pitch` bytes. */
export interface PitchedAddress {
  /** Address of the first byte. */
  readonly address: number;
  /** Bytes from one row to the next. */
  readonly pitch: number;
}

/** Enqueues a copy of a rectangle, `width` bytes by `height` rows, within a device. */
export function copyDevice2D(
  library: NativeLibrary,
  device: number,
  stream: number,
  destination: PitchedAddress,
  source: PitchedAddress,
  width: number,
  height: number,
): void {
  const { block } = library;
  block[DEVICE] = device;
  block[STREAM] = stream;
  block[OPERAND] = destination.address;
  block[OPERAND + 1] = destination.pitch;
  block[OPERAND + 2] = source.address;
  block[OPERAND + 3] = source.pitch;
  block[OPERAND + 4] = width;
  block[OPERAND + 5] = height;
  const status = library.symbols.gs_copy_device_2d();
  if (status !== 0) fail(library, status, device, width * height);
}

/** Enqueues a copy between two devices on a stream of either. */
export function copyPeer(
  library: NativeLibrary,
  stream: number,
  destination: number,
  destinationDevice: number,
  source: number,
  sourceDevice: number,
  bytes: number,
): void {
  const { block } = library;
  block[STREAM] = stream;
  block[OPERAND] = destination;
  block[OPERAND + 1] = destinationDevice;
  block[OPERAND + 2] = source;
  block[OPERAND + 3] = sourceDevice;
  block[OPERAND + 4] = bytes;
  const status = library.symbols.gs_copy_peer();
  if (status !== 0) fail(library, status, sourceDevice, bytes);
}

/** Enqueues a copy from pinned memory to the device. */
export function copyFromPinned(
  library: NativeLibrary,
  device: number,
  stream: number,
  destination: number,
  pinned: number,
  offset: number,
  bytes: number,
): void {
  const { block } = library;
  block[DEVICE] = device;
  block[STREAM] = stream;
  block[OPERAND] = destination;
  block[OPERAND + 1] = pinned;
  block[OPERAND + 2] = offset;
  block[OPERAND + 3] = bytes;
  const status = library.symbols.gs_copy_from_pinned();
  if (status !== 0) fail(library, status, device, bytes);
}

/** Enqueues a copy from the device to pinned memory. */
export function copyToPinned(
  library: NativeLibrary,
  device: number,
  stream: number,
  pinned: number,
  offset: number,
  source: number,
  bytes: number,
): void {
  const { block } = library;
  block[DEVICE] = device;
  block[STREAM] = stream;
  block[OPERAND] = pinned;
  block[OPERAND + 1] = offset;
  block[OPERAND + 2] = source;
  block[OPERAND + 3] = bytes;
  const status = library.symbols.gs_copy_to_pinned();
  if (status !== 0) fail(library, status, device, bytes);
}

/** A rectangle in a pinned slab. */
export interface PitchedPinned {
  /** The slab's handle. */
  readonly pinned: number;
  /** Byte offset of the first byte. */
  readonly offset: number;
  /** Bytes from one row to the next. */
  readonly pitch: number;
}

/** Enqueues a copy of a rectangle from pinned memory to the device. */
export function copyFromPinned2D(
  library: NativeLibrary,
  device: number,
  stream: number,
  destination: PitchedAddress,
  source: PitchedPinned,
  width: number,
  height: number,
): void {
  const { block } = library;
  block[DEVICE] = device;
  block[STREAM] = stream;
  block[OPERAND] = destination.address;
  block[OPERAND + 1] = destination.pitch;
  block[OPERAND + 2] = source.pinned;
  block[OPERAND + 3] = source.offset;
  block[OPERAND + 4] = source.pitch;
  block[OPERAND + 5] = width;
  block[OPERAND + 6] = height;
  const status = library.symbols.gs_copy_from_pinned_2d();
  if (status !== 0) fail(library, status, device, width * height);
}

/** Enqueues a copy of a rectangle from the device to pinned memory. */
export function copyToPinned2D(
  library: NativeLibrary,
  device: number,
  stream: number,
  destination: PitchedPinned,
  source: PitchedAddress,
  width: number,
  height: number,
): void {
  const { block } = library;
  block[DEVICE] = device;
  block[STREAM] = stream;
  block[OPERAND] = destination.pinned;
  block[OPERAND + 1] = destination.offset;
  block[OPERAND + 2] = destination.pitch;
  block[OPERAND + 3] = source.address;
  block[OPERAND + 4] = source.pitch;
  block[OPERAND + 5] = width;
  block[OPERAND + 6] = height;
  const status = library.symbols.gs_copy_to_pinned_2d();
  if (status !== 0) fail(library, status, device, width * height);
}

/** The library cannot know how long a JavaScript buffer is: the length is checked here. */
function requireRoom(memory: HostMemory, bytes: number, name: string): void {
  checkSize(bytes, "bytes", "copy");
  if (bytes > memory.byteLength) {
    throw new RangeError(
      `Cannot copy ${bytes} bytes as ${name} must be at least that long: it has ${memory.byteLength}`,
    );
  }
}

function rectangleBytes(pitch: number, width: number, height: number): number {
  checkSize(pitch, "pitch", "copy a rectangle");
  checkSize(width, "width", "copy a rectangle");
  checkSize(height, "height", "copy a rectangle");
  if (width > pitch) {
    throw new RangeError(
      `Cannot copy a rectangle as its width must be at most its pitch ${pitch}: it is ${width}`,
    );
  }
  return height === 0 ? 0 : pitch * (height - 1) + width;
}

/**
 * Copies JavaScript memory to the device in stream order and returns when that is done.
 */
export function copyToDeviceSync(
  library: NativeLibrary,
  device: number,
  stream: number,
  destination: number,
  source: HostMemory,
  bytes: number,
): void {
  requireRoom(source, bytes, "source");
  const status = library.symbols.gs_copy_to_device(
    checkInt32(device, "device", "copy"),
    checkInt32(stream, "stream", "copy"),
    destination,
    source as BufferSource,
    bytes,
  );
  if (status !== 0) fail(library, status, device, bytes);
}

/**
 * Copies device memory to JavaScript memory in stream order and returns when that is done.
 */
export function copyToHostSync(
  library: NativeLibrary,
  device: number,
  stream: number,
  destination: HostMemory,
  source: number,
  bytes: number,
): void {
  requireRoom(destination, bytes, "destination");
  const status = library.symbols.gs_copy_to_host(
    checkInt32(device, "device", "copy"),
    checkInt32(stream, "stream", "copy"),
    destination as BufferSource,
    source,
    bytes,
  );
  if (status !== 0) fail(library, status, device, bytes);
}

/** A rectangle in JavaScript memory. */
export interface PitchedHostMemory {
  /** The memory; the rectangle begins at its first byte. */
  readonly memory: HostMemory;
  /** Bytes from one row to the next. */
  readonly pitch: number;
}

/** Copies a rectangle of JavaScript memory to the device and returns when that is done. */
export function copyToDevice2DSync(
  library: NativeLibrary,
  device: number,
  stream: number,
  destination: PitchedAddress,
  source: PitchedHostMemory,
  width: number,
  height: number,
): void {
  requireRoom(source.memory, rectangleBytes(source.pitch, width, height), "source");
  const status = library.symbols.gs_copy_to_device_2d(
    checkInt32(device, "device", "copy a rectangle"),
    checkInt32(stream, "stream", "copy a rectangle"),
    destination.address,
    destination.pitch,
    source.memory as BufferSource,
    source.pitch,
    width,
    height,
  );
  if (status !== 0) fail(library, status, device, width * height);
}

/** Copies a rectangle of device memory to JavaScript memory and returns when that is done. */
export function copyToHost2DSync(
  library: NativeLibrary,
  device: number,
  stream: number,
  destination: PitchedHostMemory,
  source: PitchedAddress,
  width: number,
  height: number,
): void {
  requireRoom(destination.memory, rectangleBytes(destination.pitch, width, height), "destination");
  const status = library.symbols.gs_copy_to_host_2d(
    checkInt32(device, "device", "copy a rectangle"),
    checkInt32(stream, "stream", "copy a rectangle"),
    destination.memory as BufferSource,
    destination.pitch,
    source.address,
    source.pitch,
    width,
    height,
  );
  if (status !== 0) fail(library, status, device, width * height);
}
