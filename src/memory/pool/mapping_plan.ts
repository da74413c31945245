/**
 * Where to map memory for a request, so that the least is mapped.
 *
 * @module
 */

import { FREE, NEXT, OWNER, PREVIOUS, RECORD_SHIFT, STATE, UNIT } from "./block_table.ts";
import type { Segment } from "./segment.ts";
import type { SharedMemory } from "./shared_memory.ts";
import { roundUpTo } from "./size_class.ts";
import type { SpaceSegments } from "./space_segments.ts";
import type { StreamSlot } from "./stream_slots.ts";

/** Where to map memory for a request. */
export interface MappingPlan {
  /** In which segment. */
  readonly segment: Segment;
  /** The block without memory. */
  readonly block: number;
  /** Where in it the mapping begins, in units. */
  readonly skip: number;
  /** How much to map, in units: none where a free block has become long enough meanwhile. */
  readonly units: number;
  /** The free block ahead of the mapping that the request will use as well; 0 for none. */
  readonly before: number;
  /** The one behind it. */
  readonly after: number;
}

/** Makes plans for a space. */
export class MappingPlanner {
  readonly #shared: SharedMemory;
  readonly #segments: SpaceSegments;
  readonly #common: StreamSlot;

  /** A planner for these segments, whose common blocks are of this slot. */
  constructor(shared: SharedMemory, segments: SpaceSegments, common: StreamSlot) {
    this.#shared = shared;
    this.#segments = segments;
    this.#common = common;
  }

  /** The place where the least must be mapped; `undefined` where no segment has room. */
  plan(kind: number, units: number, slot: StreamSlot): MappingPlan | undefined {
    let best: MappingPlan | undefined;
    for (const segment of this.#segments) {
      if (segment.kind !== kind) continue;
      for (const block of segment.unmapped) {
        for (const plan of this.#plansAt(segment, block, units, slot)) {
          if (best === undefined || this.#isBetter(plan, best)) best = plan;
        }
      }
    }
    return best;
  }

  /** A plan that maps up to so much where nothing is behind it. */
  extended(plan: MappingPlan, bytes: number): MappingPlan {
    if (plan.skip !== 0 || plan.after !== 0) return plan;
    const granule = this.#granule;
    const wanted = Math.max(plan.units, Math.floor(bytes / UNIT / granule) * granule);
    return { ...plan, units: Math.min(wanted, this.#shared.table.units(plan.block)) };
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
    const granule = this.#granule;
    const room = table.units(block);
    const before = this.#usable(table.field(block, PREVIOUS), slot);
    const after = this.#usable(table.field(block, NEXT), slot);
    const ahead = before === 0 ? 0 : table.units(before);
    const behind = after === 0 ? 0 : table.units(after);
    const behindFirst = roundUpTo(Math.max(units - ahead, 0), granule);
    if (behindFirst <= room) {
      yield { segment, block, skip: 0, units: behindFirst, before, after: 0 };
    } else if (room + ahead + behind >= units) {
      yield { segment, block, skip: 0, units: room, before, after };
    }
    if (after === 0) return;
    const aheadOfLast = roundUpTo(Math.max(units - behind, 0), granule);
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
    return owner === slot.index || owner === this.#common.index ? block : 0;
  }

  get #granule(): number {
    return this.#shared.upstream.granularity / UNIT;
  }
}
