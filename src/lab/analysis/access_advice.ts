/**
 * What to do about a pattern, in sentences.
 *
 * @module
 */

import {
  type AccessGeometry,
  isAligned,
  LINE_BYTES,
  SECTOR_BYTES,
  WARP_LANES,
} from "./access_geometry.ts";
import type { AccessReport } from "./access_report.ts";
import { runShape, trialRequests } from "./pattern_trial.ts";

/** Efficiency from which there is nothing to gain. */
const GOOD_EFFICIENCY = 0.95;
/** How many times better it must become if runs begin elsewhere. */
const WORTHWHILE = 1.05;

type Figures = Omit<AccessReport, "advice" | "bankAdvice">;

/**
 * Makes the advice on global memory of a report.
 *
 * @param figures The rest of the report.
 * @param geometry How accesses lie in lines.
 */
export function accessAdvice(figures: Figures, geometry: AccessGeometry): string {
  if (figures.count === 0) return "";
  return [
    ...isAligned(geometry) ? [] : [alignmentSentence(geometry)],
    ...figures.efficiency < GOOD_EFFICIENCY
      ? [wasteSentence(figures), remedySentence(figures, geometry)]
      : [],
  ].join(" ");
}

function alignmentSentence({ accessBytes, offset }: AccessGeometry): string {
  return `Accesses of ${accessBytes} bytes fault at addresses that are no multiple of that: begin ` +
    `at a multiple of ${accessBytes} bytes instead of byte ${offset}.`;
}

function wasteSentence({ requests, sectors, idealSectors, efficiency }: Figures): string {
  return `A request touches ${decimal(sectors / requests)} sectors where ${
    decimal(idealSectors / requests)
  } would hold what it accesses: ${percent(1 - efficiency)} of the transferred bytes are not used.`;
}

function remedySentence(figures: Figures, geometry: AccessGeometry): string {
  if (geometry.parts > 1 && Math.abs(figures.stride ?? 0) === 1 && figures.kind !== "blocked") {
    return "Elements of 12 bytes are accessed in three parts, 12 bytes apart: keep each component " +
      "in an array of its own, or stage them through shared memory.";
  }
  switch (figures.kind) {
    case "sequential":
    case "reversed":
      return sequentialRemedy(figures, geometry);
    case "strided":
      return stridedRemedy("Neighbouring lanes are", figures.stride!, geometry);
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
  const place = sectorStart(geometry);
  const subject = outliers === 0 ? "The first access is" : "Accesses after a jump are";
  return kind === "sequential"
    ? `${subject} not aligned: begin at ${place}, for example by padding.`
    : `${subject} not aligned: begin right before ${place}, for example by padding.`;
}

/** The least number of elements that are whole sectors. */
function sectorElements({ elementBytes }: AccessGeometry): number {
  const elements = SECTOR_BYTES / elementBytes;
  return Number.isInteger(elements) ? elements : SECTOR_BYTES / (elementBytes & -elementBytes);
}

/** Where a sector begins, in elements where element 0 is where one does. */
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
  const bytes = columns * geometry.elementBytes;
  return alignedRunsRemedy(figures, geometry) ??
    `Runs of ${columns} elements (${bytes} bytes) fill sectors in part: make tiles wider, or keep ` +
      "each tile's elements side by side (tiling).";
}

/** To begin runs where sectors begin; null where that would be no better. */
function alignedRunsRemedy(figures: Figures, geometry: AccessGeometry): string | null {
  const shape = runShape(figures)!;
  if (shape.accesses < WARP_LANES) return null;
  const unit = sectorElements(geometry);
  const distance = Math.abs(shape.pitch);
  // Elements that lanes share lie side by side: only the first has a place to choose.
  const padded = shape.stride === 0 ? distance : Math.ceil(distance / unit) * unit;
  const trial = { ...shape, pitch: Math.sign(shape.pitch) * padded };
  const { sectors, idealSectors } = trialRequests(trial, geometry);
  if (idealSectors / sectors < WORTHWHILE * figures.efficiency) return null;
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

function decimal(value: number): string {
  return String(Number(value.toFixed(value < 10 ? 2 : 1)));
}

function percent(share: number): string {
  return `${Number((100 * share).toPrecision(3))} %`;
}
