/**
 * A model of CuPy's `MemoryPool`.
 *
 * After `cupy/cuda/memory.pyx` of cupy/cupy at 6b6d956, which keeps the free chunks of a stream in
 * one ordered set since 2026; older releases had bins. No limit is set, as by default.
 *
 * - Sizes are rounded up to multiples of 512 bytes; `cudaMalloc` is asked for exactly that.
 * - A free chunk belongs to the stream it was allocated on, for ever. The smallest that is large
 *   enough is taken, and split whatever is left of it. The peer breaks ties by the address of its
 *   own objects, which is arbitrary; here the oldest segment wins.
 * - A freed chunk merges with free neighbours at once. CuPy has no notion of uses on other streams.
 * - When `cudaMalloc` refuses, all that is free and not split is given back, and it is asked again;
 *   then Python's garbage is collected, which in a trace frees nothing, and it is asked once more.
 *
 * @module
 */

import { FreeBlocks } from "./free_blocks.ts";
import { type Holding, ModelAllocator, modelPolicy } from "./model_allocator.ts";
import type { ReplayDevice } from "./replay_device.ts";
import type { ReplayPolicy } from "./replay_policy.ts";
import { type SegmentBlock, splitBlock, wholeSegment } from "./segment_block.ts";

/** `ALLOCATION_UNIT_SIZE` */
const UNIT = 512;
/** How often `cudaMalloc` is asked for the same. */
const ATTEMPTS = 3;

interface Chunk extends Holding {
  readonly part: SegmentBlock;
}

class CupyPool extends ModelAllocator<Chunk> {
  /** The free chunks of all arenas; a stream's arena are those of the stream. */
  readonly #free = new FreeBlocks();

  constructor(device: ReplayDevice) {
    super(device, UNIT);
  }

  protected override take(bytes: number, stream: number): Chunk | undefined {
    const part = this.#cached(bytes, stream) ?? this.#grow(bytes, stream);
    if (part === undefined) return undefined;
    part.state = "live";
    return { part };
  }

  protected override give({ part }: Chunk): void {
    this.#free.merge(part);
  }

  protected override idle(): Iterable<SegmentBlock> {
    return this.#free;
  }

  #cached(bytes: number, stream: number): SegmentBlock | undefined {
    const [chunk] = this.#free.fitting(bytes, stream);
    if (chunk === undefined) return undefined;
    this.#free.delete(chunk);
    if (chunk.bytes > bytes) this.#free.add(splitBlock(chunk, bytes));
    return chunk;
  }

  #grow(bytes: number, stream: number): SegmentBlock | undefined {
    for (let attempt = 1;; attempt++) {
      const segment = this.device.takeSegment(bytes);
      if (segment !== undefined) return wholeSegment(segment, stream, "live");
      if (attempt === ATTEMPTS) return undefined;
      this.#free.giveBackSegments(this.device);
      this.device.countRetry();
    }
  }
}

/** CuPy's default pool. */
export const CUPY: ReplayPolicy = modelPolicy(
  "cupy",
  "CuPy's MemoryPool",
  (device) => new CupyPool(device),
);
