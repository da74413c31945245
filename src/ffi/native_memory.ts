/**
 * Device memory, pinned memory, copies, and virtual memory.
 *
 * Frequent calls pass their operands through the command block, and the native library checks
 * them. All other calls check their integers here.
 *
 * @module
 */

import { byteLengthOf, checkSize } from "./arguments.ts";
import { call, callInTurn, callStatus, check, statusError, withOperands } from "./check.ts";
import { PRESSURE, RESULT } from "./command_block.ts";
import { OutOfMemoryError } from "./cuda_error.ts";
import type { NativeLibrary } from "./library.ts";

/** `cudaErrorMemoryAllocation`. */
const MEMORY_ALLOCATION = 2;
/** The stream slot of functions that use none. */
const NO_STREAM = 0;

/**
 * Allocates device memory if there is room.
 *
 * @param bytes More than 0.
 * @returns The address; 0 if the device has no room.
 */
export function tryAllocateMemory(library: NativeLibrary, device: number, bytes: number): number {
  const status = withOperands(library, device, NO_STREAM, bytes).gs_memory_allocate();
  if (status === 0) return library.block[RESULT]!;
  if (status === MEMORY_ALLOCATION) return 0;
  throw statusError(library, status, { action: `allocate ${bytes} bytes`, device });
}

/**
 * Allocates device memory.
 *
 * @param bytes More than 0.
 */
export function allocateMemory(library: NativeLibrary, device: number, bytes: number): number {
  const address = tryAllocateMemory(library, device, bytes);
  if (address !== 0) return address;
  const isKnown = callStatus(library, "gs_device_memory", "read the free memory", device) === 0;
  throw new OutOfMemoryError({
    action: `allocate ${bytes} bytes`,
    call: "cudaMalloc",
    device: `${library.kind}:${device}`,
    requested: bytes,
    free: isKnown ? library.result[0]! : 0,
    total: isKnown ? library.result[1]! : 0,
  });
}

/** Frees device memory; waits for the device first, as `cudaFree` does. */
export function freeMemory(library: NativeLibrary, device: number, address: number): void {
  const status = withOperands(library, device, NO_STREAM, address).gs_memory_free();
  if (status !== 0) check(library, status, `free the memory at ${address}`, device);
}

/** Enqueues setting `count` elements of 1, 2 or 4 bytes to one bit pattern. */
export function setMemory(
  library: NativeLibrary,
  device: number,
  stream: number,
  address: number,
  value: number,
  elementBytes: 1 | 2 | 4,
  count: number,
): void {
  const status = withOperands(library, device, stream, address, value, elementBytes, count)
    .gs_memory_set();
  if (status !== 0) {
    check(library, status, `set ${count} elements of ${elementBytes} bytes`, device);
  }
}

/**
 * Pins a slab of JavaScript memory for all devices.
 *
 * @param slab Page-aligned, a whole number of pages, not detachable.
 */
export function registerPinned(
  library: NativeLibrary,
  device: number,
  slab: Uint8Array<ArrayBuffer>,
): number {
  const context = { action: `pin ${slab.byteLength} bytes of host memory`, device };
  return call(library, "gs_pinned_register", context, device, slab, slab.byteLength)[0]!;
}

const RELEASE_PINNED = "release pinned memory";

/** Releases a pinned slab after waiting, with a blocked thread, for the devices that used it. */
export function releasePinnedSync(library: NativeLibrary, device: number, pinned: number): void {
  call(library, "gs_pinned_release", { action: RELEASE_PINNED, device }, pinned);
}

/** Releases a pinned slab after waiting for the devices that used it. */
export async function releasePinned(
  library: NativeLibrary,
  device: number,
  pinned: number,
): Promise<void> {
  const action = RELEASE_PINNED;
  const status = await callInTurn(library, "gs_pinned_release_async", action, device, pinned);
  if (status === 0) return;
  throw statusError(library, status, { action, device, call: "cudaHostUnregister" });
}

export type HostMemory = ArrayBufferView<ArrayBufferLike>;

/** The rows of a pitched copy, in bytes; they are dense in host memory. */
export interface PitchedRows {
  /** From the beginning of one row on the device to the next. */
  readonly pitch: number;
  readonly width: number;
  readonly height: number;
}

function checkCopy(library: NativeLibrary, status: number, device: number, bytes: number): void {
  if (status !== 0) check(library, status, `copy ${bytes} bytes`, device);
}

export function copyDevice(
  library: NativeLibrary,
  device: number,
  stream: number,
  destination: number,
  source: number,
  bytes: number,
  rows?: PitchedRows & { readonly sourcePitch: number },
): void {
  if (rows !== undefined) {
    const { pitch, sourcePitch, width, height } = rows;
    const operands = [destination, pitch, source, sourcePitch, width, height];
    const status = withOperands(library, device, stream, ...operands).gs_copy_device_2d();
    return checkCopy(library, status, device, bytes);
  }
  const status = withOperands(library, device, stream, destination, source, bytes).gs_copy_device();
  checkCopy(library, status, device, bytes);
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
  const status = withOperands(
    library,
    sourceDevice,
    stream,
    destination,
    destinationDevice,
    source,
    sourceDevice,
    bytes,
  ).gs_copy_peer();
  checkCopy(library, status, sourceDevice, bytes);
}

export function copyFromPinned(
  library: NativeLibrary,
  device: number,
  stream: number,
  destination: number,
  pinned: number,
  offset: number,
  bytes: number,
  rows?: PitchedRows,
): void {
  if (rows !== undefined) {
    const { pitch, width, height } = rows;
    const operands = [destination, pitch, pinned, offset, width, width, height];
    const status = withOperands(library, device, stream, ...operands).gs_copy_from_pinned_2d();
    return checkCopy(library, status, device, bytes);
  }
  const status = withOperands(library, device, stream, destination, pinned, offset, bytes)
    .gs_copy_from_pinned();
  checkCopy(library, status, device, bytes);
}

export function copyToPinned(
  library: NativeLibrary,
  device: number,
  stream: number,
  pinned: number,
  offset: number,
  source: number,
  bytes: number,
  rows?: PitchedRows,
): void {
  if (rows !== undefined) {
    const { pitch, width, height } = rows;
    const operands = [pinned, offset, width, source, pitch, width, height];
    const status = withOperands(library, device, stream, ...operands).gs_copy_to_pinned_2d();
    return checkCopy(library, status, device, bytes);
  }
  const status = withOperands(library, device, stream, pinned, offset, source, bytes)
    .gs_copy_to_pinned();
  checkCopy(library, status, device, bytes);
}

/** Checks the length of a JavaScript buffer, which the native library does not know. */
function requireRoom(memory: HostMemory, bytes: number, name: string): void {
  checkSize(bytes, "bytes", "copy memory");
  const length = byteLengthOf(memory);
  if (bytes <= length) return;
  throw new RangeError(
    `Cannot copy ${bytes} bytes as ${name} must be at least that long: it has ${length}`,
  );
}

/** Threads that copy from a slab. More do not copy faster. */
const COPY_THREADS = Math.min(4, navigator.hardwareConcurrency);

/** Copies a part of a pinned slab to JavaScript memory by several threads. */
export function readPinned(
  library: NativeLibrary,
  device: number,
  pinned: number,
  offset: number,
  destination: HostMemory,
): void {
  const bytes = byteLengthOf(destination);
  const context = { action: `copy ${bytes} bytes from pinned memory`, device };
  call(library, "gs_pinned_read", context, pinned, offset, destination, bytes, COPY_THREADS);
}

/** Copies JavaScript memory to the device in stream order, and waits for the copy. */
export function copyToDeviceSync(
  library: NativeLibrary,
  device: number,
  stream: number,
  destination: number,
  source: HostMemory,
  bytes: number,
  rows?: PitchedRows,
): void {
  requireRoom(source, bytes, "source");
  const context = { action: `copy ${bytes} bytes`, device };
  if (rows === undefined) {
    call(library, "gs_copy_to_device", context, device, stream, destination, source, bytes);
  } else {
    const { pitch, width, height } = rows;
    const inputs = [device, stream, destination, pitch, source, width, width, height] as const;
    call(library, "gs_copy_to_device_2d", context, ...inputs);
  }
}

/** Copies device memory to JavaScript memory in stream order, and waits for the copy. */
export function copyToHostSync(
  library: NativeLibrary,
  device: number,
  stream: number,
  destination: HostMemory,
  source: number,
  bytes: number,
  rows?: PitchedRows,
): void {
  requireRoom(destination, bytes, "destination");
  const context = { action: `copy ${bytes} bytes`, device };
  if (rows === undefined) {
    call(library, "gs_copy_to_host", context, device, stream, destination, source, bytes);
  } else {
    const { pitch, width, height } = rows;
    const inputs = [device, stream, destination, width, source, pitch, width, height] as const;
    call(library, "gs_copy_to_host_2d", context, ...inputs);
  }
}

/** The granularity of virtual memory: addresses and sizes of mapped memory are multiples of it. */
export function virtualGranularity(library: NativeLibrary, device: number): number {
  const context = { action: "read the granularity of virtual memory", device };
  return call(library, "gs_virtual_granularity", context, device)[0]!;
}

/**
 * Reserves a range of addresses without memory.
 *
 * @param bytes A multiple of the granularity, more than 0.
 * @returns The first address; 0 if there is no such range.
 */
export function reserveAddresses(library: NativeLibrary, device: number, bytes: number): number {
  const action = `reserve ${bytes} bytes of addresses`;
  const status = callStatus(library, "gs_virtual_reserve", action, device, bytes);
  if (status === MEMORY_ALLOCATION) return 0;
  check(library, status, action, device);
  return library.result[0]!;
}

/** Releases a reservation. */
export function releaseAddresses(library: NativeLibrary, device: number, address: number): void {
  const context = { action: `release the addresses reserved at ${address}`, device };
  call(library, "gs_virtual_release", context, device, address);
}

/**
 * Maps memory at reserved addresses: all of it, or none.
 *
 * @param address The first address, in a reservation of the device without mapped memory.
 * @param bytes A multiple of the granularity, more than 0.
 * @param handleBytes The size of the pieces that can be unmapped, a multiple of the granularity;
 * the last piece may be shorter.
 * @returns False if the device has no room.
 */
export function mapMemory(
  library: NativeLibrary,
  device: number,
  address: number,
  bytes: number,
  handleBytes: number,
): boolean {
  const status = withOperands(library, device, NO_STREAM, address, bytes, handleBytes)
    .gs_virtual_map();
  if (status === MEMORY_ALLOCATION) return false;
  if (status !== 0) check(library, status, `map ${bytes} bytes at ${address}`, device);
  return true;
}

/**
 * Unmaps memory at once; the caller has waited for the work that uses it.
 *
 * @param address The beginning of a mapped piece.
 * @param bytes Up to the end of that piece, or of one that follows without a gap.
 */
export function unmapMemory(
  library: NativeLibrary,
  device: number,
  address: number,
  bytes: number,
): void {
  const status = withOperands(library, device, NO_STREAM, address, bytes).gs_virtual_unmap();
  if (status !== 0) check(library, status, `unmap ${bytes} bytes at ${address}`, device);
}

/** Lets another device access a range of mapped pieces. */
export function shareMemory(
  library: NativeLibrary,
  device: number,
  peer: number,
  address: number,
  bytes: number,
): void {
  const context = { action: `share ${bytes} bytes at ${address} with device ${peer}`, device };
  call(library, "gs_virtual_share", context, device, peer, address, bytes);
}

/**
 * Declares that a block of an allocation or mapping is live, or that it has ended. After the first
 * declaration, kernels and copies may only access live blocks of that memory.
 *
 * @param bytes More than 0.
 */
export function declareBlock(
  library: NativeLibrary,
  device: number,
  address: number,
  bytes: number,
  isLive: boolean,
): void {
  const status = withOperands(library, device, NO_STREAM, address, bytes, isLive ? 1 : 0)
    .gs_memory_declare();
  if (status !== 0) {
    const action = `declare that ${bytes} bytes at ${address} ${isLive ? "live" : "have ended"}`;
    check(library, status, action, device);
  }
}

/**
 * Requests all isolates to free cached memory of a device.
 *
 * @returns The number of requests so far, with this one.
 */
export function pressMemory(library: NativeLibrary, device: number): number {
  const context = { action: "request the release of cached memory", device };
  return call(library, "gs_memory_press", context, device, 1)[0]!;
}

/** The number of requests to free cached memory of a device. */
export function devicePressure(library: NativeLibrary, device: number): number {
  const context = { action: "count the requests to release cached memory", device };
  return call(library, "gs_memory_press", context, device, 0)[0]!;
}

/**
 * The number of requests to free cached memory of any device, as of this isolate's last call
 * through the command block. Reading it makes no native call.
 */
export function readPressure(library: NativeLibrary): number {
  return library.block[PRESSURE]!;
}
