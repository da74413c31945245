/**
 * A model of CuPy's `MemoryPool`.
 *
 * After `cupy/cuda/memory.pyx` of cupy/cupy at 6b6d956, which keeps the free chunks of a stream in
 * one ordered set since 2026. Older releases had bins. No limit is set, as by default.
 *
 * - Sizes are rounded up to multiples of 512 bytes; `cudaMalloc` requests have exactly that size.
 * - A free chunk belongs to the stream of its segment. The smallest sufficient chunk is taken and
 *   split. CuPy breaks ties by the addresses of its own objects; here the oldest segment wins.
 * - A freed chunk merges with free neighbours at once. CuPy ignores uses by other streams.
 * - After a refusal of `cudaMalloc`, CuPy returns all chunks that are free and not split and repeats
 *   the request. Then it collects Python's garbage, which frees nothing here, and repeats it again.
 *
 * @module
 */

import {
  ModelAllocator,
  type ModelDevice,
  type ModelPolicy,
  modelPolicy,
} from "./model_allocator.ts";
import { FreeBlocks, type SegmentBlock, splitBlock, wholeSegment } from "./segment_blocks.ts";

/** `ALLOCATION_UNIT_SIZE` */
const UNIT = 512;
/** `cudaMalloc` requests of an allocation. */
const ATTEMPTS = 3;

interface Chunk {
  readonly part: SegmentBlock;
}

class CupyPool extends ModelAllocator<Chunk> {
  readonly #free = new FreeBlocks();

  constructor(device: ModelDevice) {
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
      this.#free.releaseSegments(this.device);
      this.device.retries++;
    }
  }
}

/** CuPy's default pool. */
export const CUPY: ModelPolicy = modelPolicy(
  "cupy",
  "CuPy's MemoryPool",
  (device) => new CupyPool(device),
);
