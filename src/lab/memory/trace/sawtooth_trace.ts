/**
 * The trace `sawtooth`: an adversary of best fit and splitting.
 *
 * Each tooth fills the memory with blocks of about one size and frees most of them in a random
 * order, so that survivors stand between the holes. The next tooth asks for blocks that are a
 * little larger than those holes, as in Robson's lower bound for allocators that cannot move blocks
 * ("Bounds for some functions concerning dynamic storage allocation", 1974); and in between for
 * blocks that are a little smaller than a hole, so that what is left over serves nobody. After the
 * sizes have grown they shrink again. Survivors live for a few teeth.
 *
 * @module
 */

import type { MemoryTrace } from "./memory_trace.ts";
import { SeededRandom } from "./seeded_random.ts";
import { TraceBuilder } from "./trace_builder.ts";

/** Bytes that a tooth fills. */
const TOOTH = 2 ** 30;
/** Sizes of the first tooth's blocks and by what factor they grow from tooth to tooth. */
const FIRST_SIZE = 600_000;
const GROWTH = 1.31;
/** Teeth with growing sizes; as many with shrinking ones follow. */
const TEETH = 16;
/** One of so many blocks survives its tooth, and for how many teeth. */
const SURVIVOR = 9;
const SURVIVED = 3;
/** How much smaller than a hole a block is that spoils it. */
const SPOIL = 0.86;

class SawtoothRun {
  readonly builder = new TraceBuilder();
  readonly #random: SeededRandom;
  /** Survivors by tooth, the oldest first. */
  readonly #survivors: number[][] = [];

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  run(): void {
    const growing = Array.from({ length: TEETH }, (_, tooth) => FIRST_SIZE * GROWTH ** tooth);
    for (const size of [...growing, ...growing.toReversed()]) this.#tooth(size);
    for (const survivors of this.#survivors) this.builder.freeAll(survivors);
  }

  #tooth(size: number): void {
    const blocks = this.#fill(size, TOOTH);
    const survivors = blocks.filter((_, index) => index % SURVIVOR === SURVIVOR - 1);
    const others = blocks.filter((_, index) => index % SURVIVOR !== SURVIVOR - 1);
    this.#random.shuffle(others);
    const half = others.length >> 1;
    this.builder.freeAll(others.slice(0, half));
    const spoilers = this.#fill(size * SPOIL, TOOTH / 4);
    this.builder.freeAll(others.slice(half));
    this.#random.shuffle(spoilers);
    this.builder.freeAll(spoilers);
    this.#survivors.push(survivors);
    if (this.#survivors.length > SURVIVED) this.builder.freeAll(this.#survivors.shift()!);
  }

  /** Blocks of about a size until they have so many bytes; odd sizes, as no pool rounds to. */
  #fill(size: number, bytes: number): number[] {
    const blocks: number[] = [];
    for (let filled = 0; filled < bytes;) {
      const next = Math.round(size * (1 + 0.04 * (this.#random.fraction() - 0.5))) | 1;
      blocks.push(this.builder.allocate(next));
      filled += next;
    }
    return blocks;
  }
}

/** Makes the trace `sawtooth`. */
export function createSawtoothTrace(): MemoryTrace {
  const run = new SawtoothRun(new SeededRandom(3));
  run.run();
  return run.builder.build("sawtooth", SAWTOOTH_DESCRIPTION);
}

/** What the trace is. */
export const SAWTOOTH_DESCRIPTION: string =
  "Adversarial: teeth of blocks that fit no hole of the tooth before, with survivors in between.";
