/**
 * Pseudo-random cases of occupancy, close to where the answer changes: the same in every run.
 *
 * @module
 */

import { capabilityLimits } from "../../src/hardware/capability_limits.ts";
import { KNOWN_CAPABILITIES } from "../../src/hardware/capability_limits.ts";
import type { OccupancyLimits } from "../../src/launch/occupancy_rules.ts";

export interface OccupancyCase {
  readonly capability: string;
  readonly limits: OccupancyLimits;
  readonly usage: {
    readonly threadsPerBlock: number;
    readonly registersPerThread: number;
    readonly staticSharedMemory: number;
    readonly dynamicSharedMemory: number;
    readonly barriersPerBlock: number;
    readonly maxThreadsPerBlock: number;
    readonly sharedMemoryOptIn: boolean;
  };
  /** Bytes of dynamic shared memory for each thread, for block sizes. */
  readonly bytesPerThread: number;
}

/** Integers below a bound, by a linear congruential generator of 48 bits (that of `drand48`). */
class Random {
  #state: bigint;

  constructor(seed: number) {
    this.#state = (BigInt(seed) << 16n) | 0x330en;
  }

  below(bound: number): number {
    this.#state = (this.#state * 0x5deece66dn + 0xbn) & 0xffffffffffffn;
    return Math.floor(Number(this.#state >> 16n) / 2 ** 32 * bound);
  }

  pick<T>(...choices: readonly T[]): T {
    return choices[this.below(choices.length)]!;
  }
}

function threadsNearWarps(random: Random): number {
  const threads = 32 * (1 + random.below(32)) + random.pick(-1, 0, 1);
  return random.pick(
    threads,
    threads,
    1 + random.below(1024),
    1 + random.below(100),
    random.pick(1, 1024, 1025, 4096),
  );
}

/** Shared memory with which another block just fits, or just not. */
function sharedMemoryAtBoundary(random: Random, limits: OccupancyLimits): number {
  const unit = limits.sharedMemoryAllocationUnit;
  const share = Math.floor(limits.sharedMemoryPerMultiprocessor / (1 + random.below(40)));
  const bytes = random.pick(
    Math.floor(share / unit) * unit - limits.reservedSharedMemoryPerBlock,
    limits.sharedMemoryPerBlock,
    limits.sharedMemoryPerBlockOptIn,
    random.below(limits.sharedMemoryPerMultiprocessor),
    0,
  ) + random.pick(0, 0, 1, -1, unit, -unit);
  return Math.max(0, bytes);
}

/**
 * Now and then a device that says other of itself than its capability does: a block may have fewer
 * registers than a multiprocessor, as on some integrated devices.
 */
function deviceOf(random: Random, limits: OccupancyLimits): OccupancyLimits {
  if (random.below(4) > 0) return limits;
  return {
    ...limits,
    maxThreadsPerBlock: random.pick(512, 1024),
    maxThreadsPerMultiprocessor: random.pick(1024, 1536, 2048),
    registersPerBlock: random.pick(16384, 32768, 40000, 65536),
    registersPerMultiprocessor: random.pick(65536, 65536, 131072),
  };
}

/** So many cases, equally many of each capability. */
export function occupancyCases(count: number, seed: number): OccupancyCase[] {
  const random = new Random(seed);
  const known = KNOWN_CAPABILITIES.map((capability) => capabilityLimits(capability));
  return Array.from({ length: count }, (_, index) => {
    const { computeCapability: capability, ...table } = known[index % known.length]!;
    const limits = deviceOf(random, table);
    const sharedMemory = sharedMemoryAtBoundary(random, limits);
    const staticSharedMemory = random.pick(0, sharedMemory, random.below(sharedMemory + 1));
    return {
      capability,
      limits,
      usage: {
        threadsPerBlock: threadsNearWarps(random),
        registersPerThread: random.pick(random.below(256), random.below(48), random.below(264)),
        staticSharedMemory,
        dynamicSharedMemory: sharedMemory - staticSharedMemory,
        barriersPerBlock: random.pick(1, random.below(17)),
        maxThreadsPerBlock: random.pick(1024, 1024, 2 ** 31 - 1, 1 + random.below(1024)),
        sharedMemoryOptIn: random.pick(true, true, false),
      },
      bytesPerThread: random.pick(0, 4, random.below(300)),
    };
  });
}
