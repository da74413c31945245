/**
 * The size of the problem that a launch is for: elements, rows and columns, or a matrix product; and
 * the check of what callers say of it.
 *
 * @module
 */

import { requireObject } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import type { Dimensions } from "./launch_config.ts";

/**
 * How a grid covers a problem.
 *
 * - `exact`: a thread for each piece of work, and some that find none. Right for every kernel that
 *   compares its indices with the problem's extents.
 * - `stride`: no more blocks than the device holds at once; each thread goes on to the work a grid
 *   further along each axis. For kernels with a grid-stride loop.
 * - `linear`: the blocks of `exact`, counted along x alone, the problem's x fastest. For kernels
 *   that find their block's place by dividing, and have more blocks than y or z take: 65535.
 */
export type Coverage = "exact" | "stride" | "linear";

/** The threads of a block along the axes. */
export interface BlockShape {
  /** Threads along x. */
  readonly x: number;
  /** Threads along y. */
  readonly y: number;
  /** Threads along z. */
  readonly z: number;
}

/** What can be said of every problem. */
export interface PlanOptions {
  /**
   * How the grid covers the problem; for kernels of modules `"exact"` by default, for the built-in
   * ones, which all have grid-stride loops, `"stride"`.
   */
  readonly coverage?: Coverage;
  /** Threads of a block; chosen by occupancy, the problem's extents and the device when absent. */
  readonly block?: Dimensions;
  /** Dynamic shared memory of a block in bytes, or what says it for a block; 0 by default. */
  readonly sharedMemory?: number | ((block: BlockShape) => number);
  /**
   * With `coverage: "stride"`: most steps of a thread along all axes together. Beyond them the grid
   * grows past what the device holds at once. For kernels whose threads have enough bytes in flight
   * in one step. Not limited by default.
   */
  readonly stepsPerThread?: number;
}

/** Elements in a line: the grid has one axis. */
export interface ElementProblem extends PlanOptions {
  /** Number of elements; none take one block, which finds nothing to do. */
  readonly elements: number;
  /** Elements that a thread takes in one step, as with vector loads; 1 by default. */
  readonly elementsPerThread?: number;
}

/** Which extent of a problem runs along the grid's x; the other runs along y. */
export type FastAxis = "columns" | "rows";

/** Rows and columns, or planes of them: the grid has two or three axes. */
export interface PlaneProblem extends PlanOptions {
  /** Number of rows. */
  readonly rows: number;
  /** Number of columns, which lie side by side in memory. */
  readonly columns: number;
  /** Number of planes of rows and columns, along z; there is no third axis when absent. */
  readonly planes?: number;
  /**
   * What the kernel computes from `blockIdx.x` and `threadIdx.x`; `"columns"` by default, so that the
   * threads of a warp access neighbours.
   */
  readonly x?: FastAxis;
  /** Elements that a thread takes in one step along x, y and z, as the grid has them; 1 by default. */
  readonly elementsPerThread?: Dimensions;
}

/** What a block computes of a matrix product in one go. */
export interface ProductTile {
  /** Rows of the product. */
  readonly m: number;
  /** Columns of the product. */
  readonly n: number;
  /**
   * Products that are added up at a time, 1 when absent. Blocks that share an element's products,
   * see `splitK`, can be no more than that makes.
   */
  readonly k?: number;
}

/** The product of a matrix of m rows and k columns with one of k rows and n columns. */
export interface ProductProblem extends PlanOptions {
  /** Rows of the product. */
  readonly m: number;
  /** Columns of the product. */
  readonly n: number;
  /** Products that are added up for each element; with none the product is zero, and is written. */
  readonly k: number;
  /** What the kernel computes from `blockIdx.x`: `"columns"` of the product by default. */
  readonly x?: FastAxis;
  /**
   * What a block computes, where the kernel is compiled for it; without it each thread computes one
   * element. Without `block` it has one thread for each element of the tile.
   */
  readonly tile?: ProductTile;
  /**
   * Whether blocks along z share the products of an element, so that a small product fills the
   * device: block `z` of `plan.tiles[2]` adds up its part of them, and the kernel adds the parts.
   * `false` by default.
   */
  readonly splitK?: boolean;
}

/** A problem that `device.launchFor()` has a launch for. */
export type LaunchProblem = ElementProblem | PlaneProblem | ProductProblem;

/** The work along one axis of the grid. */
export interface AxisWork {
  /** What the caller calls it: `columns`. */
  readonly name: string;
  /** How many there are. */
  readonly extent: number;
  /** How many a thread takes in one step; 0 where a block takes `perBlock` together. */
  readonly perThread: number;
  /** How many a block takes in one step, where the kernel is compiled for it; else 0. */
  readonly perBlock: number;
}

/** A problem as the planner sees it, checked. */
export interface AxisProblem {
  /** Along x, y and z of the grid; as many as the problem has. */
  readonly axes: readonly AxisWork[];
  /** Steps of threads that the work along each of them takes. */
  readonly steps: readonly number[];
  /** Threads of a block that the problem asks for; `undefined` where they are to be chosen. */
  readonly block: BlockShape | undefined;
  /** Whether that is one for each element of a tile. */
  readonly isTile: boolean;
  /** Most blocks along z that may share the products of an element; 1 where none may. */
  readonly mostSplits: number;
  /** What else is said of it. */
  readonly options: Omit<PlanOptions, "block">;
}

const ACTION = "choose launch parameters";

/** Most shared memory that a launch can ask for, in bytes: of what a kernel may have it is checked. */
export const MOST_SHARED_MEMORY = 2 ** 31 - 1;

/**
 * Reads a problem.
 *
 * @throws {TypeError} If it is none, or of several kinds at once.
 * @throws {RangeError} If a number is not an integer of its range.
 */
export function readProblem(problem: LaunchProblem): AxisProblem {
  requireObject(problem, "problem", ACTION);
  const isElements = "elements" in problem;
  const isPlane = "rows" in problem || "columns" in problem;
  const isProduct = "m" in problem || "n" in problem || "k" in problem;
  if (Number(isElements) + Number(isPlane) + Number(isProduct) !== 1) refuseKind(problem);
  if (isElements) return readElements(problem as ElementProblem);
  return isPlane ? readPlane(problem as PlaneProblem) : readProduct(problem as ProductProblem);
}

function readElements(problem: ElementProblem): AxisProblem {
  const { elements, elementsPerThread = 1 } = problem;
  requireInteger("elements", elements, 0);
  requireInteger("elementsPerThread", elementsPerThread, 1);
  return {
    axes: [{ name: "elements", extent: elements, perThread: elementsPerThread, perBlock: 0 }],
    steps: [Math.ceil(elements / elementsPerThread)],
    block: readBlock(problem.block, 1),
    isTile: false,
    mostSplits: 1,
    options: readOptions(problem),
  };
}

function readPlane(problem: PlaneProblem): AxisProblem {
  const { rows, columns, planes, x = "columns", elementsPerThread = 1 } = problem;
  requireInteger("rows", rows, 0);
  requireInteger("columns", columns, 0);
  if (planes !== undefined) requireInteger("planes", planes, 0);
  requireFastAxis(x);
  const axisCount = planes === undefined ? 2 : 3;
  const perThread = readExtents("elementsPerThread", elementsPerThread, axisCount);
  const [first, second] = x === "columns"
    ? [["columns", columns], ["rows", rows]] as const
    : [["rows", rows], ["columns", columns]] as const;
  const axes: AxisWork[] = [
    { name: first[0], extent: first[1], perThread: perThread.x, perBlock: 0 },
    { name: second[0], extent: second[1], perThread: perThread.y, perBlock: 0 },
  ];
  if (planes !== undefined) {
    axes.push({ name: "planes", extent: planes, perThread: perThread.z, perBlock: 0 });
  }
  return {
    axes,
    steps: axes.map(({ extent, perThread }) => Math.ceil(extent / perThread)),
    block: readBlock(problem.block, axisCount),
    isTile: false,
    mostSplits: 1,
    options: readOptions(problem),
  };
}

function readProduct(problem: ProductProblem): AxisProblem {
  const { m, n, k, x = "columns", tile, splitK = false } = problem;
  requireInteger("m", m, 0);
  requireInteger("n", n, 0);
  requireInteger("k", k, 0);
  requireFastAxis(x);
  if (typeof splitK !== "boolean") refuseType("splitK", "a boolean", splitK);
  const { m: tileRows, n: tileColumns, k: tileProducts = 1 } = readTile(tile);
  const rows = axisOf("rows (m)", m, tileRows);
  const columns = axisOf("columns (n)", n, tileColumns);
  const axes = x === "columns" ? [columns, rows] : [rows, columns];
  // The threads of a tile are the kernel's own affair.
  const given = readBlock(problem.block, tile === undefined ? 2 : 3);
  const isTile = given === undefined && tile !== undefined;
  return {
    axes,
    steps: [axes[0]!.extent, axes[1]!.extent],
    block: isTile ? { x: axes[0]!.perBlock, y: axes[1]!.perBlock, z: 1 } : given,
    isTile,
    mostSplits: splitK ? Math.max(1, Math.ceil(k / tileProducts)) : 1,
    options: readOptions(problem),
  };
}

function axisOf(name: string, extent: number, perBlock: number | undefined): AxisWork {
  return perBlock === undefined
    ? { name, extent, perThread: 1, perBlock: 0 }
    : { name, extent, perThread: 0, perBlock };
}

function readTile(tile: ProductTile | undefined): Partial<ProductTile> {
  if (tile === undefined) return {};
  requireObject(tile, "tile", ACTION);
  const { m, n, k } = tile;
  requireInteger("tile.m", m, 1);
  requireInteger("tile.n", n, 1);
  if (k === undefined) return { m, n };
  requireInteger("tile.k", k, 1);
  return { m, n, k };
}

/** A copy: what is checked is what is used, whatever a getter says the next time. */
function readOptions({ coverage, sharedMemory, stepsPerThread }: PlanOptions) {
  if (coverage !== undefined && !["exact", "stride", "linear"].includes(coverage)) {
    refuseType("coverage", '"exact", "stride" or "linear"', coverage);
  }
  if (stepsPerThread !== undefined) requireInteger("stepsPerThread", stepsPerThread, 1);
  if (sharedMemory !== undefined && typeof sharedMemory !== "function") {
    requireInteger("sharedMemory", sharedMemory, 0, MOST_SHARED_MEMORY);
  }
  return { coverage, sharedMemory, stepsPerThread } as AxisProblem["options"];
}

function requireFastAxis(x: unknown): void {
  if (x !== "columns" && x !== "rows") refuseType("x", '"columns" or "rows"', x);
}

function readBlock(block: Dimensions | undefined, axisCount: number): BlockShape | undefined {
  return block === undefined ? undefined : readExtents("block", block, axisCount);
}

/** One to three positive integers; those left out are 1, and so are those of axes there are not. */
function readExtents(name: string, extents: Dimensions, axisCount: number): BlockShape {
  if (typeof extents === "number") {
    requireInteger(name, extents, 1);
    return { x: extents, y: 1, z: 1 };
  }
  if (!Array.isArray(extents) || extents.length < 1 || extents.length > 3) {
    refuseType(name, "an integer or an array of 1 to 3 integers", extents);
  }
  const [x, y = 1, z = 1] = extents as readonly [number, number?, number?];
  requireInteger(`${name}.x`, x, 1);
  requireInteger(`${name}.y`, y, 1);
  requireInteger(`${name}.z`, z, 1);
  if (axisCount < 2 && y !== 1) refuseAxis(`${name}.y`, axisCount, y);
  if (axisCount < 3 && z !== 1) refuseAxis(`${name}.z`, axisCount, z);
  return { x, y, z };
}

/** More threads than one would do the same work. */
function refuseAxis(name: string, axisCount: number, value: number): never {
  throw new RangeError(
    `Cannot ${ACTION} as ${name} must be 1, as the problem has ` +
      `${axisCount === 1 ? "one axis" : "two axes"}: it is ${value}`,
  );
}

/** Refuses what is not an integer of its range. */
function requireInteger(
  name: string,
  value: number,
  least: number,
  most = Number.MAX_SAFE_INTEGER,
): void {
  if (Number.isSafeInteger(value) && value >= least && value <= most) return;
  throw new RangeError(
    `Cannot ${ACTION} as ${name} must be an integer in ${least}..${most}: it is ${
      describeValue(value)
    }`,
  );
}

function refuseType(name: string, allowed: string, value: unknown): never {
  throw new TypeError(
    `Cannot ${ACTION} as ${name} must be ${allowed}: it is ${describeValue(value)}`,
  );
}

function refuseKind(problem: object): never {
  const fields = Object.keys(problem).join(", ") || "none";
  throw new TypeError(
    `Cannot ${ACTION} as problem must have elements, or rows and columns, or m, n and k: ` +
      `it has ${fields}`,
  );
}
