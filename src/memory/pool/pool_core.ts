/**
 * A pool without a device: settings, engine and ladder together, over any upstream.
 *
 * @module
 */

import { type AllocationSite, OutOfMemoryError } from "../../ffi/cuda_error.ts";
import { giveBackAfterFailure } from "../../ffi/give_back.ts";
import { AllocationLadder } from "./allocation_ladder.ts";
import { UNIT } from "./block_table.ts";
import type { MemorySpace } from "./memory_space.ts";
import type { MemoryStream, MemoryUpstream } from "./memory_upstream.ts";
import { REQUESTED_BYTES, RESERVED_BYTES } from "./pool_counters.ts";
import { type BlockRequest, PoolEngine } from "./pool_engine.ts";
import type { PoolSettings } from "./pool_options.ts";
import { type PoolStatistics, poolStatistics } from "./pool_statistics.ts";
import { LARGE } from "./segment.ts";
import { WithdrawnBlocks } from "./withdrawn_blocks.ts";

/** A graph, as far as memory is concerned. A `Graph` is one. */
export interface MemoryGraph {
  /** Registers what is to happen when it goes; told of the streams whose work may still use it. */
  onDispose(close: (streams: Iterable<MemoryStream>) => void): void;
}

/** What a pool holds on to while it is used. */
export interface PoolLifetime {
  /** Called when the first block becomes live. */
  retain(): void;
  /** Called when the last is freed. */
  release(): void;
}

/** What the status of CUDA for "no memory" is. */
const MEMORY_ALLOCATION = 2;

/** A pool of memory, by block numbers; 0 is the block of an empty buffer. */
export class PoolCore {
  /** What it was told. */
  readonly settings: PoolSettings;
  /** What does the work. */
  readonly engine: PoolEngine;
  /** What was freed by its address. */
  readonly withdrawn: WithdrawnBlocks = new WithdrawnBlocks();
  /** Who holds the most memory, where that is tracked. */
  topSites: () => readonly AllocationSite[] = () => [];
  readonly #upstream: MemoryUpstream;
  readonly #lifetime: PoolLifetime | undefined;
  readonly #ladder: AllocationLadder;
  readonly #graphSpaces = new Set<MemorySpace>();
  readonly #closers: (() => void)[] = [];
  #mayWait = true;
  #missed: BlockRequest | undefined;
  #trims = false;
  #closed = false;

  /** A pool without memory, but for what its settings preallocate. */
  constructor(upstream: MemoryUpstream, settings: PoolSettings, lifetime?: PoolLifetime) {
    this.settings = settings;
    this.#upstream = upstream;
    this.#lifetime = lifetime;
    this.engine = new PoolEngine({
      upstream,
      virtualMemory: settings.virtualMemory,
      maxCachedBuffers: settings.maxCachedBuffers,
      maxCachedBytes: settings.maxCachedBytes,
      onUse: (isInUse) => isInUse ? lifetime?.retain() : lifetime?.release(),
    });
    this.engine.onMiss = (request) => this.#serve(request);
    this.engine.onExcess = () => this.#shed();
    this.#ladder = new AllocationLadder(this.engine, {
      virtualMemory: settings.virtualMemory && upstream.granularity > 0,
      limitBytes: settings.limitBytes,
      reclaimShare: settings.reclaimShare,
      refuseShare: settings.refuseShare,
      onPressure: (request) => this.#askProgram(request),
    });
    if (settings.initialBytes > 0) this.#begin(settings.initialBytes);
  }

  /** Whether the pool gives no memory any more. */
  get closed(): boolean {
    return this.#closed;
  }

  /**
   * A block of at least this many bytes.
   *
   * @param bytes An integer; 0 gives block 0, which has no address.
   * @throws {OutOfMemoryError} If there is no memory.
   */
  take(bytes: number, stream: MemoryStream, alignment: number = this.settings.alignment): number {
    if (this.#closed) throw this.#closedError();
    if (bytes === 0) return this.#takeNothing();
    const block = alignment <= UNIT
      ? this.engine.take(bytes, stream)
      : this.engine.takeAligned(bytes, stream, alignment);
    if (block !== 0) return block;
    throw this.#outOfMemory(bytes);
  }

  /** The twin of {@linkcode PoolCore.take} that never blocks the event loop. */
  async takeAsync(
    bytes: number,
    stream: MemoryStream,
    alignment: number = this.settings.alignment,
  ): Promise<number> {
    if (this.#closed) throw this.#closedError();
    if (bytes === 0) return this.#takeNothing();
    const block = this.#takeWithoutWaiting(bytes, stream, alignment);
    if (block !== 0) return block;
    const request = this.#missed!;
    const climb = this.#ladder.climb(request);
    for (let step = climb.next();; step = climb.next()) {
      if (step.done) {
        if (step.value === 0) throw this.#outOfMemory(bytes);
        return this.engine.finish(step.value, request);
      }
      this.#noteWait();
      await this.#upstream.wait(step.value.event);
      this.#requireUsable(stream);
    }
  }

  /** The address of a live block; 0 for that of an empty buffer. */
  addressOf(block: number): number {
    return block === 0 ? 0 : this.engine.table.address(block);
  }

  /** Says that another stream uses a live block. */
  use(block: number, stream: MemoryStream): void {
    this.engine.use(block, stream);
  }

  /** Registers what is to happen when the pool is closed. */
  onClose(close: () => void): void {
    this.#closers.push(close);
  }

  /** Frees a block that {@linkcode PoolCore.take} gave. */
  give(block: number): void {
    if (block === 0) this.#giveNothing();
    else this.engine.give(block);
  }

  /** Takes memory from the device in advance, for large requests. */
  preallocate(bytes: number): void {
    const { space } = this.engine.streams;
    const units = Math.ceil(bytes / UNIT);
    if (!space.grow(LARGE, units, space.common, 0)) throw this.#outOfMemory(bytes);
    this.engine.counters.recount();
  }

  /** What the pool counts, and how its memory is divided. Makes no native call. */
  statistics(): PoolStatistics {
    return poolStatistics(this.engine);
  }

  /** Makes peaks and totals begin anew; what is live stays counted. */
  resetStatistics(): void {
    this.engine.counters.refreshActive();
    this.engine.counters.refreshInactive();
    this.engine.counters.reset();
  }

  /**
   * Gives all free memory back that no stream uses, without waiting.
   *
   * @returns How many bytes it was.
   */
  trim(): number {
    const { streams } = this.engine;
    streams.settle();
    let bytes = 0;
    for (const space of streams.spaces()) {
      if (!this.#graphSpaces.has(space)) bytes += space.reclaim(Infinity);
    }
    this.engine.counters.recount();
    return bytes;
  }

  /** The same after waiting, without blocking the event loop, for what streams still use. */
  async trimAsync(): Promise<number> {
    let bytes = this.trim();
    // Twice, as what one stream waited for may be another's. What is freed meanwhile can wait.
    for (let round = 0; round < 2; round++) {
      for (const mark of this.engine.streams.marks()) {
        await this.#upstream.wait(mark.event);
        bytes += this.trim();
      }
    }
    return bytes;
  }

  /** Waits, blocking this thread, until no stream uses freed memory any more. */
  settleSync(): void {
    const { streams } = this.engine;
    streams.settle();
    // What one stream waited for may be another's, which then has to be waited for as well.
    for (let marks = streams.marks(); marks.length > 0; marks = streams.marks()) {
      for (const mark of marks) {
        this.#noteWait();
        this.#upstream.waitSync(mark.event);
      }
      streams.settle();
    }
    this.engine.counters.recount();
  }

  /**
   * Gives back what was freed this many ticks of the clock ago or earlier.
   *
   * @returns How many bytes it was.
   */
  expire(ticks: number): number {
    const { engine } = this;
    const { streams } = engine;
    streams.settle();
    const bytes = streams.space.reclaimOld(engine.tick - ticks);
    engine.counters.count("expired", bytes);
    engine.counters.recount();
    return bytes;
  }

  /**
   * Ends a capture: the memory that was allocated in it stays for its graph, as long as that
   * lives; where the capture has failed, it goes.
   */
  endCapture(token: object, graph: MemoryGraph | undefined): void {
    const space = this.engine.streams.endCapture(token);
    if (space === undefined) return;
    if (graph === undefined) return this.#retireSpace(space, []);
    this.#graphSpaces.add(space);
    // A graph uses the pool as a buffer does.
    this.#lifetime?.retain();
    graph.onDispose((streams) => this.#retireGraphSpace(space, streams));
  }

  /**
   * Gives everything back, once nothing is live any more. Waits, blocking this thread, for the
   * streams; those of a lost device do nothing any more.
   */
  close(): void {
    this.#closed = true;
    try {
      this.#giveEverythingBack();
    } catch (error) {
      if (!this.#upstream.lost) throw error;
      // The loss has been heard of, so that the rest goes without another word of it.
      this.#giveEverythingBack();
      throw error;
    }
  }

  #giveEverythingBack(): void {
    const { streams } = this.engine;
    if (this.#upstream.lost) streams.abandon();
    else this.settleSync();
    for (const space of [...streams.spaces()]) {
      streams.releaseSpace(space);
      space.reclaim(Infinity);
      space.releaseAddresses();
    }
    streams.close();
    for (const close of this.#closers.splice(0)) close();
  }

  #retireGraphSpace(space: MemorySpace, streams: Iterable<MemoryStream>): void {
    // A graph whose end has failed tells of it again, and the space may be another's by then.
    if (!this.#graphSpaces.delete(space)) return;
    try {
      this.#retireSpace(space, streams);
    } finally {
      this.#lifetime?.release();
    }
  }

  /** A space goes when the streams that its graph was launched on have got this far. */
  #retireSpace(space: MemorySpace, streams: Iterable<MemoryStream>): void {
    this.engine.streams.retireSpace(space, streams);
    if (!this.#upstream.capturing && !this.#upstream.lost) this.engine.streams.settle();
    this.engine.counters.recount();
  }

  /** Takes the first memory; a pool that cannot have it leaves nothing behind. */
  #begin(bytes: number): void {
    try {
      this.preallocate(bytes);
    } catch (error) {
      giveBackAfterFailure({ [Symbol.dispose]: () => this.close() });
      throw error;
    }
  }

  #closedError(): TypeError {
    return new TypeError(
      `Cannot allocate memory as the pool of ${this.#upstream.label} is disposed`,
    );
  }

  #takeNothing(): 0 {
    this.#lifetime?.retain();
    this.engine.counters.count("emptyAllocations");
    return 0;
  }

  #giveNothing(): void {
    this.engine.counters.count("emptyFrees");
    this.#lifetime?.release();
  }

  #takeWithoutWaiting(bytes: number, stream: MemoryStream, alignment: number): number {
    this.#mayWait = false;
    try {
      return alignment <= UNIT
        ? this.engine.take(bytes, stream)
        : this.engine.takeAligned(bytes, stream, alignment);
    } finally {
      this.#mayWait = true;
    }
  }

  #serve(request: BlockRequest): number {
    const found = this.#ladder.find(request);
    this.engine.counters.recount();
    if (found !== 0) return found;
    if (!this.#mayWait) {
      this.#missed = request;
      return 0;
    }
    const climb = this.#ladder.climb(request);
    for (let step = climb.next();; step = climb.next()) {
      if (step.done) return step.value;
      this.#noteWait();
      this.#upstream.waitSync(step.value.event);
    }
  }

  #noteWait(): void {
    this.engine.counters.count("syncs");
    this.engine.observer?.waited();
  }

  #requireUsable(stream: MemoryStream): void {
    if (this.#closed) throw this.#closedError();
    if (stream.disposed) {
      throw new TypeError("Cannot allocate memory as the stream was disposed meanwhile");
    }
  }

  /** Gives back what is more than the pool may keep, or what others asked for. */
  #shed(): void {
    if (this.#trims || this.#upstream.capturing || this.#upstream.lost) return;
    this.#trims = true;
    try {
      this.trim();
    } finally {
      this.#trims = false;
    }
  }

  #askProgram(request: BlockRequest): boolean {
    const { onMemoryPressure, limitBytes } = this.settings;
    if (onMemoryPressure === undefined) return false;
    const { counters } = this.engine;
    const { pending } = this.statistics();
    return onMemoryPressure({
      device: this.#upstream.label,
      requested: request.bytes,
      live: counters.current(REQUESTED_BYTES),
      reserved: counters.current(RESERVED_BYTES),
      pending,
      limit: limitBytes,
    });
  }

  #outOfMemory(bytes: number): OutOfMemoryError {
    const { engine } = this;
    engine.counters.count("outOfMemory");
    engine.observer?.failed(bytes);
    const statistics = this.statistics();
    return new OutOfMemoryError({
      code: MEMORY_ALLOCATION,
      action: `allocate ${bytes} bytes`,
      call: this.settings.virtualMemory ? "cuMemCreate" : "cudaMalloc",
      device: this.#upstream.label,
      requested: bytes,
      free: this.#freeBytes(),
      total: this.#upstream.totalBytes,
      largestBlock: statistics.largestFree,
      fragmentation: statistics.fragmentation.external,
      pendingBytes: statistics.pending,
      topSites: this.topSites(),
    });
  }

  /** What the device has left for this pool: within its limit, and as far as it can be asked. */
  #freeBytes(): number {
    const left = this.settings.limitBytes - this.engine.counters.current(RESERVED_BYTES);
    return Math.max(0, Math.min(left, this.#upstream.freeBytes()));
  }
}
