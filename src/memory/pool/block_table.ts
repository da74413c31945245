/**
 * The blocks of a pool: one record of 64 bytes each, in one typed array.
 *
 * A block is a stretch of a segment. The blocks of a segment are linked by address and cover it
 * without gaps. Blocks are named by number; 0 is no block. Sizes are counted in units of 512 bytes,
 * which keeps a tebibyte within 32 bits.
 *
 * @module
 */

export const UNIT = 512; // Bytes of a unit; sizes and addresses of blocks are multiples of it

export const RECORD_SHIFT = 4; // A record is 2^4 32-bit fields long
export const FLOAT_SHIFT = 3; // A record is 2^3 64-bit fields long

export const UNITS = 0; // Field: size in units
export const STATE = 1; // Field: state, with flags above it
export const PREVIOUS = 2; // Field: the previous block of the segment
export const NEXT = 3; // Field: the next block of the segment
export const LINK_BACK = 4; // Field: the previous block of the free list
export const LINK = 5; // Field: the next block of the free list or the cache list
export const OWNER = 6; // Field: the stream slot that owns it
export const EPOCH = 7; // Field: the owner's epoch when it was freed; see `stream_slots.ts`
/** Field: twice the number of its segment, plus 1 if that serves large requests. */
export const SEGMENT = 8;
export const TICK = 9; // Field: the tick of the pool's clock when it was freed
export const AGE_BACK = 10; // Field: the block that its owner freed before it
export const AGE_LINK = 11; // Field: the block that its owner freed after it
export const ADDRESS = 6; // 64-bit field: its address
export const REQUESTED = 7; // 64-bit field: the requested bytes

export const UNUSED = 0; // State: the record is not in use
export const LIVE = 1; // State: allocated
export const CACHED = 2; // State: free, kept whole for the next request of its size
export const FREE = 3; // State: free
export const PENDING = 4; // State: freed, but a stream other than its owner may still use it
export const UNMAPPED = 5; // State: addresses without memory
export const STATE_MASK = 7; // The bits of {@linkcode STATE} that hold the state
export const USED_ELSEWHERE = 8; // Flag: streams other than the owner use it

export const SMALL = 0; // Kind of a segment: it serves requests up to 1 MiB
export const LARGE = 1; // Kind of a segment: it serves larger requests

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

  get size(): number {
    return this.#inUse;
  }

  /** Creates a record; its other fields are 0. */
  create(address: number, units: number, segment: number): number {
    let block = this.#unused;
    if (block !== 0) this.#unused = this.field(block, LINK);
    else {
      block = this.#used++;
      if (block << RECORD_SHIFT >= this.ints.length) this.#grow();
    }
    const at = block << RECORD_SHIFT;
    this.ints.fill(0, at, at + (1 << RECORD_SHIFT));
    this.ints[at + UNITS] = units;
    this.ints[at + SEGMENT] = segment;
    this.floats[(block << FLOAT_SHIFT) + ADDRESS] = address;
    this.#inUse++;
    return block;
  }

  /** Releases a record; its number is used again. */
  recycle(block: number): void {
    const at = block << RECORD_SHIFT;
    this.ints[at + STATE] = UNUSED;
    this.ints[at + LINK] = this.#unused;
    this.#unused = block;
    this.#inUse--;
  }

  /** Splits a block after this many units and returns the rest. */
  split(block: number, units: number): number {
    const rest = this.create(
      this.address(block) + units * UNIT,
      this.units(block) - units,
      this.field(block, SEGMENT),
    );
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

  units(block: number): number {
    return this.ints[(block << RECORD_SHIFT) + UNITS]!;
  }

  address(block: number): number {
    return this.floats[(block << FLOAT_SHIFT) + ADDRESS]!;
  }

  requested(block: number): number {
    return this.floats[(block << FLOAT_SHIFT) + REQUESTED]!;
  }

  state(block: number): number {
    return this.ints[(block << RECORD_SHIFT) + STATE]! & STATE_MASK;
  }

  kind(block: number): 0 | 1 {
    return (this.ints[(block << RECORD_SHIFT) + SEGMENT]! & 1) as 0 | 1;
  }

  bytes(block: number): number {
    return this.ints[(block << RECORD_SHIFT) + UNITS]! * UNIT;
  }

  owner(block: number): number {
    return this.ints[(block << RECORD_SHIFT) + OWNER]!;
  }

  setOwner(block: number, owner: number): void {
    this.ints[(block << RECORD_SHIFT) + OWNER] = owner;
  }

  setState(block: number, state: number): void {
    this.ints[(block << RECORD_SHIFT) + STATE] = state;
  }

  /** Whether streams other than the owner use a live block. */
  isUsedElsewhere(block: number): boolean {
    return this.ints[(block << RECORD_SHIFT) + STATE] !== LIVE;
  }

  makeLive(block: number, requested: number): void {
    this.ints[(block << RECORD_SHIFT) + STATE] = LIVE;
    this.floats[(block << FLOAT_SHIFT) + REQUESTED] = requested;
  }

  stamp(block: number, epoch: number, tick: number): void {
    this.ints[(block << RECORD_SHIFT) + EPOCH] = epoch;
    this.ints[(block << RECORD_SHIFT) + TICK] = tick;
  }

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
