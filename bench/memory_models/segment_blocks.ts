/**
 * Blocks of segments as PyTorch and CuPy keep them: doubly linked in the order of addresses, split
 * on allocation and merged on release, with free blocks in ordered sets.
 *
 * @module
 */

import {
  compareAddresses,
  type ModelDevice,
  type PartState,
  type Segment,
} from "./model_allocator.ts";

/** A part of a segment with links to its neighbours. */
export interface SegmentBlock {
  readonly segment: Segment;
  readonly stream: number;
  offset: number;
  bytes: number;
  state: PartState;
  previous: SegmentBlock | undefined;
  next: SegmentBlock | undefined;
}

/** The only block of a new segment. */
export function wholeSegment(segment: Segment, stream: number, state: PartState): SegmentBlock {
  const { bytes } = segment;
  return { segment, stream, offset: 0, bytes, state, previous: undefined, next: undefined };
}

/** Checks for neighbours in the segment. */
export function isSplit(block: SegmentBlock): boolean {
  return block.previous !== undefined || block.next !== undefined;
}

/** Shrinks a block to a size and returns a new block, in the same state, for the rest. */
export function splitBlock(block: SegmentBlock, bytes: number): SegmentBlock {
  const rest: SegmentBlock = {
    ...block,
    offset: block.offset + bytes,
    bytes: block.bytes - bytes,
    previous: block,
  };
  block.bytes = bytes;
  block.next = rest;
  if (rest.next !== undefined) rest.next.previous = rest;
  return rest;
}

/** Merges a block, which is in no set, with neighbours of the same state; they leave their set. */
export function absorbNeighbours(block: SegmentBlock, others: OrderedSet<SegmentBlock>): void {
  const { previous, next } = block;
  if (previous?.state === block.state) {
    others.delete(previous);
    block.offset = previous.offset;
    block.bytes += previous.bytes;
    block.previous = previous.previous;
    if (block.previous !== undefined) block.previous.next = block;
  }
  if (next?.state === block.state) {
    others.delete(next);
    block.bytes += next.bytes;
    block.next = next.next;
    if (block.next !== undefined) block.next.previous = block;
  }
}

/**
 * A set of values in the order of a comparison, in a sorted array with binary search. The order of a
 * value must not change while it is in the set.
 */
export class OrderedSet<T> {
  readonly #values: T[] = [];
  readonly #compare: (left: T, right: T) => number;

  /** @param compare Returns 0 only for equal values. */
  constructor(compare: (left: T, right: T) => number) {
    this.#compare = compare;
  }

  /** The value at a position; `undefined` beyond the ends. */
  at(position: number): T | undefined {
    return this.#values[position];
  }

  /** The position of the first value for which a monotonic test holds. */
  firstPosition(holds: (value: T) => boolean): number {
    let low = 0;
    let high = this.#values.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (holds(this.#values[middle]!)) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** Adds a value; throws if it is in the set. */
  insert(value: T): void {
    const position = this.firstPosition((other) => this.#compare(other, value) >= 0);
    if (this.#contains(position, value)) {
      throw new TypeError("Cannot insert a value into an ordered set as it is there already");
    }
    this.#values.splice(position, 0, value);
  }

  /** Removes a value; false if it was not in the set. */
  delete(value: T): boolean {
    const position = this.firstPosition((other) => this.#compare(other, value) >= 0);
    if (!this.#contains(position, value)) return false;
    this.#values.splice(position, 1);
    return true;
  }

  [Symbol.iterator](): IterableIterator<T> {
    return this.#values.values();
  }

  #contains(position: number, value: T): boolean {
    const other = this.#values[position];
    return other !== undefined && this.#compare(other, value) === 0;
  }
}

/** Free blocks in the order of stream, size and address. */
export class FreeBlocks extends OrderedSet<SegmentBlock> {
  constructor() {
    super((left, right) =>
      left.stream - right.stream || left.bytes - right.bytes || compareAddresses(left, right)
    );
  }

  /** The blocks of a stream that are large enough, the best fit first. */
  *fitting(bytes: number, stream: number): Generator<SegmentBlock, void> {
    const first = this.firstPosition((block) =>
      block.stream > stream || block.stream === stream && block.bytes >= bytes
    );
    for (let position = first;; position++) {
      const block = this.at(position);
      if (block?.stream !== stream) return;
      yield block;
    }
  }

  /** Adds a block as a free one. */
  add(block: SegmentBlock): void {
    block.state = "free";
    this.insert(block);
  }

  /** Adds a block, merged with its free neighbours. */
  merge(block: SegmentBlock): void {
    block.state = "free";
    absorbNeighbours(block, this);
    this.insert(block);
  }

  /** Returns wholly free segments to the device, with one request for each. */
  releaseSegments(device: ModelDevice): void {
    for (const block of [...this]) {
      if (isSplit(block)) continue;
      this.delete(block);
      device.release(block.bytes);
    }
  }
}
