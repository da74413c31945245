/**
 * How much memory a launch is passed.
 *
 * @module
 */

import { bytesPerElement } from "../memory/dtype.ts";
import { isDeviceMemory } from "./argument_error.ts";

/**
 * The bytes of the device memory among a launch's arguments, each memory once: what a kernel moves
 * that reads or writes every byte of it once.
 */
export function argumentBytes(args: readonly unknown[]): number {
  const seen = new Set<string>();
  let bytes = 0;
  for (const value of args) {
    if (!isDeviceMemory(value) || value.disposed) continue;
    const size = value.length * bytesPerElement(value.dtype);
    const place = `${value.address} ${size}`;
    if (!seen.has(place)) bytes += size;
    seen.add(place);
  }
  return bytes;
}
