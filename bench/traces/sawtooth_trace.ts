/**
 * The trace `sawtooth`: an adversary of best fit and splitting.
 *
 * Each tooth fills the memory with blocks of about one size and frees most of them in random order,
 * so survivors stand between the holes. The next tooth requests blocks that are a little larger than
 * those holes, as in Robson's lower bound for allocators that cannot move blocks ("Bounds for some
 * functions concerning dynamic storage allocation", 1974). In between it requests blocks a little
 * smaller than a hole, which leave unusable rests. After growing, the sizes shrink again. Survivors
 * live for a few teeth.
 *
 * @module
 */

import { type GeneratedTrace, generatedTrace } from "./generated_trace.ts";

/** Bytes of a tooth. */
const TOOTH = 2 ** 30;
/** The block size of the first tooth, and its growth from tooth to tooth. */
const FIRST_SIZE = 600_000;
const GROWTH = 1.31;
/** Teeth with growing sizes; as many with shrinking sizes follow. */
const TEETH = 16;
/** One of so many blocks survives its tooth, for so many teeth. */
const SURVIVOR = 9;
const SURVIVED = 3;
/** The size of a block that spoils a hole, relative to the hole. */
const SPOIL = 0.86;

/** The trace. */
export const SAWTOOTH: GeneratedTrace = generatedTrace(
  "sawtooth",
  "Adversarial: teeth of blocks that fit no hole of the tooth before, with survivors in between.",
  3,
  (builder, random) => {
    /** Allocates blocks of about a size, odd to defeat rounding, up to a sum. */
    const fill = (size: number, bytes: number) => {
      const blocks: number[] = [];
      for (let filled = 0; filled < bytes;) {
        const next = Math.round(size * (1 + 0.04 * (random.fraction() - 0.5))) | 1;
        blocks.push(builder.allocate(next));
        filled += next;
      }
      return blocks;
    };
    const survivors: number[][] = [];
    const growing = Array.from({ length: TEETH }, (_, tooth) => FIRST_SIZE * GROWTH ** tooth);
    for (const size of [...growing, ...growing.toReversed()]) {
      const blocks = fill(size, TOOTH);
      const survives = (_: number, index: number) => index % SURVIVOR === SURVIVOR - 1;
      const others = blocks.filter((block, index) => !survives(block, index));
      random.shuffle(others);
      const half = others.length >> 1;
      builder.freeAll(others.slice(0, half));
      const spoilers = fill(size * SPOIL, TOOTH / 4);
      builder.freeAll(others.slice(half));
      random.shuffle(spoilers);
      builder.freeAll(spoilers);
      survivors.push(blocks.filter(survives));
      if (survivors.length > SURVIVED) builder.freeAll(survivors.shift()!);
    }
    for (const blocks of survivors) builder.freeAll(blocks);
  },
);
