/**
 * Freeing through a pool: what may be freed there, and what is said of the rest.
 *
 * @module
 */

import { describeValue } from "../../ffi/describe_value.ts";
import { DeviceBuffer } from "../device_buffer.ts";
import { LIVE } from "./block_table.ts";
import { blockAt } from "./live_blocks.ts";
import type { PoolCore } from "./pool_core.ts";

/** A pool and the name of its device. */
export interface FreeingPool {
  /** The pool. */
  readonly core: PoolCore;
  /** Its device, as messages name it. */
  readonly label: string;
}

/**
 * Frees a buffer of a pool, which is an error where nothing would be freed.
 *
 * @throws {TypeError} If it is freed, a view, or not of this pool.
 */
export function freeBuffer(buffer: DeviceBuffer, { core, label }: FreeingPool): void {
  const refuse = (reason: string) => {
    throw new TypeError(`Cannot free a ${buffer.dtype} buffer as ${reason}`);
  };
  const { pool, isView } = DeviceBuffer.placeOf(buffer);
  if (buffer.disposed) refuse(isView ? "it is a view of a freed buffer" : "it is freed already");
  if (isView) refuse("it is a view, which owns nothing: free the buffer that it was made from");
  if (pool === undefined) refuse(`buffer must be of this pool of ${label}: it is of no pool`);
  if (pool !== core) {
    const of = buffer.context.label;
    const owner = of === label ? `of another pool of ${label}` : `of a pool of ${of}`;
    refuse(`buffer must be of this pool of ${label}: it is ${owner}`);
  }
  buffer.free();
}

/**
 * Frees the buffer of a pool that begins at an address. The object that stands for it counts as
 * freed from then on.
 *
 * @throws {TypeError} If it is no address.
 * @throws {RangeError} If no live buffer of the pool begins there.
 */
export function freeAddress(address: number, { core, label }: FreeingPool): void {
  const { engine } = core;
  const refuse = (reason: string) => {
    const text = Number.isSafeInteger(address) ? `0x${address.toString(16)}` : String(address);
    throw new RangeError(
      `Cannot free memory as address must be where a live buffer of this pool of ${label} begins: ` +
        `it is ${address < 0 ? address : text}${reason}`,
    );
  };
  if (typeof address !== "number") {
    throw new TypeError(
      `Cannot free memory as it must be a DeviceBuffer or its address: it is ${
        describeValue(address)
      }`,
    );
  }
  if (address === 0) refuse(", which all empty buffers have: free the buffer itself");
  if (!Number.isSafeInteger(address) || address < 0) refuse("");
  const block = blockAt(engine, address);
  if (block === 0) refuse(", where the pool has no memory");
  if (engine.table.state(block) !== LIVE) refuse(", which is free: it may be freed already");
  const begin = core.addressOf(block);
  if (address !== begin) {
    refuse(`, which is inside of the buffer at 0x${begin.toString(16)}, ${address - begin} behind`);
  }
  core.withdrawn.add(block);
  core.give(block);
}
