/**
 * What to do about bank conflicts, in a sentence.
 *
 * @module
 */

import { type AccessGeometry, WARP_LANES } from "./access_geometry.ts";
import type { AccessReport } from "./access_report.ts";
import { type RunShape, runShape, trialConflicts } from "./pattern_trial.ts";

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
  // Warps then go through several tiles, of which nothing says how they lie to each other.
  if (figures.tile !== null && shape.accesses < WARP_LANES) {
    return ": paddingFor() says by how much to pad the tile's rows";
  }
  // Rows are what a stride of more than one goes across.
  const padded = Math.abs(shape.stride) > 1 ? "stride" : "pitch";
  const now = trialConflicts(shape, geometry);
  const [distance, then] = bestDistance(shape, padded, geometry, now);
  // What does not follow the pattern may be all that conflicts.
  if (then >= now) return ", which no padding of rows avoids";
  const left = then === 0 ? "" : `, which leaves ${decimal(100 * then / now)} % of that`;
  return `: pad the ${padded} of ${Math.abs(shape[padded])} elements to ${distance}${left}`;
}

/** The least distance of rows of those with the fewest conflicts, and how many these are. */
function bestDistance(
  shape: RunShape,
  padded: "stride" | "pitch",
  geometry: AccessGeometry,
  now: number,
): readonly [number, number] {
  const distance = Math.abs(shape[padded]);
  // Rows of whole words: all rows then lie in their words alike.
  const unit = Math.max(1, WORD_BYTES / geometry.elementBytes);
  let best = distance;
  let least = now;
  const first = Math.floor(distance / unit) + 1;
  for (let units = first; units < first + BANKS && least > 0; units++) {
    const trial = { ...shape, [padded]: Math.sign(shape[padded]) * units * unit };
    const conflicts = trialConflicts(trial, geometry, least);
    if (conflicts < least) [best, least] = [units * unit, conflicts];
  }
  return [best, least];
}

function decimal(value: number): string {
  return String(Number(value.toFixed(value < 10 ? 2 : 1)));
}
