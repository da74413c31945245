/**
 * What a pattern would cost if its elements lay otherwise: advice is given where that was counted.
 *
 * @module
 */

import type { AccessGeometry } from "./access_geometry.ts";
import type { AccessReport } from "./access_report.ts";
import { WarpRequests } from "./warp_requests.ts";

/** Accesses that are counted: after so many, every pattern with short runs has come round. */
const ACCESSES = 2048;

/** A regular pattern: runs whose accesses are a stride apart, and which begin a pitch apart. */
export interface RunShape {
  /** Accesses of a run. */
  readonly columns: number;
  /** Elements from one to the next, without its sign: either way the same elements are accessed. */
  readonly stride: number;
  /** Elements from one run to the next. */
  readonly pitch: number;
  /** Accesses until the pattern begins elsewhere. */
  readonly accesses: number;
}

/** What accesses in a shape cost. */
export interface TrialCost {
  /** Coalescing efficiency where the first element begins a line. */
  readonly efficiency: number;
  /** Wavefronts that bank conflicts cost an access of a warp. */
  readonly bankConflicts: number;
}

/** The shape of a pattern; null where it has none. */
export function runShape(
  { stride, tile, count }: Pick<AccessReport, "stride" | "tile" | "count">,
): RunShape | null {
  if (stride === null) return null;
  const step = Math.abs(stride);
  if (tile === null) return { columns: count, stride: step, pitch: 0, accesses: count };
  const { columns, rows, pitch } = tile;
  return { columns, stride: step, pitch, accesses: rows * columns };
}

/** Counts what accesses in a shape cost. */
export function trialCost(shape: RunShape, geometry: AccessGeometry): TrialCost {
  const { columns, stride, pitch } = shape;
  const count = Math.min(ACCESSES, shape.accesses);
  const lastRow = Math.floor((count - 1) / columns);
  const first = Math.max(0, -pitch * lastRow);
  const indices = Float64Array.from({ length: count }, (_, access) => {
    const column = access % columns;
    return first + (access - column) / columns * pitch + column * stride;
  });
  const aligned = { ...geometry, offset: 0, granuleBytes: geometry.accessBytes };
  const requests = new WarpRequests(aligned, null);
  const greatest = indices.reduce((most, index) => Math.max(most, index), 0);
  if (greatest < 2 ** 32) requests.add(Uint32Array.from(indices), count, 0);
  else requests.addDistant(indices, count);
  const { sectors, idealSectors, bankConflicts } = requests;
  return {
    efficiency: idealSectors / sectors,
    bankConflicts: bankConflicts / (requests.requests / geometry.parts),
  };
}
