/**
 * Checks the invariants of a pool from outside.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import { UNIT } from "../../../../src/memory/pool/block_table.ts";
import type { StrictUpstream } from "./strict_upstream.ts";
import type { BlockPool } from "../../../../src/memory/pool/block_pool.ts";
import type { MeasureBySize, PoolStatistics } from "../../../../src/memory/pool/pool_statistics.ts";
import { bytesOf, type CountedBlock, ofKind, type PoolCensus, takeCensus } from "./pool_census.ts";

/** A block that the test holds. */
export interface HeldBlock {
  readonly block: number;
  readonly address: number;
  readonly bytes: number;
  readonly alignment: number;
}

/** Sorted block numbers. */
function numbers(blocks: Iterable<CountedBlock>): number[] {
  return [...blocks].map(({ block }) => block).sort((one, other) => one - other);
}

function sorted(blocks: Iterable<number>): number[] {
  return [...blocks].sort((one, other) => one - other);
}

/** Every held block is live, large enough and aligned, and no two overlap. */
function checkHeld(census: PoolCensus, held: readonly HeldBlock[]): void {
  const byNumber = new Map(census.live.map((block) => [block.block, block]));
  assertEquals(numbers(census.live), sorted(held.map(({ block }) => block)), "live blocks");
  for (const { block, address, bytes, alignment } of held) {
    const counted = byNumber.get(block)!;
    assertEquals([counted.address, counted.requested], [address, bytes]);
    assert(counted.bytes >= bytes && address % alignment === 0);
  }
  const ordered = held.toSorted((one, other) => one.address - other.address);
  for (const [index, { address }] of ordered.entries()) {
    const before = ordered[index - 1];
    assert(before === undefined || before.address + before.bytes <= address, "blocks overlap");
  }
}

/** The cached blocks are counted, and the largest of them is known. */
function checkCache({ cache, counters }: BlockPool, census: PoolCensus): void {
  for (const kind of [0, 1] as const) {
    const cached = ofKind(census.cached, kind);
    assertEquals(counters.cachedBlocks(kind), cached.length);
    assertEquals(counters.cachedBytes(kind), bytesOf(cached));
  }
  const largest = Math.max(0, ...census.cached.map(({ bytes }) => bytes));
  assertEquals(cache.largestBytes(), largest);
}

/** Every free block is in its owner's lists, by age and by size. */
function checkHeap({ heap, streams }: BlockPool, census: PoolCensus): void {
  const slots = new Set<number>();
  for (const slot of streams.slots()) {
    slots.add(slot.index);
    const own = census.free.filter(({ owner }) => owner === slot.index);
    const listed: number[] = [];
    let block = heap.oldest(slot.index);
    for (; block !== 0; block = heap.younger(block)) listed.push(block);
    assertEquals(sorted(listed), numbers(own), `free blocks of slot ${slot.index} by age`);
    assertEquals(heap.freeUnits[slot.index]! * UNIT, bytesOf(own));
    const largest = Math.max(0, ...own.map(({ bytes }) => bytes));
    const found = own.find(({ block }) => block === heap.largest(slot.index));
    assertEquals(found?.bytes ?? 0, largest, `the largest free block of slot ${slot.index}`);
    const byNumber = new Map(own.map((block) => [block.block, block]));
    for (const { bytes, kind } of own) {
      const fitting = byNumber.get(heap.find(slot.index, kind, bytes / UNIT));
      assert(fitting !== undefined && fitting.kind === kind && fitting.bytes >= bytes);
    }
  }
  for (const { owner } of [...census.free, ...census.cached, ...census.live, ...census.pending]) {
    assert(slots.has(owner), `slot ${owner} has blocks and does not exist`);
  }
  for (const kind of [0, 1] as const) {
    const free = ofKind(census.free, kind);
    const whole = free.filter(({ isWhole }) => isWhole);
    assertEquals(
      [heap.blocks[kind], heap.wholeBlocks[kind], heap.wholeUnits[kind] * UNIT],
      [free.length, whole.length, bytesOf(whole)],
    );
  }
}

const KINDS = ["all", "small", "large"] as const;

function checkMeasure(
  measure: MeasureBySize,
  { small, large, base, name }: {
    small: number;
    large: number;
    base: MeasureBySize | undefined;
    name: string;
  },
): void {
  const counted = KINDS.map((kind) => measure[kind].current);
  assertEquals(counted, [small + large, small, large], name);
  for (const kind of KINDS) {
    const { allocated, freed, current, peak } = measure[kind];
    const change = current - (base?.[kind].current ?? 0);
    assertEquals(allocated - freed, change, `${name} ${kind}: what came less what went`);
    assert(peak >= current, `${name} ${kind}: the peak is below what there is`);
  }
  assert(measure.all.peak <= measure.small.peak + measure.large.peak, `${name}: peak of all`);
}

/** The statistics agree with a count of all blocks. */
function checkStatistics(
  core: BlockPool,
  census: PoolCensus,
  base: PoolStatistics | undefined,
): void {
  const statistics = core.stats();
  const count = (blocks: readonly CountedBlock[], kind: number) => ofKind(blocks, kind).length;
  const bytes = (blocks: readonly CountedBlock[], kind: number) => bytesOf(ofKind(blocks, kind));
  const requested = (kind: number) =>
    ofKind(census.live, kind).reduce((sum, block) => sum + block.requested, 0);
  const held = [...census.live, ...census.cached, ...census.free, ...census.pending];
  const active = [...census.live, ...census.pending];
  const split = [...census.cached, ...census.free.filter(({ isWhole }) => !isWhole)];
  const expected = {
    allocation: [count(census.live, 0), count(census.live, 1)],
    allocatedBytes: [bytes(census.live, 0), bytes(census.live, 1)],
    requestedBytes: [requested(0), requested(1)],
    reservedBytes: [bytes(held, 0), bytes(held, 1)],
    active: [count(active, 0), count(active, 1)],
    activeBytes: [bytes(active, 0), bytes(active, 1)],
    inactiveSplit: [count(split, 0), count(split, 1)],
    inactiveSplitBytes: [bytes(split, 0), bytes(split, 1)],
    segment: census.plainSegments,
  };
  for (const [key, [small, large]] of Object.entries(expected)) {
    const name = key as keyof typeof expected;
    checkMeasure(statistics[name], { small: small!, large: large!, base: base?.[name], name });
  }
  const free = [...census.cached, ...census.free];
  assertEquals(
    [statistics.cached, statistics.pending, statistics.free, statistics.largestFree],
    [
      bytesOf(census.cached),
      bytesOf(census.pending),
      bytesOf(free) + bytesOf(census.pending),
      Math.max(0, ...free.map((block) => block.bytes)),
    ],
    "cached, pending, free and largest free bytes",
  );
  const { external, internal } = statistics.fragmentation;
  assert(external >= 0 && external < 1 && internal >= 0 && internal <= 1);
}

/**
 * Checks a pool with these live blocks.
 *
 * @param base The statistics from just before they were reset.
 */
export function checkPool(
  core: BlockPool,
  upstream: StrictUpstream,
  held: readonly HeldBlock[],
  base?: PoolStatistics,
): PoolCensus {
  const census = takeCensus(core);
  checkHeld(census, held);
  checkCache(core, census);
  checkHeap(core, census);
  assertEquals(core.streams.pendingCount, census.pending.length);
  checkStatistics(core, census, base);
  assertEquals(upstream.usedBytes, core.stats().reserved, "bytes taken from the device");
  assert(upstream.usedBytes <= core.settings.limitBytes, "more than the pool may take");
  return census;
}
