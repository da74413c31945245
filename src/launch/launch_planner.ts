/**
 * The planner: chooses grid, block and shared memory for a problem. It is the only place that
 * chooses them.
 *
 * The block comes first: its shape decides the shared memory, both decide the number of resident
 * blocks, and the grid follows from the work that a block covers.
 *
 * @module
 */

import { describeValue } from "../ffi/describe_value.ts";
import type { KernelAttributes } from "../ffi/native_kernel.ts";
import type { Extents } from "../hardware/capability_limits.ts";
import type { DeviceInfo } from "../hardware/device_information.ts";
import { type LaunchPlan, planOf, stepsOf } from "./launch_plan.ts";
import {
  type AxisProblem,
  type Coverage,
  type LaunchProblem,
  MAX_SHARED_MEMORY,
  readProblem,
} from "./launch_problem.ts";
import { type Occupancy, occupancy, occupancyLimits } from "./occupancy.ts";
import type { OccupancyLimits } from "./occupancy_rules.ts";

/** The parts of a kernel that its launch depends on. */
export interface PlannedKernel {
  readonly name: string;
  readonly context: { readonly info: DeviceInfo };
  readonly attributes: Pick<
    KernelAttributes,
    "maxThreadsPerBlock" | "registersPerThread" | "staticSharedMemory"
  >;
  /** Whether it is built in: its threads stride over the elements. */
  readonly gridStride?: boolean;
}

const WARP = 32;
const AXES = ["x", "y", "z"] as const;

/**
 * Threads of a block in the order of preference: 256 divide the 1024, 1536 or 2048 threads of every
 * multiprocessor without rest, and a block of 256 soon ends and makes room.
 */
const PREFERRED = [256, 128, 512, 64, 1024, 32];

/** A block is not made smaller than this to give more multiprocessors work. */
const MIN_SHARED_OUT = 64;

/** Threads along x that still read whole sectors: 8 elements of 4 bytes. */
const MIN_WIDTH = 8;

/**
 * Steps along an axis that are tried in place of one. Blocks that cover a row of tiles leave up to
 * half of the device idle if the next row does not fit: with s steps to a row it is 1/(s + 1).
 */
const MAX_ROW_STEPS = 8;

interface ChosenBlock {
  readonly shape: Extents;
  readonly sharedMemory: number;
  readonly occupancy: Occupancy;
  readonly reason: string;
}

class LaunchPlanner {
  readonly #kernel: PlannedKernel;
  readonly #info: DeviceInfo;
  readonly #limits: OccupancyLimits;
  readonly #maxThreads: number;
  readonly #candidates: readonly number[];
  readonly #occupancies = new Map<number, Occupancy>();

  constructor(kernel: PlannedKernel) {
    this.#kernel = kernel;
    this.#info = kernel.context.info;
    this.#limits = occupancyLimits(this.#info);
    this.#maxThreads = Math.min(
      this.#info.maxThreadsPerBlock,
      kernel.attributes.maxThreadsPerBlock,
    );
    this.#candidates = candidateThreads(this.#maxThreads);
  }

  plan(problem: LaunchProblem): LaunchPlan {
    const work = readProblem(problem);
    const isStriding = this.#kernel.gridStride === true;
    if (isStriding && work.axes.length > 1) {
      throw new TypeError(
        `Cannot choose launch parameters for ${this.#kernel.name} as problem must have elements: ` +
          "built-in kernels have one axis",
      );
    }
    const coverage = work.options.coverage ?? (isStriding ? "stride" : "exact");
    const chosen = work.block === undefined
      ? this.#chooseBlock(work, coverage)
      : this.#givenBlock(work, work.block);
    const tiles = this.#tilesOf(work, chosen);
    const isAll = work.block === undefined && volume(tiles) === 1;
    return planOf({
      kernelName: this.#kernel.name,
      axes: work.axes,
      coverage,
      tiles,
      grid: this.#gridOf(work, coverage, tiles, chosen),
      block: chosen.shape,
      sharedMemory: chosen.sharedMemory,
      occupancy: chosen.occupancy,
      multiprocessorCount: this.#info.multiprocessorCount,
      reason: isAll ? "as the problem has work for no more" : chosen.reason,
    });
  }

  /** The launch of a striding kernel along x. */
  planLine(steps: number, stepsPerThread: number, threads = this.#candidates[0]!) {
    const tiles = { x: Math.max(1, Math.ceil(steps / threads)), y: 1, z: 1 };
    const held = Math.max(1, this.#held(this.#occupancyOf(threads, 0)));
    const grid = strideGrid(tiles, held, this.#info.maxGridDimensions, stepsPerThread);
    return { grid: grid.x, block: threads };
  }

  #held({ activeBlocks }: Occupancy): number {
    return activeBlocks * this.#info.multiprocessorCount;
  }

  #occupancyOf(threadsPerBlock: number, dynamicSharedMemory: number): Occupancy {
    const key = dynamicSharedMemory * 2048 + threadsPerBlock;
    let known = this.#occupancies.get(key);
    if (known === undefined) {
      const { registersPerThread, staticSharedMemory } = this.#kernel.attributes;
      known = occupancy(this.#limits, {
        threadsPerBlock,
        registersPerThread: registersPerThread ?? 0,
        staticSharedMemory,
        dynamicSharedMemory,
        // For the advice, which would otherwise suggest blocks that cannot be launched.
        maxThreadsPerBlock: this.#maxThreads,
      });
      // A function of the problem may give any number of sizes.
      if (this.#occupancies.size >= 64) this.#occupancies.clear();
      this.#occupancies.set(key, known);
    }
    return known;
  }

  #givenBlock(problem: AxisProblem, shape: Extents): ChosenBlock {
    const threads = volume(shape);
    if (threads > this.#maxThreads) {
      const hint = problem.isTile ? ", one for each element of tile: give block" : "";
      this.#refuse(
        `the threads of block must be in 1..${this.#maxThreads}: they are ${threads}${hint}`,
      );
    }
    for (const axis of AXES) {
      const max = this.#info.maxBlockDimensions[axis];
      if (shape[axis] > max) {
        this.#refuse(`block.${axis} must be in 1..${max}: it is ${shape[axis]}`);
      }
    }
    const chosen = this.#blockOf(problem, shape, "as the problem demands");
    return chosen.occupancy.activeBlocks === 0 ? this.#refuseUnfit(chosen) : chosen;
  }

  #chooseBlock(problem: AxisProblem, coverage: Coverage): ChosenBlock {
    const fullest = this.#fullest(problem);
    const isTall = coverage !== "exact" || this.#fits(problem, fullest);
    return this.#sharedOut(problem, isTall ? fullest : this.#tallEnough(problem, fullest));
  }

  /** The candidate with the most resident warps; the preferred one of equals. */
  #fullest(problem: AxisProblem): ChosenBlock {
    const blocks = this.#candidates.map((threads) =>
      this.#shaped(problem, threads, "which keep a multiprocessor fullest")
    );
    const best = blocks.reduce((one, other) =>
      other.occupancy.activeWarps > one.occupancy.activeWarps ? other : one
    );
    return best.occupancy.activeBlocks === 0 ? this.#refuseUnfit(blocks.at(-1)!) : best;
  }

  /** Makes a block smaller until each multiprocessor has one. */
  #sharedOut(problem: AxisProblem, block: ChosenBlock): ChosenBlock {
    let chosen = block;
    for (;;) {
      const threads = volume(chosen.shape) / 2;
      if (threads < MIN_SHARED_OUT || !Number.isInteger(threads)) return chosen;
      if (volume(this.#tilesOf(problem, chosen)) >= this.#info.multiprocessorCount) return chosen;
      const reason = "so few that more multiprocessors have work";
      const smaller = this.#shaped(problem, threads, reason);
      if (smaller.occupancy.activeBlocks === 0 || !this.#fits(problem, smaller)) return chosen;
      chosen = smaller;
    }
  }

  /** Makes a block taller if the grid would otherwise exceed its limit along y or z. */
  #tallEnough(problem: AxisProblem, block: ChosenBlock): ChosenBlock {
    const reason = "as many as cover the problem's extents";
    const larger = this.#candidates.filter((threads) => threads >= volume(block.shape))
      .sort((one, other) => one - other);
    // First with a warp along x, then with the threads along x that the other axes leave.
    const mins = [() => ({ y: 1, z: 1 }), (threads: number) => this.#minExtents(threads, problem)];
    return mins.flatMap((minOf) =>
      larger.map((threads) => this.#shaped(problem, threads, reason, minOf(threads)))
    ).find((chosen) => chosen.occupancy.activeBlocks > 0 && this.#fits(problem, chosen)) ?? block;
  }

  /** Threads along y and z with which a grid covers all work, if they leave enough along x. */
  #minExtents(threads: number, { steps: [x = 1, y = 1, z = 1] }: AxisProblem): MinExtents {
    const min = { y: powerOfTwoFrom(y / this.#maxGrid.y), z: powerOfTwoFrom(z / this.#maxGrid.z) };
    const width = threads / (min.y * min.z);
    return width < Math.min(MIN_WIDTH, powerOfTwoFrom(x)) ? { y: 1, z: 1 } : min;
  }

  #shaped(
    problem: AxisProblem,
    threads: number,
    reason: string,
    min: MinExtents = { y: 1, z: 1 },
  ): ChosenBlock {
    const shape = shapeOf(threads, problem.steps, this.#info.maxBlockDimensions, min);
    return this.#blockOf(problem, shape, reason);
  }

  #blockOf({ options }: AxisProblem, shape: Extents, reason: string): ChosenBlock {
    const { sharedMemory: given = 0 } = options;
    const sharedMemory = typeof given === "function" ? given(shape) : given;
    const isRight = Number.isInteger(sharedMemory) && sharedMemory >= 0 &&
      sharedMemory <= MAX_SHARED_MEMORY;
    if (!isRight) {
      this.#refuse(
        `sharedMemory must return an integer in 0..${MAX_SHARED_MEMORY}: for a block of ` +
          `${volume(shape)} threads it returns ${describeValue(sharedMemory)}`,
      );
    }
    return {
      shape,
      sharedMemory,
      occupancy: this.#occupancyOf(volume(shape), sharedMemory),
      reason,
    };
  }

  /** Blocks of work along the axes, at least one. */
  #tilesOf({ axes, maxSplits }: AxisProblem, { shape, occupancy }: ChosenBlock): Extents {
    const [x = 1, y = 1, z = 1] = axes.map(({ extent, covered }, axis) =>
      Math.max(1, Math.ceil(extent / covered([shape.x, shape.y, shape.z][axis]!)))
    );
    if (maxSplits === 1) return { x, y, z };
    const fill = Math.max(1, Math.floor(this.#held(occupancy) / (x * y)));
    const most = Math.min(fill, maxSplits, this.#maxGrid.z);
    // The longest part decides: no more parts than keep all as short as the longest.
    return { x, y, z: Math.ceil(maxSplits / Math.ceil(maxSplits / most)) };
  }

  get #maxGrid(): Extents {
    return this.#info.maxGridDimensions;
  }

  /** Whether a grid can have a block for each block of work. */
  #fits(problem: AxisProblem, block: ChosenBlock): boolean {
    const tiles = this.#tilesOf(problem, block);
    const max = this.#maxGrid;
    return tiles.x <= max.x && tiles.y <= max.y && tiles.z <= max.z;
  }

  #gridOf(
    { axes, options }: AxisProblem,
    coverage: Coverage,
    tiles: Extents,
    { occupancy }: ChosenBlock,
  ): Extents {
    const max = this.#maxGrid;
    if (coverage === "stride") {
      return strideGrid(tiles, this.#held(occupancy), max, options.stepsPerThread ?? Infinity);
    }
    const isLinear = coverage === "linear";
    const grid = isLinear ? { x: volume(tiles), y: 1, z: 1 } : tiles;
    const index = AXES.findIndex((axis) => grid[axis] > max[axis]);
    if (index < 0) return grid;
    const axis = AXES[index]!;
    const { name, extent } = axes[index]!;
    const work = isLinear ? "the problem's extents" : `${extent} ${name}`;
    this.#refuse(
      `the blocks of the grid along ${axis} must be in 1..${max[axis]}: ${work} take ` +
        `${grid[axis]}; coverage "stride" takes any number, if the kernel strides` +
        (axis === "x" ? "" : ', and "linear" counts them along x'),
    );
  }

  #refuseUnfit({ occupancy }: ChosenBlock): never {
    this.#refuse(`no block of it fits on a multiprocessor. ${occupancy.advice}`);
  }

  #refuse(problem: string): never {
    throw new RangeError(`Cannot choose launch parameters for ${this.#kernel.name} as ${problem}`);
  }
}

function volume({ x, y, z }: Extents): number {
  return x * y * z;
}

/** Block sizes to try, the preferred one first: whole warps if the kernel allows one. */
function candidateThreads(maxThreads: number): number[] {
  if (maxThreads < WARP) return [maxThreads];
  const allowed = PREFERRED.filter((threads) => threads <= maxThreads);
  const first = maxThreads >= PREFERRED[0]! ? PREFERRED[0]! : maxThreads - maxThreads % WARP;
  return allowed.includes(first) ? allowed : [first, ...allowed];
}

/** The minimum of a block's threads along y and z. */
type MinExtents = Pick<Extents, "y" | "z">;

/**
 * Distributes the threads of a block among the axes: a warp along x first, whose threads access
 * neighbours, then y, z, and the rest along x again. An axis gets no more than its steps, rounded up
 * to a power of two: with three columns the threads go to rows.
 */
function shapeOf(
  threads: number,
  steps: readonly number[],
  max: Extents,
  min: MinExtents,
): Extents {
  const [alongX = 1, alongY = 1, alongZ = 1] = steps;
  if (steps.length === 1) return { x: Math.min(threads, max.x), y: 1, z: 1 };
  const width = Math.max(1, Math.floor(threads / (min.y * min.z)));
  const x = Math.min(WARP, width, max.x, powerOfTwoFrom(alongX));
  const height = Math.max(1, Math.floor(threads / (x * min.z)));
  const y = Math.min(height, max.y, powerOfTwoFrom(alongY));
  const z = Math.min(Math.floor(threads / (x * y)), max.z, powerOfTwoFrom(alongZ));
  const widest = Math.min(Math.floor(threads / (y * z)), max.x, powerOfTwoFrom(alongX));
  return { x: Math.max(x, widest), y, z };
}

/** The smallest power of two that is not less, up to 2^30. */
function powerOfTwoFrom(value: number): number {
  return value <= 1 ? 1 : 2 ** Math.min(30, Math.ceil(Math.log2(value)));
}

/**
 * The grid of a kernel whose threads stride. Any grid is correct; the best has no more blocks than
 * are resident (`held`), of which none waits for another to end, and the fewest steps. With more than
 * `stepsPerThread` the grid grows beyond `held`.
 */
export function strideGrid(
  tiles: Extents,
  held: number,
  max: Extents,
  stepsPerThread: number,
): Extents {
  const grid = heldGrid(tiles, held, max);
  return stepsOf(tiles, grid) <= stepsPerThread ? grid : grownGrid(tiles, max, stepsPerThread);
}

/** The first resident grid with the fewest steps. */
function heldGrid(tiles: Extents, held: number, max: Extents): Extents {
  // Steps along the last axis with work follow from the blocks that are left for it.
  const tries = tiles.z === 1 ? MAX_ROW_STEPS : MAX_ROW_STEPS / 2;
  const triesX = tiles.y * tiles.z === 1 ? 1 : Math.min(tries, tiles.x);
  const triesY = tiles.z === 1 ? 1 : Math.min(tries, tiles.y);
  const fewestPossible = Math.ceil(volume(tiles) / held);
  let best = tiles;
  let fewest = Infinity;
  for (let alongX = 1; alongX <= triesX && fewest > fewestPossible; alongX++) {
    const x = Math.min(Math.ceil(tiles.x / alongX), held, max.x);
    for (let alongY = 1; alongY <= triesY && fewest > fewestPossible; alongY++) {
      const y = Math.min(Math.ceil(tiles.y / alongY), Math.floor(held / x), max.y);
      const z = Math.min(tiles.z, Math.floor(held / (x * y)), max.z);
      const grid = { x, y, z };
      const steps = stepsOf(tiles, grid);
      if (steps >= fewest) continue;
      fewest = steps;
      best = grid;
    }
  }
  return best;
}

/** The smallest grid with no more steps than allowed: steps go along the slowest axes first. */
function grownGrid(tiles: Extents, max: Extents, stepsPerThread: number): Extents {
  let left = stepsPerThread;
  const along = (work: number, limit: number) => {
    const blocks = Math.min(Math.ceil(work / left), limit);
    left = Math.max(1, Math.floor(left / Math.ceil(work / blocks)));
    return blocks;
  };
  const z = along(tiles.z, max.z);
  const y = along(tiles.y, max.y);
  return { x: along(tiles.x, max.x), y, z };
}

const planners = new WeakMap<PlannedKernel, LaunchPlanner>();

function plannerOf(kernel: PlannedKernel): LaunchPlanner {
  let planner = planners.get(kernel);
  if (planner === undefined) planners.set(kernel, planner = new LaunchPlanner(kernel));
  return planner;
}

/** Chooses grid, block and shared memory for a problem. */
export function planLaunch(kernel: PlannedKernel, problem: LaunchProblem): LaunchPlan {
  return plannerOf(kernel).plan(problem);
}

/** A launch along x. */
export interface LineLaunch {
  /** Blocks of the grid. */
  readonly grid: number;
  /** Threads of a block. */
  readonly block: number;
}

/** Chooses grid and block for a built-in kernel without a plan: the fast path of operations. */
export function lineLaunch(
  kernel: PlannedKernel,
  elements: number,
  options: {
    readonly elementsPerThread?: number;
    readonly stepsPerThread?: number;
    readonly block?: number;
  } = {},
): LineLaunch {
  const { elementsPerThread = 1, stepsPerThread, block } = options;
  const steps = Math.ceil(elements / elementsPerThread);
  return plannerOf(kernel).planLine(steps, stepsPerThread ?? Infinity, block);
}
