// Every change that the advice names has its promised effect, and every maximum is one.

import { assert, assertStrictEquals } from "@std/assert";
import type { BlockUsage, OccupancyLimits } from "../../src/launch/occupancy_rules.ts";
import { occupancy } from "../../src/launch/occupancy.ts";
import { occupancyCases } from "./occupancy_cases.ts";

const SENTENCE = /^(?:Occupancy is [\d.]+ %, .+?|No block fits as .+?): (with .+)\.$/;
const PROMISE = /^with (.+) (\d+) blocks? fits?, ([\d.]+ %)$/;
const FIGURE = /^(?:at most )?(\d+) (threads|registers|bytes of shared memory|barriers) per \w+/;

/** The usage that a promise names. */
function changed(usage: BlockUsage, words: string): BlockUsage {
  let result = usage;
  for (const word of words.split(/, | and (?=at most|\d)/)) {
    const [, text, name] = FIGURE.exec(word) ?? assert(false, word) as never;
    const figure = Number(text);
    if (name === "threads") result = { ...result, threadsPerBlock: figure };
    else if (name === "registers") result = { ...result, registersPerThread: figure };
    else if (name === "barriers") result = { ...result, barriersPerBlock: figure };
    else result = { ...result, staticSharedMemory: 0, dynamicSharedMemory: figure };
  }
  return result;
}

/**
 * One more of each figure that was lowered; but not of the registers that a thread has at most,
 * where NVIDIA's calculator counts the unit that they come in.
 */
function oneMore(limits: OccupancyLimits, before: BlockUsage, after: BlockUsage): BlockUsage[] {
  const shared = after.staticSharedMemory + after.dynamicSharedMemory;
  return [
    ...(after.registersPerThread < Math.min(before.registersPerThread, limits.registersPerThread)
      ? [{ ...after, registersPerThread: after.registersPerThread + 1 }]
      : []),
    ...(shared < before.staticSharedMemory + before.dynamicSharedMemory
      ? [{ ...after, dynamicSharedMemory: after.dynamicSharedMemory + 1 }]
      : []),
    ...(after.barriersPerBlock < before.barriersPerBlock
      ? [{ ...after, barriersPerBlock: after.barriersPerBlock + 1 }]
      : []),
  ];
}

/** Holds an advice to its words; returns how many promises it made. */
function keep(limits: OccupancyLimits, usage: BlockUsage): number {
  const now = occupancy(limits, usage);
  if (!now.advice.includes(": with")) return 0;
  const [, rest] = SENTENCE.exec(now.advice) ?? [];
  assert(rest !== undefined, now.advice);
  const promises = rest.split("; or ");
  for (const promise of promises) {
    const [, words, blocks, share] = PROMISE.exec(promise) ?? assert(false, promise) as never;
    const usageThen = changed(usage, words!);
    const then = occupancy(limits, usageThen);
    assertStrictEquals(then.activeBlocks, Number(blocks), now.advice);
    assertStrictEquals(`${Math.round(then.occupancy * 1000) / 10} %`, share, now.advice);
    assert(then.occupancy > now.occupancy, now.advice);
    for (const more of oneMore(limits, usage, usageThen)) {
      assert(occupancy(limits, more).activeBlocks < then.activeBlocks, now.advice);
    }
  }
  return promises.length;
}

Deno.test("occupancy().advice keeps every promise, and names the most that gives it", () => {
  let promises = 0;
  for (const { limits, usage } of occupancyCases(12_000, 4)) promises += keep(limits, usage);
  assert(promises > 12_000, String(promises));
});

Deno.test("occupancy().advice is empty only where no block size and no saving would help", () => {
  let empty = 0;
  for (const { limits, usage } of occupancyCases(6_000, 5)) {
    const now = occupancy(limits, usage);
    if (now.advice !== "") continue;
    empty++;
    if (now.occupancy === 1) continue;
    const least = {
      ...usage,
      registersPerThread: Math.min(1, usage.registersPerThread),
      staticSharedMemory: 0,
      dynamicSharedMemory: 0,
      barriersPerBlock: Math.min(1, usage.barriersPerBlock),
    };
    assertStrictEquals(occupancy(limits, least).activeBlocks, now.activeBlocks);
    for (let threads = 32; threads <= Math.min(1024, usage.maxThreadsPerBlock); threads += 32) {
      const other = occupancy(limits, { ...usage, threadsPerBlock: threads });
      assert(other.occupancy <= now.occupancy, JSON.stringify(usage));
    }
  }
  assert(empty > 100, String(empty));
});
