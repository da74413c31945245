/**
 * A pool over a model device that is used at random for long.
 *
 * The loop itself checks little, so that a hundred million operations take minutes: the device
 * throws when memory that unfinished work uses is taken away or given to another stream, and
 * {@linkcode PoolSoak.check} compares everything with a count from nothing now and then.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import { OutOfMemoryError } from "../../../../src/ffi/cuda_error.ts";
import { type StrictStream, StrictUpstream } from "../model/strict_upstream.ts";
import { BlockPool } from "../../../../src/memory/pool/block_pool.ts";
import type { PoolSettings } from "../../../../src/memory/pool/pool_options.ts";
import { checkPool } from "../model/check_pool.ts";
import { ModelGraph } from "../model/model_graph.ts";
import { poolSettings } from "../model/pool_settings.ts";
import { SeededRandom } from "../../../../bench/traces/seeded_random.ts";

const MEBIBYTE = 2 ** 20;
const CAPACITY = 512 * MEBIBYTE;
const STREAMS = 4;
const MOST_GRAPHS = 3;
/** Operations after which the number of live blocks goes where another number says. */
const PHASE = 20_000;

/** The subjects: kinds of memory and settings. */
export const SOAK_SUBJECTS: Readonly<
  Record<string, { granularity: number; settings?: Partial<PoolSettings> }>
> = {
  mapped: { granularity: 2 * MEBIBYTE },
  "small granules": { granularity: 65536 },
  plain: { granularity: 0 },
  "limited caches": {
    granularity: 2 * MEBIBYTE,
    settings: { maxCachedBytes: 64 * MEBIBYTE, maxCachedBuffers: 8 },
  },
};

interface SoakedBlock {
  readonly block: number;
  readonly address: number;
  readonly bytes: number;
  readonly alignment: number;
  readonly stream: StrictStream;
  /** The owner of its uses. */
  readonly owner: unknown;
}

/** A pool in use. */
export class PoolSoak {
  readonly #random: SeededRandom;
  readonly #upstream: StrictUpstream;
  readonly #core: BlockPool;
  readonly #streams: StrictStream[] = [];
  readonly #blocks: SoakedBlock[] = [];
  readonly #graphs: ModelGraph[] = [];
  #wanted = 500;
  #left = PHASE;
  #owners = 0;
  /** Requests that failed for want of memory. */
  outOfMemory = 0;

  /** A pool of one of {@linkcode SOAK_SUBJECTS}. */
  constructor(subject: string, seed: number) {
    const { granularity, settings } = SOAK_SUBJECTS[subject]!;
    this.#random = new SeededRandom(seed);
    this.#upstream = new StrictUpstream({
      capacity: CAPACITY,
      granularity,
      completion: "explicit",
      strictFree: true,
    });
    this.#core = new BlockPool(
      this.#upstream,
      poolSettings({ limitBytes: CAPACITY, virtualMemory: granularity > 0, ...settings }),
    );
    while (this.#streams.length < STREAMS) this.#streams.push(this.#upstream.createStream());
  }

  /** What the pool has counted. */
  get statistics(): ReturnType<BlockPool["stats"]> {
    return this.#core.stats();
  }

  /** Does this many operations. */
  run(operations: number): void {
    for (let count = 0; count < operations; count++) {
      if (--this.#left === 0) this.#beginPhase();
      const dice = this.#below(4096);
      if (dice >= 64) this.#allocateOrFree(dice);
      else if (dice >= 24) this.#useSome(dice);
      else if (dice >= 1) this.#complete();
      else this.#doSomethingRare();
    }
  }

  /** Throws what does not hold. */
  check(): void {
    checkPool(this.#core, this.#upstream, this.#blocks);
  }

  /** Frees everything, does all work, and checks that nothing is left anywhere. */
  finish(): void {
    for (const graph of this.#graphs.splice(0)) graph[Symbol.dispose]();
    while (this.#blocks.length > 0) this.#free(this.#blocks.length - 1);
    this.#core.trim();
    this.#upstream.completeAll();
    this.#core.trim();
    this.check();
    const { segmentTable, streams, table } = this.#core;
    const segments = segmentTable.filter((segment) => segment !== undefined);
    assertEquals(this.#upstream.usedBytes, 0, "memory that nobody uses is not given back");
    assertEquals(table.size, segments.length, "blocks have not joined");
    for (const [name, value] of Object.entries(this.#core.stats())) {
      if (value?.all !== undefined) assertEquals(value.all.current, 0, name);
    }
    assert([...streams.slots()].length <= STREAMS + 1, "slots are left");
    this.#core.close();
    const { tally } = this.#upstream;
    assertEquals(tally, { ...tally, reservations: 0, events: 0 });
  }

  #beginPhase(): void {
    this.#left = PHASE;
    this.#wanted = this.#below(2000);
  }

  #allocateOrFree(dice: number): void {
    // Two of three go towards the number that is wanted.
    const grows = (this.#blocks.length < this.#wanted) === (dice % 3 !== 0);
    if (!grows && this.#blocks.length > 0) this.#free(this.#below(this.#blocks.length));
    else this.#allocate(this.#stream(), (dice & 31) === 0);
  }

  #below(limit: number): number {
    return this.#random.integer(0, limit - 1);
  }

  #stream(): StrictStream {
    return this.#streams[this.#below(this.#streams.length)]!;
  }

  #size(): number {
    const dice = this.#below(64);
    if (dice < 52) return this.#random.logarithmic(1, 65536);
    return dice < 63
      ? this.#random.logarithmic(4096, 2 * MEBIBYTE)
      : this.#random.logarithmic(2 ** 20, 2 ** 24);
  }

  #allocate(stream: StrictStream, isAligned: boolean): void {
    const bytes = this.#size();
    const alignment = isAligned ? 512 << this.#below(13) : 512;
    let block: number;
    try {
      block = this.#core.allocate(bytes, stream, alignment);
    } catch (error) {
      if (!(error instanceof OutOfMemoryError)) throw error;
      this.outOfMemory++;
      for (let count = 0; count < 20 && this.#blocks.length > 0; count++) this.#free(0);
      return;
    }
    const address = this.#core.addressOf(block);
    assert(address % alignment === 0);
    const owner = stream.captureToken ?? ++this.#owners;
    this.#blocks.push({ block, address, bytes, alignment, stream, owner });
    if (this.#below(4) === 0) this.#touch(this.#blocks.length - 1);
  }

  #free(index: number): void {
    const { block } = this.#blocks[index]!;
    this.#blocks[index] = this.#blocks.at(-1)!;
    this.#blocks.pop();
    this.#core.free(block);
  }

  #touch(index: number): void {
    const { address, bytes, stream, owner } = this.#blocks[index]!;
    if (stream.disposed || stream.captureToken !== undefined) return;
    this.#upstream.use(address, bytes, stream, owner);
  }

  /** Work on a block's own stream, and on another that has waited for that. */
  #useSome(dice: number): void {
    if (this.#blocks.length === 0) return;
    const index = this.#below(this.#blocks.length);
    if ((dice & 1) === 0) return this.#touch(index);
    const stream = this.#stream();
    const { block, address, bytes, stream: own, owner } = this.#blocks[index]!;
    this.#core.use(block, stream);
    if (stream !== own) this.#upstream.complete(own);
    this.#upstream.use(address, bytes, stream, owner);
  }

  #complete(): void {
    this.#upstream.complete(this.#stream());
  }

  #doSomethingRare(): void {
    switch (this.#below(9)) {
      case 0:
        return void this.#core.trim();
      case 1:
        this.#core.tick++;
        return void this.#core.expire(1);
      case 2:
        return this.#replaceStream();
      case 3:
        return void this.#upstream.completeAll();
      case 4:
        return this.#capture();
      case 5:
        return this.#launch();
      case 6:
        return this.#upstream.raisePressure();
      case 7:
        return this.#core.settleSync();
      default:
        // Only live blocks are left.
        if (this.#below(16) > 0) return;
        while (this.#blocks.length > 0) this.#free(this.#blocks.length - 1);
    }
  }

  #replaceStream(): void {
    const index = this.#below(this.#streams.length);
    this.#streams[index]![Symbol.dispose]();
    this.#streams[index] = this.#upstream.createStream();
  }

  #capture(): void {
    if (this.#graphs.length === MOST_GRAPHS) this.#graphs.shift()![Symbol.dispose]();
    const stream = this.#stream();
    const token = {};
    const before = this.#blocks.length;
    stream.captureToken = token;
    for (let count = this.#below(20); count >= 0; count--) this.#allocate(stream, false);
    stream.captureToken = undefined;
    const ranges = this.#blocks.slice(before).map(({ address, bytes }) => ({ address, bytes }));
    const graph = new ModelGraph(this.#upstream, ranges, token);
    const succeeds = this.#below(4) > 0;
    this.#core.streams.endCapture(token, succeeds ? graph : undefined);
    if (succeeds) this.#graphs.push(graph);
  }

  #launch(): void {
    if (this.#graphs.length === 0) return;
    // Launches of a graph are one after another.
    this.#upstream.completeAll();
    this.#graphs[this.#below(this.#graphs.length)]!.launch(this.#stream());
  }
}
