/**
 * Which slots and spaces a pool has: one slot for each stream, and for each stream of a capture
 * another, in the space of that capture.
 *
 * @module
 */

import type { BlockCache } from "./block_cache.ts";
import { MemorySpace } from "./memory_space.ts";
import type { MemoryStream } from "./memory_upstream.ts";
import type { SharedMemory } from "./shared_memory.ts";
import { StreamSlot } from "./stream_slots.ts";

/** The slots and spaces of a pool by their numbers. */
export class SlotRegistry {
  /** What the spaces share. */
  protected readonly shared: SharedMemory;
  /** Blocks that slots keep whole. */
  protected readonly cache: BlockCache;
  readonly #isVirtual: boolean;
  readonly #slots: (StreamSlot | undefined)[] = [];
  readonly #spaces: (MemorySpace | undefined)[] = [];
  readonly #captures = new Map<object, MemorySpace>();
  readonly #byCapture = new Map<object, Map<MemoryStream, StreamSlot>>();
  /** The present epoch by slot number, for the hot path. */
  epochs: Int32Array<ArrayBuffer> = new Int32Array(16);
  /** The space of everything but captures. */
  readonly space: MemorySpace;

  /**
   * The space of everything but captures, and its common slot.
   *
   * @param isVirtual Whether spaces map memory; they have plain segments otherwise.
   */
  constructor(shared: SharedMemory, cache: BlockCache, isVirtual: boolean) {
    this.shared = shared;
    this.cache = cache;
    this.#isVirtual = isVirtual;
    this.space = this.#newSpace(false);
  }

  /** A slot by its number. */
  slot(index: number): StreamSlot {
    return this.#slots[index]!;
  }

  /** All slots. */
  *slots(): Generator<StreamSlot> {
    for (const slot of this.#slots) if (slot !== undefined) yield slot;
  }

  /** All spaces. */
  *spaces(): Generator<MemorySpace> {
    for (const space of this.#spaces) if (space !== undefined) yield space;
  }

  /** The space that a slot's blocks come from. */
  spaceOf(slot: StreamSlot): MemorySpace {
    return this.#spaces[slot.common]!;
  }

  /** Forgets a space without segments, and its slots. */
  dropSpace(space: MemorySpace): void {
    for (const slot of [...this.slots()]) {
      if (slot.common === space.common.index) this.dropSlot(slot);
    }
    this.#spaces[space.common.index] = undefined;
  }

  /** A new slot of a stream, of itself or in a capture. */
  protected addSlot(stream: MemoryStream, space: MemorySpace, captured: boolean): StreamSlot {
    const slot = new StreamSlot(this.#unusedIndex(), stream, space.common.index, captured);
    this.#install(slot);
    return slot;
  }

  /** Forgets a slot, which has nothing any more; its number will be another's. */
  protected dropSlot(slot: StreamSlot): void {
    this.#slots[slot.index] = undefined;
  }

  /** The slot of a stream in a capture, made when it is first needed. */
  protected slotInCapture(stream: MemoryStream, token: object): StreamSlot {
    let slots = this.#byCapture.get(token);
    if (slots === undefined) this.#byCapture.set(token, slots = new Map());
    let slot = slots.get(stream);
    if (slot === undefined) {
      let space = this.#captures.get(token);
      if (space === undefined) this.#captures.set(token, space = this.#newSpace(true));
      slots.set(stream, slot = this.addSlot(stream, space, true));
    }
    return slot;
  }

  /** The number of the common slot of a capture; `undefined` where it has no memory. */
  protected commonOfCapture(token: object): number | undefined {
    return this.#captures.get(token)?.common.index;
  }

  /** Forgets a capture; its space, where it has one, stays. */
  protected forgetCapture(token: object): MemorySpace | undefined {
    const space = this.#captures.get(token);
    this.#captures.delete(token);
    this.#byCapture.delete(token);
    return space;
  }

  #newSpace(isOfGraph: boolean): MemorySpace {
    const index = this.#unusedIndex();
    const common = new StreamSlot(index, undefined, index, false);
    this.#install(common);
    const space = new MemorySpace(this.shared, common, this.#isVirtual, isOfGraph);
    this.#spaces[index] = space;
    return space;
  }

  #unusedIndex(): number {
    let index = 0;
    while (this.#slots[index] !== undefined) index++;
    return index;
  }

  #install(slot: StreamSlot): void {
    this.#slots[slot.index] = slot;
    this.shared.heap.addOwner(slot.index);
    this.cache.addSlot(slot.index);
    if (slot.index >= this.epochs.length) {
      const longer = new Int32Array(this.epochs.length * 2);
      longer.set(this.epochs);
      this.epochs = longer;
    }
    this.epochs[slot.index] = slot.epoch;
  }
}
