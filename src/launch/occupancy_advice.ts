/**
 * What would raise occupancy: found by trying, so that what is promised is what one gets.
 *
 * @module
 */

import {
  blocksByBarriers,
  blocksByRegisters,
  blocksBySharedMemory,
  blocksByWarps,
  type BlockUsage,
  mostSharedMemory,
  mostThreads,
  type OccupancyLimits,
  registersPerWarp,
  residentBlocks,
  warpsPerBlock,
  warpsPerMultiprocessor,
} from "./block_limits.ts";

/** A change of what a block takes, and what it gives. */
export interface OccupancyRemedy {
  /** What a block then takes. */
  readonly usage: BlockUsage;
  /** Blocks that a multiprocessor then holds. */
  readonly activeBlocks: number;
  /** The share of its warps that they are. */
  readonly occupancy: number;
}

function remedy(limits: OccupancyLimits, usage: BlockUsage): OccupancyRemedy {
  const activeBlocks = residentBlocks(limits, usage);
  const warps = activeBlocks * warpsPerBlock(limits, usage.threadsPerBlock);
  return { usage, activeBlocks, occupancy: warps / warpsPerMultiprocessor(limits) };
}

/**
 * The changes that raise occupancy, each by itself, smallest first: another block size, less of
 * what limits at the same block size, and where only all of it together helps, that.
 */
export function occupancyRemedies(limits: OccupancyLimits, usage: BlockUsage): OccupancyRemedy[] {
  const now = remedy(limits, usage);
  const found = [
    allowed(limits, usage),
    oneBlockMore(limits, usage, now.activeBlocks + 1),
    otherBlockSize(limits, usage),
  ].filter((each) => each !== undefined && each.occupancy > now.occupancy) as OccupancyRemedy[];
  if (found.length > 0 || now.activeBlocks > 0) return found;
  // Nothing fits, and no single change helps: a block of the largest size that takes less.
  const threadsPerBlock = Math.min(usage.threadsPerBlock, mostThreads(limits, usage));
  const both = oneBlockMore(limits, { ...usage, threadsPerBlock }, 1);
  return both === undefined || both.activeBlocks === 0 ? [] : [both];
}

/** The same with more shared memory than a block has without asking, where that is in the way. */
function allowed(limits: OccupancyLimits, usage: BlockUsage): OccupancyRemedy | undefined {
  return usage.sharedMemoryOptIn
    ? undefined
    : remedy(limits, { ...usage, sharedMemoryOptIn: true });
}

/** Less registers, shared memory and barriers, as far as each limits: so many blocks fit. */
function oneBlockMore(
  limits: OccupancyLimits,
  usage: BlockUsage,
  blocks: number,
): OccupancyRemedy | undefined {
  if (blocks > Math.min(blocksByWarps(limits, usage), limits.maxBlocksPerMultiprocessor)) {
    return undefined;
  }
  const registersPerThread = mostRegisters(limits, usage, blocks);
  const sharedMemory = mostSharedMemoryFor(limits, usage, blocks);
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

/** Most registers of a thread, but not more than now, with which so many blocks fit. */
function mostRegisters(
  limits: OccupancyLimits,
  usage: BlockUsage,
  blocks: number,
): number | undefined {
  if (blocksByRegisters(limits, usage) >= blocks) return usage.registersPerThread;
  // From where a thread can have them; a kernel has one at least.
  let registers = Math.min(usage.registersPerThread - 1, limits.registersPerThread);
  for (; registers > 0; registers--) {
    if (blocksByRegisters(limits, { ...usage, registersPerThread: registers }) >= blocks) {
      return registers;
    }
  }
  return undefined;
}

/** Most shared memory of a block, but not more than now, with which so many blocks fit. */
function mostSharedMemoryFor(limits: OccupancyLimits, usage: BlockUsage, blocks: number): number {
  const now = usage.staticSharedMemory + usage.dynamicSharedMemory;
  if (blocksBySharedMemory(limits, usage) >= blocks) return now;
  const unit = limits.sharedMemoryAllocationUnit;
  const share = Math.floor(limits.sharedMemoryPerMultiprocessor / blocks / unit) * unit;
  return Math.min(
    now,
    mostSharedMemory(limits, usage),
    share - limits.reservedSharedMemoryPerBlock,
  );
}

/** The block of whole warps with the highest occupancy; of several the closest in size. */
function otherBlockSize(limits: OccupancyLimits, usage: BlockUsage): OccupancyRemedy | undefined {
  const now = usage.threadsPerBlock;
  let best: OccupancyRemedy | undefined;
  const most = mostThreads(limits, usage);
  for (let threads = limits.warpSize; threads <= most; threads += limits.warpSize) {
    const other = remedy(limits, { ...usage, threadsPerBlock: threads });
    const gain = best === undefined ? 1 : other.occupancy - best.occupancy;
    const nearer = best !== undefined &&
      Math.abs(threads - now) < Math.abs(best.usage.threadsPerBlock - now);
    if (gain > 0 || gain === 0 && nearer) best = other;
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

/** Why no block fits at all. */
function whyNone(limits: OccupancyLimits, usage: BlockUsage): string {
  const threads = usage.threadsPerBlock;
  if (blocksByWarps(limits, usage) === 0) {
    return `a block has at most ${plural(mostThreads(limits, usage), "thread")}`;
  }
  const registers = usage.registersPerThread;
  const perWarp = registersPerWarp(limits, registers);
  if (perWarp > registersPerWarp(limits, limits.registersPerThread)) {
    return `a thread has at most ${limits.registersPerThread} registers`;
  }
  if (blocksByRegisters(limits, usage) === 0) {
    return `a block has at most ${limits.registersPerBlock} registers, ` +
      `fewer than ${plural(threads, "thread")} with ${registers} take`;
  }
  const most = mostSharedMemory(limits, usage);
  const unasked = usage.sharedMemoryOptIn ? "" : " without asking for more";
  return `a block has at most ${most} bytes of shared memory${unasked}`;
}

/** What allows no more blocks, in words. */
function whyNoMore(limits: OccupancyLimits, usage: BlockUsage, blocks: number): string {
  const possible = blocksByWarps(limits, usage);
  const perBlock = warpsPerBlock(limits, usage.threadsPerBlock);
  const warps = warpsPerMultiprocessor(limits);
  if (blocks === possible) {
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

/** The figures that a remedy changes, beside those there are. */
function changes({ usage }: OccupancyRemedy, now: BlockUsage): string {
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

/** What would raise occupancy, in a sentence; empty where nothing would. */
export function occupancyAdvice(limits: OccupancyLimits, usage: BlockUsage): string {
  const now = remedy(limits, usage);
  const remedies = occupancyRemedies(limits, usage);
  const isNone = now.activeBlocks === 0;
  if (remedies.length === 0 && !isNone) return "";
  const reason = isNone
    ? `No block fits as ${whyNone(limits, usage)}`
    : `Occupancy is ${percent(now.occupancy)} as ${whyNoMore(limits, usage, now.activeBlocks)}`;
  const promises = remedies.map((each) =>
    `with ${changes(each, usage)} ${each.activeBlocks} ` +
    `${each.activeBlocks === 1 ? "block fits" : "blocks fit"}, ${percent(each.occupancy)}`
  );
  return promises.length === 0 ? `${reason}.` : `${reason}: ${promises.join("; or ")}.`;
}
