/**
 * Advice on raising occupancy. Each suggestion is calculated before it is made.
 *
 * @module
 */

import {
  blocksByBarriers,
  blocksByRegisters,
  blocksBySharedMemory,
  blocksByWarps,
  type BlockUsage,
  maxSharedMemory,
  maxThreads,
  type OccupancyLimits,
  registersPerWarp,
  residentBlocks,
  warpsPerBlock,
  warpsPerMultiprocessor,
} from "./occupancy_rules.ts";

/** A changed usage, and its occupancy. */
interface Remedy {
  readonly usage: BlockUsage;
  readonly activeBlocks: number;
  readonly occupancy: number;
}

function remedy(limits: OccupancyLimits, usage: BlockUsage): Remedy {
  const activeBlocks = residentBlocks(limits, usage);
  const warps = activeBlocks * warpsPerBlock(limits, usage.threadsPerBlock);
  return { usage, activeBlocks, occupancy: warps / warpsPerMultiprocessor(limits) };
}

/** The changes that raise occupancy, each by itself, smallest first. */
function remedies(limits: OccupancyLimits, usage: BlockUsage): Remedy[] {
  const now = remedy(limits, usage);
  const found = [
    usage.sharedMemoryOptIn ? undefined : remedy(limits, { ...usage, sharedMemoryOptIn: true }),
    oneBlockMore(limits, usage, now.activeBlocks + 1),
    otherBlockSize(limits, usage),
  ].filter((each) => each !== undefined && each.occupancy > now.occupancy) as Remedy[];
  if (found.length > 0 || now.activeBlocks > 0) return found;
  // Nothing fits, and no single change helps: a block of the largest size that takes less.
  const threadsPerBlock = Math.min(usage.threadsPerBlock, maxThreads(limits, usage));
  const both = oneBlockMore(limits, { ...usage, threadsPerBlock }, 1);
  return both === undefined || both.activeBlocks === 0 ? [] : [both];
}

/** Fewer registers, barriers and less shared memory, as far as this many blocks need it. */
function oneBlockMore(
  limits: OccupancyLimits,
  usage: BlockUsage,
  blocks: number,
): Remedy | undefined {
  if (blocks > Math.min(blocksByWarps(limits, usage), limits.maxBlocksPerMultiprocessor)) {
    return undefined;
  }
  const registersPerThread = registersFor(limits, usage, blocks);
  const sharedMemory = sharedMemoryFor(limits, usage, blocks);
  if (registersPerThread === undefined || sharedMemory < 0) return undefined;
  const staticSharedMemory = Math.min(usage.staticSharedMemory, sharedMemory);
  return remedy(limits, {
    ...usage,
    registersPerThread,
    staticSharedMemory,
    dynamicSharedMemory: Math.min(usage.dynamicSharedMemory, sharedMemory - staticSharedMemory),
    barriersPerBlock: blocksByBarriers(limits, usage) >= blocks
      ? usage.barriersPerBlock
      : Math.floor(limits.barriersPerMultiprocessor / blocks),
  });
}

/** The most registers of a thread, up to the present number, with which this many blocks fit. */
function registersFor(
  limits: OccupancyLimits,
  usage: BlockUsage,
  blocks: number,
): number | undefined {
  if (blocksByRegisters(limits, usage) >= blocks) return usage.registersPerThread;
  let registers = Math.min(usage.registersPerThread - 1, limits.registersPerThread);
  for (; registers > 0; registers--) {
    if (blocksByRegisters(limits, { ...usage, registersPerThread: registers }) >= blocks) {
      return registers;
    }
  }
  return undefined;
}

/** The most shared memory of a block, up to the present size, with which this many blocks fit. */
function sharedMemoryFor(limits: OccupancyLimits, usage: BlockUsage, blocks: number): number {
  const now = usage.staticSharedMemory + usage.dynamicSharedMemory;
  if (blocksBySharedMemory(limits, usage) >= blocks) return now;
  const unit = limits.sharedMemoryAllocationUnit;
  const share = Math.floor(limits.sharedMemoryPerMultiprocessor / blocks / unit) * unit;
  return Math.min(now, maxSharedMemory(limits, usage), share - limits.reservedSharedMemoryPerBlock);
}

/** The block of whole warps with the highest occupancy; among equals the closest in size. */
function otherBlockSize(limits: OccupancyLimits, usage: BlockUsage): Remedy | undefined {
  const now = usage.threadsPerBlock;
  let best: Remedy | undefined;
  const max = maxThreads(limits, usage);
  for (let threads = limits.warpSize; threads <= max; threads += limits.warpSize) {
    const other = remedy(limits, { ...usage, threadsPerBlock: threads });
    const gain = best === undefined ? 1 : other.occupancy - best.occupancy;
    const isNearer = best !== undefined &&
      Math.abs(threads - now) < Math.abs(best.usage.threadsPerBlock - now);
    if (gain > 0 || gain === 0 && isNearer) best = other;
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
function whyNone(limits: OccupancyLimits, usage: BlockUsage): string {
  const { threadsPerBlock: threads, registersPerThread: registers } = usage;
  if (blocksByWarps(limits, usage) === 0) {
    return `a block has at most ${plural(maxThreads(limits, usage), "thread")}`;
  }
  const perWarp = registersPerWarp(limits, registers);
  if (perWarp > registersPerWarp(limits, limits.registersPerThread)) {
    return `a thread has at most ${limits.registersPerThread} registers`;
  }
  if (blocksByRegisters(limits, usage) === 0) {
    return `a block has at most ${limits.registersPerBlock} registers, ` +
      `fewer than ${plural(threads, "thread")} with ${registers} take`;
  }
  const withoutOptIn = usage.sharedMemoryOptIn ? "" : " without opting in to more";
  return `a block has at most ${
    maxSharedMemory(limits, usage)
  } bytes of shared memory${withoutOptIn}`;
}

/** The resources that allow no more blocks. */
function whyNoMore(limits: OccupancyLimits, usage: BlockUsage, blocks: number): string {
  const possible = blocksByWarps(limits, usage);
  if (blocks === possible) {
    const perBlock = warpsPerBlock(limits, usage.threadsPerBlock);
    const warps = warpsPerMultiprocessor(limits);
    return `${plural(blocks, "block")} of ${plural(perBlock, "warp")} ` +
      `${blocks === 1 ? "leaves" : "leave"} ${warps - blocks * perBlock} of ${warps} warps empty`;
  }
  const names = listed([
    ...(blocksByRegisters(limits, usage) === blocks ? ["registers"] : []),
    ...(blocksBySharedMemory(limits, usage) === blocks ? ["shared memory"] : []),
    ...(blocksByBarriers(limits, usage) === blocks ? ["barriers"] : []),
    ...(limits.maxBlocksPerMultiprocessor === blocks ? ["the limit of blocks"] : []),
  ]);
  const verb = /^(?:shared memory|the limit of blocks)$/.test(names) ? "allows" : "allow";
  return `${names} ${verb} ${plural(blocks, "block")} of ${possible}`;
}

/** The figures that a remedy changes, beside the present ones. */
function changes({ usage }: Remedy, now: BlockUsage): string {
  const shared = usage.staticSharedMemory + usage.dynamicSharedMemory;
  const sharedNow = now.staticSharedMemory + now.dynamicSharedMemory;
  const figures = [
    [usage.threadsPerBlock, now.threadsPerBlock, "threads per block", ""],
    [usage.registersPerThread, now.registersPerThread, "registers per thread", "at most "],
    [shared, sharedNow, "bytes of shared memory per block", "at most "],
    [usage.barriersPerBlock, now.barriersPerBlock, "barriers per block", "at most "],
  ] as const;
  const words = figures.filter(([then, before]) => then !== before).map((
    [then, before, name, bound],
  ) => `${bound}${then} ${name} (it has ${before})`);
  if (usage.sharedMemoryOptIn !== now.sharedMemoryOptIn) words.push("the opt-in to more");
  return listed(words);
}

/** The changes that would raise occupancy, in a sentence; empty if there are none. */
export function occupancyAdvice(limits: OccupancyLimits, usage: BlockUsage): string {
  const now = remedy(limits, usage);
  const found = remedies(limits, usage);
  const isNone = now.activeBlocks === 0;
  if (found.length === 0 && !isNone) return "";
  const reason = isNone
    ? `No block fits as ${whyNone(limits, usage)}`
    : `Occupancy is ${percent(now.occupancy)} as ${whyNoMore(limits, usage, now.activeBlocks)}`;
  const promises = found.map((each) =>
    `with ${changes(each, usage)} ${each.activeBlocks} ` +
    `${each.activeBlocks === 1 ? "block fits" : "blocks fit"}, ${percent(each.occupancy)}`
  );
  return promises.length === 0 ? `${reason}.` : `${reason}: ${promises.join("; or ")}.`;
}
