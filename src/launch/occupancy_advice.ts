/**
 * Advice on raising occupancy. Each suggestion is calculated before it is made.
 *
 * @module
 */

import {
  type BlockUsage,
  maxSharedMemory,
  maxThreads,
  type OccupancyLimits,
  type Residency,
  residency,
} from "./occupancy_rules.ts";

/** Fewer registers, barriers and less shared memory, as far as this many blocks need it. */
function oneBlockMore(
  limits: OccupancyLimits,
  usage: BlockUsage,
  { limits: allowed, blocks: now }: Residency,
): BlockUsage {
  const blocks = now + 1;
  let { registersPerThread, barriersPerBlock } = usage;
  const allows = (registers: number) =>
    residency(limits, { ...usage, registersPerThread: registers }).limits.registers >= blocks;
  if (allowed.registers < blocks) {
    registersPerThread = Math.min(registersPerThread - 1, limits.registersPerThread);
    while (registersPerThread > 0 && !allows(registersPerThread)) registersPerThread--;
    // Without registers nothing is limited: no number of them is low enough.
    if (registersPerThread === 0) return usage;
  }
  if (allowed.barriers < blocks) {
    barriersPerBlock = Math.floor(limits.barriersPerMultiprocessor / blocks);
  }
  let sharedMemory = usage.staticSharedMemory + usage.dynamicSharedMemory;
  if (allowed.sharedMemory < blocks) {
    const unit = limits.sharedMemoryAllocationUnit;
    const share = Math.floor(limits.sharedMemoryPerMultiprocessor / blocks / unit) * unit -
      limits.reservedSharedMemoryPerBlock;
    sharedMemory = Math.max(0, Math.min(sharedMemory, maxSharedMemory(limits, usage), share));
  }
  const staticSharedMemory = Math.min(usage.staticSharedMemory, sharedMemory);
  const dynamicSharedMemory = sharedMemory - staticSharedMemory;
  return {
    ...usage,
    registersPerThread,
    barriersPerBlock,
    staticSharedMemory,
    dynamicSharedMemory,
  };
}

/** The block of whole warps with the highest occupancy; among equals the closest in size. */
function otherBlockSize(limits: OccupancyLimits, usage: BlockUsage): BlockUsage {
  const distance = (each: BlockUsage) => Math.abs(each.threadsPerBlock - usage.threadsPerBlock);
  let best = usage;
  let highest = 0;
  const max = maxThreads(limits, usage);
  for (let threads = limits.warpSize; threads <= max; threads += limits.warpSize) {
    const other = { ...usage, threadsPerBlock: threads };
    const gain = residency(limits, other).occupancy - highest;
    if (gain < 0 || gain === 0 && distance(other) >= distance(best)) continue;
    best = other;
    highest += gain;
  }
  return best;
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

function percent(share: number): string {
  return `${Math.round(share * 1000) / 10} %`;
}

/** The reason why no block fits at all. */
function whyNone(limits: OccupancyLimits, usage: BlockUsage, { limits: allowed }: Residency) {
  const { registersPerBlock, registersPerThread } = limits;
  if (allowed.warps === 0) return plural(maxThreads(limits, usage), "thread");
  return allowed.registers === 0
    ? `${registersPerBlock} registers, and a thread ${registersPerThread}`
    : `${maxSharedMemory(limits, usage)} bytes of shared memory`;
}

/** The figures that differ. */
function changes(then: BlockUsage, now: BlockUsage): string {
  const shared = then.staticSharedMemory + then.dynamicSharedMemory;
  const sharedNow = now.staticSharedMemory + now.dynamicSharedMemory;
  const figures = [
    [then.threadsPerBlock, now.threadsPerBlock, "threads per block", ""],
    [then.registersPerThread, now.registersPerThread, "registers per thread", "at most "],
    [shared, sharedNow, "bytes of shared memory per block", "at most "],
    [then.barriersPerBlock, now.barriersPerBlock, "barriers per block", "at most "],
  ] as const;
  return listed(
    figures.filter(([then, before]) => then !== before).map(([then, before, name, bound]) =>
      `${bound}${then} ${name} (it has ${before})`
    ),
  );
}

/** The changes that would raise occupancy, in a sentence; empty if there are none. */
export function occupancyAdvice(limits: OccupancyLimits, usage: BlockUsage): string {
  const now = residency(limits, usage);
  const promises = [oneBlockMore(limits, usage, now), otherBlockSize(limits, usage)]
    .map((then) => [then, residency(limits, then)] as const)
    .filter(([, then]) => then.occupancy > now.occupancy)
    .map(([then, { blocks, occupancy }]) =>
      `with ${changes(then, usage)} ${plural(blocks, "block")} ` +
      `${blocks === 1 ? "fits" : "fit"}, ${percent(occupancy)}`
    );
  if (promises.length === 0 && now.blocks > 0) return "";
  const limiters = Object.entries(now.limits).filter(([, blocks]) => blocks === now.blocks)
    .map(([name]) => name.replace("sharedMemory", "shared memory"));
  const state = now.blocks === 0
    ? `No block fits as a block has at most ${whyNone(limits, usage, now)}`
    : `Occupancy is ${percent(now.occupancy)}, limited to ${plural(now.blocks, "block")} by ` +
      listed(limiters);
  return promises.length === 0 ? `${state}.` : `${state}: ${promises.join("; or ")}.`;
}
