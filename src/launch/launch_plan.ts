/**
 * The result of planning a launch: its configuration, its effect, and the reasons for it.
 *
 * @module
 */

import { displayAs } from "../ffi/display.ts";
import type { Extents } from "../hardware/capability_limits.ts";
import type { LaunchConfig } from "./launch_config.ts";
import type { AxisWork, Coverage } from "./launch_problem.ts";
import type { Occupancy } from "./occupancy.ts";

export interface PlanDecision {
  readonly kernelName: string;
  readonly axes: readonly AxisWork[];
  readonly coverage: Coverage;
  /** Blocks of work along the axes. */
  readonly tiles: Extents;
  readonly grid: Extents;
  readonly block: Extents;
  readonly sharedMemory: number;
  readonly occupancy: Occupancy;
  readonly multiprocessorCount: number;
  /** The reason for the block; completes "256 threads to a block, ". */
  readonly reason: string;
}

let newPlan: (decision: PlanDecision) => LaunchPlan;

export function planOf(decision: PlanDecision): LaunchPlan {
  return newPlan(decision);
}

/** Steps of a thread along all axes together. */
export function stepsOf(tiles: Extents, grid: Extents): number {
  return Math.ceil(tiles.x / grid.x) * Math.ceil(tiles.y / grid.y) * Math.ceil(tiles.z / grid.z);
}

/** The form of extents in a configuration: without trailing ones. */
function listOf({ x, y, z }: Extents): LaunchConfig["grid"] {
  if (z !== 1) return [x, y, z];
  return y === 1 ? x : [x, y];
}

/**
 * A launch configuration that describes its effect. Launch it as it is, or with a stream:
 * `{ ...plan, stream }`. `device.launchFor()` makes it.
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
 * @category Launching kernels
 */
export class LaunchPlan implements LaunchConfig {
  /** Blocks of the grid. */
  readonly grid: LaunchConfig["grid"];
  /** Threads of a block. */
  readonly block: LaunchConfig["block"];
  /** Dynamic shared memory of a block in bytes. */
  readonly sharedMemory: number;
  readonly #decision: PlanDecision;

  static {
    newPlan = (decision) => new LaunchPlan(decision);
  }

  private constructor(decision: PlanDecision) {
    this.grid = listOf(decision.grid);
    this.block = listOf(decision.block);
    this.sharedMemory = decision.sharedMemory;
    this.#decision = decision;
  }

  /** The way the grid covers the problem. */
  get coverage(): "exact" | "stride" | "linear" {
    return this.#decision.coverage;
  }

  /**
   * Blocks of work along x, y and z. With `coverage: "linear"` the kernel finds its own from
   * `blockIdx.x`: `x = blockIdx.x % tiles.x`, `y = blockIdx.x / tiles.x % tiles.y`, …
   */
  get tiles(): Extents {
    return { ...this.#decision.tiles };
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

  /** The occupancy of a multiprocessor, its limiter, and advice. */
  get occupancy(): Occupancy {
    return this.#decision.occupancy;
  }

  /** Blocks resident on the device. */
  get residentBlocks(): number {
    const { occupancy, multiprocessorCount } = this.#decision;
    return occupancy.activeBlocks * multiprocessorCount;
  }

  /** Blocks of the grid per resident block: 2.5 are two full waves and half of one. */
  get waves(): number {
    return this.blocks / this.residentBlocks;
  }

  /**
   * The tail effect: the share of the device's time that is idle if all work takes equally long,
   * because the last wave is not full, or not all blocks of a striding grid have work in the last
   * step.
   */
  get tailEffect(): number {
    const { tiles: { x, y, z } } = this.#decision;
    const work = x * y * z / this.residentBlocks;
    return 1 - work / (Math.ceil(this.waves) * this.steps);
  }

  /** The launch, the reason for its block, and its effect, in sentences. */
  explain(): string {
    const { kernelName, axes, coverage, tiles, block, reason, occupancy } = this.#decision;
    const shape = [listOf(block)].flat().join(" × ");
    const limiter = occupancy.occupancy === 1 ? "" : `, limited by ${LIMITERS[occupancy.limiter]}`;
    const extents = axes.map(({ name, extent }) => `${count(extent)} ${name}`).join(" × ");
    // Blocks along an axis without work share products.
    const shared = axes.length === 2 && tiles.z > 1
      ? `, ${count(tiles.z)} to share the products of each`
      : "";
    const covers = {
      exact: "for exactly",
      linear: `along x, ${[tiles.x, tiles.y, tiles.z].map(count).join(" × ")} of the problem, for`,
      stride: `in ${counted(this.steps, "step")} over`,
    }[coverage];
    const work = axes.some(({ extent }) => extent === 0) ? "with nothing to do in" : covers;
    const isTail = this.tailEffect > 0 && (this.waves >= 1 || this.steps > 1);
    const idle = isTail ? `; ${percent(this.tailEffect)} of the device's time is idle` : "";
    return `${kernelName}: ${shape} threads to a block, ${reason}. ` +
      `${counted(occupancy.activeBlocks, "block")} to a multiprocessor, ` +
      `${percent(occupancy.occupancy)} of its warps${limiter}. ` +
      `${counted(this.blocks, "block")} ${work} ${extents}${shared}. ` +
      `${counted(this.waves, "wave")} of ${counted(this.residentBlocks, "resident block")}${idle}.`;
  }
}

displayAs(LaunchPlan.prototype, "LaunchPlan", {
  grid: ({ grid }) => grid,
  block: ({ block }) => block,
  sharedMemory: ({ sharedMemory }) => sharedMemory > 0 && sharedMemory,
  coverage: ({ coverage }) => coverage,
  waves: ({ waves }) => waves,
  occupancy: ({ occupancy }) => occupancy.occupancy,
  limiter: ({ occupancy }) => occupancy.limiter,
}, { isData: true, more: { explanation: (plan) => plan.explain() } });

const LIMITERS: Readonly<Record<Occupancy["limiter"], string>> = {
  warps: "warps",
  blocks: "the number of blocks",
  registers: "registers",
  sharedMemory: "shared memory",
  barriers: "barriers",
};

function percent(share: number): string {
  return `${Number((100 * share).toPrecision(2))} %`;
}

/** A number in groups of three digits, with two significant decimals. */
function count(value: number): string {
  return value.toLocaleString("en", { maximumFractionDigits: value < 0.1 ? 5 : 2 });
}

function counted(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}
