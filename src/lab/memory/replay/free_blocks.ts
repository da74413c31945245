/**
 * Free blocks as PyTorch and CuPy look for them: the best fit of a stream.
 *
 * @module
 */

import { OrderedSet } from "./ordered_set.ts";
import type { ReplayDevice } from "./replay_device.ts";
import { absorbNeighbours, isSplit, type SegmentBlock } from "./segment_block.ts";
import { compareAddresses } from "./segment_part.ts";

/** Free blocks in the order of stream, size and address. */
export class FreeBlocks {
  readonly #blocks = new OrderedSet<SegmentBlock>((left, right) =>
    left.stream - right.stream || left.bytes - right.bytes || compareAddresses(left, right)
  );

  /** All of them, in order. The set must not change while one walks through it. */
  [Symbol.iterator](): IterableIterator<SegmentBlock> {
    return this.#blocks[Symbol.iterator]();
  }

  /** Those of a stream that are large enough, the best fit first. */
  *fitting(bytes: number, stream: number): Generator<SegmentBlock, void> {
    const first = this.#blocks.firstPosition((block) =>
      block.stream > stream || block.stream === stream && block.bytes >= bytes
    );
    for (let position = first;; position++) {
      const block = this.#blocks.at(position);
      if (block?.stream !== stream) return;
      yield block;
    }
  }

  /** Adds a block as it is. */
  add(block: SegmentBlock): void {
    block.state = "free";
    this.#blocks.insert(block);
  }

  /** Adds a block, merged with its free neighbours. */
  merge(block: SegmentBlock): void {
    block.state = "free";
    absorbNeighbours(block, this.#blocks);
    this.#blocks.insert(block);
  }

  /** Takes a block out. */
  delete(block: SegmentBlock): void {
    this.#blocks.delete(block);
  }

  /** Gives back the segments of which nobody has any part: one request each. */
  giveBackSegments(device: ReplayDevice): void {
    for (const block of [...this.#blocks]) {
      if (isSplit(block)) continue;
      this.#blocks.delete(block);
      device.giveBack(block.bytes);
    }
  }
}
