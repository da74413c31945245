/**
 * Reorders data into the order in which warps access it.
 *
 * @module
 */

import { requireOptions } from "../../ffi/arguments.ts";
import { analyzeAccess } from "./access_analyzer.ts";
import { type AccessReport, decimal } from "./access_report.ts";
import {
  checkedProduct,
  describeInput,
  rangeError,
  requireArray,
  requireInteger,
  requireNumber,
  requireObject,
} from "./arguments.ts";
import { type DataLayout, type LayoutKind, makeLayout, type MatrixShape } from "./data_layout.ts";
import {
  type AccessIndices,
  type IndexArray,
  indexList,
  requireTypedArray,
} from "./index_batch.ts";
import {
  firstTouchLayout,
  structureOfArraysLayout,
  tiledLayout,
  transposedLayout,
  zOrderLayout,
} from "./layouts.ts";

const ACTION = "optimise the layout";
/** Bytes of a sector and a line: tiles of as many are fetched as a whole. */
const FETCHED_BYTES = [32, 128] as const;

const KINDS: readonly LayoutKind[] = [
  "transposed",
  "structure-of-arrays",
  "tiled",
  "z-order",
  "first-touch",
];

/**
 * Known facts about the data, and the layouts to try.
 * @category Data layouts
 */
export interface LayoutOptions {
  /** The matrix that the data is, by rows. Without it, its columns are taken from the pattern. */
  readonly shape?: MatrixShape;
  /** Elements of a record, if the data is records one behind the other. */
  readonly elementsPerRecord?: number;
  /** Byte address of element 0, modulo 128: 0 by default, as allocations are aligned. */
  readonly offset?: number;
  /** Layouts that may be tried; all by default. */
  readonly layouts?: readonly LayoutKind[];
  /** The factor by which a layout must reduce sectors; 1.05 by default. */
  readonly minimumGain?: number;
}

/**
 * Data in a layout that suits its accesses, and the gain.
 * @category Data layouts
 */
export interface OptimizedLayout<T extends IndexArray> {
  /** The chosen layout; `unchanged` if there is nothing to gain. */
  readonly layout: LayoutKind;
  /** The data in that layout: a new array, or the same one if it is unchanged. */
  readonly data: T;
  /**
   * The accesses, rewritten for `data`. If that is unchanged and they came as a `Uint32Array`, that
   * array itself.
   */
  readonly indices: Uint32Array;
  /** The map from old to new indices, and back. */
  readonly map: DataLayout;
  /** The analysis of the original accesses. */
  readonly before: AccessReport;
  /** The same analysis of `indices`. */
  readonly after: AccessReport;
  /** The factor by which sectors are reduced: `before.sectors / after.sectors`. */
  readonly gain: number;
  /** The reason, in a sentence. */
  readonly reason: string;
  /**
   * Puts data of that layout back in its original order, bit for bit.
   *
   * @param data The reordered data; `data` by default.
   * @returns A new array.
   */
  undo(data?: T): T;
}

/**
 * Reorders data to reduce the sectors that accesses of warps touch, and maps its indices.
 *
 * Layouts that suit the pattern are tried on the accesses, and the one that touches the
 * fewest sectors is taken, if that is a gain: by columns or fields for strided accesses, by tiles or in Z-order for
 * neighbourhoods in a matrix, and in the order of first access if that touches less than all
 * layouts with a formula. Otherwise the data stays unchanged, and `reason` says so.
 *
 * Reordering costs about as much as one pass of such accesses. It is worth it for data that is
 * accessed in the same way many times; in the order of first access, for accesses that come in the
 * same order every time.
 *
 * @param data The data: any typed array. It stays unchanged.
 * @param indices The accesses: the element that each lane accesses, as for `analyzeAccess()`.
 * @param options Known facts about the data.
 * @throws {RangeError} If an index is not below the length, or an option is a number that is not
 * allowed.
 * @throws {TypeError} If a value is of another type.
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
 * @category Data layouts
 */
export function optimizeLayout<T extends IndexArray>(
  data: T,
  indices: AccessIndices,
  options: LayoutOptions = {},
): OptimizedLayout<T> {
  const { length, BYTES_PER_ELEMENT } = requireTypedArray(ACTION, "data", data);
  checkOptions(options, length);
  const { offset = 0, layouts = KINDS, minimumGain = 1.05 } = options;
  const list = indexList(ACTION, indices, length);
  const analyze = (accesses: Uint32Array) =>
    analyzeAccess(accesses, { elementBytes: BYTES_PER_ELEMENT, offset });
  const before = analyze(list);
  const touched = `a request touches ${sectorsOf(before)}`;
  const unchanged = (reason: string): OptimizedLayout<T> => {
    const same = (index: number) => index;
    const map = makeLayout("unchanged", length, { placeOf: same, originOf: same });
    const undo = (other: T = data) => map.undo(other);
    const result = { layout: map.kind, data, indices: list, map, before, after: before };
    return { ...result, gain: 1, reason, undo };
  };
  if (before.count === 0) return unchanged("There are no accesses.");
  if (before.sectors === before.idealSectors) {
    return unchanged(`Nothing is to be gained: ${touched}, and fewer would not do.`);
  }
  let best: { name: string; map: DataLayout; indices: Uint32Array; after: AccessReport } | null =
    null;
  for (const { kind, name, make } of layoutCandidates(data, list, before, options)) {
    if (!layouts.includes(kind)) continue;
    // The order of first access takes a table.
    const isEnough = best !== null && before.sectors >= minimumGain * best.after.sectors;
    if (kind === "first-touch" && before.kind !== "random" && isEnough) continue;
    const map = make();
    const rewritten = map.rewrite(list);
    const after = analyze(rewritten);
    // Of as many sectors fewer lines are better: a cache looks up lines.
    const isBetter = best === null || after.sectors < best.after.sectors ||
      after.sectors === best.after.sectors && after.lines < best.after.lines;
    if (isBetter) best = { name, map, indices: rewritten, after };
  }
  if (best === null) return unchanged("No layout that may be tried fits the pattern.");
  const { name, map, after } = best;
  const gain = before.sectors / after.sectors;
  if (gain < minimumGain || gain === 1) {
    return unchanged(
      `No layout gains enough: ${touched}, and ${sectorsOf(after)} as ${name}, the best that was ` +
        "tried.",
    );
  }
  const reordered = map.apply(data);
  const instead = decimal(before.sectors / before.requests, 2);
  return {
    layout: map.kind,
    data: reordered,
    indices: best.indices,
    map,
    before,
    after,
    gain,
    reason: `As ${name}: a request touches ${sectorsOf(after)} instead of ${instead}.`,
    undo: (other: T = reordered) => map.undo(other),
  };
}

/** A layout to try. */
interface Candidate {
  readonly kind: LayoutKind;
  /** The layout in words: `4096 × 4096 elements by columns`. */
  readonly name: string;
  readonly make: () => DataLayout;
}

/** Layouts that may suit a pattern, those that are easiest to compute with first. */
function layoutCandidates(
  { length, BYTES_PER_ELEMENT }: IndexArray,
  list: Uint32Array,
  { kind, stride, tile }: AccessReport,
  { shape, elementsPerRecord }: LayoutOptions,
): Candidate[] {
  const candidates: Candidate[] = [];
  const add = (kind: LayoutKind, name: string, make: () => DataLayout) =>
    candidates.push({ kind, name, make });
  if (elementsPerRecord !== undefined) {
    const name = `records of ${elementsPerRecord} elements by fields`;
    add("structure-of-arrays", name, () => structureOfArraysLayout(elementsPerRecord, length));
  }
  // The pattern goes across rows of its stride or pitch.
  const byPattern = [stride, tile?.pitch ?? null].filter((columns) => columns !== null)
    .map(Math.abs).map((columns) => ({ rows: Math.floor(length / columns), columns }));
  const all = [...shape === undefined ? [] : [shape], ...byPattern];
  const shapes = all.filter(({ rows, columns }, place) =>
    // A single row or column would stay unchanged.
    rows >= 2 && columns >= 2 && all.findIndex((other) => other.columns === columns) === place
  );
  for (const matrix of shapes) {
    const name = `${extentsOf(matrix)} elements by columns`;
    add("transposed", name, () => transposedLayout(matrix, length));
  }
  const tiles: MatrixShape[] = FETCHED_BYTES.map((bytes) => {
    const elements = bytes / BYTES_PER_ELEMENT;
    const columns = 2 ** Math.ceil(Math.log2(elements) / 2);
    return { rows: elements / columns, columns };
  });
  if (tile !== null && tile.rows * tile.columns <= 2 ** 20) tiles.unshift(tile);
  // Only such accesses may be near each other in both directions of a matrix.
  if (kind === "blocked" || kind === "random") {
    for (const matrix of shapes) {
      const elements = `${extentsOf(matrix)} elements`;
      for (const each of tiles) {
        const name = `${elements} by tiles of ${extentsOf(each)}`;
        add("tiled", name, () => tiledLayout(matrix, each, length));
      }
      add("z-order", `${elements} in Z-order`, () => zOrderLayout(matrix, length));
    }
  }
  const name = "elements in the order of their first access";
  add("first-touch", name, () => firstTouchLayout(list, length));
  return candidates;
}

function sectorsOf({ sectors, requests }: AccessReport): string {
  const each = decimal(sectors / requests, 2);
  return `${each} ${each === "1" ? "sector" : "sectors"}`;
}

function extentsOf({ rows, columns }: MatrixShape): string {
  return `${rows} × ${columns}`;
}

function checkOptions(options: LayoutOptions, length: number): void {
  requireOptions(
    options,
    ["shape", "elementsPerRecord", "offset", "layouts", "minimumGain"],
    ACTION,
  );
  const { shape, elementsPerRecord, offset = 0, layouts = KINDS, minimumGain = 1.05 } = options;
  if (elementsPerRecord !== undefined) {
    requireInteger(ACTION, "elementsPerRecord", elementsPerRecord, 1);
    if (length % elementsPerRecord !== 0) {
      const allowed = `divide the ${length} elements of data`;
      throw rangeError(ACTION, "elementsPerRecord", allowed, elementsPerRecord);
    }
  }
  requireArray(ACTION, "layouts", layouts);
  const wrong = layouts.find((kind) => !KINDS.includes(kind));
  if (wrong !== undefined) {
    const given = typeof wrong === "string" ? wrong : describeInput(wrong);
    throw new RangeError(
      `Cannot ${ACTION} as layouts must be of ${KINDS.join(", ")}: one is ${given}`,
    );
  }
  requireNumber(ACTION, "minimumGain", minimumGain);
  if (!(minimumGain >= 1)) {
    throw rangeError(ACTION, "minimumGain", "be 1 or more", minimumGain);
  }
  requireInteger(ACTION, "offset", offset, 0);
  if (shape === undefined) return;
  requireObject(ACTION, "shape", shape);
  const { rows, columns } = shape;
  requireInteger(ACTION, "shape.rows", rows, 0);
  requireInteger(ACTION, "shape.columns", columns, 0);
  if (checkedProduct(ACTION, "rows × columns", rows, columns) !== length) {
    const allowed = `have the ${length} elements of data`;
    throw rangeError(ACTION, "shape", allowed, `${rows} × ${columns}`);
  }
}
