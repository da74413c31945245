/**
 * Occupancy of many different blocks: the JIT would optimise a repeated one away. The goal is 1 µs a call without the advice.
 */

import {
  occupancy,
  occupancyLimits,
  occupancyOf,
  potentialBlockSize,
} from "../src/launch/occupancy.ts";
import { device } from "./support/bench_device.ts";
import { measure } from "./support/measure.ts";

const CALLS = 1024;
const GROUP = "occupancy of 1 024 different blocks";

const limits = occupancyLimits(device.info);
// Steps prime to the ranges: no two blocks are the same.
const usages = Array.from({ length: CALLS }, (_, index) => ({
  threadsPerBlock: 1 + (index * 37) % 1024,
  registersPerThread: (index * 13) % 256,
  staticSharedMemory: (index * 997) % 50_000,
  dynamicSharedMemory: (index * 131) % 50_000,
}));
const kernel = device.kernels.load("empty()");
const configs = usages.map(({ threadsPerBlock, dynamicSharedMemory }) => ({
  block: threadsPerBlock,
  sharedMemory: dynamicSharedMemory,
}));

/** Keeps the calculations from being optimised away. */
let blocks = 0;
globalThis.addEventListener("unload", () => {
  if (!Number.isSafeInteger(blocks)) throw new Error("occupancy was not calculated");
});

measure("occupancy()", { group: GROUP, calls: CALLS, baseline: true }, () => {
  for (let i = 0; i < CALLS; i++) blocks += occupancy(limits, usages[i]!).activeBlocks;
});

measure("occupancyOf() of a kernel", { group: GROUP, calls: CALLS }, () => {
  for (let i = 0; i < CALLS; i++) blocks += occupancyOf(kernel, configs[i]!).activeBlocks;
});

measure("occupancy() and its advice", { group: GROUP, calls: CALLS }, () => {
  for (let i = 0; i < CALLS; i++) blocks += occupancy(limits, usages[i]!).advice.length;
});

measure("potentialBlockSize()", { group: GROUP, calls: CALLS }, () => {
  for (let i = 0; i < CALLS; i++) blocks += potentialBlockSize(limits, usages[i]!).threadsPerBlock;
});
