/**
 * How much a pool may have, and by how much it grows.
 *
 * A pool needs more than what is in use, since free blocks do not always fit; the surplus is its
 * slack. Below the largest use and the slack together it grows as it needs to. Beyond, it gives back
 * what is free elsewhere before it takes more, which costs calls of the driver instead of memory.
 *
 * Mapped memory goes back in pieces, so that little slack is enough. There is more where calls
 * would gain little:
 *
 * - Streams: what one stream has free is no other's until it is through, so that each stream
 *   beside the first adds a quarter of the largest use.
 * - Small requests: each is worth a page or two, so that a pool that often makes room for them
 *   would do so page by page. Its slack doubles after every 32 times, until use has doubled.
 * - Repetition: where the same request after the same one, with as much in use, has the pool make
 *   room once more, a step of the program repeats. That adds a little until it needs no calls.
 *
 * As far as the slack allows more is mapped than a request needs, so that growing is rare: less for
 * small blocks, which would keep what large ones need, and nothing for a large request while use
 * does not grow.
 *
 * The slack never exceeds the largest use, and all that is free goes back before a request fails.
 * A plain segment goes back only as a whole, so that making room is hardly ever possible; there the
 * slack is a quarter.
 *
 * @module
 */

import { UNIT } from "./block_table.ts";

const MIB = 2 ** 20;

/** The slack of mapped memory, as a share of the largest use. */
const SLACK = 1 / 34;
/** The slack of plain segments. */
const PLAIN_SLACK = 1 / 4;
/** The most slack. */
const MOST_SLACK = 1;
/** What each stream beside the first adds to the slack. */
const STREAM_SLACK = 1 / 4;
/** What a repeated request adds. */
const REPEATED_SLACK = 1 / 128;
/** What is mapped at a time as far as the slack allows: more than the 20 MiB of PyTorch's segments. */
const STEP = 32 * MIB;
/** The same as a share of what the pool has, where that is more. */
const STEP_SHARE = 1 / 512;
/** What is mapped at a time for small blocks, which have much less of the pool as a rule. */
const SMALL_STEP = 6 * MIB;
/** The same as a share of what the pool has for them, where that is more. */
const SMALL_STEP_SHARE = 1 / 8;
/** A request of up to two pages gains too little for making room. */
const SMALL_REQUEST = 4 * MIB;
/** How often room is made for such requests before the slack doubles. */
const PATIENCE = 32;
/** How much room is made for them at a time, for those that follow. */
const SMALL_ROOM = 1 / 64;
/** Blocks below this share are not given back as long as others need not be. */
const WORTH = 1 / 1024;
/** How many requests are remembered. */
const MEMORY = 4096;

/** What the pool makes room for. */
export interface GrowthRequest {
  /** Units that the request takes. */
  readonly units: number;
  /** Bytes in use with it. */
  readonly live: number;
  /** By how many bytes the pool would exceed what it may have. */
  readonly excess: number;
}

/** What is to be given back. */
export interface Room {
  /** Bytes that must go back where there are as many free. */
  readonly needed: number;
  /** Bytes that shall go back besides, for later requests. */
  readonly ahead: number;
  /** Smaller blocks do not go back for what is ahead, in bytes. */
  readonly worth: number;
  /** Whether the pool grows by all that it may have then. */
  readonly fills: boolean;
}

/** The policy of one pool. */
export class GrowthPolicy {
  readonly #isVirtual: boolean;
  #mostLive = 0;
  /** Whether the last use that was noted is the largest. */
  #grows = false;
  /** Slack that repeated requests have added since the largest use grew, in bytes. */
  #repeated = 0;
  /** How often room was made for small requests since the largest use was as below. */
  #smallRooms = 0;
  #countedAt = 0;
  /** The last request that room was made for. */
  #previous = 0;
  /** Those since the largest use grew. */
  readonly #known = new Set<string>();

  /** A policy for mapped memory, or for plain segments. */
  constructor(isVirtual: boolean) {
    this.#isVirtual = isVirtual;
  }

  /** Notes the largest use so far, in bytes. */
  noteUse(mostLive: number): void {
    this.#grows = mostLive > this.#mostLive;
    if (!this.#grows) return;
    this.#mostLive = mostLive;
    // What a much smaller pool did says nothing about this one.
    if (mostLive >= 2 * this.#countedAt) {
      this.#smallRooms = 0;
      this.#countedAt = mostLive;
    }
    this.#repeated = 0;
    this.#known.clear();
  }

  /**
   * What the pool may have before it gives back what is free elsewhere, in bytes.
   *
   * @param streams How many streams it serves.
   */
  allowed(streams: number): number {
    if (!this.#isVirtual) return this.#mostLive * (1 + PLAIN_SLACK);
    const doubled = this.#mostLive * SLACK * 2 ** Math.floor(this.#smallRooms / PATIENCE);
    const others = STREAM_SLACK * Math.max(0, streams - 1) * this.#mostLive;
    const most = this.#mostLive * MOST_SLACK;
    return this.#mostLive + Math.min(doubled + others + this.#repeated, most);
  }

  /** What to give back for a request that would exceed what the pool may have. */
  roomFor({ units, live, excess }: GrowthRequest): Room {
    if (!this.#isVirtual) return { needed: excess, ahead: 0, worth: 0, fills: false };
    this.#noteRepetition(units, live, excess);
    if (units * UNIT <= SMALL_REQUEST) {
      this.#smallRooms++;
      return { needed: excess, ahead: this.#mostLive * SMALL_ROOM, worth: 0, fills: false };
    }
    // As long as use grows, the next requests will not find room either. A longer piece instead of
    // many holes saves calls.
    return {
      needed: excess,
      ahead: this.#grows ? this.#mostLive * SLACK : 0,
      worth: this.#mostLive * WORTH,
      fills: this.#grows,
    };
  }

  /**
   * How much is mapped at a time, so that growing is rare; no more than the pool has.
   *
   * @param kind 0 for small blocks, 1 for large ones.
   * @param reserved Bytes that the pool has.
   * @param ofKind Bytes of them that are for blocks of the kind.
   */
  step(kind: 0 | 1, reserved: number, ofKind: number): number {
    if (!this.#isVirtual) return 0;
    const step = kind === 0
      ? Math.min(Math.max(SMALL_STEP, ofKind * SMALL_STEP_SHARE), STEP)
      : Math.max(STEP, reserved * STEP_SHARE);
    return Math.min(step, reserved);
  }

  /**
   * Whether more may be mapped than a request needs where the pool never had as much: if use grows,
   * as the next requests will need it, and for small ones, which come in numbers. A large one that
   * finds no room in a pool that had enough so far is an exception, and pays for itself alone.
   */
  isAheadOfUse(units: number): boolean {
    return this.#grows || units * UNIT <= SMALL_REQUEST;
  }

  #noteRepetition(units: number, live: number, excess: number): void {
    const key = `${this.#previous} ${units} ${live}`;
    this.#previous = units;
    if (this.#known.has(key)) {
      this.#repeated += Math.min(excess, this.#mostLive * REPEATED_SLACK);
    } else if (this.#known.size < MEMORY) this.#known.add(key);
  }
}
