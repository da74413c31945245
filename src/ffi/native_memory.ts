/**
 * Device memory: allocate, free, set, pinned slabs.
 *
 * @module
 */

import { check, statusError } from "./check.ts";
import { DEVICE, OPERAND, RESULT, STREAM } from "./command_block.ts";
import { OutOfMemoryError } from "./cuda_error.ts";
import { checkInt32 } from "./integers.ts";
import type { NativeLibrary } from "./library.ts";

/** The CUDA code of an allocation that found no memory. */
const MEMORY_ALLOCATION = 2;

/**
 * Allocates device memory, if there is room.
 *
 * @param bytes More than 0.
 * @returns The address; 0 if the device has no room.
 */
export function tryAllocateMemory(library: NativeLibrary, device: number, bytes: number): number {
  const { block } = library;
  block[DEVICE] = device;
  block[OPERAND] = bytes;
  const status = library.symbols.gs_memory_allocate();
  if (status === 0) return block[RESULT]!;
  if (status === MEMORY_ALLOCATION) return 0;
  throw statusError(library, status, { action: `allocate ${bytes} bytes`, device });
}

/**
 * Allocates device memory.
 *
 * @param bytes More than 0.
 * @returns The address.
 * @throws {OutOfMemoryError} If the device has no room.
 */
export function allocateMemory(library: NativeLibrary, device: number, bytes: number): number {
  const address = tryAllocateMemory(library, device, bytes);
  if (address === 0) throw outOfMemory(library, device, bytes);
  return address;
}

function outOfMemory(library: NativeLibrary, device: number, requested: number): OutOfMemoryError {
  const status = library.symbols.gs_device_memory(device, library.result);
  const free = status === 0 ? library.result[0]! : 0;
  const total = status === 0 ? library.result[1]! : 0;
  return new OutOfMemoryError({
    action: `allocate ${requested} bytes`,
    call: "cudaMalloc",
    device: `${library.kind}:${device}`,
    requested,
    free,
    total,
  });
}

/** Frees device memory; waits for the device first, as `cudaFree` does. */
export function freeMemory(library: NativeLibrary, device: number, address: number): void {
  const { block } = library;
  block[DEVICE] = device;
  block[OPERAND] = address;
  const status = library.symbols.gs_memory_free();
  if (status !== 0) {
    throw statusError(library, status, { action: `free the memory at ${address}`, device });
  }
}

/**
 * Enqueues setting `count` elements of 1, 2 or 4 bytes to one bit pattern.
 */
export function setMemory(
  library: NativeLibrary,
  device: number,
  stream: number,
  address: number,
  value: number,
  elementBytes: 1 | 2 | 4,
  count: number,
): void {
  const { block } = library;
  block[DEVICE] = device;
  block[STREAM] = stream;
  block[OPERAND] = address;
  block[OPERAND + 1] = value;
  block[OPERAND + 2] = elementBytes;
  block[OPERAND + 3] = count;
  const status = library.symbols.gs_memory_set();
  if (status !== 0) {
    throw statusError(library, status, {
      action: `set ${count} elements of ${elementBytes} bytes`,
      device,
    });
  }
}

/**
 * Pins a slab of JavaScript memory for all devices.
 *
 * @param device The device whose context registers it.
 * @param slab Page-aligned, a whole number of pages, not detachable.
 * @returns The handle by which copies name it.
 */
export function registerPinned(
  library: NativeLibrary,
  device: number,
  slab: Uint8Array<ArrayBuffer>,
): number {
  const action = `pin ${slab.byteLength} bytes of host memory`;
  checkInt32(device, "device", action);
  check(
    library,
    library.symbols.gs_pinned_register(device, slab, slab.byteLength, library.result),
    action,
    device,
  );
  return library.result[0]!;
}

/** Gives a pinned slab back after waiting, blocking this thread, for the devices that used it. */
export function releasePinnedSync(library: NativeLibrary, device: number, pinned: number): void {
  const action = "release pinned memory";
  checkInt32(pinned, "handle", action);
  check(library, library.symbols.gs_pinned_release(pinned), action, device);
}

/** Gives a pinned slab back after waiting for the devices that used it. */
export async function releasePinned(
  library: NativeLibrary,
  device: number,
  pinned: number,
): Promise<void> {
  const action = "release pinned memory";
  checkInt32(pinned, "handle", action);
  const status = await library.symbols.gs_pinned_release_async(pinned);
  if (status !== 0) {
    throw statusError(library, status, { action, device, call: "cudaHostUnregister" });
  }
}
