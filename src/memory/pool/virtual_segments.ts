/**
 * Virtual segments: long ranges of addresses, in which memory is mapped where it is needed and
 * unmapped where it is not any more.
 *
 * @module
 */

import { NEXT, OWNER, PREVIOUS, RECORD_SHIFT, STATE, TICK, UNIT, UNMAPPED } from "./block_table.ts";
import { type MappingPlan, MappingPlanner } from "./mapping_plan.ts";
import { giveBackTo } from "./memory_upstream.ts";
import { PieceMap, type Segment } from "./segment.ts";
import type { SharedMemory } from "./shared_memory.ts";
import { roundUpTo } from "./size_class.ts";
import type { SegmentSource, SpaceSegments } from "./space_segments.ts";
import type { StreamSlot } from "./stream_slots.ts";

/** A piece's share of what the pool has. */
const PIECE = 1 / 1024;
/** The longest piece of a mapping. */
const LARGEST_PIECE = 64 * 2 ** 20;

/** Maps memory of a device. */
export class VirtualSegments implements SegmentSource {
  readonly #shared: SharedMemory;
  readonly #segments: SpaceSegments;
  readonly #common: StreamSlot;
  readonly #addressShare: number;
  readonly #planner: MappingPlanner;

  /** Maps nothing yet. New memory is free in the common slot, or in that of the request. */
  constructor(
    shared: SharedMemory,
    segments: SpaceSegments,
    common: StreamSlot,
    addressShare: number,
  ) {
    this.#addressShare = addressShare;
    this.#shared = shared;
    this.#segments = segments;
    this.#common = common;
    this.#planner = new MappingPlanner(shared, segments, common);
  }

  /** A smaller block has no whole piece in it. */
  get leastGiven(): number {
    return this.#shared.upstream.granularity;
  }

  /**
   * What serving a request would map. The free blocks that the request would use as well become
   * the stream's, so that they stay whatever is reclaimed meanwhile.
   */
  growthFor(kind: number, units: number, slot: StreamSlot): number {
    const { table, heap } = this.#shared;
    const plan = this.#planner.plan(kind, units, slot);
    if (plan === undefined) return roundUpTo(units * UNIT, this.#shared.upstream.granularity);
    if (plan.units === 0) return 0;
    for (const block of [plan.before, plan.after]) {
      if (block === 0 || table.field(block, OWNER) === slot.index) continue;
      // Of what is behind, only as much as is needed: the rest may still be given back.
      const before = plan.before === 0 ? 0 : table.units(plan.before);
      const needed = block === plan.before ? before : units - before - plan.units;
      const part = Math.min(Math.max(needed, 1), table.units(block));
      const adopted = heap.adopt(block, part, slot.index, slot.completed);
      // It may have joined a block that was the stream's already.
      if (table.units(adopted) >= units) return 0;
    }
    return plan.units * UNIT;
  }

  /** Maps what is needed, and up to `extraBytes` where nothing is behind it. */
  grow(kind: number, units: number, slot: StreamSlot, extraBytes: number): boolean {
    let plan = this.#planner.plan(kind, units, slot);
    if (plan === undefined) {
      if (!this.#reserve(kind, units)) return false;
      plan = this.#planner.plan(kind, units, slot)!;
    }
    if (plan.units === 0) return true;
    const extended = this.#planner.extended(plan, extraBytes);
    return this.#map(extended, slot) || (extended.units > plan.units && this.#map(plan, slot));
  }

  /** Unmaps whole pieces inside a free block: as many from its end as have `most` bytes. */
  giveBack(segment: Segment, block: number, most: number): number {
    const { table, upstream } = this.#shared;
    const { granularity } = upstream;
    const pieces = segment.pieces!;
    const offset = table.address(block) - segment.address;
    const end = offset + table.units(block) * UNIT;
    const whole = pieces.wholePieces(
      Math.ceil(offset / granularity),
      Math.floor(end / granularity),
      Math.ceil(most / granularity),
    );
    const bytes = (whole.end - whole.first) * granularity;
    if (bytes <= 0) return 0;
    const start = whole.first * granularity;
    this.#shared.onCall();
    giveBackTo(upstream, () => upstream.unmap(segment.address + start, bytes), () => {
      pieces.unmap(whole.first, whole.end - whole.first);
      this.#cutMapped(segment, block, (start - offset) / UNIT, bytes / UNIT);
      this.#shared.onReserved(-bytes, segment.address + start, segment.kind, false);
    });
    return bytes;
  }

  /** Gives reservations of addresses back in which nothing is mapped any more. */
  releaseAddresses(): void {
    const { table, upstream } = this.#shared;
    for (const segment of this.#segments) {
      const block = segment.firstBlock;
      if (table.state(block) !== UNMAPPED || !this.#segments.isWhole(block)) continue;
      giveBackTo(
        upstream,
        () => upstream.release(segment.address),
        () => this.#segments.remove(segment),
      );
    }
  }

  /** Reserves addresses, as many as it takes at least; for a pool's own space more than it has memory. */
  #reserve(kind: number, units: number): boolean {
    const { upstream, table } = this.#shared;
    const most = (2 ** 31 - 1) * UNIT - upstream.granularity;
    const wanted = roundUpTo(
      Math.min(Math.max(this.#addressShare * upstream.totalBytes, units * UNIT), most),
      upstream.granularity,
    );
    // No block is as large as a tebibyte, since its units would not fit in 32 bits.
    if (units * UNIT > wanted) return false;
    const address = upstream.reserve(wanted);
    if (address === 0) return false;
    const segment = this.#segments.add(address, wanted, kind, new PieceMap());
    table.ints[(segment.firstBlock << RECORD_SHIFT) + STATE] = UNMAPPED;
    segment.unmapped.add(segment.firstBlock);
    return true;
  }

  #map(plan: MappingPlan, slot: StreamSlot): boolean {
    const { table, upstream } = this.#shared;
    const { granularity } = upstream;
    const { segment } = plan;
    const address = table.address(plan.block) + plan.skip * UNIT;
    const bytes = plan.units * UNIT;
    const pieceBytes = this.#pieceBytes();
    this.#shared.onCall();
    if (!upstream.map(address, bytes, pieceBytes)) return false;
    const first = (address - segment.address) / granularity;
    segment.pieces!.map(first, bytes / granularity, pieceBytes / granularity);
    const mapped = this.#cutUnmapped(segment, plan.block, plan.skip, plan.units);
    this.#shared.onReserved(bytes, address, segment.kind, false);
    this.#release(mapped, plan, slot);
    return true;
  }

  /** Makes what was mapped free: for everybody, or for the stream whose blocks it has to join. */
  #release(mapped: number, plan: MappingPlan, slot: StreamSlot): void {
    const { table, heap, tick } = this.#shared;
    const beside = [plan.before, plan.after].filter((block) => block !== 0);
    const owned = beside.some((block) => table.field(block, OWNER) !== this.#common.index);
    if (!owned) return void heap.release(mapped, this.#common.index, 0, tick);
    const released = heap.release(mapped, slot.index, slot.completed, tick);
    for (const side of [PREVIOUS, NEXT]) {
      const block = table.field(released, side);
      if (beside.includes(block)) {
        heap.adopt(block, table.units(block), slot.index, slot.completed);
      }
    }
  }

  /**
   * The larger the pool, the larger the pieces: a piece is unmapped whole, so that a small block
   * in it keeps all of it, and each costs several calls of the driver.
   */
  #pieceBytes(): number {
    const { granularity } = this.#shared.upstream;
    const part = 2 ** Math.floor(Math.log2(this.#shared.reservedBytes * PIECE + 1));
    return roundUpTo(Math.min(Math.max(part, granularity), LARGEST_PIECE), granularity);
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

  /** Makes part of a free block one without memory; the rest stays free. */
  #cutMapped(segment: Segment, block: number, skip: number, units: number): void {
    const { table, heap } = this.#shared;
    const tick = table.field(block, TICK);
    heap.take(block);
    const cut = skip > 0 ? table.split(block, skip) : block;
    const rest = table.units(cut) > units ? table.split(cut, units) : 0;
    table.ints[(cut << RECORD_SHIFT) + STATE] = UNMAPPED;
    this.#joinUnmapped(segment, cut);
    if (skip > 0) heap.release(block, this.#common.index, 0, tick);
    if (rest !== 0) heap.release(rest, this.#common.index, 0, tick);
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
