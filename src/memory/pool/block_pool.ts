/**
 * A pool of blocks over any source of memory. {@linkcode MemoryPool} is a pool over a device.
 *
 * Nearly every request is served by a cached block of its size class. Other requests take the steps
 * of `allocation_ladder.ts`.
 *
 * @module
 */

import { describeValue } from "../../ffi/describe_value.ts";
import { giveBackAfterFailure } from "../../ffi/give_back.ts";
import { AllocationLadder, type BlockRequest } from "./allocation_ladder.ts";
import { AllocationQueue, type AllocationWait } from "./allocation_queue.ts";
import { BlockTable, LARGE, LIVE, SMALL, UNIT } from "./block_table.ts";
import { AllocationSites, BlockTracker, StreamNames } from "./block_tracker.ts";
import { DroppedBuffers } from "./dropped_buffers.ts";
import { BlockCache, FreeBlocks } from "./free_blocks.ts";
import { MAX_SMALL } from "./free_index.ts";
import { GuardedBlocks } from "./guarded_blocks.ts";
import { outOfMemoryError, warnOfLeaks } from "./leak_report.ts";
import type { Segment } from "./memory_space.ts";
import type { MemoryStream, MemoryUpstream } from "./memory_upstream.ts";
import type { PoolObserver } from "./pool_observer.ts";
import type { PoolSettings } from "./pool_options.ts";
import { PoolCounters, type PoolStatistics } from "./pool_statistics.ts";
import { PoolStreams } from "./pool_streams.ts";
import { blockAt } from "./segment_walk.ts";
import type { StreamSlot } from "./stream_slots.ts";

/** Returning excess memory is tried again after this many more free bytes. */
const MIN_EXCESS = 2 * 2 ** 20;
const MAX_QUARANTINE = 64 * 2 ** 20; // Maximum bytes of freed memory that debug mode keeps from use

/** The owner of a pool, which must exist while the pool is in use. */
export interface PoolLifetime {
  retain(): void;
  /** Called when it is not used any more. */
  release(): void;
}

/** A pool of blocks, by number. Block 0 is that of empty buffers. */
export class BlockPool {
  readonly settings: PoolSettings;
  readonly upstream: MemoryUpstream;
  readonly table: BlockTable = new BlockTable();
  readonly heap: FreeBlocks = new FreeBlocks(this.table);
  readonly counters: PoolCounters = new PoolCounters(this.heap);
  readonly cache: BlockCache = new BlockCache(this.table, this.counters);
  readonly segmentTable: (Segment | undefined)[] = [];
  readonly streams: PoolStreams;
  readonly dropped: DroppedBuffers = new DroppedBuffers(this);
  readonly sites: AllocationSites;
  readonly names: StreamNames = new StreamNames();
  readonly tracker: BlockTracker | undefined;
  readonly guards: GuardedBlocks | undefined;
  /** The tick of the pool's clock; see `pool_expiry.ts`. */
  tick = 0;
  /** The time of the last task that freed a block or took memory; `Infinity` while it runs. */
  lastFreed: number = performance.now();
  /** The number of blocks freed by address, behind the back of their buffers. */
  addressFrees = 0;
  readonly #freedByAddress = new Map<number, number>();
  readonly #lifetime: PoolLifetime | undefined;
  readonly #ladder: AllocationLadder;
  readonly #queue = new AllocationQueue();
  readonly #limitsFree: boolean;
  readonly #closers: (() => void)[] = [];
  #observers: readonly PoolObserver[] = [];
  #isFollowed = false; // Whether an observer follows allocations and frees
  #closed = false;
  #isLost = false;
  #isAsking = false;
  #isShedding = false;
  #missed: BlockRequest | undefined;
  #lastStream: MemoryStream | undefined;
  #lastSlot = 0;
  #lastLarge = 0; // The large block allocated last, until another is allocated or freed
  #signal: number;
  /** The marks to reach before pending memory is returned to another isolate. */
  #awaited: readonly { slot: StreamSlot; epoch: number }[] | undefined;
  #isPressed = false;
  // The free bytes after the last attempt to return excess memory, and the frees before the next.
  #leftFree = 0;
  #patience = 0;

  /** A pool without memory, except for the initial size in its settings. */
  constructor(upstream: MemoryUpstream, settings: PoolSettings, lifetime?: PoolLifetime) {
    this.settings = settings;
    this.upstream = upstream;
    this.#lifetime = lifetime;
    this.#limitsFree = Number.isFinite(settings.maxCachedBytes);
    this.#signal = upstream.signal;
    const isVirtual = settings.virtualMemory && upstream.granularity > 0;
    this.streams = new PoolStreams(this, isVirtual);
    this.#ladder = new AllocationLadder(this, isVirtual, (request) => this.#onPressure(request));
    this.sites = new AllocationSites(settings.stackFrames);
    const { debug, enableMemoryTracking, maxCachedBytes, limitBytes, initialBytes } = settings;
    if (debug || enableMemoryTracking) {
      this.tracker = new BlockTracker(this);
      this.observe(this.tracker);
    }
    if (debug) {
      const maxHeld = Math.min(MAX_QUARANTINE, maxCachedBytes / 2, limitBytes / 16);
      this.guards = new GuardedBlocks(this, maxHeld);
      this.observe(this.guards);
    }
    if (initialBytes === 0) return;
    try {
      this.preallocate(initialBytes);
    } catch (error) {
      giveBackAfterFailure({ [Symbol.dispose]: () => this.close() });
      throw error;
    }
  }

  get closed(): boolean {
    return this.#closed;
  }

  get requestedBytes(): number {
    return this.counters.requestedBytes;
  }

  get reservedBytes(): number {
    return this.counters.reservedBytes;
  }

  /**
   * Allocates a block of at least this many bytes.
   *
   * @param bytes An integer; 0 gives block 0, which has no address.
   * @param alignment The alignment of the address; 0 for that of the settings.
   */
  allocate(bytes: number, stream: MemoryStream, alignment = 0): number {
    if (this.#closed) throw this.#closedError();
    if (bytes === 0) return this.#allocateEmpty();
    const aligned = alignment === 0 ? this.settings.alignment : alignment;
    const block = this.guards === undefined
      ? this.#take(bytes, stream, aligned) || this.#climb()
      : this.guards.allocate(
        bytes,
        aligned,
        (all) => this.#take(all, stream, aligned) || this.#climb(),
      );
    if (block !== 0) return block;
    throw this.#outOfMemory(bytes);
  }

  /** Allocates only what takes nothing from others and waits for nothing; 0 if there is no room. */
  tryAllocate(bytes: number, stream: MemoryStream): number {
    if (this.#closed) throw this.#closedError();
    const { alignment } = this.settings;
    const take = (all: number) => this.#take(all, stream, alignment);
    return this.guards === undefined ? take(bytes) : this.guards.allocate(bytes, alignment, take);
  }

  /** The twin of {@linkcode BlockPool.allocate} that never blocks the event loop. */
  async allocateAsync(
    bytes: number,
    stream: MemoryStream,
    alignment: number = this.settings.alignment,
    wait?: AllocationWait,
  ): Promise<number> {
    if (this.#closed) throw this.#closedError();
    if (bytes === 0) return this.#allocateEmpty();
    const attempt = () => this.#tryAllocateAsync(bytes, stream, alignment);
    if (wait === undefined) {
      const block = await attempt();
      if (block !== 0) return block;
      throw this.#outOfMemory(bytes);
    }
    const overhead = this.guards?.overheadFor(alignment) ?? 0;
    if (!this.#ladder.canFit(bytes + overhead, alignment)) throw this.#outOfMemory(bytes);
    return await this.#queue.take(
      async () => {
        this.#requireUsable(stream);
        const block = await attempt();
        return { block, isForeign: this.#ladder.refusedBy === "device" };
      },
      (block) => this.free(block),
      wait,
      (ahead) =>
        this.#outOfMemory(
          bytes,
          `no memory became free within ${wait.timeout} ms, with ${ahead} requests ahead`,
        ),
    );
  }

  async #tryAllocateAsync(
    bytes: number,
    stream: MemoryStream,
    alignment: number,
  ): Promise<number> {
    const guard = (attempt: (bytes: number) => number) =>
      this.guards === undefined ? attempt(bytes) : this.guards.allocate(bytes, alignment, attempt);
    const block = guard((all) => this.#take(all, stream, alignment));
    if (block !== 0) return block;
    const request = this.#missed!;
    const climb = this.#ladder.climb(request);
    for (let step = climb.next();; step = climb.next()) {
      if (step.done) {
        const found = step.value;
        return found === 0 ? 0 : guard(() => this.#finish(found, request));
      }
      this.#noteWait();
      await this.upstream.wait(step.value.event);
      this.#requireUsable(stream);
    }
  }

  addressOf(block: number): number {
    const front = this.guards === undefined ? 0 : this.guards.frontOf(block);
    return this.table.address(block) + front;
  }

  use(block: number, stream: MemoryStream): void {
    this.streams.use(block, stream);
    for (const observer of this.#observers) observer.used?.(block, stream);
  }

  free(block: number): void {
    if (block === 0) {
      this.counters.count("emptyFrees");
      this.release();
    } else if (this.guards !== undefined) this.guards.free(block);
    else this.freeUnguarded(block);
  }

  freeUnguarded(block: number): void {
    const { table, counters } = this;
    if (this.#isFollowed) { for (const observer of this.#observers) observer.freed?.(block); }
    if (this.lastFreed !== Infinity) this.#noteTime();
    const kind = table.kind(block);
    const bytes = table.bytes(block);
    const owner = table.owner(block);
    counters.noteFreed(kind, bytes, table.requested(block));
    table.stamp(block, this.streams.epochs[owner]!, this.tick);
    if (table.isUsedElsewhere(block)) {
      this.streams.freeUsed(block);
      counters.recount();
    } else if (!this.#keep(block, kind, owner, bytes)) {
      this.streams.release(block);
      counters.recount(kind);
    }
    if (this.#queue.length > 0) this.#queue.wake();
    if (this.#limitsFree || this.streams.severalStreams) this.#noteProgress(owner, bytes);
    else if (counters.liveBlocks === 0) this.release();
  }

  freeAddress(address: number): void {
    const refuse = (reason: string): RangeError => {
      const isAddress = Number.isSafeInteger(address) && address >= 0;
      return new RangeError(
        `Cannot free memory as address must be where a live buffer of this pool of ` +
          `${this.upstream.label} begins: it is ${
            isAddress ? `0x${address.toString(16)}` : address
          }${reason}`,
      );
    };
    if (address === 0) throw refuse(", which all empty buffers have: free the buffer itself");
    if (!Number.isSafeInteger(address) || address < 0) throw refuse("");
    const block = blockAt(this, address);
    if (block === 0) throw refuse(", where the pool has no memory");
    if (!this.isLive(block)) throw refuse(", which is free: it may be freed already");
    const begin = this.addressOf(block);
    if (address !== begin) {
      const inside = `inside of the buffer at 0x${begin.toString(16)}, ${address - begin} behind`;
      throw refuse(`, which is ${inside}`);
    }
    this.#freedByAddress.set(block, this.addressFrees++);
    this.dropped.forget(block);
    this.free(block);
  }

  /**
   * Whether the block of a buffer was freed by address.
   *
   * @param since {@linkcode addressFrees} when the buffer was made; earlier frees were of other
   * buffers with the same block number.
   */
  wasFreedByAddress(block: number, since: number): boolean {
    return (this.#freedByAddress.get(block) ?? -1) >= since;
  }

  isLive(block: number): boolean {
    return this.table.state(block) === LIVE;
  }

  ownerOf(block: number): MemoryStream | undefined {
    return this.streams.slot(this.table.owner(block)).stream;
  }

  largestFree(): number {
    return Math.max(this.cache.largestBytes(), this.largestDivisible());
  }

  /** Bytes of the largest free block outside of the cache. */
  largestDivisible(): number {
    let largest = 0;
    for (const slot of this.streams.slots()) {
      largest = Math.max(largest, this.table.bytes(this.heap.largest(slot.index)));
    }
    return largest;
  }

  /** Notifies an observer of every event until the returned function is called. */
  observe(observer: PoolObserver): () => void {
    this.#setObservers([...this.#observers, observer]);
    return () => this.#setObservers(this.#observers.filter((each) => each !== observer));
  }

  onClose(close: () => void): void {
    this.#closers.push(close);
  }

  stats(): PoolStatistics {
    return this.counters.statistics(this);
  }

  /** Takes memory from the device in advance, for large requests. */
  preallocate(bytes: number): void {
    const { space } = this.streams;
    const units = Math.ceil(bytes / UNIT);
    if (!space.grow(LARGE, units, space.common, 0)) {
      this.#ladder.refusedBy = "device";
      throw this.#outOfMemory(bytes);
    }
    this.counters.recount();
  }

  /** Returns all free memory that no stream uses, without waiting. The result is its size. */
  trim(): number {
    this.guards?.releaseHeld("clear the cache");
    this.streams.settle();
    return this.#reclaim(Infinity);
  }

  /** The same after waiting, without blocking the event loop, for streams that use free memory. */
  async trimAsync(): Promise<number> {
    let bytes = this.trim();
    // Twice, because memory that one stream finished with may be pending for another.
    for (let round = 0; round < 2; round++) {
      for (const mark of this.streams.marks()) {
        await this.upstream.wait(mark.event);
        bytes += this.trim();
      }
    }
    return bytes;
  }

  /** Returns memory that was freed this many ticks ago or earlier. The result is its size. */
  expire(ticks: number): number {
    this.streams.settle();
    const bytes = this.streams.space.reclaimOld(this.tick - ticks);
    this.counters.count("expired", bytes);
    this.counters.recount();
    return bytes;
  }

  /** Waits, blocking this thread, until no stream uses freed memory. */
  settleSync(): void {
    const { streams } = this;
    streams.settle();
    // Memory that one stream finished with may be pending for another.
    for (let marks = [...streams.marks()]; marks.length > 0; marks = [...streams.marks()]) {
      for (const mark of marks) {
        this.#noteWait();
        this.upstream.waitSync(mark.event);
      }
      streams.settle();
    }
    this.counters.recount();
  }

  /** Checks all blocks for corruption, waiting for the streams, and returns their number. */
  checkMemory(): number {
    if (this.guards !== undefined) return this.guards.check("check memory");
    throw new TypeError(
      `Cannot check memory as the pool of ${this.upstream.label} is not in debug mode: make it ` +
        "with debug: true",
    );
  }

  /**
   * Returns all memory, when no block is live any more. Waits for the streams, blocking this thread.
   */
  close(): void {
    const { capturing, lost, label } = this.upstream;
    if (capturing && !lost && this.reservedBytes > 0) {
      throw new TypeError(
        `Cannot dispose of the memory of ${label} while a stream is being captured: do it afterwards`,
      );
    }
    this.#closed = true;
    try {
      warnOfLeaks(this);
      this.guards?.close("dispose of the pool");
    } finally {
      this.#returnAll();
    }
  }

  /** Notes that the pool is used by something other than a live block. */
  retain(): void {
    this.#lifetime?.retain();
  }

  release(): void {
    this.#lifetime?.release();
  }

  noteReserved(kind: 0 | 1, bytes: number, address: number, isSegment: boolean): void {
    this.counters.noteReserved(kind, bytes, isSegment);
    this.#noteTime();
    for (const observer of this.#observers) observer.reserved?.(bytes, address);
  }

  /** Reading the time once per task costs less than at every free. */
  #noteTime(): void {
    this.lastFreed = Infinity;
    queueMicrotask(() => this.lastFreed = performance.now());
  }

  /** Forgets the stream of the last request, because its slot may have changed. */
  forgetStream(): void {
    this.#lastStream = undefined;
  }

  /** A block from the cache or the first steps of the ladder; 0 for none. */
  #take(bytes: number, stream: MemoryStream, alignment: number): number {
    if (stream !== this.#lastStream || this.upstream.signal !== this.#signal) this.#attend(stream);
    const block = alignment > UNIT ? 0 : this.#takeCached(bytes);
    if (block !== 0) {
      const kind = bytes <= MAX_SMALL ? SMALL : LARGE;
      this.counters.noteHit(kind, this.table.bytes(block));
      this.#noteLive(block, bytes, stream, UNIT);
      return block;
    }
    const request = this.#ladder.request(bytes, alignment, stream);
    const found = this.#ladder.find(request);
    if (found !== 0) return this.#finish(found, request);
    this.counters.recount();
    this.#missed = request;
    return 0;
  }

  #takeCached(bytes: number): number {
    const { cache } = this;
    if (bytes <= MAX_SMALL) return cache.takeSmall(this.#lastSlot, (bytes + UNIT - 1) >>> 9);
    this.#lastLarge = 0;
    const large = cache.large(this.#lastSlot);
    if (large === 0) return 0;
    if (this.table.units(large) !== Math.ceil(bytes / UNIT)) {
      this.streams.flush(this.streams.slot(this.#lastSlot), LARGE);
      return 0;
    }
    cache.setLarge(this.#lastSlot, 0);
    this.#lastLarge = large;
    return large;
  }

  /** Takes the slow steps of the ladder for the last request, blocking this thread. */
  #climb(): number {
    const request = this.#missed!;
    const climb = this.#ladder.climb(request);
    for (let step = climb.next();; step = climb.next()) {
      if (step.done) return step.value === 0 ? 0 : this.#finish(step.value, request);
      this.#noteWait();
      this.upstream.waitSync(step.value.event);
    }
  }

  #finish(block: number, { kind, bytes, alignment, stream, slot }: BlockRequest): number {
    this.table.setOwner(block, slot.index);
    if (alignment > UNIT) this.#lastLarge = 0;
    else if (kind === LARGE) this.#lastLarge = block;
    this.#noteLive(block, bytes, stream, alignment);
    this.counters.recount();
    return block;
  }

  #noteLive(block: number, bytes: number, stream: MemoryStream, alignment: number): void {
    const { table, counters } = this;
    const requested = this.guards === undefined ? bytes : bytes - this.guards.overhead;
    table.makeLive(block, requested);
    counters.noteAllocated(table.kind(block), table.bytes(block), requested);
    if (counters.liveBlocks === 1) this.retain();
    if (!this.#isFollowed) return;
    for (const observer of this.#observers) observer.allocated?.(block, stream, alignment);
  }

  /**
   * Keeps a freed block in the cache; whether it did. A large block is kept only if it was allocated
   * last: the next request of its size would get the same place anyway. Other large blocks would
   * stand in the way of a better fit.
   */
  #keep(block: number, kind: 0 | 1, owner: number, bytes: number): boolean {
    const { maxCachedBuffers, maxCachedBytes } = this.settings;
    const { cache, counters } = this;
    if (kind === SMALL) {
      if (this.#limitsFree && counters.cachedBytes(0) + bytes > maxCachedBytes) return false;
      if (!cache.putSmall(owner, block, maxCachedBuffers)) return false;
      counters.noteCached(kind, bytes);
    } else {
      const hadOther = this.streams.flush(this.streams.slot(owner), LARGE);
      const isLast = block === this.#lastLarge;
      this.#lastLarge = 0;
      if (!isLast || maxCachedBuffers === 0 || bytes > maxCachedBytes) return false;
      cache.setLarge(owner, block);
      counters.noteCached(kind, bytes);
      if (hadOther) counters.recount(kind);
    }
    return true;
  }

  /** Handles a change of the stream, a capture, or another isolate's request for memory. */
  #attend(stream: MemoryStream): void {
    if (this.upstream.signal !== this.#signal) this.#signal = this.#answerPressure();
    this.#lastSlot = this.streams.slotOf(stream).index;
    // During a capture streams may join it at any time.
    this.#lastStream = this.upstream.capturing ? undefined : stream;
  }

  /**
   * Returns free memory to another isolate that presses: at once if no stream uses it, and the rest
   * when the streams have done the work they have now, without waiting.
   *
   * @returns The signal that was answered; `NaN`, which equals none, while memory is still due.
   */
  #answerPressure(): number {
    const { upstream, streams } = this;
    const { signal } = upstream;
    // Any call to a lost device throws the error that it was lost to.
    if (upstream.lost) upstream.freeBytes();
    if (upstream.wasPressed()) {
      this.#isPressed = true;
      this.#awaited = undefined;
    }
    if (!this.#isPressed) return signal;
    if (upstream.capturing) return NaN;
    const isReached = this.#awaited?.every(({ slot, epoch }) => {
      streams.poll(slot);
      return slot.isClean(epoch);
    });
    if (isReached === false) return NaN;
    this.#shed(Infinity);
    this.#awaited = isReached ? [] : [...streams.slots()].flatMap((slot) => {
      const mark = slot.marks.at(-1);
      return mark === undefined ? [] : [{ slot, epoch: mark.epoch }];
    });
    this.#isPressed = this.#awaited.length > 0;
    return this.#isPressed ? NaN : signal;
  }

  /** After a free: marks the stream if it freed much, and returns excess memory. */
  #noteProgress(owner: number, bytes: number): void {
    try {
      if (this.streams.severalStreams) this.streams.noteFreed(owner, bytes);
      if (this.#limitsFree) this.#shedExcess();
    } finally {
      if (this.counters.liveBlocks === 0) this.release();
    }
  }

  #shedExcess(): void {
    const { counters, settings: { maxCachedBytes } } = this;
    const excess = counters.freeBytes - maxCachedBytes;
    if (excess <= 0) return;
    if (this.#patience-- > 0 && counters.freeBytes < this.#leftFree + MIN_EXCESS) return;
    this.#shed(excess);
    this.#leftFree = counters.freeBytes;
    // The attempt looked at every free block: if it was in vain, as many frees come before the next.
    const [small, large] = this.heap.blocks;
    this.#patience = this.#leftFree > maxCachedBytes ? small + large : 0;
  }

  /**
   * Returns this many free bytes, or all for `Infinity`. Small cached blocks are likely hits, and
   * join the rest only if that is not enough.
   */
  #shed(bytes: number): void {
    const { upstream, streams } = this;
    if (this.#isShedding || upstream.capturing || upstream.lost) return;
    this.#isShedding = true;
    try {
      let left = bytes;
      for (const kind of bytes === Infinity ? [undefined] : [LARGE, SMALL] as const) {
        streams.settle(undefined, kind);
        left -= this.#reclaim(left);
        if (left <= 0) break;
      }
    } finally {
      this.#isShedding = false;
    }
  }

  #reclaim(bytes: number): number {
    let returned = 0;
    for (const space of this.streams.returnableSpaces()) {
      if (returned < bytes) returned += space.reclaim(bytes - returned);
    }
    this.counters.recount();
    return returned;
  }

  /** Releases quarantined blocks, else calls the program; whether there may be room then. */
  #onPressure({ bytes, stream }: BlockRequest): boolean {
    if (this.guards?.releaseHeld("allocate a buffer")) return true;
    const { onMemoryPressure, limitBytes } = this.settings;
    // Allocations of the callback must not call it again.
    if (onMemoryPressure === undefined || this.#isAsking) return false;
    this.#isAsking = true;
    let hasFreed: boolean;
    try {
      hasFreed = onMemoryPressure({
        device: this.upstream.label,
        requested: bytes,
        live: this.requestedBytes,
        reserved: this.reservedBytes,
        pending: this.stats().pending,
        limit: limitBytes,
      });
    } finally {
      this.#isAsking = false;
    }
    if (typeof hasFreed !== "boolean") {
      throw new TypeError(
        `Cannot allocate memory as onMemoryPressure must return true or false at once: it has returned ${
          describeValue(hasFreed)
        }`,
      );
    }
    this.#requireUsable(stream);
    return hasFreed;
  }

  #outOfMemory(bytes: number, detail?: string): Error {
    this.counters.count("outOfMemory");
    for (const observer of this.#observers) observer.failed?.(bytes);
    return outOfMemoryError(this, bytes, this.#ladder.refusedBy, detail);
  }

  #noteWait(): void {
    this.counters.count("syncs");
    for (const observer of this.#observers) observer.waited?.();
  }

  #allocateEmpty(): 0 {
    this.retain();
    this.counters.count("emptyAllocations");
    return 0;
  }

  #requireUsable(stream: MemoryStream): void {
    if (this.#closed) throw this.#closedError();
    if (stream.disposed) {
      throw new TypeError("Cannot allocate memory as the stream was disposed meanwhile");
    }
  }

  #closedError(): TypeError {
    return new TypeError(
      `Cannot allocate memory as the pool of ${this.upstream.label} is disposed`,
    );
  }

  #setObservers(observers: readonly PoolObserver[]): void {
    this.#observers = observers;
    this.#isFollowed = observers.some(({ allocated, freed }) => allocated ?? freed);
  }

  #returnAll(): void {
    const { streams, upstream } = this;
    try {
      if (upstream.lost) streams.abandon();
      else this.settleSync();
      for (const space of [...streams.spaces()]) {
        streams.releaseSpace(space);
        space.reclaim(Infinity);
        space.releaseAddresses();
      }
      streams.close();
      for (const close of this.#closers.splice(0)) close();
    } catch (error) {
      // A loss is reported once; the rest is then released without errors.
      if (upstream.lost && !this.#isLost) {
        this.#isLost = true;
        this.#returnAll();
      }
      throw error;
    }
  }
}
