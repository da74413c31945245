/**
 * From the size of a problem to grid, block and shared memory: the one place that chooses them.
 *
 * All three agree with each other because the block comes first: its shape decides the shared
 * memory, both decide how many fit, and only then is the grid made of what the block covers.
 *
 * @module
 */

import { describeValue } from "../ffi/describe_value.ts";
import type { DeviceInfo } from "../hardware/device_information.ts";
import type { OccupancyLimits } from "./block_limits.ts";
import {
  candidateThreads,
  LEAST_SHARED_OUT,
  type LeastExtents,
  leastExtents,
  shapeOf,
} from "./block_shape.ts";
import { LaunchPlan } from "./launch_plan.ts";
import {
  type AxisProblem,
  type AxisWork,
  type BlockShape,
  type Coverage,
  type LaunchProblem,
  MOST_SHARED_MEMORY,
  readProblem,
} from "./launch_problem.ts";
import { type Occupancy, occupancy } from "./occupancy.ts";
import { occupancyLimits } from "./occupancy_limits.ts";
import { strideGrid } from "./stride_grid.ts";

/** A kernel on a device, as far as its launch depends on it. */
export interface PlannedKernel {
  /** How messages name it. */
  readonly name: string;
  /** The device. */
  readonly context: { readonly info: DeviceInfo };
  /** What the compiler made of it. */
  readonly attributes: {
    /** Most threads of a block. */
    readonly maxThreadsPerBlock: number;
    /** Registers of a thread. */
    readonly registersPerThread: number;
    /** Bytes of shared memory declared in the kernel. */
    readonly staticSharedMemory: number;
  };
  /** Whether it is a built-in one, whose threads go on to the elements a grid further along x. */
  readonly gridStride?: boolean;
}

/** A block that was chosen. */
interface ChosenBlock {
  readonly shape: BlockShape;
  readonly sharedMemory: number;
  readonly occupancy: Occupancy;
  readonly reason: string;
}

const AXES = ["x", "y", "z"] as const;

const FULLEST = "which keep a multiprocessor fullest";
const ALL_OF_IT = "as the problem has work for no more";

/** Plans the launches of one kernel. */
class LaunchPlanner {
  readonly #kernel: PlannedKernel;
  readonly #info: DeviceInfo;
  readonly #limits: OccupancyLimits;
  readonly #maxThreads: number;
  readonly #candidates: readonly number[];
  /** By threads and dynamic shared memory of a block: the same few come again and again. */
  readonly #occupancies = new Map<number, Occupancy>();
  // Launches of a kernel mostly have the same shared memory; NaN is none.
  #lastSharedMemory = NaN;
  #lastFullest = 0;

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
    if (this.#kernel.gridStride === true && work.axes.length > 1) this.#refuseAxes();
    const coverage = work.options.coverage ??
      (this.#kernel.gridStride === true ? "stride" : "exact");
    const chosen = work.block === undefined
      ? this.#chooseBlock(work, coverage)
      : this.#givenBlock(work, work.block);
    const tiles = this.#tilesOf(work, chosen);
    return new LaunchPlan({
      kernelName: this.#kernel.name,
      axes: work.axes,
      coverage,
      tiles,
      grid: this.#gridOf(work, coverage, tiles, chosen),
      block: chosen.shape,
      sharedMemory: chosen.sharedMemory,
      occupancy: chosen.occupancy,
      multiprocessorCount: this.#info.multiprocessorCount,
      // Whatever else it was chosen for: one block of them does all of the work.
      reason: work.block === undefined && threadsOf(tiles) === 1 ? ALL_OF_IT : chosen.reason,
    });
  }

  #occupancyOf(threads: number, dynamicSharedMemory: number): Occupancy {
    const key = dynamicSharedMemory * 2048 + threads;
    let known = this.#occupancies.get(key);
    if (known === undefined) {
      const { registersPerThread, staticSharedMemory } = this.#kernel.attributes;
      known = occupancy(this.#limits, {
        threadsPerBlock: threads,
        registersPerThread,
        staticSharedMemory,
        dynamicSharedMemory,
        // For the advice: nobody can launch what it would else propose.
        maxThreadsPerBlock: this.#maxThreads,
      });
      if (this.#occupancies.size >= MOST_REMEMBERED) this.#occupancies.clear();
      this.#occupancies.set(key, known);
    }
    return known;
  }

  #givenBlock({ options, isTile }: AxisProblem, shape: BlockShape): ChosenBlock {
    const threads = threadsOf(shape);
    if (threads > this.#maxThreads) {
      const hint = isTile ? ", one for each element of tile: give block" : "";
      this.#refuse(
        `the threads of block must be in 1..${this.#maxThreads}: they are ${threads}${hint}`,
      );
    }
    for (const axis of AXES) this.#requireBlock(axis, shape[axis]);
    const sharedMemory = this.#sharedMemoryOf(options.sharedMemory, shape);
    const occupancy = this.#occupancyOf(threads, sharedMemory);
    if (occupancy.activeBlocks === 0) this.#refuseUnfit(occupancy);
    return { shape, sharedMemory, occupancy, reason: "as the problem asks for" };
  }

  #chooseBlock(problem: AxisProblem, coverage: Coverage): ChosenBlock {
    const full = this.#fullest(problem);
    const shared = coverage === "linear" ? full : this.#tallEnough(problem, full, coverage);
    return this.#sharedOut(problem, shared);
  }

  /** The candidate of which a multiprocessor holds the most warps; the preferred one of equals. */
  #fullest(problem: AxisProblem): ChosenBlock {
    const { sharedMemory = 0 } = problem.options;
    if (typeof sharedMemory === "number") {
      return this.#blockOf(problem, this.#fullestThreads(sharedMemory), FULLEST);
    }
    let best: ChosenBlock | undefined;
    let last: Occupancy | undefined;
    for (const threads of this.#candidates) {
      const block = this.#blockOf(problem, threads, FULLEST);
      last = block.occupancy;
      if (last.activeBlocks === 0) continue;
      if (best === undefined || last.activeWarps > best.occupancy.activeWarps) best = block;
    }
    return best ?? this.#refuseUnfit(last!);
  }

  /** The same where the shape of a block changes nothing. */
  #fullestThreads(sharedMemory: number): number {
    if (sharedMemory === this.#lastSharedMemory) return this.#lastFullest;
    let best = 0;
    let mostWarps = 0;
    for (const threads of this.#candidates) {
      const { activeWarps } = this.#occupancyOf(threads, sharedMemory);
      if (activeWarps <= mostWarps) continue;
      mostWarps = activeWarps;
      best = threads;
    }
    if (best === 0) this.#refuseUnfit(this.#occupancyOf(this.#candidates.at(-1)!, sharedMemory));
    this.#lastSharedMemory = sharedMemory;
    this.#lastFullest = best;
    return best;
  }

  /** Makes a block smaller, so that each multiprocessor gets one: idle ones are of no use. */
  #sharedOut(problem: AxisProblem, block: ChosenBlock): ChosenBlock {
    let chosen = block;
    for (;;) {
      const threads = threadsOf(chosen.shape) / 2;
      if (threads < LEAST_SHARED_OUT || !Number.isInteger(threads)) return chosen;
      const { x, y, z } = this.#tilesOf(problem, chosen);
      if (x * y * z >= this.#info.multiprocessorCount) return chosen;
      const smaller = this.#blockOf(
        problem,
        threads,
        "so few that more multiprocessors have work",
      );
      if (smaller.occupancy.activeBlocks === 0) return chosen;
      if (!this.#fitsExactly(this.#tilesOf(problem, smaller))) return chosen;
      chosen = smaller;
    }
  }

  /** Makes a block taller where a grid would else need more of them along y or z than there can be. */
  #tallEnough(problem: AxisProblem, block: ChosenBlock, coverage: Coverage): ChosenBlock {
    if (coverage === "stride" || this.#fitsExactly(this.#tilesOf(problem, block))) return block;
    const isEnough = (chosen: ChosenBlock) => this.#fitsExactly(this.#tilesOf(problem, chosen));
    const larger = this.#candidates.filter((threads) => threads >= threadsOf(block.shape))
      .sort((one, other) => one - other);
    const reason = "as many as cover the problem's extents";
    const taller = larger.map((threads) => this.#blockOf(problem, threads, reason));
    // With as many threads along x as the others leave only where a whole warp is too many.
    const narrower = larger.flatMap((threads) => {
      const least = leastExtents(threads, problem.steps, this.#info.maxGridDimensions);
      return least === undefined ? [] : [this.#blockOf(problem, threads, reason, least)];
    });
    const fitting = [...taller, ...narrower].filter(({ occupancy }) => occupancy.activeBlocks > 0);
    return fitting.find(isEnough) ?? block;
  }

  #blockOf(
    problem: AxisProblem,
    threads: number,
    reason: string,
    least?: LeastExtents,
  ): ChosenBlock {
    const shape = shapeOf(threads, problem.steps, this.#info.maxBlockDimensions, least);
    const sharedMemory = this.#sharedMemoryOf(problem.options.sharedMemory, shape);
    const occupancy = this.#occupancyOf(threadsOf(shape), sharedMemory);
    return { shape, sharedMemory, occupancy, reason };
  }

  #sharedMemoryOf(
    sharedMemory: number | ((block: BlockShape) => number) = 0,
    shape: BlockShape,
  ): number {
    const isChosen = typeof sharedMemory === "function";
    const bytes = isChosen ? sharedMemory(shape) : sharedMemory;
    if (isChosen && !(Number.isInteger(bytes) && bytes >= 0 && bytes <= MOST_SHARED_MEMORY)) {
      this.#refuse(
        `sharedMemory must give an integer in 0..${MOST_SHARED_MEMORY}: for a block of ` +
          `${threadsOf(shape)} threads it gives ${describeValue(bytes)}`,
      );
    }
    return bytes;
  }

  /** Blocks of work along the axes; one where there is none, as CUDA knows no empty grid. */
  #tilesOf({ axes, mostSplits }: AxisProblem, { shape, occupancy }: ChosenBlock): BlockShape {
    const along = (index: 0 | 1 | 2) => {
      const axis = axes[index];
      if (axis === undefined) return 1;
      return Math.max(1, Math.ceil(axis.extent / blockCovers(axis, shape[AXES[index]])));
    };
    const tiles = { x: along(0), y: along(1), z: along(2) };
    if (mostSplits === 1) return tiles;
    const held = occupancy.activeBlocks * this.#info.multiprocessorCount;
    const fill = Math.max(1, Math.floor(held / (tiles.x * tiles.y)));
    const most = Math.min(fill, mostSplits, this.#info.maxGridDimensions.z);
    // The longest of them decides: no more than it takes for none to be longer.
    return { ...tiles, z: Math.ceil(mostSplits / Math.ceil(mostSplits / most)) };
  }

  #fitsExactly(tiles: BlockShape): boolean {
    const most = this.#info.maxGridDimensions;
    return tiles.x <= most.x && tiles.y <= most.y && tiles.z <= most.z;
  }

  #gridOf(
    work: AxisProblem,
    coverage: Coverage,
    tiles: BlockShape,
    { occupancy }: ChosenBlock,
  ): BlockShape {
    switch (coverage) {
      case "exact":
        if (!this.#fitsExactly(tiles)) this.#refuseTiles(work, tiles);
        return tiles;
      case "linear":
        return this.#linearGrid(tiles);
      case "stride":
        return strideGrid(
          tiles,
          occupancy.activeBlocks * this.#info.multiprocessorCount,
          this.#info.maxGridDimensions,
          work.options.stepsPerThread ?? Infinity,
        );
    }
  }

  #linearGrid(tiles: BlockShape): BlockShape {
    const blocks = tiles.x * tiles.y * tiles.z;
    const most = this.#info.maxGridDimensions.x;
    if (blocks > most) {
      this.#refuse(
        `the problem must take 1..${most} blocks: it takes ${tiles.x} × ${tiles.y} × ${tiles.z}; ` +
          'coverage "stride" takes any number, if the kernel strides',
      );
    }
    return { x: blocks, y: 1, z: 1 };
  }

  #refuseTiles({ axes }: AxisProblem, tiles: BlockShape): never {
    const most = this.#info.maxGridDimensions;
    const index = AXES.findIndex((axis) => tiles[axis] > most[axis]);
    const axis = AXES[index]!;
    const { name, extent } = axes[index]!;
    const linear = axis === "x" ? "" : ', and "linear" counts them along x';
    this.#refuse(
      `the blocks of the grid along ${axis} must be in 1..${most[axis]}: ${extent} ${name} take ` +
        `${tiles[axis]}; coverage "stride" takes any number, if the kernel strides${linear}`,
    );
  }

  #requireBlock(axis: "x" | "y" | "z", extent: number): void {
    const most = this.#info.maxBlockDimensions[axis];
    if (extent <= most) return;
    this.#refuse(`block.${axis} must be in 1..${most}: it is ${extent}`);
  }

  /** Each row of blocks would do all of the work again. */
  #refuseAxes(): never {
    throw new TypeError(
      `Cannot choose launch parameters for ${this.#kernel.name} as problem must have elements: ` +
        "built-in kernels have one axis",
    );
  }

  #refuseUnfit({ advice }: Occupancy): never {
    this.#refuse(`no block of it fits on a multiprocessor. ${advice}`);
  }

  #refuse(problem: string): never {
    throw new RangeError(`Cannot choose launch parameters for ${this.#kernel.name} as ${problem}`);
  }
}

/** Occupancies that a planner keeps; shared memory may be another in every launch. */
const MOST_REMEMBERED = 64;

function threadsOf({ x, y, z }: BlockShape): number {
  return x * y * z;
}

/** What a block covers along an axis in one step. */
function blockCovers({ perThread, perBlock }: AxisWork, threads: number): number {
  return perBlock === 0 ? perThread * threads : perBlock;
}

const planners = new WeakMap<PlannedKernel, LaunchPlanner>();

/**
 * Grid, block and shared memory for a problem.
 *
 * @param kernel The kernel; its device and what the compiler made of it decide.
 * @throws {TypeError} If the problem is of no kind that is known, or has several axes for a built-in
 * kernel.
 * @throws {RangeError} If a number of it is not an integer of its range, no block of the kernel
 * fits on the device, or the grid would be larger than there can be.
 */
export function planLaunch(kernel: PlannedKernel, problem: LaunchProblem): LaunchPlan {
  let planner = planners.get(kernel);
  if (planner === undefined) {
    planner = new LaunchPlanner(kernel);
    planners.set(kernel, planner);
  }
  return planner.plan(problem);
}
