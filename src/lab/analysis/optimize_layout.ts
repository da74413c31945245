/**
 * Data in the order in which warps access it.
 *
 * @module
 */

import type { AccessIndices } from "./access_analyzer.ts";
import type { AccessReport } from "./access_report.ts";
import { analyzeAccess } from "./analyze_access.ts";
import { type DataLayout, UnchangedLayout } from "./data_layout.ts";
import { type DataArray, requireData } from "./element_words.ts";
import { indexList } from "./index_list.ts";
import { type LayoutCandidate, layoutCandidates } from "./layout_candidates.ts";
import { checkLayoutOptions, type LayoutOptions, type OptimizedLayout } from "./layout_options.ts";

const ACTION = "optimise the layout";
/** Accesses by which candidates are compared, if there are more: pieces of them, all over. */
const SAMPLE = 2 ** 20;
const PIECES = 32;

/** How accesses to the data are analysed. */
interface AnalysisOptions {
  readonly elementBytes: number;
  readonly offset: number;
}

/** A layout that was tried, and what accesses of the sample are in it. */
interface Trial {
  readonly name: string;
  readonly layout: DataLayout;
  readonly report: AccessReport;
}

/**
 * Reorders data so that the accesses of warps touch fewer sectors, and says where everything went.
 *
 * Layouts that suit the pattern are tried on the accesses, and the one whose accesses touch the
 * fewest sectors is taken: by columns or fields for strided accesses, by tiles or in Z-order for
 * neighbourhoods in a matrix, and in the order of first access where that touches less than all
 * layouts with a formula. The accesses are rewritten and analysed once more to prove it. If that is
 * no gain, the data stays as it is, and `reason` says so.
 *
 * Reordering costs about as much as one pass of such accesses. It is worth it for data that is
 * accessed so again and again; in the order of first access, for accesses that come in that order
 * every time.
 *
 * @param data The data: any typed array. It stays as it is.
 * @param indices The accesses: the element that each lane accesses, as for
 * {@linkcode analyzeAccess}.
 * @param options What is known of the data.
 * @throws {RangeError} If an index is no element's, or an option is a number that is not allowed.
 * @throws {TypeError} If something is of another type.
 *
 * @example
 * ```ts
 * import { optimizeLayout } from "@gridstride/cuda/analysis";
 *
 * // A column of a matrix, from top to bottom, then the next.
 * const data = Float32Array.from({ length: 64 * 64 }, (_, index) => index);
 * const columns = Uint32Array.from({ length: 64 * 64 }, (_, i) => (i % 64) * 64 + Math.floor(i / 64));
 * const result = optimizeLayout(data, columns, { shape: { rows: 64, columns: 64 } });
 * console.log(result.layout, result.gain); // transposed 8
 * console.log(result.data[result.indices[70]!] === data[columns[70]!]); // true
 * console.log(result.undo().every((value, index) => value === index)); // true
 * ```
 */
export function optimizeLayout<T extends DataArray>(
  data: T,
  indices: AccessIndices,
  options: LayoutOptions = {},
): OptimizedLayout<T> {
  requireData(ACTION, "data", data);
  const { length, BYTES_PER_ELEMENT: elementBytes } = data;
  const { shape, elementsPerRecord, offset, layouts, minimumGain } = checkLayoutOptions(
    options,
    length,
  );
  const list = indexList(ACTION, indices, length);
  const analysis = { elementBytes, offset };
  const before = analyzeAccess(list, analysis);
  const refused = (reason: string) => unchanged(data, list, before, reason);
  if (before.count === 0) return refused("There are no accesses.");
  if (before.sectors === before.idealSectors) {
    return refused(`Nothing is to be gained: ${sectorsOf(before)}, and fewer would not do.`);
  }
  if (before.sectors < before.idealSectors * minimumGain) {
    return refused(
      `No layout gains enough: ${sectorsOf(before)}, and at best ${
        decimal(before.idealSectors / before.requests)
      }, which is less than ${minimumGain} times better.`,
    );
  }
  const candidates = layoutCandidates({
    ...{ report: before, indices: list, length, elementBytes, elementsPerRecord, shape },
  }).filter(({ kind }) => layouts.includes(kind));
  const best = bestTrial(candidates, list, before, analysis, minimumGain);
  if (best === null) return refused("No layout that may be tried fits the pattern.");
  const rewritten = best.layout.rewriteList(list, new Uint32Array(list.length));
  const after = analyzeAccess(rewritten, analysis);
  const gain = before.sectors / after.sectors;
  if (gain < minimumGain || gain === 1) {
    return refused(
      `No layout gains enough: ${sectorsOf(before)}, and ${
        sectorsOf(after)
      } as ${best.name}, the best that was tried.`,
    );
  }
  return result(
    data,
    best.layout,
    rewritten,
    before,
    after,
    `As ${best.name}: ${sectorsOf(after)} instead of ${perRequest(before)}.`,
  );
}

/**
 * The best layout by a sample of the accesses; of equals the first. The order of first access is
 * tried where accesses are random, or nothing else gains: it takes a table.
 */
function bestTrial(
  candidates: readonly LayoutCandidate[],
  list: Uint32Array,
  report: AccessReport,
  analysis: AnalysisOptions,
  minimumGain: number,
): Trial | null {
  const sample = sampleOf(list);
  const { sectors } = analyzeAccess(sample, analysis);
  const rewritten = new Uint32Array(sample.length);
  let best: Trial | null = null;
  for (const { kind, name, make } of candidates) {
    const gain = best === null ? 1 : sectors / best.report.sectors;
    if (kind === "first-touch" && report.kind !== "random" && gain >= minimumGain) continue;
    const layout = make();
    const after = analyzeAccess(layout.rewriteList(sample, rewritten), analysis);
    if (best === null || isBetter(after, best.report)) best = { name, layout, report: after };
  }
  return best;
}

/** Of as many sectors fewer lines are better: they are looked up line by line. */
function isBetter(one: AccessReport, other: AccessReport): boolean {
  return one.sectors < other.sectors ||
    one.sectors === other.sectors && one.lines < other.lines;
}

/** Whole requests from all over the accesses. */
function sampleOf(list: Uint32Array): Uint32Array {
  if (list.length <= SAMPLE) return list;
  const size = SAMPLE / PIECES;
  const sample = new Uint32Array(SAMPLE);
  for (let piece = 0; piece < PIECES; piece++) {
    const begin = Math.floor((list.length - size) / (PIECES - 1) * piece / 32) * 32;
    sample.set(list.subarray(begin, begin + size), piece * size);
  }
  return sample;
}

function unchanged<T extends DataArray>(
  data: T,
  list: Uint32Array,
  report: AccessReport,
  reason: string,
): OptimizedLayout<T> {
  const layout = new UnchangedLayout(data.length);
  return {
    ...{ layout: layout.kind, data, indices: list, map: layout, before: report, after: report },
    ...{ gain: 1, reason },
    undo: (reordered: T = data) => layout.undo(reordered),
  };
}

function result<T extends DataArray>(
  data: T,
  map: DataLayout,
  indices: Uint32Array,
  before: AccessReport,
  after: AccessReport,
  reason: string,
): OptimizedLayout<T> {
  const reordered = map.apply(data);
  return {
    ...{ layout: map.kind, data: reordered, indices, map, before, after, reason },
    gain: before.sectors / after.sectors,
    undo: (other: T = reordered) => map.undo(other),
  };
}

function sectorsOf(report: AccessReport): string {
  const sectors = perRequest(report);
  return `a request touches ${sectors} ${sectors === "1" ? "sector" : "sectors"}`;
}

function perRequest({ sectors, requests }: AccessReport): string {
  return decimal(sectors / requests);
}

function decimal(value: number): string {
  return String(Number(value.toFixed(2)));
}
