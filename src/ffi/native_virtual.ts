/**
 * Virtual memory, and what an owner who divides memory tells the library.
 *
 * @module
 */

import { check, statusError } from "./check.ts";
import { DEVICE, OPERAND, PRESSURE } from "./command_block.ts";
import { checkInt32, checkSize } from "./integers.ts";
import type { NativeLibrary } from "./library.ts";

/** The CUDA code for memory or addresses of which there are none left. */
const MEMORY_ALLOCATION = 2;

/**
 * What the addresses and sizes of mapped memory are multiples of, in bytes.
 *
 * @throws {CudaError} If the device has no virtual memory management.
 */
export function virtualGranularity(library: NativeLibrary, device: number): number {
  const action = "read the granularity of virtual memory";
  checkInt32(device, "device", action);
  check(library, library.symbols.gs_virtual_granularity(device, library.result), action, device);
  return library.result[0]!;
}

/**
 * Reserves a range of addresses, without memory behind it.
 *
 * @param bytes A multiple of the granularity, more than 0.
 * @returns The first address; 0 if there is no such range.
 * @throws {CudaError} If the device has no virtual memory management, or refuses.
 */
export function reserveAddresses(library: NativeLibrary, device: number, bytes: number): number {
  const action = `reserve ${bytes} bytes of addresses`;
  checkInt32(device, "device", action);
  checkSize(bytes, "bytes", action);
  const status = library.symbols.gs_virtual_reserve(device, bytes, library.result);
  if (status === MEMORY_ALLOCATION) return 0;
  check(library, status, action, device);
  return library.result[0]!;
}

/**
 * Gives a reservation back.
 *
 * @param address What {@linkcode reserveAddresses} returned.
 * @throws {CudaError} If memory is mapped in it, or it is none.
 */
export function releaseAddresses(library: NativeLibrary, device: number, address: number): void {
  const action = `release the addresses reserved at ${address}`;
  checkInt32(device, "device", action);
  checkSize(address, "address", action);
  check(library, library.symbols.gs_virtual_release(device, address), action, device);
}

/**
 * Puts memory behind reserved addresses: all of it, or none.
 *
 * @param address The first, in a reservation of the device; nothing is mapped in the range yet.
 * @param bytes A multiple of the granularity, more than 0.
 * @param handleBytes The size of the pieces in which it can be unmapped, a multiple of the
 * granularity; the last piece may be shorter.
 * @returns False if the device has no room.
 * @throws {CudaError} If the range cannot be mapped.
 */
export function mapMemory(
  library: NativeLibrary,
  device: number,
  address: number,
  bytes: number,
  handleBytes: number,
): boolean {
  const { block } = library;
  block[DEVICE] = device;
  block[OPERAND] = address;
  block[OPERAND + 1] = bytes;
  block[OPERAND + 2] = handleBytes;
  const status = library.symbols.gs_virtual_map();
  if (status === 0) return true;
  if (status === MEMORY_ALLOCATION) return false;
  throw statusError(library, status, { action: `map ${bytes} bytes at ${address}`, device });
}

/**
 * Takes the memory behind addresses away at once; the caller has waited for what uses it.
 *
 * @param address The beginning of a piece that was mapped.
 * @param bytes Up to the end of that piece or of one that follows it without a gap.
 * @throws {CudaError} If the range is not whole pieces.
 */
export function unmapMemory(
  library: NativeLibrary,
  device: number,
  address: number,
  bytes: number,
): void {
  const { block } = library;
  block[DEVICE] = device;
  block[OPERAND] = address;
  block[OPERAND + 1] = bytes;
  const status = library.symbols.gs_virtual_unmap();
  if (status !== 0) {
    throw statusError(library, status, { action: `unmap ${bytes} bytes at ${address}`, device });
  }
}

/**
 * Lets another device access what is mapped in a range of whole pieces now.
 *
 * @param device Whose memory it is.
 * @param peer Which device is to access it.
 * @throws {CudaError} If the range is not whole pieces, or `peer` cannot address the memory of
 * `device`.
 */
export function shareMemory(
  library: NativeLibrary,
  device: number,
  peer: number,
  address: number,
  bytes: number,
): void {
  const action = `share ${bytes} bytes at ${address} with device ${peer}`;
  checkInt32(device, "device", action);
  checkInt32(peer, "peer", action);
  checkSize(address, "address", action);
  checkSize(bytes, "bytes", action);
  check(library, library.symbols.gs_virtual_share(device, peer, address, bytes), action, device);
}

/**
 * Tells the library that a block of an allocation or mapping lives from now on, or does so no more.
 * From the first declaration on, live blocks are all of that memory that may be touched.
 *
 * @param bytes More than 0.
 * @throws {CudaError} If the block overlaps a live one or, when it is to end, does not live.
 */
export function declareBlock(
  library: NativeLibrary,
  device: number,
  address: number,
  bytes: number,
  isLive: boolean,
): void {
  const { block } = library;
  block[DEVICE] = device;
  block[OPERAND] = address;
  block[OPERAND + 1] = bytes;
  block[OPERAND + 2] = isLive ? 1 : 0;
  const status = library.symbols.gs_memory_declare();
  if (status !== 0) {
    const action = `declare that ${bytes} bytes at ${address} ${isLive ? "live" : "have ended"}`;
    throw statusError(library, status, { action, device });
  }
}

function countPresses(library: NativeLibrary, device: number, raise: 0 | 1): number {
  const action = raise === 1
    ? "ask for cached memory to be given back"
    : "read who has asked for cached memory";
  checkInt32(device, "device", action);
  check(library, library.symbols.gs_memory_press(device, raise, library.result), action, device);
  return library.result[0]!;
}

/**
 * Asks everybody who caches memory of the device, in all isolates, to give back what is free.
 *
 * @returns How often that was asked, this time included.
 */
export function pressMemory(library: NativeLibrary, device: number): number {
  return countPresses(library, device, 1);
}

/** How often somebody has asked for cached memory of the device to be given back. */
export function devicePressure(library: NativeLibrary, device: number): number {
  return countPresses(library, device, 0);
}

/**
 * How often somebody had asked for cached memory of any device to be given back when this isolate
 * made its last hot call; a library that was not called since another one was shows the other's.
 * Reading it makes no native call.
 */
export function readPressure(library: NativeLibrary): number {
  return library.block[PRESSURE]!;
}
