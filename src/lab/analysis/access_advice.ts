/**
 * Advice on a pattern, in sentences. A number is named only if a trial has counted its gain.
 *
 * @module
 */

import {
  type AccessGeometry,
  type AccessReport,
  decimal,
  isAligned,
  LINE_BYTES,
  percent,
  SECTOR_BYTES,
  WARP_LANES,
} from "./access_report.ts";
import { BankCounter } from "./bank_conflicts.ts";
import { WarpRequests } from "./warp_requests.ts";

/** Efficiency from which there is nothing to gain. */
const GOOD_EFFICIENCY = 0.95;
/** The factor by which other beginnings of runs must improve efficiency. */
const WORTHWHILE = 1.05;
const WORD_BYTES = 4;
const BANKS = 32;
/** Accesses of a trial: enough for every pattern with short runs to repeat. */
const TRIAL = 512;

type Figures = Omit<AccessReport, "advice" | "bankAdvice">;

/** Makes the advice on global memory from the rest of a report. */
export function accessAdvice(figures: Figures, geometry: AccessGeometry): string {
  if (figures.count === 0) return "";
  const { requests, sectors, idealSectors, efficiency } = figures;
  const { accessBytes, offset } = geometry;
  const sentences: string[] = [];
  if (!isAligned(geometry)) {
    sentences.push(
      `Accesses of ${accessBytes} bytes fault at addresses that are no multiple of that: begin ` +
        `at a multiple of ${accessBytes} bytes instead of byte ${offset}.`,
    );
  }
  if (efficiency < GOOD_EFFICIENCY) {
    sentences.push(
      `A request touches ${decimal(sectors / requests)} sectors where ${
        decimal(idealSectors / requests)
      } would hold its bytes: ${percent(1 - efficiency)} of the transferred bytes are not used.`,
      remedy(figures, geometry),
    );
  }
  return sentences.join(" ");
}

function remedy(figures: Figures, geometry: AccessGeometry): string {
  const { kind, stride } = figures;
  if (geometry.parts > 1 && Math.abs(stride ?? 0) === 1 && kind !== "blocked") {
    return "Elements of 12 bytes are accessed in three parts, 12 bytes apart: keep each component " +
      "in an array of its own, or stage them through shared memory.";
  }
  switch (kind) {
    case "sequential":
    case "reversed":
      return sequentialRemedy(figures, geometry);
    case "strided":
      return stridedRemedy("Neighbouring lanes are", stride!, geometry);
    case "blocked":
      return blockedRemedy(figures, geometry);
    default:
      return randomRemedy(figures);
  }
}

function sequentialRemedy(
  { kind, sectors, idealSectors, outliers }: Figures,
  geometry: AccessGeometry,
): string {
  // A stray access costs a sector or two of its own.
  if (sectors - idealSectors <= 2 * outliers) {
    return `${outliers} ${outliers === 1 ? "access leaves" : "accesses leave"} the sequence: ` +
      "handle them apart from the others, or sort the indices.";
  }
  const subject = outliers === 0 ? "The first access is" : "Accesses after a jump are";
  const before = kind === "sequential" ? "at" : "right before";
  return `${subject} not aligned: begin ${before} ${
    sectorStart(geometry)
  }, for example by padding.`;
}

/** The least number of elements that fill whole sectors. */
function sectorElements({ elementBytes }: AccessGeometry): number {
  return SECTOR_BYTES / (elementBytes & -elementBytes);
}

/** The beginnings of sectors, in elements if element 0 begins one. */
function sectorStart(geometry: AccessGeometry): string {
  if (geometry.offset !== 0) return `a multiple of ${SECTOR_BYTES} bytes`;
  const elements = sectorElements(geometry);
  return `a multiple of ${elements} elements (${elements * geometry.elementBytes} bytes)`;
}

function stridedRemedy(subject: string, stride: number, { elementBytes }: AccessGeometry): string {
  const step = Math.abs(stride);
  const bytes = step * elementBytes;
  const distance = `${subject} ${step} elements (${bytes} bytes) apart`;
  return bytes <= LINE_BYTES
    ? `${distance}, as in an array of structures: keep each field in an array of its own ` +
      "(structure of arrays)."
    : `${distance}: transpose the data, exchange the axes of the threads, or stage tiles through ` +
      "shared memory.";
}

function blockedRemedy(figures: Figures, geometry: AccessGeometry): string {
  const { columns, pitch } = figures.tile!;
  const stride = figures.stride!;
  const distance = Math.abs(pitch);
  if (Math.abs(stride) > 1) {
    return `${stridedRemedy("Neighbouring lanes are", stride, geometry)} The pattern goes on ` +
      `${distance} ${distance === 1 ? "element" : "elements"} further after ${columns} accesses.`;
  }
  if (stride === 0 && distance > 1) {
    return stridedRemedy(`The elements that ${columns} lanes each share are`, pitch, geometry);
  }
  if (stride !== 0 && distance < columns) {
    return `Runs of ${columns} elements overlap those before them: load each element once, and ` +
      "share it through shared memory.";
  }
  return alignedRunsRemedy(figures, geometry) ??
    `Runs of ${columns} elements (${
        columns * geometry.elementBytes
      } bytes) fill sectors in part: ` +
      "make tiles wider, or keep each tile's elements side by side (tiling).";
}

/** Advice to begin runs at sectors; null if that is no better. */
function alignedRunsRemedy(figures: Figures, geometry: AccessGeometry): string | null {
  const shape = runShape(figures)!;
  if (shape.accesses < WARP_LANES) return null;
  const unit = sectorElements(geometry);
  const distance = Math.abs(shape.pitch);
  // Elements that lanes share lie side by side: only the first can move.
  const padded = shape.stride === 0 ? distance : Math.ceil(distance / unit) * unit;
  const indices = trialIndices({ ...shape, pitch: Math.sign(shape.pitch) * padded });
  const requests = new WarpRequests({ ...geometry, offset: 0 }, null);
  requests.add(indices, indices.length);
  const efficiency = requests.idealSectors / requests.sectors;
  if (efficiency < WORTHWHILE * figures.efficiency) return null;
  const place = sectorStart(geometry);
  if (padded === distance) {
    return `Runs of ${shape.columns} accesses begin inside sectors: begin the first at ${place}.`;
  }
  return `Runs of ${shape.columns} elements begin inside sectors: begin the first at ${place}, and ` +
    `pad the pitch of ${distance} elements to ${padded}.`;
}

function randomRemedy({ lines, reuse }: Figures): string {
  const again = reuse === null || lines === 0 ? 0 : 1 - reuse.firstTouches / lines;
  return again > 0.5
    ? `${percent(again)} of the accessed lines were accessed before: keep the elements in shared ` +
      "memory or, if accesses come in the same order again, lay them out in that of their first."
    : "Sort or group the indices, so that neighbouring lanes access neighbouring elements, or " +
      "gather the elements once and access the copy.";
}

/** Makes the advice on bank conflicts; empty if there are none. */
export function bankAdvice(figures: Figures, geometry: AccessGeometry): string {
  const { bankConflicts, requests } = figures;
  if (bankConflicts === 0) return "";
  const each = decimal(bankConflicts / (requests / geometry.parts));
  return `In shared memory bank conflicts would cost ${each} ${
    each === "1" ? "wavefront" : "wavefronts"
  } an access${bankRemedy(figures, geometry.elementBytes)}.`;
}

function bankRemedy(figures: Figures, elementBytes: number): string {
  const shape = runShape(figures);
  if (shape === null) return ", which no padding of rows avoids";
  // A warp then goes through several tiles, of unknown distance.
  if (figures.tile !== null && shape.accesses < WARP_LANES) {
    return ": paddingFor() says by how much to pad the tile's rows";
  }
  // A stride of more than one goes across rows.
  const padded = Math.abs(shape.stride) > 1 ? "stride" : "pitch";
  const distance = Math.abs(shape[padded]);
  const now = trialConflicts(shape, elementBytes);
  // Rows of whole words: all rows then lie in their words alike.
  const unit = Math.max(1, WORD_BYTES / elementBytes);
  let best = distance;
  let min = now;
  for (let i = 1; i <= BANKS && min > 0; i++) {
    const length = (Math.floor(distance / unit) + i) * unit;
    const trial = { ...shape, [padded]: Math.sign(shape[padded]) * length };
    const conflicts = trialConflicts(trial, elementBytes);
    if (conflicts < min) [best, min] = [length, conflicts];
  }
  // The conflicts may all be those of outliers.
  if (min >= now) return ", which no padding of rows avoids";
  const left = min === 0 ? "" : `, which leaves ${decimal(100 * min / now)} % of that`;
  return `: pad the ${padded} of ${distance} elements to ${best}${left}`;
}

/** Runs with a stride, a pitch apart, and the accesses until the pattern begins elsewhere. */
type RunShape = Readonly<Record<"columns" | "stride" | "pitch" | "accesses", number>>;

/** The shape of a pattern; null for a random one. */
function runShape({ stride, tile, count }: Figures): RunShape | null {
  if (stride === null) return null;
  if (tile === null) return { columns: count, stride, pitch: 0, accesses: count };
  const { columns, rows, pitch } = tile;
  return { columns, stride, pitch, accesses: rows * columns };
}

/** The first indices of a shape, of which the least of a whole run is 0. */
function trialIndices({ columns, stride, pitch, accesses }: RunShape): Float64Array {
  const length = Math.min(TRIAL, accesses);
  const lastRun = Math.floor((length - 1) / columns);
  const lastColumn = Math.min(columns, length) - 1;
  const first = -(Math.min(0, pitch) * lastRun + Math.min(0, stride) * lastColumn);
  return Float64Array.from(
    { length },
    (_, i) => first + Math.floor(i / columns) * pitch + i % columns * stride,
  );
}

/** The wavefronts that bank conflicts add to the accesses of a shape. */
function trialConflicts(shape: RunShape, elementBytes: number): number {
  const indices = trialIndices(shape);
  const banks = new BankCounter(elementBytes);
  for (let from = 0; from < indices.length; from += WARP_LANES) {
    banks.add(indices, from, Math.min(indices.length, from + WARP_LANES));
  }
  return banks.wavefronts - banks.idealWavefronts;
}
