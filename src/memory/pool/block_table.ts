/**
 * The blocks of a pool: one record of 64 bytes each, a cache line, in one typed array.
 *
 * A block is a stretch of a segment; the blocks of a segment are linked in the order of their
 * addresses and cover it without gaps. Blocks are named by their number; 0 is none. Sizes are
 * counted in units of 512 bytes, so that 32 bits hold a tebibyte.
 *
 * @module
 */

/** Bytes of a unit: what sizes and addresses of blocks are multiples of. */
export const UNIT = 512;

/** A record is 2^4 32-bit fields long. */
export const RECORD_SHIFT = 4;
/** A record is 2^3 64-bit fields long. */
export const FLOAT_SHIFT = 3;

/** Field: size in units. */
export const UNITS = 0;
/** Field: state, and flags above it. */
export const STATE = 1;
/** Field: the block before it in the segment. */
export const PREVIOUS = 2;
/** Field: the block behind it in the segment. */
export const NEXT = 3;
/** Field: the block before it in its free list. */
export const LINK_BACK = 4;
/** Field: the block behind it in its free list, or in its cache list. */
export const LINK = 5;
/** Field: the stream slot that has it, or may have it. */
export const OWNER = 6;
/** Field: the epoch of its owner in which it was freed; see `stream_slots.ts`. */
export const EPOCH = 7;
/** Field: twice the number of its segment, plus 1 where that serves large requests. */
export const SEGMENT = 8;
/** Field: the tick of the pool's clock at which it was freed. */
export const TICK = 9;
/** Field: the block freed before it by its owner. */
export const AGE_BACK = 10;
/** Field: the block freed after it by its owner. */
export const AGE_LINK = 11;
/** 64-bit field: its address. */
export const ADDRESS = 6;
/** 64-bit field: the bytes that were asked for. */
export const REQUESTED = 7;

/** State: the record is not in use. */
export const UNUSED = 0;
/** State: somebody has it. */
export const LIVE = 1;
/** State: free, kept whole for the next request of its size; its neighbours do not join it. */
export const CACHED = 2;
/** State: free. */
export const FREE = 3;
/** State: freed, but a stream besides its owner may still use it. */
export const PENDING = 4;
/** State: addresses without memory. */
export const UNMAPPED = 5;
/** The bits of {@linkcode STATE} that are the state. */
export const STATE_MASK = 7;
/** Flag: streams besides the owner use it. */
export const USED_ELSEWHERE = 8;

/** The records. */
export class BlockTable {
  /** The 32-bit fields: field `f` of block `b` is at `(b << RECORD_SHIFT) + f`. */
  ints: Int32Array<ArrayBuffer>;
  /** The 64-bit fields: field `f` of block `b` is at `(b << FLOAT_SHIFT) + f`. */
  floats: Float64Array<ArrayBuffer>;
  #used = 1;
  #unused = 0;
  #inUse = 0;

  /** Makes a table with room for this many blocks; it grows as needed. */
  constructor(capacity = 256) {
    const buffer = new ArrayBuffer(capacity << (RECORD_SHIFT + 2));
    this.ints = new Int32Array(buffer);
    this.floats = new Float64Array(buffer);
  }

  /** The number of records in use. */
  get size(): number {
    return this.#inUse;
  }

  /** A record of this size at this address; its other fields are 0. */
  create(address: number, units: number, segment: number): number {
    let block = this.#unused;
    if (block !== 0) this.#unused = this.ints[(block << RECORD_SHIFT) + LINK]!;
    else {
      block = this.#used++;
      if (block << RECORD_SHIFT >= this.ints.length) this.#grow();
    }
    const at = block << RECORD_SHIFT;
    const { ints } = this;
    // One by one, as `fill()` takes longer for so few.
    ints[at + UNITS] = units;
    ints[at + STATE] = UNUSED;
    ints[at + PREVIOUS] = 0;
    ints[at + NEXT] = 0;
    ints[at + LINK_BACK] = 0;
    ints[at + LINK] = 0;
    ints[at + OWNER] = 0;
    ints[at + EPOCH] = 0;
    ints[at + SEGMENT] = segment;
    ints[at + TICK] = 0;
    ints[at + AGE_BACK] = 0;
    ints[at + AGE_LINK] = 0;
    this.floats[(block << FLOAT_SHIFT) + REQUESTED] = 0;
    this.floats[(block << FLOAT_SHIFT) + ADDRESS] = address;
    this.#inUse++;
    return block;
  }

  /** Forgets a block: its number will name another. */
  recycle(block: number): void {
    const at = block << RECORD_SHIFT;
    this.ints[at + STATE] = UNUSED;
    this.ints[at + LINK] = this.#unused;
    this.#unused = block;
    this.#inUse--;
  }

  /** Makes a block of what a block has beyond this many units, right behind it. */
  split(block: number, units: number): number {
    const whole = this.ints[(block << RECORD_SHIFT) + UNITS]!;
    const segment = this.ints[(block << RECORD_SHIFT) + SEGMENT]!;
    const address = this.floats[(block << FLOAT_SHIFT) + ADDRESS]!;
    const rest = this.create(address + units * UNIT, whole - units, segment);
    const { ints } = this;
    const at = block << RECORD_SHIFT;
    const restAt = rest << RECORD_SHIFT;
    const next = ints[at + NEXT]!;
    ints[at + UNITS] = units;
    ints[at + NEXT] = rest;
    ints[restAt + PREVIOUS] = block;
    ints[restAt + NEXT] = next;
    if (next !== 0) ints[(next << RECORD_SHIFT) + PREVIOUS] = rest;
    return rest;
  }

  /** Adds the block behind a block to it. */
  absorbNext(block: number): void {
    const { ints } = this;
    const at = block << RECORD_SHIFT;
    const gone = ints[at + NEXT]!;
    const next = ints[(gone << RECORD_SHIFT) + NEXT]!;
    ints[at + UNITS]! += ints[(gone << RECORD_SHIFT) + UNITS]!;
    ints[at + NEXT] = next;
    if (next !== 0) ints[(next << RECORD_SHIFT) + PREVIOUS] = block;
    this.recycle(gone);
  }

  /** A block's size in units. */
  units(block: number): number {
    return this.ints[(block << RECORD_SHIFT) + UNITS]!;
  }

  /** A block's address. */
  address(block: number): number {
    return this.floats[(block << FLOAT_SHIFT) + ADDRESS]!;
  }

  /** What was asked for when the block was allocated. */
  requested(block: number): number {
    return this.floats[(block << FLOAT_SHIFT) + REQUESTED]!;
  }

  /** A block's state. */
  state(block: number): number {
    return this.ints[(block << RECORD_SHIFT) + STATE]! & STATE_MASK;
  }

  /** A 32-bit field of a block. */
  field(block: number, field: number): number {
    return this.ints[(block << RECORD_SHIFT) + field]!;
  }

  #grow(): void {
    const buffer = new ArrayBuffer(this.ints.byteLength * 2);
    const ints = new Int32Array(buffer);
    ints.set(this.ints);
    this.ints = ints;
    this.floats = new Float64Array(buffer);
  }
}
