/**
 * The trace `minimalloc`: instances in the style of minimalloc's benchmarks, one after the other.
 *
 * google/minimalloc publishes 11 instances (`benchmarks/challenging`, Apache-2.0), each of 154 to
 * 454 buffers in a memory of 1 MiB over a time of 1 048 576. Measured on the files:
 *
 * - Times and sizes are multiples of 1 024. At the fullest moment at most 6 % of the memory is free.
 * - A to E and I to K fill 86 to 98 % of the rectangle of time and memory with buffers of very
 *   different sizes and lives: the median size is 1 to 9 % of the memory, the largest 20 to 85 %.
 * - F to H fill about 60 % with similar buffers: sizes of 3 to 12 % of the memory, lives of 1 to 5 %
 *   of the time.
 *
 * Both kinds come from cutting the rectangle into pieces and leaving some out. For similar buffers
 * the largest piece is cut into about equal parts. For the others the largest of a few random pieces
 * is cut anywhere. A solver that knows the future can place such buffers without waste; a pool does
 * not know it. Sizes are multiplied by 1 024, which makes 1 GiB.
 *
 * @module
 */

import { addLifetimes, type LifetimeBuffer } from "../../src/lab/memory/trace/allocator_logs.ts";
import { type GeneratedTrace, generatedTrace } from "./generated_trace.ts";
import type { SeededRandom } from "./seeded_random.ts";

/** The time and the memory of an instance. */
export const INSTANCE_EXTENT: number = 2 ** 20;
/** The unit of times and sizes. */
const GRAIN = 1024;
/** Multiplies the sizes. */
const MULTIPLIER = 1024;

/** The shape of an instance. */
export interface InstanceShape {
  readonly buffers: number;
  /** Similar sizes and lives. */
  readonly alike: boolean;
}

/** The shapes of minimalloc's instances A to K. */
export const INSTANCE_SHAPES: readonly InstanceShape[] = [
  ...[154, 170, 203, 213, 215].map((buffers) => ({ buffers, alike: false })),
  ...[296, 308, 316].map((buffers) => ({ buffers, alike: true })),
  ...[374, 409, 454].map((buffers) => ({ buffers, alike: false })),
];

/** The filled share of the rectangle: with similar buffers, and with others. */
const FILLED_ALIKE = 0.6;
const FILLED = 0.93;
/** The number of random pieces of which the largest is cut. */
const CANDIDATES = 3;
/** The ratio of time to memory, in grains, of similar buffers. */
const FLATNESS = 0.45;

/** A piece of the rectangle of time and memory, in grains. */
interface Piece {
  readonly lower: number;
  readonly upper: number;
  readonly bottom: number;
  readonly top: number;
}

function areaOf({ lower, upper, bottom, top }: Piece): number {
  return (upper - lower) * (top - bottom);
}

/** Cuts a piece in two, unless it is one grain. */
function cut(piece: Piece, random: SeededRandom, alike: boolean): Piece[] {
  const time = piece.upper - piece.lower;
  const memory = piece.top - piece.bottom;
  if (time < 2 && memory < 2) return [piece];
  const acrossTime = alike
    ? time > memory * FLATNESS
    : memory < 2 || (time >= 2 && random.fraction() < 0.5);
  const length = acrossTime ? time : memory;
  const at = alike
    ? Math.round(length * (0.42 + 0.16 * random.fraction()))
    : random.integer(1, length - 1);
  if (acrossTime) {
    return [{ ...piece, upper: piece.lower + at }, { ...piece, lower: piece.lower + at }];
  }
  return [{ ...piece, top: piece.bottom + at }, { ...piece, bottom: piece.bottom + at }];
}

function cutRectangle(count: number, alike: boolean, random: SeededRandom): Piece[] {
  const extent = INSTANCE_EXTENT / GRAIN;
  const pieces: Piece[] = [{ lower: 0, upper: extent, bottom: 0, top: extent }];
  while (pieces.length < count) {
    const candidates = alike
      ? [...pieces.keys()]
      : Array.from({ length: CANDIDATES }, () => random.integer(0, pieces.length - 1));
    const largest = candidates.reduce((found, index) =>
      areaOf(pieces[index]!) > areaOf(pieces[found]!) ? index : found
    );
    pieces.splice(largest, 1, ...cut(pieces[largest]!, random, alike));
  }
  return pieces;
}

/** Makes an instance of a shape. */
export function createInstance(shape: InstanceShape, random: SeededRandom): LifetimeBuffer[] {
  const { buffers, alike } = shape;
  const pieces = cutRectangle(
    Math.round(buffers / (alike ? FILLED_ALIKE : FILLED)),
    alike,
    random,
  );
  // All pieces of one moment are kept, so the memory is full then.
  const moment = random.integer(0, INSTANCE_EXTENT / GRAIN - 1);
  const isThen = ({ lower, upper }: Piece) => lower <= moment && moment < upper;
  const others = pieces.filter((piece) => !isThen(piece));
  random.shuffle(others);
  const then = pieces.filter(isThen);
  const kept = [...then, ...others.slice(0, buffers - then.length)];
  random.shuffle(kept);
  return kept.map(({ lower, upper, bottom, top }) => ({
    lower: lower * GRAIN,
    upper: upper * GRAIN,
    size: (top - bottom) * GRAIN,
  }));
}

/** The trace. */
export const MINIMALLOC: GeneratedTrace = generatedTrace(
  "minimalloc",
  `${INSTANCE_SHAPES.length} instances in the style of minimalloc's benchmarks, sizes × ` +
    `${MULTIPLIER}: buffers of known lives that fill the memory at the fullest moment.`,
  5,
  (builder, random) => {
    for (const shape of INSTANCE_SHAPES) {
      const buffers = createInstance(shape, random);
      addLifetimes(
        builder,
        buffers.map((buffer) => ({ ...buffer, size: buffer.size * MULTIPLIER })),
      );
    }
  },
);
