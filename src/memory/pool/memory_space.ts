/**
 * Spaces: sets of segments that take memory from the device and return it. The pool has one, and
 * each graph that was captured while memory was allocated has one of its own.
 *
 * A plain segment is one allocation and is returned as a whole. A virtual segment is a long range of
 * addresses in which memory is mapped on demand. Memory is mapped in pieces, and unmapped by piece.
 *
 * @module
 */

import type { BlockPool } from "./block_pool.ts";
import {
  type BlockTable,
  FREE,
  LARGE,
  LIVE,
  NEXT,
  PENDING,
  PREVIOUS,
  SEGMENT,
  STATE,
  TICK,
  UNIT,
  UNMAPPED,
} from "./block_table.ts";
import { extended, roundUpTo } from "./free_index.ts";
import { releaseTo } from "./memory_upstream.ts";
import type { StreamSlot } from "./stream_slots.ts";

/** Plain segments are multiples of this; CUDA takes no less from the device. */
export const PLAIN_GRANULE = 2 * 2 ** 20;
/**
 * The smallest plain segment of a graph. CUDA places several in one granule, and the memory of a
 * graph serves nothing else: with whole granules, a hundred graphs of 4 KiB would keep 200 MiB.
 */
const GRAPH_GRANULE = 64 * 2 ** 10;
/** The largest plain segment with units that fit in 32 bits. */
const MAX_PLAIN = 2 ** 31 * UNIT - PLAIN_GRANULE;

// Addresses reserved at a time, as shares of the device's memory. Graphs may be hundreds, and a
// process has 2^47 addresses.
const POOL_ADDRESSES = 2;
const GRAPH_ADDRESSES = 1 / 8;

const PIECE_SHARE = 1 / 1024; // The size of a piece as a share of the pool's memory
const MAX_PIECE = 64 * 2 ** 20;

export interface Segment {
  /** Its number; the records of blocks refer to it. */
  readonly number: number;
  readonly address: number;
  /** Its size, including addresses without memory. */
  readonly bytes: number;
  /** Whether it serves small requests (0) or large ones (1). */
  readonly kind: 0 | 1;
  readonly pieces: PieceMap | undefined;
  readonly firstBlock: number;
  readonly unmapped: Set<number>;
}

export function* blocksFrom(table: BlockTable, first: number): Generator<number> {
  for (let block = first; block !== 0; block = table.field(block, NEXT)) yield block;
}

/** The mapped granules of a virtual segment, and their pieces. */
export class PieceMap {
  // The first granule of a piece holds the piece's length, the others their negative offset in it.
  #granules: Int32Array<ArrayBuffer> = new Int32Array(64);

  /** Notes pieces of `perPiece` granules; the last may be shorter. */
  map(first: number, count: number, perPiece: number): void {
    if (first + count > this.#granules.length) {
      this.#granules = extended(
        this.#granules,
        Math.max(first + count, this.#granules.length * 2),
      );
    }
    for (let start = 0; start < count; start += perPiece) {
      const length = Math.min(perPiece, count - start);
      this.#granules[first + start] = length;
      for (let inside = 1; inside < length; inside++) {
        this.#granules[first + start + inside] = -inside;
      }
    }
  }

  unmap(first: number, count: number): void {
    this.#granules.fill(0, first, first + count);
  }

  /**
   * The range of whole pieces within a mapped range, in granules; empty if there is none.
   *
   * @param most Limits the range to as many pieces from the end as have this many granules.
   */
  wholePieces(first: number, end: number, most: number): { first: number; end: number } {
    let start = first;
    while (start < end && this.#granules[start]! < 0) start++;
    let stop = end;
    if (stop > start) {
      const last = this.#startOf(stop - 1);
      if (last + this.#granules[last]! > stop) stop = last;
    }
    if (stop <= start) return { first: start, end: start };
    if (stop - start > most) start = Math.max(start, this.#startOf(stop - most));
    return { first: start, end: stop };
  }

  #startOf(granule: number): number {
    const entry = this.#granules[granule]!;
    return entry < 0 ? granule + entry : granule;
  }
}

export abstract class MemorySpace {
  readonly common: StreamSlot;
  readonly isOfGraph: boolean;
  readonly segments: Set<Segment> = new Set();
  protected readonly pool: BlockPool;

  constructor(pool: BlockPool, common: StreamSlot, isOfGraph: boolean) {
    this.pool = pool;
    this.common = common;
    this.isOfGraph = isOfGraph;
  }

  /** Smaller blocks have nothing that can be returned. */
  protected abstract readonly minReturned: number;

  /**
   * The bytes that a request would take from the device. Free blocks that the request would use as
   * well become its stream's, which keeps them from being returned meanwhile.
   *
   * @param units The size of the request, including the padding for alignment.
   */
  abstract growthFor(kind: 0 | 1, units: number, slot: StreamSlot): number;

  /**
   * Takes memory from the device for a free block of this many units.
   *
   * @param extraBytes Limits the memory taken in advance of later requests.
   * @returns False if the device has none.
   */
  abstract grow(kind: 0 | 1, units: number, slot: StreamSlot, extraBytes: number): boolean;

  /** Returns up to `most` bytes of a free block to the device. The result is the bytes returned. */
  protected abstract returnBlock(segment: Segment, block: number, most: number): number;

  /** A free block that has this many bytes to return for sure; 0 for none. */
  protected findReturnable(_bytes: number): number {
    return 0;
  }

  releaseAddresses(): void {}

  /**
   * Returns free memory that no stream uses to the device, in few calls.
   *
   * @param bytes The bytes to return, if that many are free.
   * @param minBlock Smaller blocks stay.
   * @returns The bytes returned.
   */
  reclaim(bytes: number, minBlock = 0): number {
    if (bytes === Infinity) return this.reclaimOld(Infinity);
    let returned = 0;
    const seen = new Set<number>();
    let others: Iterator<number> | undefined;
    while (returned < bytes) {
      let block = this.findReturnable(bytes - returned);
      if (block === 0 || seen.has(block)) {
        others ??= this.#largestFirst(minBlock).values();
        do block = others.next().value ?? 0; while (seen.has(block));
      }
      if (block === 0) break;
      // The rest of the block does not join others, which keep their numbers.
      seen.add(block);
      returned += this.returnBlock(this.#segmentOf(block), block, bytes - returned);
    }
    return returned;
  }

  /** Returns the memory that was freed at this tick of the pool's clock or before. */
  reclaimOld(tick: number): number {
    const { heap, table } = this.pool;
    let returned = 0;
    for (let block = heap.oldest(this.common.index); block !== 0;) {
      const next = heap.younger(block);
      if (table.field(block, TICK) <= tick) {
        returned += this.returnBlock(this.#segmentOf(block), block, Infinity);
      }
      block = next;
    }
    return returned;
  }

  *blocks(): Generator<number> {
    for (const { firstBlock } of this.segments) yield* blocksFrom(this.pool.table, firstBlock);
  }

  get isInUse(): boolean {
    const { table } = this.pool;
    return this.blocks().some((block) => [LIVE, PENDING].includes(table.state(block)));
  }

  /** Adds a segment of one block, which the caller makes free or unmapped. */
  protected addSegment(address: number, bytes: number, kind: 0 | 1, pieces?: PieceMap): Segment {
    const { table, segmentTable } = this.pool;
    let number = 0;
    while (segmentTable[number] !== undefined) number++;
    const firstBlock = table.create(address, bytes / UNIT, number * 2 + kind);
    table.setState(firstBlock, LIVE);
    const unmapped = new Set<number>();
    const segment = { number, address, bytes, kind, pieces, firstBlock, unmapped };
    segmentTable[number] = segment;
    this.segments.add(segment);
    return segment;
  }

  /** Removes a segment; its only block must be in no list. */
  protected removeSegment(segment: Segment): void {
    this.pool.table.recycle(segment.firstBlock);
    this.pool.segmentTable[segment.number] = undefined;
    this.segments.delete(segment);
  }

  protected isWhole(block: number): boolean {
    const { table } = this.pool;
    return table.field(block, NEXT) === 0 && table.field(block, PREVIOUS) === 0;
  }

  #segmentOf(block: number): Segment {
    return this.pool.segmentTable[this.pool.table.field(block, SEGMENT) >> 1]!;
  }

  #largestFirst(minBlock: number): number[] {
    const { heap, table } = this.pool;
    const least = Math.max(this.minReturned, minBlock);
    const blocks: number[] = [];
    for (let block = heap.oldest(this.common.index); block !== 0; block = heap.younger(block)) {
      if (table.bytes(block) >= least) blocks.push(block);
    }
    return blocks.sort((one, other) => table.units(other) - table.units(one));
  }
}

export class PlainSpace extends MemorySpace {
  protected override get minReturned(): number {
    return this.isOfGraph ? GRAPH_GRANULE : PLAIN_GRANULE;
  }

  override growthFor(kind: 0 | 1, units: number, _slot: StreamSlot): number {
    const bytes = units * UNIT;
    if (!this.isOfGraph || kind === LARGE) return roundUpTo(bytes, PLAIN_GRANULE);
    // Doubling keeps the segments of a graph few.
    const held = this.segments.values().reduce((sum, { bytes }) => sum + bytes, 0);
    return roundUpTo(Math.max(bytes, Math.min(held, PLAIN_GRANULE)), GRAPH_GRANULE);
  }

  /** Takes a segment of `extraBytes` or, if there is none, of the request's size. */
  override grow(kind: 0 | 1, units: number, slot: StreamSlot, extraBytes: number): boolean {
    const needed = this.growthFor(kind, units, slot);
    if (needed > MAX_PLAIN) return false;
    const extra = Math.min(roundUpTo(extraBytes, PLAIN_GRANULE), MAX_PLAIN);
    const wanted = Math.max(needed, extra);
    return this.#take(kind, wanted) || (wanted > needed && this.#take(kind, needed));
  }

  protected override returnBlock(segment: Segment, block: number, _most: number): number {
    if (!this.isWhole(block)) return 0;
    const { pool } = this;
    pool.counters.count("upstreamCalls");
    releaseTo(pool.upstream, () => pool.upstream.free(segment.address), () => {
      pool.heap.take(block);
      this.removeSegment(segment);
      pool.noteReserved(segment.kind, -segment.bytes, segment.address, true);
    });
    return segment.bytes;
  }

  #take(kind: 0 | 1, bytes: number): boolean {
    const { pool } = this;
    pool.counters.count("upstreamCalls");
    const address = pool.upstream.allocate(bytes);
    if (address === 0) return false;
    const segment = this.addSegment(address, bytes, kind);
    pool.noteReserved(kind, bytes, address, true);
    pool.heap.release(segment.firstBlock, this.common.index, 0, pool.tick);
    return true;
  }
}

interface MappingPlan {
  readonly segment: Segment;
  readonly block: number;
  /** Units of the block before the mapping. */
  readonly skip: number;
  /** Units to map; 0 if a free block is long enough meanwhile. */
  readonly units: number;
  /** The free block before the mapping that the request uses as well; 0 for none. */
  readonly before: number;
  /** The free block behind the mapping that the request uses as well; 0 for none. */
  readonly after: number;
}

/** Maps memory in ranges of addresses. Small requests of a graph have plain segments. */
export class VirtualSpace extends PlainSpace {
  /** A smaller block contains no whole piece. */
  protected override get minReturned(): number {
    return Math.min(super.minReturned, this.#granularity);
  }

  get #granularity(): number {
    return this.pool.upstream.granularity;
  }

  override growthFor(kind: 0 | 1, units: number, slot: StreamSlot): number {
    if (this.#isPlain(kind)) return super.growthFor(kind, units, slot);
    const { table, heap } = this.pool;
    const plan = this.#plan(kind, units, slot);
    if (plan === undefined) return roundUpTo(units * UNIT, this.#granularity);
    if (plan.units === 0) return 0;
    for (const block of [plan.before, plan.after]) {
      if (block === 0 || table.owner(block) === slot.index) continue;
      // Of the block behind only the needed part is adopted; the rest can still be returned.
      const before = plan.before === 0 ? 0 : table.units(plan.before);
      const needed = block === plan.before ? before : units - before - plan.units;
      const part = Math.min(Math.max(needed, 1), table.units(block));
      const adopted = heap.adopt(block, part, slot.index, slot.completed);
      // It may have joined another block of the stream.
      if (table.units(adopted) >= units) return 0;
    }
    return plan.units * UNIT;
  }

  /** Maps what the request needs, and up to `extraBytes` if nothing follows it. */
  override grow(kind: 0 | 1, units: number, slot: StreamSlot, extraBytes: number): boolean {
    if (this.#isPlain(kind)) return super.grow(kind, units, slot, extraBytes);
    let plan = this.#plan(kind, units, slot);
    if (plan === undefined) {
      if (!this.#reserve(kind, units)) return false;
      plan = this.#plan(kind, units, slot)!;
    }
    if (plan.units === 0) return true;
    const extended = this.#extended(plan, extraBytes);
    return this.#map(extended, slot) || (extended.units > plan.units && this.#map(plan, slot));
  }

  /** Unmaps whole pieces of a free block, from its end. */
  protected override returnBlock(segment: Segment, block: number, most: number): number {
    const { pool } = this;
    const { table, upstream } = pool;
    const granularity = this.#granularity;
    const { pieces } = segment;
    if (pieces === undefined) return super.returnBlock(segment, block, most);
    const offset = table.address(block) - segment.address;
    const end = offset + table.bytes(block);
    const whole = pieces.wholePieces(
      Math.ceil(offset / granularity),
      Math.floor(end / granularity),
      Math.ceil(most / granularity),
    );
    const bytes = (whole.end - whole.first) * granularity;
    if (bytes <= 0) return 0;
    const start = whole.first * granularity;
    pool.counters.count("upstreamCalls");
    releaseTo(upstream, () => upstream.unmap(segment.address + start, bytes), () => {
      pieces.unmap(whole.first, whole.end - whole.first);
      this.#cutMapped(segment, block, (start - offset) / UNIT, bytes / UNIT);
      pool.noteReserved(segment.kind, -bytes, segment.address + start, false);
    });
    return bytes;
  }

  /** A free block with whole pieces of that many bytes: one that is longer by two pieces. */
  protected override findReturnable(bytes: number): number {
    const units = Math.ceil((bytes + 2 * this.#granularity) / UNIT);
    return this.pool.heap.find(this.common.index, LARGE, units);
  }

  override releaseAddresses(): void {
    const { table, upstream } = this.pool;
    for (const segment of this.segments) {
      const block = segment.firstBlock;
      if (table.state(block) !== UNMAPPED || !this.isWhole(block)) continue;
      releaseTo(
        upstream,
        () => upstream.release(segment.address),
        () => this.removeSegment(segment),
      );
    }
  }

  #isPlain(kind: 0 | 1): boolean {
    return this.isOfGraph && kind !== LARGE;
  }

  /** The place where a request needs the least memory mapped; `undefined` if there is no room. */
  #plan(kind: 0 | 1, units: number, slot: StreamSlot): MappingPlan | undefined {
    const { table } = this.pool;
    let best: MappingPlan | undefined;
    for (const segment of this.segments) {
      if (segment.kind !== kind) continue;
      for (const block of segment.unmapped) {
        for (const plan of this.#plansAt(segment, block, units, slot)) {
          const isBetter = best === undefined || plan.units < best.units ||
            (plan.units === best.units && table.address(block) < table.address(best.block));
          if (isBetter) best = plan;
        }
      }
    }
    return best;
  }

  /** The ways to serve a request with a block without memory: from its start, or up to its end. */
  *#plansAt(
    segment: Segment,
    block: number,
    units: number,
    slot: StreamSlot,
  ): Generator<MappingPlan> {
    const { table } = this.pool;
    const granule = this.#granularity / UNIT;
    const room = table.units(block);
    const before = this.#usable(table.field(block, PREVIOUS), slot);
    const after = this.#usable(table.field(block, NEXT), slot);
    const unitsBefore = before === 0 ? 0 : table.units(before);
    const unitsAfter = after === 0 ? 0 : table.units(after);
    const fromStart = roundUpTo(Math.max(units - unitsBefore, 0), granule);
    if (fromStart <= room) {
      yield { segment, block, skip: 0, units: fromStart, before, after: 0 };
    } else if (room + unitsBefore + unitsAfter >= units) {
      yield { segment, block, skip: 0, units: room, before, after };
    }
    if (after === 0) return;
    const upToEnd = roundUpTo(Math.max(units - unitsAfter, 0), granule);
    if (upToEnd < room) {
      yield { segment, block, skip: room - upToEnd, units: upToEnd, before: 0, after };
    }
  }

  #usable(block: number, slot: StreamSlot): number {
    const { table } = this.pool;
    if (block === 0 || table.field(block, STATE) !== FREE) return 0;
    const owner = table.owner(block);
    return owner === slot.index || owner === this.common.index ? block : 0;
  }

  /** A plan that maps up to so much if nothing follows it. */
  #extended(plan: MappingPlan, bytes: number): MappingPlan {
    if (plan.skip !== 0 || plan.after !== 0) return plan;
    const granularity = this.#granularity;
    const wanted = Math.floor(bytes / granularity) * (granularity / UNIT);
    const room = this.pool.table.units(plan.block);
    return { ...plan, units: Math.min(Math.max(plan.units, wanted), room) };
  }

  #reserve(kind: 0 | 1, units: number): boolean {
    const { pool } = this;
    const granularity = this.#granularity;
    const share = this.isOfGraph ? GRAPH_ADDRESSES : POOL_ADDRESSES;
    const bytes = roundUpTo(
      Math.min(
        Math.max(share * pool.upstream.totalBytes, units * UNIT),
        // The units of a block fit in 32 bits.
        (2 ** 31 - 1) * UNIT - granularity,
      ),
      granularity,
    );
    if (units * UNIT > bytes) return false;
    const address = pool.upstream.reserve(bytes);
    if (address === 0) return false;
    const segment = this.addSegment(address, bytes, kind, new PieceMap());
    this.#setUnmapped(segment, segment.firstBlock);
    return true;
  }

  #map(plan: MappingPlan, slot: StreamSlot): boolean {
    const { pool } = this;
    const granularity = this.#granularity;
    const { segment } = plan;
    const address = pool.table.address(plan.block) + plan.skip * UNIT;
    const bytes = plan.units * UNIT;
    const pieceBytes = this.#pieceBytes();
    pool.counters.count("upstreamCalls");
    if (!pool.upstream.map(address, bytes, pieceBytes)) return false;
    const first = (address - segment.address) / granularity;
    segment.pieces!.map(first, bytes / granularity, pieceBytes / granularity);
    const mapped = this.#cutUnmapped(segment, plan.block, plan.skip, plan.units);
    pool.noteReserved(segment.kind, bytes, address, false);
    this.#release(mapped, plan, slot);
    return true;
  }

  /** Frees a mapped block: for all, or for a stream if it has to join blocks of that. */
  #release(mapped: number, plan: MappingPlan, slot: StreamSlot): void {
    const { table, heap, tick } = this.pool;
    const beside = [plan.before, plan.after].filter((block) => block !== 0);
    const owned = beside.some((block) => table.owner(block) !== this.common.index);
    if (!owned) return void heap.release(mapped, this.common.index, 0, tick);
    const released = heap.release(mapped, slot.index, slot.completed, tick);
    for (const side of [PREVIOUS, NEXT]) {
      const block = table.field(released, side);
      if (beside.includes(block)) {
        heap.adopt(block, table.units(block), slot.index, slot.completed);
      }
    }
  }

  /**
   * A larger pool has larger pieces. Each piece costs several driver calls, but one small block in
   * it keeps all of it mapped.
   */
  #pieceBytes(): number {
    const granularity = this.#granularity;
    const share = 2 ** Math.floor(Math.log2(this.pool.reservedBytes * PIECE_SHARE + 1));
    return roundUpTo(Math.min(Math.max(share, granularity), MAX_PIECE), granularity);
  }

  #setUnmapped(segment: Segment, block: number): void {
    this.pool.table.setState(block, UNMAPPED);
    segment.unmapped.add(block);
  }

  #cutUnmapped(segment: Segment, block: number, skip: number, units: number): number {
    const { table } = this.pool;
    segment.unmapped.delete(block);
    let cut = block;
    if (skip > 0) {
      cut = table.split(block, skip);
      segment.unmapped.add(block);
    }
    if (table.units(cut) > units) this.#setUnmapped(segment, table.split(cut, units));
    return cut;
  }

  /** Cuts an unmapped part out of a free block; the rest stays free. */
  #cutMapped(segment: Segment, block: number, skip: number, units: number): void {
    const { table, heap } = this.pool;
    const tick = table.field(block, TICK);
    heap.take(block);
    const cut = skip > 0 ? table.split(block, skip) : block;
    const rest = table.units(cut) > units ? table.split(cut, units) : 0;
    this.#setUnmapped(segment, cut);
    const next = table.field(cut, NEXT);
    if (next !== 0 && table.state(next) === UNMAPPED) {
      segment.unmapped.delete(next);
      table.absorbNext(cut);
    }
    const previous = table.field(cut, PREVIOUS);
    if (previous !== 0 && table.state(previous) === UNMAPPED) {
      segment.unmapped.delete(cut);
      table.absorbNext(previous);
    }
    if (skip > 0) heap.release(block, this.common.index, 0, tick);
    if (rest !== 0) heap.release(rest, this.common.index, 0, tick);
  }
}
