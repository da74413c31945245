/**
 * The trace `minimalloc`: instances in the style of minimalloc's benchmarks, one after the other.
 *
 * google/minimalloc publishes 11 instances (`benchmarks/challenging`, Apache-2.0), each of 154 to
 * 454 buffers in a memory of 1 MiB over a time of 1 048 576. What they have in common, measured on
 * the files:
 *
 * - Times and sizes are multiples of 1 024, and at the fullest moment at most 6 % is free.
 * - A to E and I to K fill 86 to 98 % of the rectangle of time and memory with buffers of very
 *   different sizes and lives: the median size is 1 to 9 % of the memory, the largest 20 to 85 %.
 * - F to H fill about 60 % with buffers that are all alike: sizes of 3 to 12 % of the memory, lives
 *   of 1 to 5 % of the time.
 *
 * Both kinds come from cutting the rectangle into pieces and leaving some out: always the largest
 * piece is cut into about equal parts for those that are alike, and the larger of a few chosen at
 * random anywhere for the others. So the buffers of an instance can be placed without any waste by
 * someone who knows the future; a pool does not, and sees what it needs beyond. Sizes are
 * multiplied by 1 024, which makes 1 GiB.
 *
 * @module
 */

import type { MemoryTrace } from "./memory_trace.ts";
import { type LifetimeBuffer, playLifetimes } from "./minimalloc_instance.ts";
import { SeededRandom } from "./seeded_random.ts";
import { TraceBuilder } from "./trace_builder.ts";

/** The time and the memory of an instance. */
export const INSTANCE_EXTENT: number = 2 ** 20;

/** What times and sizes are multiples of. */
const GRAIN = 1024;

/** What sizes are multiplied by. */
const MULTIPLIER = 1024;

/** Buffers of an instance, and whether they are all alike. */
export interface InstanceShape {
  /** How many buffers it has. */
  readonly buffers: number;
  /** Whether sizes and lives are all about the same. */
  readonly alike: boolean;
}

/** The shapes of minimalloc's instances A to K. */
export const INSTANCE_SHAPES: readonly InstanceShape[] = [
  ...[154, 170, 203, 213, 215].map((buffers) => ({ buffers, alike: false })),
  ...[296, 308, 316].map((buffers) => ({ buffers, alike: true })),
  ...[374, 409, 454].map((buffers) => ({ buffers, alike: false })),
];

/** How much of the rectangle the buffers fill: those that are alike, and the others. */
const FILLED_ALIKE = 0.6;
const FILLED = 0.93;

/** Of so many pieces chosen at random the largest is cut, where they are not to be alike. */
const CANDIDATES = 3;

/** How many times as many grains of time as of memory a piece of these has, in one instance. */
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

/** Cuts a piece in two, or returns it where it is one grain either way. */
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
  return acrossTime
    ? [
      { ...piece, upper: piece.lower + at },
      { ...piece, lower: piece.lower + at },
    ]
    : [
      { ...piece, top: piece.bottom + at },
      { ...piece, bottom: piece.bottom + at },
    ];
}

/** Cuts the rectangle into so many pieces. */
function cutRectangle(count: number, alike: boolean, random: SeededRandom): Piece[] {
  const extent = INSTANCE_EXTENT / GRAIN;
  const pieces: Piece[] = [{ lower: 0, upper: extent, bottom: 0, top: extent }];
  while (pieces.length < count) {
    const candidates = alike
      ? [...pieces.keys()]
      : Array.from({ length: CANDIDATES }, () => random.integer(0, pieces.length - 1));
    const index = largest(pieces, candidates);
    pieces.splice(index, 1, ...cut(pieces[index]!, random, alike));
  }
  return pieces;
}

/** The largest of some pieces, by index. */
function largest(pieces: readonly Piece[], candidates: readonly number[]): number {
  return candidates.reduce((found, index) =>
    areaOf(pieces[index]!) > areaOf(pieces[found]!) ? index : found
  );
}

/**
 * Makes an instance.
 *
 * @param shape How many buffers, and of which kind.
 * @param random Where the cuts are.
 */
export function createInstance(shape: InstanceShape, random: SeededRandom): LifetimeBuffer[] {
  const { buffers, alike } = shape;
  const all = Math.round(buffers / (alike ? FILLED_ALIKE : FILLED));
  const pieces = leaveOut(cutRectangle(all, alike, random), buffers, random);
  random.shuffle(pieces);
  return pieces.map(({ lower, upper, bottom, top }) => ({
    lower: lower * GRAIN,
    upper: upper * GRAIN,
    size: (top - bottom) * GRAIN,
  }));
}

/** Keeps so many pieces, among them all of one moment, at which the memory is full. */
function leaveOut(pieces: Piece[], count: number, random: SeededRandom): Piece[] {
  const moment = random.integer(0, INSTANCE_EXTENT / GRAIN - 1);
  const isThen = ({ lower, upper }: Piece) => lower <= moment && moment < upper;
  const others = pieces.filter((piece) => !isThen(piece));
  random.shuffle(others);
  const kept = pieces.filter(isThen);
  return [...kept, ...others.slice(0, count - kept.length)];
}

/** Makes the trace `minimalloc`. */
export function createMinimallocTrace(): MemoryTrace {
  const builder = new TraceBuilder();
  const random = new SeededRandom(5);
  for (const shape of INSTANCE_SHAPES) {
    const buffers = createInstance(shape, random);
    playLifetimes(
      builder,
      buffers.map((buffer) => ({ ...buffer, size: buffer.size * MULTIPLIER })),
    );
  }
  return builder.build("minimalloc", MINIMALLOC_DESCRIPTION);
}

/** What the trace is. */
export const MINIMALLOC_DESCRIPTION: string =
  `${INSTANCE_SHAPES.length} instances in the style of minimalloc's benchmarks, sizes × ` +
  `${MULTIPLIER}: buffers of known lives that fill the memory at the fullest moment.`;
