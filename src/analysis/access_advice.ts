/**
 * What to do about a pattern, in sentences.
 *
 * @module
 */

import { type AccessGeometry, isAligned, LINE_BYTES, SECTOR_BYTES } from "./access_geometry.ts";
import type { AccessReport } from "./access_report.ts";

/** Efficiency from which there is nothing to gain. */
const GOOD_EFFICIENCY = 0.95;

type Figures = Omit<AccessReport, "advice">;

/**
 * Makes the advice of a report.
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
    ...figures.bankConflicts > 0 ? [bankSentence(figures, geometry)] : [],
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
      return stridedRemedy(figures.stride!, geometry);
    case "blocked":
      return blockedRemedy(figures, geometry);
    default:
      return randomRemedy(figures);
  }
}

function sequentialRemedy(figures: Figures, { elementBytes }: AccessGeometry): string {
  // A stray access costs a sector or two of its own.
  if (figures.sectors - figures.idealSectors <= 2 * figures.outliers) {
    return `${figures.outliers} accesses leave the sequence: handle them apart from the others, ` +
      "or sort the indices.";
  }
  return "The first access is not aligned: begin at a multiple of " +
    `${SECTOR_BYTES / elementBytes} elements (${SECTOR_BYTES} bytes), for example by padding.`;
}

function stridedRemedy(stride: number, { elementBytes }: AccessGeometry): string {
  const step = Math.abs(stride);
  const bytes = step * elementBytes;
  if (bytes <= LINE_BYTES) {
    return `Neighbouring lanes are ${step} elements (${bytes} bytes) apart, as in an array of ` +
      "structures: keep each field in an array of its own (structure of arrays).";
  }
  return `Neighbouring lanes are ${step} elements (${bytes} bytes) apart: transpose the data, ` +
    "exchange the axes of the threads, or stage tiles through shared memory.";
}

function blockedRemedy({ stride, tile }: Figures, geometry: AccessGeometry): string {
  const { columns, pitch } = tile!;
  const { elementBytes } = geometry;
  if (Math.abs(stride!) > 1) {
    return `${stridedRemedy(stride!, geometry)} The pattern goes on ${Math.abs(pitch)} elements ` +
      `further after ${columns} accesses.`;
  }
  if (Math.abs(pitch) < columns && stride !== 0) {
    return `Runs of ${columns} elements overlap those before them: load each element once, and ` +
      "share it through shared memory.";
  }
  const unit = SECTOR_BYTES / elementBytes;
  if (Number.isInteger(unit) && pitch % unit !== 0) {
    return `Runs of ${columns} elements begin inside sectors: pad the pitch of ` +
      `${Math.abs(pitch)} elements to ${Math.ceil(Math.abs(pitch) / unit) * unit}.`;
  }
  return `Runs of ${columns} elements (${
    columns * elementBytes
  } bytes) fill sectors in part: make ` +
    `tiles wider, or keep each tile's elements side by side (tiling).`;
}

function randomRemedy({ lines, reuse }: Figures): string {
  const again = reuse === null || lines === 0 ? 0 : 1 - reuse.firstTouches / lines;
  return again > 0.5
    ? `${
      percent(again)
    } of the accessed lines were accessed before: put the elements in the order ` +
      "of their first access, or keep them in shared memory."
    : "Sort or group the indices, so that neighbouring lanes access neighbouring elements, or " +
      "gather the elements once and access the copy.";
}

function bankSentence(figures: Figures, { parts }: AccessGeometry): string {
  const { bankConflicts, requests, stride } = figures;
  const each = decimal(bankConflicts / (requests / parts));
  const remedy = stride !== null && stride !== 0 && figures.kind !== "blocked"
    ? "pad rows by one word, so that the stride in words is odd."
    : "pad rows by one word, or permute (swizzle) the words of a row.";
  return `In shared memory bank conflicts would cost ${each} wavefronts an access: ${remedy}`;
}

function decimal(value: number): string {
  return String(Number(value.toFixed(value < 10 ? 2 : 1)));
}

function percent(share: number): string {
  return `${Number((100 * share).toPrecision(3))} %`;
}
