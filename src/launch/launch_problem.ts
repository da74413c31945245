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
  /** Products that are added up at a time; all of them when absent. */
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
   * device: the kernel adds up what it computes from `blockIdx.z` and `gridDim.z`. `false` by
   * default.
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
  /** Threads of a block that the problem asks for; `undefined` where they are to be chosen. */
  readonly block: BlockShape | undefined;
  /** Most blocks along z that may share the products of an element; 1 where none may. */
  readonly mostSplits: number;
  /** What else is said of it. */
  readonly options: PlanOptions;
}

const ACTION = "choose launch parameters";

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
  requireOptions(problem);
  if (isElements) return readElements(problem as ElementProblem);
  return isPlane ? readPlane(problem as PlaneProblem) : readProduct(problem as ProductProblem);
}

function readElements(problem: ElementProblem): AxisProblem {
  const { elements, elementsPerThread = 1 } = problem;
  requireInteger("elements", elements, 0);
  requireInteger("elementsPerThread", elementsPerThread, 1);
  return {
    axes: [{ name: "elements", extent: elements, perThread: elementsPerThread, perBlock: 0 }],
    block: readBlock(problem.block),
    mostSplits: 1,
    options: problem,
  };
}

function readPlane(problem: PlaneProblem): AxisProblem {
  const { rows, columns, planes, x = "columns", elementsPerThread = 1 } = problem;
  requireInteger("rows", rows, 0);
  requireInteger("columns", columns, 0);
  if (planes !== undefined) requireInteger("planes", planes, 0);
  requireFastAxis(x);
  const perThread = readExtents("elementsPerThread", elementsPerThread);
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
  return { axes, block: readBlock(problem.block), mostSplits: 1, options: problem };
}

function readProduct(problem: ProductProblem): AxisProblem {
  const { m, n, k, x = "columns", tile, splitK = false } = problem;
  requireInteger("m", m, 0);
  requireInteger("n", n, 0);
  requireInteger("k", k, 0);
  requireFastAxis(x);
  if (typeof splitK !== "boolean") refuseType("splitK", "a boolean", splitK);
  if (tile !== undefined) requireTile(tile);
  const rows: AxisWork = axisOf("rows (m)", m, tile?.m);
  const columns: AxisWork = axisOf("columns (n)", n, tile?.n);
  const axes = x === "columns" ? [columns, rows] : [rows, columns];
  const block = problem.block === undefined && tile !== undefined
    ? { x: axes[0]!.perBlock, y: axes[1]!.perBlock, z: 1 }
    : readBlock(problem.block);
  const steps = Math.ceil(k / (tile?.k ?? 1));
  return { axes, block, mostSplits: splitK ? Math.max(1, steps) : 1, options: problem };
}

function axisOf(name: string, extent: number, perBlock: number | undefined): AxisWork {
  return perBlock === undefined
    ? { name, extent, perThread: 1, perBlock: 0 }
    : { name, extent, perThread: 0, perBlock };
}

function requireTile(tile: ProductTile): void {
  requireObject(tile, "tile", ACTION);
  requireInteger("tile.m", tile.m, 1);
  requireInteger("tile.n", tile.n, 1);
  if (tile.k !== undefined) requireInteger("tile.k", tile.k, 1);
}

function requireOptions({ coverage, sharedMemory, stepsPerThread }: PlanOptions): void {
  if (coverage !== undefined && !["exact", "stride", "linear"].includes(coverage)) {
    refuseType("coverage", '"exact", "stride" or "linear"', coverage);
  }
  if (stepsPerThread !== undefined) requireInteger("stepsPerThread", stepsPerThread, 1);
  if (sharedMemory !== undefined && typeof sharedMemory !== "function") {
    requireInteger("sharedMemory", sharedMemory, 0);
  }
}

function requireFastAxis(x: unknown): void {
  if (x !== "columns" && x !== "rows") refuseType("x", '"columns" or "rows"', x);
}

function readBlock(block: Dimensions | undefined): BlockShape | undefined {
  return block === undefined ? undefined : readExtents("block", block);
}

/** One to three positive integers; those left out are 1. */
function readExtents(name: string, extents: Dimensions): BlockShape {
  if (typeof extents === "number") {
    requireInteger(name, extents, 1);
    return { x: extents, y: 1, z: 1 };
  }
  if (!Array.isArray(extents) || extents.length < 1 || extents.length > 3) {
    refuseType(name, "an integer or an array of 1 to 3 integers", extents);
  }
  const [x, y = 1, z = 1] = extents as readonly [number, number?, number?];
  for (const [axis, extent] of Object.entries({ x, y, z })) {
    requireInteger(`${name}.${axis}`, extent, 1);
  }
  return { x, y, z };
}

/** Refuses what is not an integer of at least this. */
export function requireInteger(name: string, value: number, least: number): void {
  if (Number.isSafeInteger(value) && value >= least) return;
  throw new RangeError(
    `Cannot ${ACTION} as ${name} must be an integer in ${least}..${Number.MAX_SAFE_INTEGER}: ` +
      `it is ${describeValue(value)}`,
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
