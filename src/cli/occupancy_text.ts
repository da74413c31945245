/**
 * Occupancy for people: the table of limits, and a line over block sizes.
 *
 * @module
 */

import {
  type BlockLimits,
  type Occupancy,
  occupancy,
  type OccupancyLimits,
  type OccupancyUsage,
} from "../../mod.ts";
import { formatBytes, textTable } from "./text_table.ts";

const RESOURCES: readonly (readonly [keyof BlockLimits, string])[] = [
  ["warps", "warps"],
  ["blocks", "blocks"],
  ["registers", "registers"],
  ["sharedMemory", "shared memory"],
  ["barriers", "barriers"],
];

/** Eighths of the height of a line. */
const BARS = "▁▂▃▄▅▆▇█";

function percent(share: number): string {
  return `${Math.round(share * 1000) / 10} %`;
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** What a block takes of each resource. */
function taken(usage: OccupancyUsage, limits: OccupancyLimits): Record<keyof BlockLimits, string> {
  const shared = usage.staticSharedMemory + usage.dynamicSharedMemory;
  const reserved = limits.reservedSharedMemoryPerBlock;
  return {
    warps: String(Math.ceil(usage.threadsPerBlock / limits.warpSize)),
    blocks: "1",
    registers: `${usage.registersPerThread} a thread`,
    sharedMemory: `${formatBytes(shared)}${reserved === 0 ? "" : ` + ${formatBytes(reserved)}`}`,
    barriers: String(usage.barriersPerBlock ?? 1),
  };
}

function limitTable(result: Occupancy, usage: OccupancyUsage, limits: OccupancyLimits): string {
  const takes = taken(usage, limits);
  const rows = RESOURCES.map(([name, title]) => {
    const blocks = result.limits[name];
    return [
      title,
      takes[name],
      blocks === null ? "any" : String(blocks),
      blocks === result.activeBlocks ? "←" : "",
    ];
  });
  return textTable(["resource", "a block takes", "blocks", "limits"], rows, [
    "left",
    "left",
    "right",
  ]);
}

/** A bar for each whole number of warps that a block can have; a dot where no block fits. */
function blockSizeLine(usage: OccupancyUsage, limits: OccupancyLimits): string {
  const { warpSize, maxThreadsPerBlock } = limits;
  const sizes = Array.from(
    { length: Math.floor(maxThreadsPerBlock / warpSize) },
    (_, index) => (index + 1) * warpSize,
  );
  const bars = sizes.map((threadsPerBlock) => {
    const share = occupancy(limits, { ...usage, threadsPerBlock }).occupancy;
    return share === 0 ? "·" : BARS[Math.ceil(share * BARS.length) - 1]!;
  });
  const chosen = Math.ceil(usage.threadsPerBlock / warpSize) - 1;
  const marker = chosen < sizes.length ? `\n${" ".repeat(chosen)}↑ ${usage.threadsPerBlock}` : "";
  return `occupancy of blocks of ${sizes[0]} to ${sizes.at(-1)} threads\n${bars.join("")}${marker}`;
}

/** Describes an occupancy. */
export function describeOccupancy(
  subject: string,
  result: Occupancy,
  usage: OccupancyUsage,
  limits: OccupancyLimits,
): string {
  const { activeBlocks, activeWarps, advice } = result;
  const warps = Math.floor(limits.maxThreadsPerMultiprocessor / limits.warpSize);
  const head = `${subject}: ${plural(activeBlocks, "block")} of ` +
    `${plural(usage.threadsPerBlock, "thread")} on a multiprocessor, ${activeWarps} of ` +
    `${warps} warps, ${percent(result.occupancy)}`;
  return [
    head,
    limitTable(result, usage, limits),
    blockSizeLine(usage, limits),
    ...(advice === "" ? [] : [advice]),
  ].join("\n\n");
}
