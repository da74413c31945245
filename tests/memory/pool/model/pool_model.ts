/**
 * A pool over a strict device, and the blocks that its user holds.
 *
 * Work is done only when the model says so, and the device throws when memory that unfinished work
 * uses is taken away or given to another stream.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import { OutOfMemoryError } from "../../../../src/ffi/cuda_error.ts";
import { type StrictStream, StrictUpstream } from "./strict_upstream.ts";
import { BlockPool } from "../../../../src/memory/pool/block_pool.ts";
import type { PoolSettings } from "../../../../src/memory/pool/pool_options.ts";
import type { PoolStatistics } from "../../../../src/memory/pool/pool_statistics.ts";
import { checkPool, type HeldBlock } from "./check_pool.ts";
import { type CapturedRange, ModelGraph } from "./model_graph.ts";
import { poolSettings } from "./pool_settings.ts";

/** What a modelled pool is like. Sizes are bytes. */
export interface PoolModelOptions {
  /** The device's memory. */
  readonly capacity: number;
  /** Granularity of its virtual memory; 0 for none. */
  readonly granularity: number;
  /** How many streams there are at first. */
  readonly streams: number;
  /** Settings besides those of `poolSettings()`; the limit is the capacity. */
  readonly settings?: Partial<PoolSettings>;
}

/** A block and its owner. */
export interface OwnedBlock extends HeldBlock {
  /** The stream it was allocated for. */
  readonly stream: StrictStream;
  /** The owner of its uses. */
  readonly owner: object;
}

interface RunningCapture {
  readonly token: object;
  readonly streams: readonly StrictStream[];
  readonly ranges: CapturedRange[];
}

const MICROTASKS = 64;

/** A pool, its device, and its user. */
export class PoolModel {
  readonly upstream: StrictUpstream;
  readonly core: BlockPool;
  readonly streams: StrictStream[] = [];
  readonly blocks: OwnedBlock[] = [];
  readonly graphs: ModelGraph[] = [];
  capture: RunningCapture | undefined;
  /** How many asynchronous allocations wait. */
  waiting = 0;
  /** How many blocks the callback for memory pressure may still free. */
  yields = 0;
  /** The retained uses of the pool. */
  holders = 0;
  /** Whether the device may refuse memory that it has, as a test has made it. */
  mayRefuse = false;
  /** What other programs use of the device. */
  occupied = 0;
  readonly #granularity: number;
  readonly #allStreams: StrictStream[] = [];
  #failure: unknown;
  /** The statistics from just before they were last reset. */
  #base: PoolStatistics | undefined;

  constructor({ capacity, granularity, streams, settings = {} }: PoolModelOptions) {
    this.#granularity = granularity;
    this.upstream = new StrictUpstream({
      capacity,
      granularity,
      completion: "explicit",
      strictFree: true,
    });
    const complete = poolSettings({
      limitBytes: capacity,
      virtualMemory: granularity > 0,
      onMemoryPressure: () => this.#yieldBlock(),
      ...settings,
    });
    this.core = new BlockPool(this.upstream, complete, {
      retain: () => void this.holders++,
      release: () => void this.holders--,
    });
    for (let count = 0; count < streams; count++) this.createStream();
  }

  createStream(): void {
    const stream = this.upstream.createStream();
    this.streams.push(stream);
    this.#allStreams.push(stream);
  }

  stream(pick: number): StrictStream {
    return this.streams[pick % this.streams.length]!;
  }

  block(pick: number): OwnedBlock {
    return this.blocks[pick % this.blocks.length]!;
  }

  /** Takes a block and enqueues work that uses it. */
  allocate(bytes: number, alignment: number, pick: number): void {
    const stream = this.stream(pick);
    try {
      this.#own(this.core.allocate(bytes, stream, alignment), bytes, alignment, stream);
    } catch (error) {
      this.#requireJustified(error, bytes, alignment);
    }
  }

  /** The same without blocking; it may wait for work that other operations complete. */
  async allocateAsync(bytes: number, alignment: number, pick: number): Promise<void> {
    const stream = this.stream(pick);
    this.waiting++;
    this.core.allocateAsync(bytes, stream, alignment)
      .then((block) => this.#own(block, bytes, alignment, stream))
      .catch((error) => {
        const isGone = error instanceof TypeError && stream.disposed;
        if (!isGone && !(error instanceof OutOfMemoryError)) this.#failure ??= error;
      })
      .finally(() => this.waiting--);
    await this.settle();
  }

  /** Lets everything happen that waits for nothing. */
  async settle(): Promise<void> {
    for (let count = 0; count < MICROTASKS; count++) await undefined;
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure;
  }

  free(block: OwnedBlock): void {
    this.blocks.splice(this.blocks.indexOf(block), 1);
    this.core.free(block.block);
  }

  /** Enqueues work on the block's own stream, which needs no declaration. */
  touch({ address, bytes, stream, owner }: OwnedBlock): void {
    if (stream.disposed || stream.captureToken !== undefined) return;
    this.upstream.use(address, bytes, stream, owner);
  }

  /**
   * Declares that another stream uses a block, and enqueues work that does; like every program,
   * this one has waited for the block's own stream before.
   */
  use({ block, address, bytes, stream: own, owner }: OwnedBlock, stream: StrictStream): void {
    this.core.use(block, stream);
    if (stream.captureToken !== undefined) return;
    if (stream !== own) this.upstream.complete(own);
    this.upstream.use(address, bytes, stream, owner);
  }

  disposeStream(pick: number): void {
    const stream = this.stream(pick);
    stream[Symbol.dispose]();
    this.streams.splice(this.streams.indexOf(stream), 1);
  }

  /** Does all work of a stream, which may be disposed. */
  async complete(pick: number): Promise<void> {
    this.upstream.complete(this.#allStreams[pick % this.#allStreams.length]!);
    await this.settle();
  }

  occupy(bytes: number): void {
    this.occupied = bytes;
    this.upstream.occupy(bytes);
  }

  beginCapture(streams: readonly StrictStream[]): void {
    const token = {};
    for (const stream of streams) stream.captureToken = token;
    this.capture = { token, streams, ranges: [] };
  }

  /** Ends the capture, with a graph or as a failed one. */
  endCapture(succeeds: boolean): void {
    const { token, streams, ranges } = this.capture!;
    this.capture = undefined;
    for (const stream of streams) stream.captureToken = undefined;
    const graph = new ModelGraph(this.upstream, ranges, token);
    this.core.streams.endCapture(token, succeeds ? graph : undefined);
    if (succeeds) this.graphs.push(graph);
  }

  disposeGraph(pick: number): void {
    const index = pick % this.graphs.length;
    this.graphs[index]![Symbol.dispose]();
    this.graphs.splice(index, 1);
  }

  resetStats(): void {
    this.#base = this.core.stats();
    this.core.counters.reset();
  }

  /** Throws what does not hold. */
  check(): void {
    checkPool(this.core, this.upstream, this.blocks, this.#base);
    const { allocationCount, deallocationCount } = this.core.stats();
    const before = this.#base?.allocation.all.current ?? 0;
    assertEquals(allocationCount - deallocationCount, this.blocks.length - before);
    const graphs = this.graphs.filter((graph) => graph.keepsMemory).length;
    assertEquals(this.holders, graphs + (this.blocks.length > 0 ? 1 : 0), "what holds the device");
  }

  /** Frees everything, does all work, and checks that nothing is left anywhere. */
  async finish(): Promise<void> {
    if (this.capture !== undefined) this.endCapture(true);
    this.occupy(0);
    for (const graph of this.graphs.splice(0)) graph[Symbol.dispose]();
    do {
      this.upstream.completeAll();
      await this.settle();
      for (const block of [...this.blocks]) this.free(block);
    } while (this.waiting > 0);
    // The last marks are work too.
    this.core.trim();
    this.upstream.completeAll();
    this.core.trim();
    this.check();
    this.#checkEmpty();
    this.core.close();
    const nothing = Object.fromEntries(Object.keys(this.upstream.tally).map((name) => [name, 0]));
    assertEquals(this.upstream.tally as unknown as Record<string, number>, nothing, "a leak");
  }

  #checkEmpty(): void {
    const { segmentTable, streams, table } = this.core;
    assertEquals(this.upstream.usedBytes, 0, "memory that nobody uses is not given back");
    const segments = segmentTable.filter((segment) => segment !== undefined);
    assertEquals(table.size, segments.length, "blocks have not joined");
    for (const [name, value] of Object.entries(this.core.stats())) {
      if (value?.all !== undefined) assertEquals(value.all.current, 0, name);
    }
    // What disposed streams and graphs had in the pool is forgotten; a stream that was never used
    // has nothing in it.
    assert([...streams.slots()].length <= this.streams.length + 1, "slots are left");
    assertEquals([...streams.spaces()].length, 1, "spaces are left");
  }

  #own(block: number, bytes: number, alignment: number, stream: StrictStream): void {
    const address = this.core.addressOf(block);
    const owner = this.capture !== undefined && stream.captureToken !== undefined
      ? this.capture.token
      : {};
    this.blocks.push({ block, address, bytes, alignment, stream, owner });
    if (stream.captureToken === undefined) this.upstream.use(address, bytes, stream, owner);
    else this.capture!.ranges.push({ address, bytes });
  }

  /** An allocation alone on the device must not fail. */
  #requireJustified(error: unknown, bytes: number, alignment: number): void {
    if (!(error instanceof OutOfMemoryError)) throw error;
    assertEquals(error.requested, bytes);
    const { limitBytes, refuseShare } = this.core.settings;
    const isAlone = this.blocks.length === 0 && this.graphs.length === 0 && !this.mayRefuse;
    if (!isAlone || this.upstream.capturing || refuseShare !== Infinity) return;
    const granule = this.#granularity || 2 ** 21;
    const needed = Math.ceil((bytes * 17 / 16 + 512 + alignment) / granule) * granule;
    const room = Math.min(limitBytes, this.upstream.totalBytes - this.occupied);
    assert(needed > room, `${bytes} bytes fit in ${room}: ${error.message}`);
  }

  #yieldBlock(): boolean {
    const block = this.blocks[0];
    if (block === undefined || this.yields === 0) return false;
    this.yields--;
    this.free(block);
    return true;
  }
}
