/**
 * Debug mode: buffers between guards, filled with patterns when they are allocated and freed, and
 * kept in quarantine for a while after that, to find writes outside of live buffers.
 *
 * A guarded block is a front guard, the buffer, and a back guard:
 *
 * ```text
 * |  …  | guard |          buffer          | guard |  …  |
 * begin         address                    address + bytes      end
 * ```
 *
 * A check reads memory and waits for the streams that used it. Violations are thrown once, by the
 * call that checks: freeing, clearing the cache, `checkMemory()`, or disposing of the pool. The call
 * has done its work all the same.
 *
 * Blocks of a stream that is being captured have no guards, because its work has not run. During any
 * capture nothing is read.
 *
 * @module
 */

import type { BlockPool } from "./block_pool.ts";
import type { CapturedSite } from "./block_tracker.ts";
import { MemoryCorruptionError, type MemoryViolation } from "./memory_corruption.ts";
import type { MemoryStream } from "./memory_upstream.ts";
import type { PoolObserver } from "./pool_observer.ts";
import type { StreamSlot } from "./stream_slots.ts";

export const FRESH_PATTERN = 0xcd; // The content of new memory
export const FREED_PATTERN = 0xdd; // The content of freed memory
export const GUARD_PATTERN = 0xfd; // The content of guards

export const GUARD_BYTES = 512; // Bytes of the front guard, and the minimum of the back guard
const MAX_BACK_GUARD = 4096; // Maximum bytes of the back guard
const CHUNK = 2 ** 20;
const MAX_HELD_BLOCKS = 256;
const MAX_FREED = 1024; // Freed blocks remembered to report a double free

interface GuardedBlock {
  readonly begin: number;
  readonly end: number;
  readonly address: number;
  readonly bytes: number;
  readonly stream: MemoryStream;
  readonly site: CapturedSite;
  /** False if its stream was being captured: then it has no guards. */
  readonly isGuarded: boolean;
  readonly usedOn: Set<MemoryStream>;
  /** Whether its stream may still be filling it. */
  isFresh: boolean;
}

interface FreedBlock {
  readonly block: GuardedBlock;
  readonly freedAt: CapturedSite;
}

interface HeldBlock extends FreedBlock {
  /** Keeps the block pending until it is completed. */
  readonly hold: StreamSlot;
  /** Whether the buffer is filled with the pattern of freed memory, and not declared. */
  isPoisoned: boolean;
}

type Damage = Pick<MemoryViolation, "offset" | "damaged" | "found">;

export class GuardedBlocks implements PoolObserver {
  readonly #pool: BlockPool;
  readonly #maxHeldBytes: number; // Maximum bytes in quarantine
  readonly #live = new Map<number, GuardedBlock>();
  readonly #freed = new Map<number, FreedBlock>();
  readonly #held: HeldBlock[] = [];
  #heldBytes = 0;
  readonly #found: MemoryViolation[] = [];
  /** Streams of the pool's device, in the order of first use. */
  readonly #streams = new Set<MemoryStream>();
  #front = GUARD_BYTES; // Bytes of the front guard of the block that is being allocated

  constructor(pool: BlockPool, maxHeldBytes: number) {
    this.#pool = pool;
    this.#maxHeldBytes = maxHeldBytes;
  }

  /** Bytes of guards in the block that is being allocated. */
  get overhead(): number {
    return this.#front + GUARD_BYTES;
  }

  /** Bytes of guards of a block with this alignment. */
  overheadFor(alignment: number): number {
    return Math.max(alignment, GUARD_BYTES) + GUARD_BYTES;
  }

  frontOf(block: number): number {
    const { address, begin } = this.#live.get(block) ?? { address: 0, begin: 0 };
    return address - begin;
  }

  /**
   * Allocates a block with guards.
   *
   * @param attempt Takes a block of this many bytes; 0 for none.
   * @returns The block; 0 for none.
   */
  allocate(bytes: number, alignment: number, attempt: (bytes: number) => number): number {
    const before = this.#front;
    // The front guard keeps the alignment of the block for the buffer.
    this.#front = Math.max(alignment, GUARD_BYTES);
    let block: number;
    try {
      block = attempt(bytes + this.overhead);
    } finally {
      this.#front = before;
    }
    const live = this.#live.get(block);
    if (live === undefined || !live.isGuarded) return block;
    const { upstream } = this.#pool;
    try {
      this.#withWhole(live, () => {
        for (const [from, size] of guardsOf(live)) {
          upstream.fill(from, size, GUARD_PATTERN, live.stream);
        }
        upstream.fill(live.address, live.bytes, FRESH_PATTERN, live.stream);
      });
      upstream.declare(live.address, live.bytes, true);
    } catch (error) {
      this.#live.delete(block);
      this.#pool.freeUnguarded(block);
      throw error;
    }
    return block;
  }

  allocated(block: number, stream: MemoryStream): void {
    const { table, tracker } = this.#pool;
    const begin = table.address(block);
    const isGuarded = stream.captureToken === undefined;
    if (isGuarded) this.#streams.add(stream);
    this.#freed.delete(block);
    this.#live.set(block, {
      begin,
      end: begin + table.bytes(block),
      address: begin + this.#front,
      bytes: table.requested(block),
      stream,
      site: tracker!.siteOf(block),
      isGuarded,
      usedOn: new Set(),
      isFresh: isGuarded,
    });
  }

  /** Notes another stream that will use a block; it must not overtake the fill of the block. */
  used(block: number, stream: MemoryStream): void {
    const live = this.#live.get(block);
    if (live === undefined || !live.isGuarded) return;
    if (live.isFresh && !this.#isForbidden) {
      this.#wait(live.stream);
      live.isFresh = false;
    }
    if (stream.captureToken === undefined) live.usedOn.add(stream);
  }

  /** Frees a block after a check of its guards. */
  free(block: number): void {
    const live = this.#live.get(block);
    if (live === undefined) throw this.#doubleFree(block);
    const freedAt = this.#pool.sites.capture();
    this.#live.delete(block);
    this.#freed.set(block, { block: live, freedAt });
    if (this.#freed.size > MAX_FREED) this.#freed.delete(this.#freed.keys().next().value!);
    try {
      if (live.isGuarded) this.#retire(block, live, freedAt);
    } finally {
      this.#pool.freeUnguarded(block);
    }
    if (!this.#isForbidden) {
      this.#emptyHeld(() =>
        this.#heldBytes > this.#maxHeldBytes || this.#held.length > MAX_HELD_BLOCKS
      );
    }
    this.#throwFound("free a buffer");
  }

  /**
   * Checks and releases the quarantine; whether it held any block.
   *
   * @param action The action in the message.
   */
  releaseHeld(action: string): boolean {
    const had = this.#held.length > 0;
    if (!this.#isForbidden) this.#emptyHeld(() => true);
    this.#throwFound(action);
    return had && this.#held.length === 0;
  }

  /** Checks all blocks, live and freed, and returns their number. */
  check(action: string): number {
    if (this.#pool.upstream.capturing) {
      throw new TypeError(`Cannot ${action} while a stream is being captured: do it afterwards`);
    }
    for (const held of this.#held) {
      if (this.#checkHeld(held)) held.isPoisoned = true;
    }
    let count = this.#held.length;
    for (const live of this.#live.values()) {
      const stream = live.isGuarded ? this.#usableFor(live.stream) : undefined;
      if (stream === undefined) continue;
      this.#waitForUsers(live);
      this.#add("overrun", this.#checkLive(live, stream, false), live);
      count++;
    }
    this.#throwFound(action);
    return count;
  }

  /** Checks all blocks for the last time, if that is possible. */
  close(action: string): void {
    try {
      if (this.#isForbidden) return;
      this.#emptyHeld(() => true);
      this.check(action);
    } finally {
      for (const { hold } of this.#held.splice(0)) hold.complete();
      this.#heldBytes = 0;
    }
  }

  /** Whether waiting would break a capture, or the device is lost. */
  get #isForbidden(): boolean {
    const { upstream } = this.#pool;
    return upstream.capturing || upstream.lost;
  }

  /** Checks the guards of a block that is being freed, and puts it into quarantine. */
  #retire(block: number, live: GuardedBlock, freedAt: CapturedSite): void {
    const { upstream } = this.#pool;
    const stream = this.#usableFor(live.stream);
    if (upstream.lost || stream === undefined) {
      return upstream.declare(live.address, live.bytes, false);
    }
    if (this.#isForbidden) return this.#hold(block, live, freedAt, false);
    try {
      this.#waitForUsers(live);
    } catch (error) {
      upstream.declare(live.address, live.bytes, false);
      throw error;
    }
    this.#add("overrun", this.#checkLive(live, stream, true), live, freedAt);
    // The next owner's stream is not ordered after another one.
    if (stream !== live.stream) this.#wait(stream);
    if (live.end - live.begin <= this.#maxHeldBytes) this.#hold(block, live, freedAt, true);
  }

  #hold(number: number, block: GuardedBlock, freedAt: CapturedSite, isPoisoned: boolean): void {
    const hold = this.#pool.streams.hold(number);
    this.#held.push({ block, freedAt, isPoisoned, hold });
    this.#heldBytes += block.end - block.begin;
  }

  /** Releases the oldest blocks in quarantine, after a check, as long as the predicate holds. */
  #emptyHeld(mustGo: () => boolean): void {
    const { streams, counters, upstream } = this.#pool;
    let went = false;
    try {
      while (this.#held.length > 0 && mustGo()) {
        const held = this.#held.shift()!;
        const { block, hold, isPoisoned } = held;
        this.#heldBytes -= block.end - block.begin;
        // Even if the check fails, the block must not be held for ever.
        hold.complete();
        went = true;
        if (!this.#checkHeld(held) && !isPoisoned) {
          upstream.declare(block.address, block.bytes, false);
        }
      }
    } finally {
      if (went) {
        streams.settle();
        counters.recount();
      }
    }
  }

  /** Checks a block in quarantine; false if no stream is left to read with. */
  #checkHeld({ block, freedAt, isPoisoned }: HeldBlock): boolean {
    const stream = this.#usableFor(block.stream);
    if (stream === undefined) return false;
    this.#wait(block.stream);
    if (isPoisoned) {
      this.#withWhole(block, () => {
        const { address, bytes } = block;
        const damage = this.#compare(block, address, bytes, FREED_PATTERN, stream);
        this.#add("use after free", damage, block, freedAt);
        this.#add("overrun", this.#compareGuards(block, stream), block, freedAt);
      });
    } else {
      for (const other of block.usedOn) this.#wait(other);
      this.#add("overrun", this.#checkLive(block, stream, true), block, freedAt);
    }
    // The next owner's stream is not ordered after this one.
    this.#wait(stream);
    return true;
  }

  /**
   * Checks the guards of a buffer and restores them.
   *
   * @param retire Whether the buffer is freed: it gets the pattern of freed memory.
   */
  #checkLive(block: GuardedBlock, stream: MemoryStream, retire: boolean): Damage[] {
    const { upstream } = this.#pool;
    const { address, bytes } = block;
    upstream.declare(address, bytes, false);
    try {
      return this.#withWhole(block, () => {
        const damage = this.#compareGuards(block, stream);
        if (retire) upstream.fill(address, bytes, FREED_PATTERN, stream);
        return damage;
      });
    } finally {
      if (!retire) upstream.declare(address, bytes, true);
    }
  }

  /** Declares the whole block, including its guards, during an action. */
  #withWhole<T>({ begin, end }: GuardedBlock, act: () => T): T {
    const { upstream } = this.#pool;
    upstream.declare(begin, end - begin, true);
    try {
      return act();
    } finally {
      upstream.declare(begin, end - begin, false);
    }
  }

  #compareGuards(block: GuardedBlock, stream: MemoryStream): Damage[] {
    return guardsOf(block).flatMap(([from, bytes]) =>
      this.#compare(block, from, bytes, GUARD_PATTERN, stream)
    );
  }

  #compare(
    { address }: GuardedBlock,
    from: number,
    bytes: number,
    pattern: number,
    stream: MemoryStream,
  ): Damage[] {
    const { upstream } = this.#pool;
    let first = -1;
    let damaged = 0;
    let found = "";
    for (let done = 0; done < bytes; done += CHUNK) {
      const chunk = new Uint8Array(Math.min(CHUNK, bytes - done));
      upstream.read(from + done, chunk, stream);
      const wrong = chunk.findIndex((byte) => byte !== pattern);
      if (wrong < 0) continue;
      if (first < 0) {
        first = done + wrong;
        found = Array.from(
          chunk.subarray(wrong, wrong + 8),
          (byte) => byte.toString(16).padStart(2, "0"),
        ).join(" ");
      }
      damaged += chunk.reduce((count, byte) => count + Number(byte !== pattern), 0);
    }
    if (first < 0) return [];
    upstream.fill(from, bytes, pattern, stream);
    return [{ offset: from + first - address, damaged, found }];
  }

  #add(
    kind: MemoryViolation["kind"],
    damage: readonly Damage[],
    block: GuardedBlock,
    freedAt?: CapturedSite,
  ): void {
    this.#found.push(...damage.map((each) => violationOf(kind, each, block, freedAt)));
  }

  #throwFound(action: string): void {
    if (this.#found.length === 0) return;
    throw new MemoryCorruptionError(action, this.#pool.upstream.label, this.#found.splice(0));
  }

  #doubleFree(block: number): Error {
    const { label } = this.#pool.upstream;
    const freed = this.#freed.get(block);
    if (freed === undefined) {
      return new TypeError(`Cannot free block ${block} of the pool of ${label} as it is not live`);
    }
    const damage = { offset: null, damaged: 0, found: "" };
    const violation = violationOf("double free", damage, freed.block, freed.freedAt);
    return new MemoryCorruptionError("free a buffer", label, [violation]);
  }

  /** A stream to read the blocks of a stream with: itself, or another if it is disposed. */
  #usableFor(stream: MemoryStream): MemoryStream | undefined {
    if (!stream.disposed) return stream;
    for (const other of this.#streams) {
      if (!other.disposed) return other;
      this.#streams.delete(other);
    }
    return undefined;
  }

  #waitForUsers({ stream, usedOn }: GuardedBlock): void {
    this.#wait(stream);
    for (const other of usedOn) this.#wait(other);
  }

  /** Waits, blocking this thread, for the work of a stream so far. */
  #wait(stream: MemoryStream): void {
    const { streams, upstream } = this.#pool;
    if (stream.disposed) {
      // Its last mark was made on disposal. Without one the pool has seen it finish.
      for (const slot of streams.slots()) {
        const mark = slot.stream === stream && !slot.captured ? slot.marks.at(-1) : undefined;
        if (mark !== undefined) upstream.waitSync(mark.event);
      }
      return;
    }
    const event = upstream.createEvent(stream);
    try {
      upstream.recordEvent(event, stream);
      upstream.waitSync(event);
    } finally {
      upstream.destroyEvent(event);
    }
  }
}

function violationOf(
  kind: MemoryViolation["kind"],
  damage: Damage,
  { address, bytes, site }: GuardedBlock,
  freedAt?: CapturedSite,
): MemoryViolation {
  const sites = { allocatedAt: site.text, freedAt: freedAt?.text ?? null };
  return { kind, address, bytes, ...damage, ...sites };
}

function guardsOf({ end, address, bytes }: GuardedBlock): [from: number, bytes: number][] {
  const behind = address + bytes;
  const back = Math.min(end - behind, MAX_BACK_GUARD);
  return [[address - GUARD_BYTES, GUARD_BYTES], [behind, back]];
}
