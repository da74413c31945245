/**
 * What a pattern would cost if its elements lay otherwise: advice is given where that was counted.
 *
 * @module
 */

import { type AccessGeometry, WARP_LANES } from "./access_geometry.ts";
import type { AccessReport } from "./access_report.ts";
import { BankCounter } from "./bank_conflicts.ts";
import { WarpRequests } from "./warp_requests.ts";

/** Accesses that are counted: after so many, every pattern with short runs has come round. */
const ACCESSES = 512;

/** A regular pattern: runs whose accesses are a stride apart, and which begin a pitch apart. */
export interface RunShape {
  /** Accesses of a run. */
  readonly columns: number;
  /** Elements from one to the next. */
  readonly stride: number;
  /** Elements from one run to the next. */
  readonly pitch: number;
  /** Accesses until the pattern begins elsewhere. */
  readonly accesses: number;
}

/** The shape of a pattern; null where it has none. */
export function runShape(
  { stride, tile, count }: Pick<AccessReport, "stride" | "tile" | "count">,
): RunShape | null {
  if (stride === null) return null;
  if (tile === null) return { columns: count, stride, pitch: 0, accesses: count };
  const { columns, rows, pitch } = tile;
  return { columns, stride, pitch, accesses: rows * columns };
}

/** The indices of a shape, of which the least of a whole run is 0, or as many as are counted. */
function indicesOf({ columns, stride, pitch, accesses }: RunShape): Float64Array<ArrayBuffer> {
  const indices = new Float64Array(Math.min(ACCESSES, accesses));
  const lastRun = Math.floor((indices.length - 1) / columns);
  const lastColumn = Math.min(columns, indices.length) - 1;
  let run = -(Math.min(0, pitch) * lastRun + Math.min(0, stride) * lastColumn);
  for (let access = 0, column = 0; access < indices.length; access++) {
    indices[access] = run + column * stride;
    if (++column < columns) continue;
    column = 0;
    run += pitch;
  }
  return indices;
}

/** Counts requests for the accesses in a shape, where element 0 begins a line. */
export function trialRequests(shape: RunShape, geometry: AccessGeometry): WarpRequests {
  const indices = indicesOf(shape);
  const aligned = { ...geometry, offset: 0, granuleBytes: geometry.accessBytes };
  const requests = new WarpRequests(aligned, null);
  if (indices.every((index) => index < 2 ** 32)) {
    requests.add(Uint32Array.from(indices), indices.length, 0);
  } else {
    requests.addDistant(indices, indices.length);
  }
  return requests;
}

/**
 * The wavefronts that bank conflicts cost the accesses in a shape.
 *
 * @param shape The shape.
 * @param geometry How accesses lie in lines.
 * @param limit Wavefronts from which nobody wants to know how many they are.
 */
export function trialConflicts(
  shape: RunShape,
  { elementBytes }: AccessGeometry,
  limit: number = Infinity,
): number {
  const indices = indicesOf(shape);
  const banks = new BankCounter(elementBytes);
  for (let from = 0; from < indices.length; from += WARP_LANES) {
    if (banks.wavefronts - banks.idealWavefronts >= limit) break;
    banks.add(indices, from, Math.min(indices.length, from + WARP_LANES));
  }
  return banks.wavefronts - banks.idealWavefronts;
}
