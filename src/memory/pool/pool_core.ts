/**
 * A pool without a device: settings, engine and ladder together, over any upstream.
 *
 * @module
 */

import { giveBackAfterFailure } from "../../ffi/give_back.ts";
import { frees } from "../allocation.ts";
import {
  type BlockTable,
  CACHED,
  FREE,
  LIVE,
  NEXT,
  OWNER,
  PENDING,
  UNIT,
  UNMAPPED,
} from "./block_table.ts";
import type { BlockTracker } from "./block_tracker.ts";
import { GraphMemory, type MemoryGraph } from "./graph_memory.ts";
import type { GuardedBlocks } from "./guarded_blocks.ts";
import type { LeakOptions, LeakReport } from "./leak_report.ts";
import type { AllocationSites } from "./allocation_sites.ts";
import { addressOf } from "./live_blocks.ts";
import { REQUESTED_BYTES } from "./pool_counters.ts";
import type { PoolObserver } from "./pool_observer.ts";
import type { StreamNames } from "./stream_names.ts";
import type { MemoryStream, MemoryUpstream } from "./memory_upstream.ts";
import { PoolEngine } from "./pool_engine.ts";
import { PoolMonitor } from "./pool_monitor.ts";
import type { PoolSettings } from "./pool_options.ts";
import { PoolRequests } from "./pool_requests.ts";
import { largestFree, type PoolStatistics, poolStatistics } from "./pool_statistics.ts";
import { PoolTrimming } from "./pool_trimming.ts";
import { LARGE } from "./segment.ts";
import { WithdrawnBlocks } from "./withdrawn_blocks.ts";

// A constant of this module is known to the JIT; what it imports is looked up at every use.
const returns = frees;

/** What a pool holds on to while it is used. */
export interface PoolLifetime {
  /** Called when the first block becomes live. */
  retain(): void;
  /** Called when the last is freed. */
  release(): void;
}

const STATES = {
  [LIVE]: "live",
  [CACHED]: "cached",
  [FREE]: "free",
  [PENDING]: "pending",
  [UNMAPPED]: "unmapped",
} as Readonly<Record<number, BlockView["state"]>>;

/** A block of a pool. */
export interface BlockView {
  /** Its number. */
  readonly number: number;
  /** Its address. */
  readonly address: number;
  /** Its size in bytes. */
  readonly bytes: number;
  /** The bytes that were requested, if it is live. */
  readonly requested: number;
  /** Its state. */
  readonly state: "live" | "cached" | "free" | "pending" | "unmapped";
  /** The stream that owns it; `undefined` if any stream may have it. */
  readonly stream: MemoryStream | undefined;
}

/** A segment of a pool. */
export interface SegmentView {
  /** Its first address. */
  readonly address: number;
  /** Its size in bytes. */
  readonly bytes: number;
  /** One allocation, or a range of addresses in which memory is mapped. */
  readonly kind: "plain" | "virtual";
  /** The requests that it serves. */
  readonly purpose: "small" | "large" | "graph";
  /** Its blocks, by address. */
  readonly blocks: Iterable<BlockView>;
}

/** A pool of memory, by block numbers; 0 is the block of an empty buffer. */
export class PoolCore {
  /** What it was told. */
  readonly settings: PoolSettings;
  /** What does the work. */
  readonly engine: PoolEngine;
  /** What was freed by its address. */
  readonly withdrawn: WithdrawnBlocks = new WithdrawnBlocks();
  /** Who watches it. */
  readonly monitor: PoolMonitor;
  /** What is known of its blocks; `undefined` where memory is not tracked. */
  readonly tracker: BlockTracker | undefined;
  readonly #table: BlockTable;
  readonly #upstream: MemoryUpstream;
  readonly #lifetime: PoolLifetime | undefined;
  readonly #requests: PoolRequests;
  readonly #graphs: GraphMemory;
  readonly #trimming: PoolTrimming;
  readonly #closers: (() => void)[] = [];
  #closed = false;
  readonly #guarded: GuardedBlocks | undefined;
  /** Whether requests are not simply the engine's: closed, in debug mode, or more aligned. */
  #isUnusual: boolean;

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
    this.#table = this.engine.table;
    this.monitor = new PoolMonitor(this.engine, settings);
    this.tracker = this.monitor.tracker;
    this.#guarded = this.monitor.guarded;
    this.#isUnusual = this.#guarded !== undefined || settings.alignment > UNIT;
    this.#requests = new PoolRequests(
      this.engine,
      settings,
      this.monitor,
      (stream) => this.#requireUsable(stream),
    );
    this.#graphs = new GraphMemory(this.engine, lifetime);
    this.#trimming = new PoolTrimming({
      engine: this.engine,
      graphs: this.#graphs,
      guarded: this.#guarded,
      onWait: () => this.#requests.noteWait(),
    });
    this.engine.onExcess = (bytes) => this.#trimming.shed(bytes);
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
   * @param alignment What its address is a multiple of; 0 for what the settings say.
   * @throws {OutOfMemoryError} If there is no memory.
   * @throws {MemoryCorruptionError} If debug mode has found something while it made room.
   */
  take(bytes: number, stream: MemoryStream, alignment = 0): number {
    if (this.#isUnusual === true) {
      return this.#takeUnusually(bytes, stream, alignment || this.settings.alignment);
    }
    if (bytes === 0) return this.#takeNothing();
    if (alignment > UNIT) return this.#requests.take(bytes, stream, alignment);
    const block = this.engine.take(bytes, stream);
    if (block !== 0) return block;
    throw this.#requests.outOfMemory(bytes);
  }

  /** The twin of {@linkcode PoolCore.take} that never blocks the event loop. */
  async takeAsync(
    bytes: number,
    stream: MemoryStream,
    alignment: number = this.settings.alignment,
  ): Promise<number> {
    if (this.#closed) throw this.#closedError();
    if (bytes === 0) return this.#takeNothing();
    return await this.#requests.takeAsync(bytes, stream, alignment);
  }

  /** The address of a live block; 0 for that of an empty buffer. */
  addressOf(block: number): number {
    // The record of block 0 is nobody's, and its address 0.
    return this.#guarded === undefined || block === 0
      ? this.#table.address(block)
      : addressOf(this.engine, block);
  }

  /** Says that another stream uses a live block. */
  use(block: number, stream: MemoryStream): void {
    this.engine.use(block, stream);
  }

  /** Registers what is to happen when the pool is closed. */
  onClose(close: () => void): void {
    this.#closers.push(close);
  }

  /**
   * Frees a block that {@linkcode PoolCore.take} gave.
   *
   * @throws {MemoryCorruptionError} If debug mode finds something; the block is freed all the same.
   */
  give(block: number): void {
    returns.count++;
    if (block === 0) this.#giveNothing();
    else if (this.#guarded === undefined) this.engine.give(block);
    else this.#guarded.give(block);
  }

  /** Takes memory from the device in advance, for large requests. */
  preallocate(bytes: number): void {
    const { space } = this.engine.streams;
    const units = Math.ceil(bytes / UNIT);
    if (!space.grow(LARGE, units, space.common, 0)) throw this.#requests.outOfMemory(bytes);
    this.engine.counters.recount();
  }

  /**
   * What is live, since when, and who allocated it. Makes no native call.
   *
   * @throws {TypeError} If a threshold is given and the pool does not track memory.
   * @throws {RangeError} If the threshold is out of range.
   */
  checkLeaks(options: LeakOptions = {}): LeakReport {
    return this.monitor.checkLeaks(options);
  }

  /**
   * Looks for writes outside of buffers and after their freeing, and waits for the streams.
   *
   * @returns How many buffers were looked at.
   * @throws {MemoryCorruptionError} If there were any.
   * @throws {TypeError} If the pool is not in debug mode, or a stream is being captured.
   */
  checkMemory(): number {
    return this.monitor.checkMemory();
  }

  /** The segments of the pool and their blocks, by address within a segment. */
  *segments(): Generator<SegmentView> {
    const { streams } = this.engine;
    for (const space of streams.spaces()) {
      for (const { address, bytes, pieces, kind, firstBlock } of space.segments) {
        yield {
          address,
          bytes,
          kind: pieces === undefined ? "plain" : "virtual",
          purpose: space !== streams.space ? "graph" : kind === LARGE ? "large" : "small",
          blocks: this.#blocksFrom(firstBlock),
        };
      }
    }
  }

  /** The stream that owns a block; `undefined` for one that any stream may have. */
  ownerOf(block: number): MemoryStream | undefined {
    return this.engine.streams.slot(this.#table.field(block, OWNER)).stream;
  }

  /** The streams that the pool has seen and not forgotten. */
  *streamsSeen(): Generator<MemoryStream> {
    for (const { stream } of this.engine.streams.slots()) if (stream !== undefined) yield stream;
  }

  /** Notifies an observer of every event until the returned function is called. */
  observe(observer: PoolObserver): () => void {
    return this.monitor.addObserver(observer);
  }

  /** The block records. */
  get table(): BlockTable {
    return this.#table;
  }

  /** The source of memory. */
  get upstream(): MemoryUpstream {
    return this.#upstream;
  }

  /** Captured stacks. */
  get sites(): AllocationSites {
    return this.monitor.sites;
  }

  /** Numbers and names of streams. */
  get names(): StreamNames {
    return this.monitor.names;
  }

  /** Bytes that live blocks were requested with. */
  get requestedBytes(): number {
    return this.engine.counters.current(REQUESTED_BYTES);
  }

  /** Bytes taken from the device. */
  get reservedBytes(): number {
    return this.engine.reservedBytes;
  }

  /** Bytes of the largest free block. */
  largestFree(): number {
    return largestFree(this.engine);
  }

  /** What the pool counts, and how its memory is divided. Makes no native call. */
  stats(): PoolStatistics {
    return poolStatistics(this.engine);
  }

  /** Makes peaks and totals begin anew; what is live stays counted. */
  resetStats(): void {
    this.engine.refreshCounters();
    this.engine.counters.reset();
    this.#guarded?.notePeaks();
  }

  /**
   * Gives all free memory back that no stream uses, without waiting.
   *
   * @returns How many bytes it was.
   */
  trim(): number {
    return this.#trimming.trim();
  }

  /** The same after waiting, without blocking the event loop, for what streams still use. */
  async trimAsync(): Promise<number> {
    return await this.#trimming.trimAsync();
  }

  /** Waits, blocking this thread, until no stream uses freed memory any more. */
  settleSync(): void {
    this.#trimming.settleSync();
  }

  /**
   * Gives back what was freed this many ticks of the clock ago or earlier.
   *
   * @returns How many bytes it was.
   */
  expire(ticks: number): number {
    return this.#trimming.expire(ticks);
  }

  /**
   * Ends a capture: the memory that was allocated in it stays for its graph, as long as that
   * lives; where the capture has failed, it goes.
   */
  endCapture(token: object, graph: MemoryGraph | undefined): void {
    this.#graphs.endCapture(token, graph);
  }

  /**
   * Gives everything back, once nothing is live any more. Waits, blocking this thread, for the
   * streams; those of a lost device do nothing any more.
   *
   * @throws {TypeError} If a stream is being captured, when nobody may wait.
   */
  close(): void {
    this.#requireNoCapture();
    this.#closed = true;
    this.#isUnusual = true;
    try {
      this.monitor.end();
    } finally {
      this.#end();
    }
  }

  *#blocksFrom(first: number): Generator<BlockView> {
    const table = this.#table;
    for (let block = first; block !== 0; block = table.field(block, NEXT)) {
      const state = STATES[table.state(block)]!;
      yield {
        number: block,
        address: table.address(block),
        bytes: table.units(block) * UNIT,
        requested: table.requested(block),
        state,
        stream: state === "unmapped" ? undefined : this.ownerOf(block),
      };
    }
  }

  #requireNoCapture(): void {
    const { capturing, lost, label } = this.#upstream;
    if (!capturing || lost || this.engine.reservedBytes === 0) return;
    throw new TypeError(
      `Cannot dispose of the memory of ${label} while a stream is being captured: do it afterwards`,
    );
  }

  #end(): void {
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

  #takeUnusually(bytes: number, stream: MemoryStream, alignment: number): number {
    if (this.#closed) throw this.#closedError();
    if (bytes === 0) return this.#takeNothing();
    return this.#requests.take(bytes, stream, alignment);
  }

  #requireUsable(stream: MemoryStream): void {
    if (this.#closed) throw this.#closedError();
    if (stream.disposed) {
      throw new TypeError("Cannot allocate memory as the stream was disposed meanwhile");
    }
  }
}
