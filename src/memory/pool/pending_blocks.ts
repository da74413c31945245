/**
 * Blocks that streams besides their owner use: which streams those are while a block is live, and
 * how far they must have got once it is freed.
 *
 * @module
 */

import {
  type BlockTable,
  PENDING,
  RECORD_SHIFT,
  SEGMENT,
  STATE,
  UNIT,
  UNITS,
  USED_ELSEWHERE,
} from "./block_table.ts";
import { FreeIndex } from "./free_index.ts";
import type { StreamSlot } from "./stream_slots.ts";

/** What memory waits for: slots, and the epochs that must be done there. */
export type Needs = readonly { readonly slot: StreamSlot; readonly epoch: number }[];

/** Called when the measures of pending memory change, by bytes of a kind. */
export type PendingListener = (kind: number, bytes: number) => void;

/** Whether everything that is waited for is known to be done. */
export function areMet(needs: Needs): boolean {
  return needs.every(({ slot, epoch }) => slot.isClean(epoch));
}

/** Has marks made, by and by, that tell when needs are met. */
export function demand(needs: Needs): void {
  for (const { slot, epoch } of needs) slot.demanded = Math.max(slot.demanded, epoch);
}

/** The blocks of a pool that streams besides their owner use. */
export class PendingBlocks {
  readonly #table: BlockTable;
  readonly #onChange: PendingListener;
  readonly #uses = new Map<number, Set<StreamSlot>>();
  readonly #needs = new Map<number, Needs>();
  readonly #bySize: FreeIndex;

  /** None of a table's blocks. */
  constructor(table: BlockTable, onChange: PendingListener) {
    this.#table = table;
    this.#onChange = onChange;
    this.#bySize = new FreeIndex(table);
    this.#bySize.ensure(1);
  }

  /** How many are freed and wait. */
  get count(): number {
    return this.#needs.size;
  }

  /** Those that are freed and wait. */
  get blocks(): IterableIterator<number> {
    return this.#needs.keys();
  }

  /** Notes that a slot uses a live block. */
  use(block: number, slot: StreamSlot): void {
    this.#table.ints[(block << RECORD_SHIFT) + STATE]! |= USED_ELSEWHERE;
    const uses = this.#uses.get(block);
    if (uses === undefined) this.#uses.set(block, new Set([slot]));
    else uses.add(slot);
  }

  /**
   * Has a freed block wait for those who used it.
   *
   * @returns False where there is nothing to wait for.
   */
  add(block: number): boolean {
    const needs = [...this.#uses.get(block) ?? []]
      .map((slot) => ({ slot, epoch: slot.retired ? slot.epoch - 1 : slot.epoch }))
      .filter(({ slot, epoch }) => !slot.isClean(epoch));
    this.#uses.delete(block);
    if (needs.length === 0) return false;
    demand(needs);
    this.#needs.set(block, needs);
    const { ints } = this.#table;
    const at = block << RECORD_SHIFT;
    ints[at + STATE] = PENDING;
    this.#bySize.insert(ints[at + SEGMENT]! & 1, block);
    this.#onChange(ints[at + SEGMENT]! & 1, ints[at + UNITS]! * UNIT);
    return true;
  }

  /** What a block of at least this size waits for; nothing where there is none. */
  needsOfFitting(kind: number, units: number): Needs {
    return this.#needs.get(this.#bySize.find(kind, units)) ?? [];
  }

  /** Lets those go whose needs are met; whether there were any. */
  releaseMet(release: (block: number) => void): boolean {
    const before = this.count;
    for (const [block, needs] of this.#needs) {
      if (!areMet(needs)) continue;
      const kind = this.#table.field(block, SEGMENT) & 1;
      this.#needs.delete(block);
      this.#bySize.remove(kind, block);
      this.#onChange(kind, -this.#table.units(block) * UNIT);
      release(block);
    }
    return this.count < before;
  }
}
