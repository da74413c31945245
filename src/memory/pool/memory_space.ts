/**
 * A space: segments, how they come and how they go. The pool has one, and each graph that was
 * captured while memory was allocated has one of its own.
 *
 * @module
 */

import {
  type BlockTable,
  FREE,
  LIVE,
  NEXT,
  OWNER,
  PENDING,
  PREVIOUS,
  RECORD_SHIFT,
  SEGMENT,
  STATE,
  TICK,
  UNIT,
  UNMAPPED,
} from "./block_table.ts";
import type { BlockHeap } from "./block_heap.ts";
import type { MemoryUpstream } from "./memory_upstream.ts";
import { LARGE, PieceMap, Segment } from "./segment.ts";
import type { StreamSlot } from "./stream_slots.ts";

/** What the spaces of a pool share. */
export interface SharedMemory {
  /** Where memory comes from. */
  readonly upstream: MemoryUpstream;
  /** The blocks. */
  readonly table: BlockTable;
  /** The free ones. */
  readonly heap: BlockHeap;
  /** All segments by number, with holes. */
  readonly segments: (Segment | undefined)[];
  /** Bytes taken from the device. */
  readonly reservedBytes: number;
  /** Told of memory taken from the device, or, below zero, given back. */
  onReserved(bytes: number, address: number, kind: number, isSegment: boolean): void;
  /** Told of every request to the upstream that takes or gives memory, before it is made. */
  onCall(): void;
  /** Told of every stream that is disposed. */
  onRetired(): void;
  /** Told of every mark. */
  onMark(): void;
  /** The tick of the pool's clock. */
  tick: number;
}

/** Where to map memory for a request. */
interface MappingPlan {
  readonly segment: Segment;
  /** The block without memory. */
  readonly block: number;
  /** Where in it the mapping begins, in units. */
  readonly skip: number;
  /** How much to map, in units. */
  readonly units: number;
  /** Free neighbours that the request will use as well; 0 for none. */
  readonly before: number;
  readonly after: number;
}

/** Segments for one purpose. */
export class MemorySpace {
  /** The common slot of its blocks. */
  readonly common: StreamSlot;
  readonly #shared: SharedMemory;
  readonly #isVirtual: boolean;
  readonly #segments = new Set<Segment>();

  /**
   * An empty space.
   *
   * @param isVirtual Whether to map memory; plain segments otherwise.
   */
  constructor(shared: SharedMemory, common: StreamSlot, isVirtual: boolean) {
    this.#shared = shared;
    this.common = common;
    this.#isVirtual = isVirtual;
  }

  /** Its segments. */
  get segments(): Iterable<Segment> {
    return this.#segments;
  }

  /** Whether it has segments. */
  get isEmpty(): boolean {
    return this.#segments.size === 0;
  }

  /**
   * What serving a request would take from the device, in bytes; 0 where nothing. The free blocks that the request
   * would use as well become the stream's, so that they stay whatever is reclaimed meanwhile.
   *
   * @param units The request's size with what alignment may waste.
   */
  growthFor(kind: number, units: number, slot: StreamSlot): number {
    if (!this.#isVirtual) return roundTo(units * UNIT, PLAIN_GRANULE);
    const { table } = this.#shared;
    const plan = this.#plan(kind, units, slot);
    if (plan === undefined) return this.#roundUp(units) * UNIT;
    for (const block of [plan.before, plan.after]) {
      if (block === 0 || table.field(block, OWNER) === slot.index) continue;
      // Of what is behind, only as much as is needed: the rest may still be given back.
      const before = plan.before === 0 ? 0 : table.units(plan.before);
      const needed = block === plan.before ? before : units - before - plan.units;
      const part = Math.min(Math.max(needed, 1), table.units(block));
      const adopted = this.#shared.heap.adopt(block, part, slot.index, slot.completed);
      // It may have joined a block that was the stream's already.
      if (table.units(adopted) >= units) return 0;
    }
    return plan.units * UNIT;
  }

  /**
   * Takes memory from the device so that a free block of this many units is there.
   *
   * @param extraBytes How much more may be taken, so that the next request need not.
   * @returns False where the device has none.
   */
  grow(kind: number, units: number, slot: StreamSlot, extraBytes: number): boolean {
    if (!this.#isVirtual) return this.#growPlain(kind, units, extraBytes);
    let plan = this.#plan(kind, units, slot);
    if (plan === undefined) {
      if (!this.#reserve(kind, units)) return false;
      plan = this.#plan(kind, units, slot)!;
    }
    const extended = this.#extended(plan, extraBytes);
    return this.#map(extended, slot) || (extended.units > plan.units && this.#map(plan, slot));
  }

  /**
   * Gives free memory that no stream uses back to the device, in as few requests as may be.
   *
   * @param bytes How much at least, if there is as much.
   * @returns How much it was.
   */
  reclaim(bytes: number): number {
    let returned = 0;
    while (returned < bytes) {
      const some = this.#reclaimOne(bytes - returned);
      if (some === 0) return returned;
      returned += some;
    }
    return returned;
  }

  /** Gives back the free memory that was freed at this tick of the pool's clock or before. */
  reclaimOld(tick: number): number {
    const { heap, table } = this.#shared;
    let returned = 0;
    for (let block = heap.oldest(this.common.index); block !== 0;) {
      const next = heap.younger(block);
      if (table.field(block, TICK) <= tick) returned += this.#giveBack(block, Infinity);
      block = next;
    }
    return returned;
  }

  /** Gives back from the block that has enough, or from the largest there is; 0 where none has any. */
  #reclaimOne(bytes: number): number {
    const { heap, table } = this.#shared;
    const owner = this.common.index;
    if (Number.isFinite(bytes) && this.#isVirtual) {
      // Whole pieces of that many bytes are in any block that is this much longer.
      const units = Math.ceil((bytes + 2 * this.#shared.upstream.granularity) / UNIT);
      const enough = heap.find(owner, LARGE, units);
      const some = enough === 0 ? 0 : this.#giveBack(enough, bytes);
      if (some > 0) return some;
    }
    const blocks: number[] = [];
    for (let block = heap.oldest(owner); block !== 0; block = heap.younger(block)) {
      if (table.units(block) * UNIT >= this.#leastGiven) blocks.push(block);
    }
    blocks.sort((one, other) => table.units(other) - table.units(one));
    for (const block of blocks) {
      const some = this.#giveBack(block, bytes);
      if (some > 0) return some;
    }
    return 0;
  }

  get #leastGiven(): number {
    return this.#isVirtual ? this.#shared.upstream.granularity : PLAIN_GRANULE;
  }

  /** Whether somebody has a block of it, or a stream may. */
  get isInUse(): boolean {
    const { table } = this.#shared;
    for (const { firstBlock } of this.#segments) {
      for (let block = firstBlock; block !== 0; block = table.field(block, NEXT)) {
        const state = table.state(block);
        if (state === LIVE || state === PENDING) return true;
      }
    }
    return false;
  }

  /** Gives reservations of addresses back in which nothing is mapped any more. */
  releaseAddresses(): void {
    const { table, upstream, segments } = this.#shared;
    for (const segment of this.#segments) {
      const block = segment.firstBlock;
      if (table.state(block) !== UNMAPPED || !this.#isWhole(block)) continue;
      upstream.release(segment.address);
      table.recycle(block);
      segments[segment.number] = undefined;
      this.#segments.delete(segment);
    }
  }

  #isWhole(block: number): boolean {
    const { table } = this.#shared;
    return table.field(block, NEXT) === 0 && table.field(block, PREVIOUS) === 0;
  }

  get #granule(): number {
    return this.#shared.upstream.granularity / UNIT;
  }

  #roundUp(units: number): number {
    return Math.ceil(units / this.#granule) * this.#granule;
  }

  // ---- plain segments ----

  #growPlain(kind: number, units: number, extraBytes: number): boolean {
    const { upstream, heap } = this.#shared;
    const needed = roundTo(units * UNIT, PLAIN_GRANULE);
    const wanted = roundTo(Math.max(needed, extraBytes), PLAIN_GRANULE);
    let bytes = wanted;
    this.#shared.onCall();
    let address = upstream.allocate(bytes);
    if (address === 0 && wanted > needed) {
      bytes = needed;
      this.#shared.onCall();
      address = upstream.allocate(bytes);
    }
    if (address === 0) return false;
    const segment = this.#addSegment(address, bytes, kind, undefined);
    this.#shared.onReserved(bytes, address, kind, true);
    heap.release(segment.firstBlock, this.common.index, 0, this.#shared.tick);
    return true;
  }

  // ---- virtual segments ----

  #reserve(kind: number, units: number): boolean {
    const { upstream, table } = this.#shared;
    const most = (2 ** 31 - 1 - this.#granule) * UNIT;
    const wanted = roundTo(
      Math.min(Math.max(2 * upstream.totalBytes, units * UNIT), most),
      upstream.granularity,
    );
    const address = upstream.reserve(wanted);
    if (address === 0) return false;
    const segment = this.#addSegment(address, wanted, kind, new PieceMap());
    table.ints[(segment.firstBlock << RECORD_SHIFT) + STATE] = UNMAPPED;
    segment.unmapped.add(segment.firstBlock);
    return true;
  }

  #addSegment(
    address: number,
    bytes: number,
    kind: number,
    pieces: PieceMap | undefined,
  ): Segment {
    const { table, segments } = this.#shared;
    let number = 0;
    while (segments[number] !== undefined) number++;
    const block = table.create(address, bytes / UNIT, number * 2 + kind);
    table.ints[(block << RECORD_SHIFT) + STATE] = LIVE;
    const segment = new Segment(number, address, bytes, kind, pieces, block);
    segments[number] = segment;
    this.#segments.add(segment);
    return segment;
  }

  /** The place where the least must be mapped. */
  #plan(kind: number, units: number, slot: StreamSlot): MappingPlan | undefined {
    let best: MappingPlan | undefined;
    for (const segment of this.#segments) {
      if (segment.kind !== kind || segment.pieces === undefined) continue;
      for (const block of segment.unmapped) {
        for (const plan of this.#plansAt(segment, block, units, slot)) {
          if (best === undefined || this.#isBetter(plan, best)) best = plan;
        }
      }
    }
    return best;
  }

  #isBetter(plan: MappingPlan, than: MappingPlan): boolean {
    if (plan.units !== than.units) return plan.units < than.units;
    return this.#shared.table.address(plan.block) < this.#shared.table.address(than.block);
  }

  /** The ways to serve a request with a block without memory: from its start, or up to its end. */
  *#plansAt(
    segment: Segment,
    block: number,
    units: number,
    slot: StreamSlot,
  ): Generator<MappingPlan> {
    const { table } = this.#shared;
    const room = table.units(block);
    const before = this.#usable(table.field(block, PREVIOUS), slot);
    const after = this.#usable(table.field(block, NEXT), slot);
    const behindFirst = this.#roundUp(units - (before === 0 ? 0 : table.units(before)));
    if (behindFirst <= room) {
      yield { segment, block, skip: 0, units: behindFirst, before, after: 0 };
    } else if (
      room + (before === 0 ? 0 : table.units(before)) + (after === 0 ? 0 : table.units(after)) >=
        units
    ) yield { segment, block, skip: 0, units: room, before, after };
    if (after === 0) return;
    const aheadOfLast = this.#roundUp(units - table.units(after));
    if (aheadOfLast < room) {
      yield { segment, block, skip: room - aheadOfLast, units: aheadOfLast, before: 0, after };
    }
  }

  /** The block if it is free for the slot's stream. */
  #usable(block: number, slot: StreamSlot): number {
    if (block === 0) return 0;
    const at = block << RECORD_SHIFT;
    const { ints } = this.#shared.table;
    if (ints[at + STATE] !== FREE) return 0;
    const owner = ints[at + OWNER]!;
    return owner === slot.index || owner === this.common.index ? block : 0;
  }

  /** A plan that maps somewhat more where nothing is behind it. */
  #extended(plan: MappingPlan, extraBytes: number): MappingPlan {
    const { table } = this.#shared;
    if (plan.skip !== 0 || plan.after !== 0) return plan;
    const wanted = Math.max(
      plan.units,
      Math.floor(extraBytes / UNIT / this.#granule) * this.#granule,
    );
    return { ...plan, units: Math.min(wanted, table.units(plan.block)) };
  }

  #map(plan: MappingPlan, slot: StreamSlot): boolean {
    const { table, heap, upstream, tick } = this.#shared;
    const { segment } = plan;
    const address = table.address(plan.block) + plan.skip * UNIT;
    const bytes = plan.units * UNIT;
    const pieceBytes = this.#pieceBytes();
    this.#shared.onCall();
    if (!upstream.map(address, bytes, pieceBytes)) return false;
    segment.pieces!.map(
      (address - segment.address) / upstream.granularity,
      bytes / upstream.granularity,
      pieceBytes / upstream.granularity,
    );
    const mapped = this.#cutUnmapped(segment, plan.block, plan.skip, plan.units);
    this.#shared.onReserved(bytes, address, segment.kind, false);
    // What the request needs must join, so that which is anybody's becomes the stream's if need be.
    const beside = [plan.before, plan.after].filter((block) => block !== 0);
    const owned = beside.some((block) => table.field(block, OWNER) !== this.common.index);
    if (!owned) heap.release(mapped, this.common.index, 0, tick);
    else {
      const release = heap.release(mapped, slot.index, slot.completed, tick);
      for (const side of [PREVIOUS, NEXT]) {
        const block = table.field(release, side);
        if (beside.includes(block)) {
          heap.adopt(block, table.units(block), slot.index, slot.completed);
        }
      }
    }
    return true;
  }

  /** Cuts the part that now has memory out of a block without; the rest stays without. */
  #cutUnmapped(segment: Segment, block: number, skip: number, units: number): number {
    const { table } = this.#shared;
    segment.unmapped.delete(block);
    let cut = block;
    if (skip > 0) {
      cut = table.split(block, skip);
      segment.unmapped.add(block);
    }
    if (table.units(cut) > units) {
      const rest = table.split(cut, units);
      table.ints[(rest << RECORD_SHIFT) + STATE] = UNMAPPED;
      segment.unmapped.add(rest);
    }
    return cut;
  }

  /**
   * The larger the pool, the larger the pieces: a piece is unmapped whole, so that a small block
   * in it keeps all of it, and each costs several calls of the driver.
   */
  #pieceBytes(): number {
    const { granularity } = this.#shared.upstream;
    const part = 2 ** Math.floor(Math.log2(this.#shared.reservedBytes * PIECE + 1));
    return roundTo(Math.min(Math.max(part, granularity), LARGEST_PIECE), granularity);
  }

  #giveBack(block: number, most: number): number {
    const { table, segments } = this.#shared;
    const segment = segments[table.field(block, SEGMENT) >> 1]!;
    return segment.pieces === undefined
      ? this.#freePlain(segment, block)
      : this.#unmap(segment, segment.pieces, block, most);
  }

  #freePlain(segment: Segment, block: number): number {
    if (!this.#isWhole(block)) return 0;
    const { table, heap, upstream, segments } = this.#shared;
    this.#shared.onCall();
    upstream.free(segment.address);
    heap.take(block);
    table.recycle(block);
    segments[segment.number] = undefined;
    this.#segments.delete(segment);
    this.#shared.onReserved(-segment.bytes, segment.address, segment.kind, true);
    return segment.bytes;
  }

  #unmap(segment: Segment, pieces: PieceMap, block: number, most: number): number {
    const { table, heap, upstream } = this.#shared;
    const { granularity } = upstream;
    const offset = table.address(block) - segment.address;
    const end = offset + table.units(block) * UNIT;
    const whole = pieces.wholePieces(
      Math.ceil(offset / granularity),
      Math.floor(end / granularity),
      Math.ceil(most / granularity),
    );
    const bytes = (whole.end - whole.first) * granularity;
    if (bytes <= 0) return 0;
    const address = segment.address + whole.first * granularity;
    this.#shared.onCall();
    upstream.unmap(address, bytes);
    pieces.unmap(whole.first, whole.end - whole.first);
    const tick = table.field(block, TICK);
    heap.take(block);
    this.#cutMapped(
      segment,
      block,
      (address - segment.address - offset) / UNIT,
      bytes / UNIT,
      tick,
    );
    this.#shared.onReserved(-bytes, address, segment.kind, false);
    return bytes;
  }

  /** Makes part of a block, which is in no list, one without memory; the rest stays free. */
  #cutMapped(segment: Segment, block: number, skip: number, units: number, tick: number): void {
    const { table, heap } = this.#shared;
    const cut = skip > 0 ? table.split(block, skip) : block;
    const rest = table.units(cut) > units ? table.split(cut, units) : 0;
    table.ints[(cut << RECORD_SHIFT) + STATE] = UNMAPPED;
    this.#joinUnmapped(segment, cut);
    if (skip > 0) heap.release(block, this.common.index, 0, tick);
    if (rest !== 0) heap.release(rest, this.common.index, 0, tick);
  }

  #joinUnmapped(segment: Segment, block: number): void {
    const { table } = this.#shared;
    const next = table.field(block, NEXT);
    if (next !== 0 && table.state(next) === UNMAPPED) {
      segment.unmapped.delete(next);
      table.absorbNext(block);
    }
    const previous = table.field(block, PREVIOUS);
    if (previous !== 0 && table.state(previous) === UNMAPPED) table.absorbNext(previous);
    else segment.unmapped.add(block);
  }
}

/** Plain segments are multiples of this: CUDA takes no less from the device for them. */
const PLAIN_GRANULE = 2 * 2 ** 20;
/** A piece's share of what the pool has. */
const PIECE = 1 / 1024;
/** The longest piece of a mapping. */
const LARGEST_PIECE = 64 * 2 ** 20;

function roundTo(bytes: number, granule: number): number {
  return Math.ceil(bytes / granule) * granule;
}
