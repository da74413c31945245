/**
 * A launch that was planned: what to launch, what it will do, and why it is so.
 *
 * @module
 */

import type { LaunchConfig } from "./launch_config.ts";
import type { AxisWork, BlockShape, Coverage } from "./launch_problem.ts";
import type { Occupancy, OccupancyLimiter } from "./occupancy.ts";
import { stepsOf } from "./stride_grid.ts";

/** Three extents, x first. */
export type ThreeExtents = readonly [x: number, y: number, z: number];

/**
 * What a planner has decided.
 *
 * @internal
 */
export interface PlanDecision {
  /** How messages name the kernel. */
  readonly kernelName: string;
  /** The problem's axes. */
  readonly axes: readonly AxisWork[];
  /** How the grid covers them. */
  readonly coverage: Coverage;
  /** Blocks of work along the axes. */
  readonly tiles: BlockShape;
  /** Blocks of the grid along the axes. */
  readonly grid: BlockShape;
  /** Threads of a block along the axes. */
  readonly block: BlockShape;
  /** Dynamic shared memory of a block in bytes. */
  readonly sharedMemory: number;
  /** Of the kernel with such blocks. */
  readonly occupancy: Occupancy;
  /** Multiprocessors of the device. */
  readonly multiprocessorCount: number;
  /** Why the block is as it is; completes "256 threads to a block, ". */
  readonly reason: string;
}

/** Extents as a launch takes them: without those at the end that are 1. */
function dimensionsOf({ x, y, z }: BlockShape): LaunchConfig["grid"] {
  if (z !== 1) return [x, y, z];
  return y === 1 ? x : [x, y];
}

/**
 * A launch configuration that also says what it will do. It is launched as it is, or with a stream:
 * `{ ...plan, stream }`.
 *
 * @example
 * ```ts
 * import { openDevice } from "@gridstride/cuda";
 *
 * using device = openDevice();
 * using x = device.allocate("float32", 1_000_003, { fill: 1 });
 * const scale = device.kernels.load(
 *   "scale_float32(const float* x, float* out, float factor, float offset, unsigned long long n)",
 * );
 * const plan = device.launchFor(scale, { elements: x.length });
 * scale.launch(plan, x, x, 2, 0, x.length);
 * console.log(plan.explain());
 * ```
 */
export class LaunchPlan implements LaunchConfig {
  /** Blocks of the grid. */
  readonly grid: LaunchConfig["grid"];
  /** Threads of a block. */
  readonly block: LaunchConfig["block"];
  /** Dynamic shared memory of a block in bytes. */
  readonly sharedMemory: number;
  readonly #decision: PlanDecision;

  /**
   * Takes what was decided. Made by `device.launchFor()`.
   *
   * @internal
   */
  constructor(decision: PlanDecision) {
    this.grid = dimensionsOf(decision.grid);
    this.block = dimensionsOf(decision.block);
    this.sharedMemory = decision.sharedMemory;
    this.#decision = decision;
  }

  /** How the grid covers the problem. */
  get coverage(): Coverage {
    return this.#decision.coverage;
  }

  /**
   * Blocks of work along x, y and z. With `coverage: "linear"` the kernel finds its own from
   * `blockIdx.x`: `x = blockIdx.x % tiles[0]`, `y = blockIdx.x / tiles[0] % tiles[1]`, …
   */
  get tiles(): ThreeExtents {
    const { x, y, z } = this.#decision.tiles;
    return [x, y, z];
  }

  /** Blocks of the grid in all. */
  get blocks(): number {
    const { x, y, z } = this.#decision.grid;
    return x * y * z;
  }

  /** Most steps that a thread makes: 1 unless the grid strides. */
  get steps(): number {
    const { coverage, tiles, grid } = this.#decision;
    return coverage === "stride" ? stepsOf(tiles, grid) : 1;
  }

  /** How full a multiprocessor is, and what keeps it from being fuller. */
  get occupancy(): Occupancy {
    return this.#decision.occupancy;
  }

  /** Blocks that the device holds at once. */
  get residentBlocks(): number {
    const { occupancy, multiprocessorCount } = this.#decision;
    return occupancy.activeBlocks * multiprocessorCount;
  }

  /** How often the device is filled with blocks: 2.5 are two full waves and half of one. */
  get waves(): number {
    return this.blocks / this.residentBlocks;
  }

  /**
   * The tail effect: the share of the device's time that is idle because the last wave is not full,
   * or not all blocks of a striding grid have work in the last step, if all work takes equally
   * long. 0 where the device is full from beginning to end.
   */
  get tailEffect(): number {
    const { tiles: { x, y, z } } = this.#decision;
    const work = x * y * z / this.residentBlocks;
    return 1 - work / (Math.ceil(this.waves) * this.steps);
  }

  /** Why the launch is as it is, in sentences. */
  explain(): string {
    const { kernelName, block, reason, occupancy } = this.#decision;
    const { activeBlocks } = occupancy;
    const limiter = occupancy.occupancy === 1 ? "" : `, limited by ${LIMITERS[occupancy.limiter]}`;
    const threads = `${shapeText(block)} ${
      block.x * block.y * block.z === 1 ? "thread" : "threads"
    }`;
    const fits = `${activeBlocks} such ${activeBlocks === 1 ? "block fits" : "blocks fit"}`;
    return `${kernelName}: ${threads} to a block, ${reason}. ${fits} on a multiprocessor, which is ` +
      `${percent(occupancy.occupancy)} of its warps${limiter}. ${this.#gridText()}. ` +
      `${this.#wavesText()}.`;
  }

  #gridText(): string {
    const { axes, coverage, tiles } = this.#decision;
    const [x, y, z] = this.tiles;
    const { blocks, steps } = this;
    const one = blocks === 1;
    const extents = axes.map(({ name, extent }) =>
      `${count(extent)} ${extent === 1 ? name.replace(/s\b/, "") : name}`
    ).join(" × ");
    // Blocks along an axis that the problem does not have are those that share products.
    const work = axes.length === 2 && z > 1
      ? `${extents}, ${count(z)} to share the products of each`
      : extents;
    if (axes.some(({ extent }) => extent === 0)) {
      return `${counted(blocks, "block")} ${one ? "finds" : "find"} nothing to do in ${work}`;
    }
    switch (coverage) {
      case "exact":
        return `${counted(blocks, "block")} ${one ? "covers" : "cover"} exactly ${work}`;
      case "linear":
        return `${counted(blocks, "block")} along x, ${count(x)} × ${count(y)} × ${count(z)} ` +
          "of the problem, " +
          `${one ? "covers" : "cover"} ${work}`;
      case "stride":
        return `${counted(blocks, "block")} ${one ? "strides" : "stride"} over ${work}, ` +
          `${counted(tiles.x * tiles.y * tiles.z, "block")} of work, in ${counted(steps, "step")}`;
    }
  }

  #wavesText(): string {
    const { waves, tailEffect, residentBlocks } = this;
    const held = `the device holds ${count(residentBlocks)} at once`;
    const idle = `${percent(tailEffect)} of the device's time is idle`;
    if (waves > 1) {
      const tail = tailEffect === 0 ? "which is full" : `which is not full, so that ${idle}`;
      return `That is ${hundredths(waves)} waves, the last of ${tail}: ${held}`;
    }
    const tail = this.steps === 1 || tailEffect === 0 ? "" : `; ${idle}, as steps are not full`;
    return `That is ${percent(waves)} of one wave: ${held}${tail}`;
  }
}

const LIMITERS: Readonly<Record<OccupancyLimiter, string>> = {
  warps: "warps",
  blocks: "the number of blocks",
  registers: "registers",
  sharedMemory: "shared memory",
  barriers: "barriers",
};

function shapeText({ x, y, z }: BlockShape): string {
  if (z !== 1) return `${x} × ${y} × ${z}`;
  return y === 1 ? `${x}` : `${x} × ${y}`;
}

function percent(share: number): string {
  const value = 100 * share;
  return `${value >= 10 || value === 0 ? Math.round(value) : value.toPrecision(2)} %`;
}

/** A number in groups of three digits; one that nobody would read so by its power of ten. */
function count(value: number): string {
  return value < 1e21 ? value.toLocaleString("en") : value.toPrecision(3);
}

/** The same with two decimal places. */
function hundredths(value: number): string {
  if (value >= 1e21) return value.toPrecision(3);
  return value.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
}

function counted(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}
