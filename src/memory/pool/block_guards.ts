/**
 * What debug mode writes into memory, and reads again: patterns that nobody else is likely to.
 *
 * A guarded block is a front, the buffer, and a back:
 *
 * ```text
 * |  …  | guard |          buffer          | guard |  …  |
 * begin         address                    address + bytes      end
 * ```
 *
 * Where blocks are declared, only the buffer is one. To touch the guards the whole block is declared
 * for as long as that takes, so nothing that is under way may use the buffer meanwhile.
 *
 * @module
 */

import type { MemoryStream, MemoryUpstream } from "./memory_upstream.ts";

/** What new memory is filled with. */
export const FRESH_PATTERN = 0xcd;
/** What freed memory is filled with. */
export const FREED_PATTERN = 0xdd;
/** What guards are filled with. */
export const GUARD_PATTERN = 0xfd;

/** Bytes of the guard before a buffer, and the least behind it. */
export const GUARD_BYTES = 512;
/** Most bytes of the guard behind it. */
const MOST_BEHIND = 4096;
/** Bytes that are read at once. */
const CHUNK = 2 ** 20;

/** Where a guarded block and its buffer are. */
export interface GuardedRange {
  /** Where the block begins. */
  readonly begin: number;
  /** Where it ends. */
  readonly end: number;
  /** Where the buffer begins. */
  readonly address: number;
  /** The buffer's size. */
  readonly bytes: number;
}

/** Bytes that are not what they were. */
export interface Damage {
  /** The first of them, from the beginning of the buffer. */
  readonly offset: number;
  /** How many. */
  readonly damaged: number;
  /** The first eight from there on, in hexadecimal. */
  readonly found: string;
}

/** Writes and reads patterns through an upstream. */
export class BlockGuards {
  readonly #upstream: MemoryUpstream;

  /** Guards for the blocks of an upstream. */
  constructor(upstream: MemoryUpstream) {
    this.#upstream = upstream;
  }

  /** Fills a new block, and declares the buffer. Enqueues only. */
  dress(range: GuardedRange, stream: MemoryStream): void {
    const { address, bytes } = range;
    this.#withWhole(range, () => {
      this.#fillGuards(range, stream);
      this.#upstream.fill(address, bytes, FRESH_PATTERN, stream);
    });
    this.#upstream.declare(address, bytes, true);
  }

  /**
   * Checks the guards of a live buffer on which no work is under way, and makes them good.
   *
   * @param retire Whether it is freed: it is filled with a pattern, and not declared any more.
   * @returns What was found.
   */
  checkLive(range: GuardedRange, stream: MemoryStream, retire: boolean): Damage[] {
    const { address, bytes } = range;
    this.#upstream.declare(address, bytes, false);
    try {
      return this.#withWhole(range, () => {
        const damage = this.#checkGuards(range, stream);
        if (retire) this.#upstream.fill(address, bytes, FREED_PATTERN, stream);
        return damage;
      });
    } finally {
      if (!retire) this.#upstream.declare(address, bytes, true);
    }
  }

  /** Checks a freed buffer and its guards, and makes them good. */
  checkFreed(range: GuardedRange, stream: MemoryStream): { buffer: Damage[]; guards: Damage[] } {
    return this.#withWhole(range, () => {
      const { address, bytes } = range;
      const buffer = this.#check(range, address, bytes, FREED_PATTERN, stream);
      return { buffer, guards: this.#checkGuards(range, stream) };
    });
  }

  /** Declares a block as a whole while something is done that only enqueues, or waits itself. */
  #withWhole<T>({ begin, end }: GuardedRange, act: () => T): T {
    this.#upstream.declare(begin, end - begin, true);
    try {
      return act();
    } finally {
      this.#upstream.declare(begin, end - begin, false);
    }
  }

  #fillGuards(range: GuardedRange, stream: MemoryStream): void {
    for (const [from, bytes] of guardsOf(range)) {
      this.#upstream.fill(from, bytes, GUARD_PATTERN, stream);
    }
  }

  #checkGuards(range: GuardedRange, stream: MemoryStream): Damage[] {
    return guardsOf(range).flatMap(([from, bytes]) =>
      this.#check(range, from, bytes, GUARD_PATTERN, stream)
    );
  }

  /** Compares bytes with what they were; what is wrong is made good. */
  #check(
    { address }: GuardedRange,
    from: number,
    bytes: number,
    pattern: number,
    stream: MemoryStream,
  ): Damage[] {
    let first = -1;
    let damaged = 0;
    let found = "";
    for (let done = 0; done < bytes; done += CHUNK) {
      const chunk = new Uint8Array(Math.min(CHUNK, bytes - done));
      this.#upstream.read(from + done, chunk, stream);
      const wrong = firstOther(chunk, pattern);
      if (wrong < 0) continue;
      if (first < 0) {
        first = done + wrong;
        found = hexOf(chunk.subarray(wrong, wrong + 8));
      }
      damaged += countOthers(chunk, pattern);
    }
    if (first < 0) return [];
    this.#upstream.fill(from, bytes, pattern, stream);
    return [{ offset: from + first - address, damaged, found }];
  }
}

/** Where the guards of a block begin, and how long they are. */
function guardsOf({ end, address, bytes }: GuardedRange): [from: number, bytes: number][] {
  const behind = address + bytes;
  return [
    [address - GUARD_BYTES, GUARD_BYTES],
    [behind, Math.min(end - behind, MOST_BEHIND)],
  ];
}

/** The first byte that is another; −1 where there is none. */
function firstOther(bytes: Uint8Array<ArrayBuffer>, pattern: number): number {
  for (let at = 0; at < bytes.length; at++) if (bytes[at] !== pattern) return at;
  return -1;
}

function countOthers(bytes: Uint8Array<ArrayBuffer>, pattern: number): number {
  let count = 0;
  for (const byte of bytes) if (byte !== pattern) count++;
  return count;
}

function hexOf(bytes: Uint8Array<ArrayBuffer>): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
}
