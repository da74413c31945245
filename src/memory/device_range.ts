/**
 * Ranges of device memory, the sources and destinations of copies.
 *
 * @module
 */

import type { PitchedRows } from "../ffi/native_memory.ts";
import type { DeviceContext } from "../hardware/device_context.ts";

export interface DeviceRange {
  readonly context: DeviceContext;
  readonly address: number;
  /** Without the padding of rows. */
  readonly byteLength: number;
  /** Absent if the bytes are contiguous. */
  readonly rows?: PitchedRows;
}

export type PitchedRange = DeviceRange & { readonly rows: PitchedRows };

/** A part of a range: whole rows if it has rows. */
export function partOf(
  { context, address, rows }: DeviceRange,
  offset: number,
  byteLength: number,
): DeviceRange {
  if (rows === undefined) return { context, address: address + offset, byteLength };
  const { pitch, width } = rows;
  const part = { pitch, width, height: byteLength / width };
  return { context, address: address + offset / width * pitch, byteLength, rows: part };
}

/** A piece of a range, and the bytes of the range before it. */
export interface RangePiece {
  readonly range: DeviceRange;
  readonly offset: number;
}

/** Splits a range into pieces of whole rows, of at most as many bytes unless a row has more. */
export function* piecesOf(range: DeviceRange, maxBytes: number): Generator<RangePiece> {
  const unit = range.rows?.width ?? 1;
  const largest = Math.max(unit, maxBytes - maxBytes % unit);
  for (let offset = 0; offset < range.byteLength; offset += largest) {
    yield { range: partOf(range, offset, Math.min(largest, range.byteLength - offset)), offset };
  }
}
