/**
 * Launch problems: elements, rows and columns, or a matrix product, and their validation.
 *
 * @module
 */

import { requireInteger, requireObject } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import type { Extents } from "../hardware/capability_limits.ts";
import { type LaunchConfig, readExtents } from "./launch_config.ts";

/**
 * A problem that `device.launchFor()` chooses a launch for: a number of elements, rows and columns
 * (or planes of them), or the product of an m × k and a k × n matrix.
 * @category Launching kernels
 */
export type LaunchProblem =
  & {
    /**
     * How the grid covers the problem; `"stride"` by default for the built-in kernels, which all have
     * grid-stride loops, and `"exact"` for kernels of modules.
     *
     * - `exact`: a thread for each piece of work; some threads find none. Right for every kernel that
     *   compares its indices with the problem's extents.
     * - `stride`: no more blocks than are resident on the device; each thread continues with the work
     *   one grid further along each axis. For kernels with a grid-stride loop.
     * - `linear`: the blocks of `exact`, counted along x alone, the problem's x fastest. For kernels
     *   that find the place of their block by dividing, and have more blocks than y or z allow: 65535.
     */
    readonly coverage?: "exact" | "stride" | "linear";
    /** Threads of a block; by default chosen by occupancy, the problem's extents and the device. */
    readonly block?: LaunchConfig["block"];
    /** Dynamic shared memory of a block in bytes, or a function of the block; 0 by default. */
    readonly sharedMemory?: number | ((block: Extents) => number);
    /**
     * With `coverage: "stride"`: the limit of a thread's steps along all axes together. The grid grows
     * beyond the resident blocks to keep it. For kernels whose threads have enough bytes in flight in
     * one step. Not limited by default.
     */
    readonly stepsPerThread?: number;
  }
  & (
    | {
      /** Number of elements; with none the grid is one block, which finds nothing to do. */
      readonly elements: number;
      /** Elements that a thread takes in one step, as with vector loads; 1 by default. */
      readonly elementsPerThread?: number;
    }
    | {
      /** Number of rows. */
      readonly rows: number;
      /** Number of columns, which lie side by side in memory. */
      readonly columns: number;
      /** Number of planes of rows and columns, along z; without it there is no third axis. */
      readonly planes?: number;
      /**
       * The extent that the kernel computes from `blockIdx.x` and `threadIdx.x`; `"columns"` by
       * default, with which the threads of a warp access neighbours.
       */
      readonly x?: "columns" | "rows";
      /** Elements that a thread takes in one step along x, y and z of the grid; 1 by default. */
      readonly elementsPerThread?: LaunchConfig["block"];
    }
    | {
      /** Rows of the product. */
      readonly m: number;
      /** Columns of the product. */
      readonly n: number;
      /** Products added up for each element; with none the product is zero, and is written. */
      readonly k: number;
      /** The extent that the kernel computes from `blockIdx.x`: `"columns"` by default. */
      readonly x?: "columns" | "rows";
      /**
       * The part of the product that a block computes, if the kernel is compiled for it; by default
       * each thread computes one element. Without `block`, a block has one thread for each element of
       * the tile. `k` is the number of products added up at a time, 1 by default; it bounds the blocks
       * that share an element's products, see `splitK`.
       */
      readonly tile?: { readonly m: number; readonly n: number; readonly k?: number };
      /**
       * Whether blocks along z share the products of an element, with which a small product fills the
       * device: block `z` of `plan.tiles.z` adds up its part of them, and the kernel adds the parts.
       * `false` by default.
       */
      readonly splitK?: boolean;
    }
  );

export type Coverage = NonNullable<LaunchProblem["coverage"]>;

/** The work along one axis of the grid. */
export interface AxisWork {
  /** The caller's name of it: `columns`. */
  readonly name: string;
  readonly extent: number;
  /** Pieces of work that a block of so many threads covers in one step. */
  readonly covered: (threads: number) => number;
}

/** A checked problem in terms of the grid's axes. */
export interface AxisProblem {
  /** The work along x, y and z of the grid, as many axes as the problem has. */
  readonly axes: readonly AxisWork[];
  /** Steps of threads along each axis. */
  readonly steps: readonly number[];
  /** The threads of a block that the problem demands; `undefined` if the planner chooses them. */
  readonly block: Extents | undefined;
  /** Whether the block has one thread for each element of a tile. */
  readonly isTile: boolean;
  /** The limit of blocks along z that share the products of an element; 1 if they do not. */
  readonly maxSplits: number;
  readonly options: Pick<LaunchProblem, "coverage" | "sharedMemory" | "stepsPerThread">;
}

const ACTION = "choose launch parameters";

/** The limit of a launch's shared memory in bytes, before that of the kernel is known. */
export const MAX_SHARED_MEMORY: number = 2 ** 31 - 1;

type Fields = Readonly<Record<string, unknown>>;

/** Reads a problem. Each field is read once: a getter cannot change a checked value. */
export function readProblem(problem: LaunchProblem): AxisProblem {
  requireObject(problem, "problem", ACTION);
  const isElements = "elements" in problem;
  const isPlane = "rows" in problem || "columns" in problem;
  const isProduct = "m" in problem || "n" in problem || "k" in problem;
  if (Number(isElements) + Number(isPlane) + Number(isProduct) !== 1) {
    throw new TypeError(
      `Cannot ${ACTION} as problem must have elements, or rows and columns, or m, n and k: ` +
        `it has ${Object.keys(problem).join(", ") || "none"}`,
    );
  }
  const fields = problem as unknown as Fields;
  return isProduct ? readProduct(fields) : readArray(fields, isElements);
}

function readArray(problem: Fields, isElements: boolean): AxisProblem {
  const { planes, elementsPerThread = 1 } = problem;
  const names = isElements ? ["elements"] : namesAlong(problem["x"]);
  if (!isElements && planes !== undefined) names.push("planes");
  const extents = names.map((name) => requireExtent(problem[name], name));
  const perThread = readBlock("elementsPerThread", elementsPerThread, names.length)!;
  const along = [perThread.x, perThread.y, perThread.z];
  const axes = names.map((name, axis): AxisWork => {
    const [each, extent] = [along[axis]!, extents[axis]!];
    return { name, extent, covered: (threads) => threads * each };
  });
  return {
    axes,
    steps: extents.map((extent, axis) => Math.ceil(extent / along[axis]!)),
    block: readBlock("block", problem["block"], names.length),
    isTile: false,
    maxSplits: 1,
    options: readOptions(problem),
  };
}

function readProduct(problem: Fields): AxisProblem {
  const { m, n, k, x, splitK = false, tile: given } = problem;
  const rows = requireExtent(m, "m");
  const columns = requireExtent(n, "n");
  const products = requireExtent(k, "k");
  const isSwapped = namesAlong(x)[0] === "rows";
  if (typeof splitK !== "boolean") refuse("splitK", "a boolean", splitK);
  const tile = given === undefined ? undefined : readTile(given);
  const axes: readonly AxisWork[] = [
    { name: "columns (n)", extent: columns, covered: (threads) => tile?.n ?? threads },
    { name: "rows (m)", extent: rows, covered: (threads) => tile?.m ?? threads },
  ];
  // The kernel arranges the threads of a tile, so a third axis is allowed.
  const block = readBlock("block", problem["block"], tile === undefined ? 2 : 3);
  const [alongX, alongY] = isSwapped ? [tile?.m, tile?.n] : [tile?.n, tile?.m];
  return {
    axes: isSwapped ? axes.toReversed() : axes,
    steps: isSwapped ? [rows, columns] : [columns, rows],
    block: block ?? (tile && { x: alongX!, y: alongY!, z: 1 }),
    isTile: block === undefined && tile !== undefined,
    maxSplits: splitK ? Math.max(1, Math.ceil(products / (tile?.k ?? 1))) : 1,
    options: readOptions(problem),
  };
}

function readTile(tile: unknown): { m: number; n: number; k: number } {
  requireObject(tile, "tile", ACTION);
  const { m, n, k = 1 } = tile as Fields;
  requireInteger(m, "tile.m", ACTION, 1);
  requireInteger(n, "tile.n", ACTION, 1);
  requireInteger(k, "tile.k", ACTION, 1);
  return { m, n, k };
}

function readOptions({ coverage, sharedMemory, stepsPerThread }: Fields): AxisProblem["options"] {
  if (coverage !== undefined && !["exact", "stride", "linear"].includes(coverage as string)) {
    refuse("coverage", '"exact", "stride" or "linear"', coverage);
  }
  if (stepsPerThread !== undefined) requireInteger(stepsPerThread, "stepsPerThread", ACTION, 1);
  if (sharedMemory !== undefined && typeof sharedMemory !== "function") {
    requireInteger(sharedMemory, "sharedMemory", ACTION, 0, MAX_SHARED_MEMORY);
  }
  return { coverage, sharedMemory, stepsPerThread } as AxisProblem["options"];
}

/** The names of the extents along the grid's x and y. */
function namesAlong(x: unknown = "columns"): string[] {
  if (x === "columns") return ["columns", "rows"];
  return x === "rows" ? ["rows", "columns"] : refuse("x", '"columns" or "rows"', x);
}

function requireExtent(value: unknown, name: string): number {
  requireInteger(value, name, ACTION);
  return value;
}

/** Reads threads of a block, or elements of a thread, which axes without work have one of. */
function readBlock(name: string, value: unknown, axisCount: number): Extents | undefined {
  if (value === undefined) return undefined;
  const extents = readExtents(value, name, ACTION);
  const axis = axisCount === 1 && extents.y !== 1 ? "y" : axisCount < 3 ? "z" : "x";
  if (axis === "x" || extents[axis] === 1) return extents;
  throw new RangeError(
    `Cannot ${ACTION} as ${name}.${axis} must be 1, as the problem has ${axisCount} of the grid's ` +
      `axes: it is ${extents[axis]}`,
  );
}

function refuse(name: string, allowed: string, value: unknown): never {
  throw new TypeError(
    `Cannot ${ACTION} as ${name} must be ${allowed}: it is ${describeValue(value)}`,
  );
}
