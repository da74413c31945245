/**
 * What to do about bank conflicts, in a sentence.
 *
 * @module
 */

import { type AccessGeometry, WARP_LANES } from "./access_geometry.ts";
import type { AccessReport } from "./access_report.ts";
import { type RunShape, runShape, trialCost } from "./pattern_trial.ts";

const WORD_BYTES = 4;
const BANKS = 32;

type Figures = Omit<AccessReport, "advice" | "bankAdvice">;

/** The sentence; empty where nothing conflicts. */
export function bankAdvice(figures: Figures, geometry: AccessGeometry): string {
  const { bankConflicts, requests } = figures;
  if (bankConflicts === 0) return "";
  const each = decimal(bankConflicts / (requests / geometry.parts));
  const noun = each === "1" ? "wavefront" : "wavefronts";
  return `In shared memory bank conflicts would cost ${each} ${noun} an access` +
    `${remedy(figures, geometry)}.`;
}

function remedy(figures: Figures, geometry: AccessGeometry): string {
  const shape = runShape(figures);
  if (shape === null) return ", which no padding of rows avoids";
  if (shape.accesses < WARP_LANES) return ": paddingFor() says by how much to pad the tile's rows";
  const isRow = shape.stride > 1;
  const now = trialCost(shape, geometry).bankConflicts;
  const [pitch, then] = bestPitch(shape, isRow, geometry, now);
  // What does not follow the pattern may be all that conflicts.
  if (then >= now) return ", which no padding of rows avoids";
  const left = then === 0 ? "" : `, which leaves ${decimal(then)}`;
  const name = figures.tile === null ? "stride" : isRow ? "rows" : "pitch";
  const before = isRow ? shape.stride : Math.abs(shape.pitch);
  return `: pad the ${name} of ${before} elements to ${pitch}${left}`;
}

/** The least distance of rows of those with the fewest conflicts, and how many these are. */
function bestPitch(
  shape: RunShape,
  isRow: boolean,
  geometry: AccessGeometry,
  now: number,
): readonly [number, number] {
  const before = isRow ? shape.stride : Math.abs(shape.pitch);
  const unit = Math.max(1, WORD_BYTES / geometry.elementBytes);
  let best = before;
  let least = now;
  // Rows that are whole words: lanes then share words or meet in a bank as they do in every row.
  const first = Math.floor(before / unit) + 1;
  for (let units = first; units <= first + BANKS && least > 0; units++) {
    const pitch = units * unit;
    const padded = isRow
      ? { ...shape, stride: pitch }
      : { ...shape, pitch: Math.sign(shape.pitch) * pitch };
    const { bankConflicts } = trialCost(padded, geometry);
    if (bankConflicts < least) [best, least] = [pitch, bankConflicts];
  }
  return [best, least];
}

function decimal(value: number): string {
  return String(Number(value.toFixed(value < 10 ? 2 : 1)));
}
