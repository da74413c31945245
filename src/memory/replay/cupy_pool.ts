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

import { OrderedSet } from "./ordered_set.ts";
import { ReplayDevice } from "./replay_device.ts";
import {
  paddedForAlignment,
  type ReplayAllocator,
  type ReplayPolicy,
  type ReplaySegment,
} from "./replay_policy.ts";
import {
  absorbBlock,
  compareAddresses,
  describeSegments,
  isSplit,
  type SegmentBlock,
  splitBlock,
  wholeSegment,
} from "./segment_block.ts";

/** `ALLOCATION_UNIT_SIZE` */
const UNIT = 512;
/** How often `cudaMalloc` is asked for the same. */
const ATTEMPTS = 3;

class CupyPool implements ReplayAllocator {
  readonly #device: ReplayDevice;
  /** Free chunks by size, by stream. */
  readonly #arenas = new Map<number, OrderedSet<SegmentBlock>>();
  readonly #live = new Map<number, SegmentBlock>();
  readonly #empty = new Set<number>();
  #taken = 0;
  #retries = 0;

  constructor(device: ReplayDevice) {
    this.#device = device;
  }

  get reservedBytes(): number {
    return this.#device.reservedBytes;
  }

  get upstreamCalls(): number {
    return this.#device.calls;
  }

  get retries(): number {
    return this.#retries;
  }

  allocate(
    block: number,
    bytes: number,
    stream: number,
    alignment: number | undefined,
  ): boolean {
    if (bytes === 0) {
      this.#empty.add(block);
      return true;
    }
    const size = Math.ceil(paddedForAlignment(bytes, alignment, UNIT) / UNIT) * UNIT;
    const chunk = this.#cached(size, stream) ?? this.#grow(size, stream);
    if (chunk === undefined) return false;
    chunk.state = "live";
    chunk.owner = block;
    this.#live.set(block, chunk);
    return true;
  }

  free(block: number): void {
    if (this.#empty.delete(block)) return;
    const chunk = this.#live.get(block)!;
    this.#live.delete(block);
    const arena = this.#arena(chunk.stream);
    chunk.state = "free";
    for (const neighbour of [chunk.previous, chunk.next]) {
      if (neighbour === undefined || !arena.delete(neighbour)) continue;
      absorbBlock(neighbour, chunk);
    }
    arena.insert(chunk);
  }

  use(): void {}

  synchronize(): void {}

  dispose(): void {}

  segments(): ReplaySegment[] {
    const free = [...this.#arenas.values()].flatMap((arena) => arena.toArray());
    return describeSegments([...this.#live.values(), ...free]);
  }

  #arena(stream: number): OrderedSet<SegmentBlock> {
    let arena = this.#arenas.get(stream);
    if (arena === undefined) {
      arena = new OrderedSet((left, right) =>
        left.bytes - right.bytes || compareAddresses(left, right)
      );
      this.#arenas.set(stream, arena);
    }
    return arena;
  }

  #cached(size: number, stream: number): SegmentBlock | undefined {
    const arena = this.#arena(stream);
    const chunk = arena.at(arena.firstPosition(({ bytes }) => bytes >= size));
    if (chunk === undefined) return undefined;
    arena.delete(chunk);
    if (chunk.bytes > size) arena.insert(splitBlock(chunk, size));
    return chunk;
  }

  #grow(size: number, stream: number): SegmentBlock | undefined {
    for (let attempt = 1; !this.#device.take(size); attempt++) {
      if (attempt === ATTEMPTS) return undefined;
      this.#releaseAll();
      this.#retries++;
    }
    return wholeSegment({ order: this.#taken++, bytes: size }, stream, "free");
  }

  #releaseAll(): void {
    for (const arena of this.#arenas.values()) {
      for (const chunk of arena.toArray()) {
        if (isSplit(chunk)) continue;
        arena.delete(chunk);
        this.#device.giveBack(chunk.bytes);
      }
    }
  }
}

/** CuPy's default pool. */
export const CUPY: ReplayPolicy = {
  name: "cupy",
  description: "CuPy's MemoryPool (model)",
  isModel: true,
  create: ({ capacityBytes }) => new CupyPool(new ReplayDevice(capacityBytes)),
};
