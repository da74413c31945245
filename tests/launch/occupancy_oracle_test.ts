// Compares all limits, the limiter and the block size with NVIDIA's own calculator, cuda_occupancy.h,
// in pseudo-random cases of every capability.

import { assert, assertEquals } from "@std/assert";
import { type Occupancy, occupancy, potentialBlockSize } from "../../src/launch/occupancy.ts";
import { TemporaryDirectory } from "../support/temporary_file.ts";
import { ToolkitProgram } from "../support/toolkit_program.ts";
import { type OccupancyCase, occupancyCases } from "./occupancy_cases.ts";

const CASES = 240_000;
const BLOCK_SIZE_CASES = 24_000;
const UNLIMITED = 2 ** 31 - 1;

const program = new ToolkitProgram(
  new URL("occupancy_oracle.cpp", import.meta.url),
  "cuda_occupancy.h",
);

/** A case as `occupancy_oracle.cpp` reads it. */
function record({ capability, limits, usage, bytesPerThread }: OccupancyCase): number[] {
  return [
    ...capability.split(".").map(Number),
    limits.warpSize,
    limits.maxThreadsPerBlock,
    limits.maxThreadsPerMultiprocessor,
    limits.registersPerBlock,
    limits.registersPerMultiprocessor,
    limits.sharedMemoryPerBlock,
    limits.sharedMemoryPerBlockOptIn,
    limits.sharedMemoryPerMultiprocessor,
    limits.reservedSharedMemoryPerBlock,
    usage.threadsPerBlock,
    usage.registersPerThread,
    usage.staticSharedMemory,
    usage.dynamicSharedMemory,
    bytesPerThread,
    usage.barriersPerBlock,
    usage.maxThreadsPerBlock,
    usage.sharedMemoryOptIn ? 1 : 0,
  ];
}

function bytesOf(cases: readonly OccupancyCase[]): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Int32Array.from(cases.flatMap(record)).buffer);
}

/** The bits of `limitingFactors`, in the order in which we name the first of several. */
const FACTORS: readonly (readonly [Occupancy["limiter"], number])[] = [
  ["warps", 1],
  ["registers", 2],
  ["sharedMemory", 4],
  ["blocks", 8],
  ["barriers", 16],
];

/** Our result in the form of the oracle's record. */
function residency({ limits, usage }: OccupancyCase): (number | string)[] {
  const { activeBlocks, limits: by, limiter } = occupancy(limits, usage);
  const names = FACTORS.filter(([name]) => by[name] === activeBlocks).map(([name]) => name);
  return [
    0,
    activeBlocks,
    by.warps,
    by.blocks,
    by.registers ?? UNLIMITED,
    by.sharedMemory ?? UNLIMITED,
    by.barriers ?? UNLIMITED,
    names.join(),
    limiter,
  ];
}

/**
 * The oracle's record. Where barriers allow less than all else, it leaves the bits of what would
 * limit without them; a resource that allows more limits nothing, whatever bit it has.
 */
function theirResidency(answer: Int32Array): (number | string)[] {
  const [, active, warps, blocks, registers, sharedMemory, barriers, factors] = answer;
  const by = { warps, blocks, registers, sharedMemory, barriers };
  const names = FACTORS.filter(([name, bit]) => (factors! & bit) !== 0 && by[name] === active)
    .map(([name]) => name);
  return [...answer.subarray(0, 7), names.join(), names[0]!];
}

function blockSize({ limits, usage, bytesPerThread }: OccupancyCase): number[] {
  const { threadsPerBlock, occupancy: { activeBlocks } } = potentialBlockSize(limits, usage, {
    dynamicSharedMemory: bytesPerThread === 0
      ? usage.dynamicSharedMemory
      : (threads) => usage.dynamicSharedMemory + bytesPerThread * threads,
  });
  return [0, activeBlocks, threadsPerBlock];
}

/** Fails with the first differences, if there are any. */
function compare(
  cases: readonly OccupancyCase[],
  answers: Uint8Array<ArrayBuffer>,
  width: number,
  ours: (given: OccupancyCase) => (number | string)[],
  theirs: (answer: Int32Array) => (number | string)[],
): void {
  const figures = new Int32Array(answers.buffer);
  assertEquals(figures.length, cases.length * width);
  const differences: unknown[] = [];
  for (const [index, given] of cases.entries()) {
    const expected = theirs(figures.subarray(index * width, (index + 1) * width)).join();
    const actual = ours(given).join();
    if (actual === expected) continue;
    const { capability, usage } = given;
    differences.push({ capability, ...usage, actual, expected });
  }
  assertEquals(differences.length, 0, JSON.stringify(differences.slice(0, 5), null, 1));
}

Deno.test({
  name: `occupancy() and potentialBlockSize() agree with cuda_occupancy.h${program.skipped}`,
  ignore: program.skipped !== "",
  async fn() {
    using folder = new TemporaryDirectory();
    const cases = occupancyCases(CASES, 1);
    const sizeCases = occupancyCases(BLOCK_SIZE_CASES, 2);
    const [residencies, sizes] = await program.run(
      ["residency", folder.file(bytesOf(cases))],
      ["block_size", folder.file(bytesOf(sizeCases))],
    );
    compare(cases, residencies!, 8, residency, theirResidency);
    compare(sizeCases, sizes!, 3, blockSize, (answer) => [...answer]);
  },
});

Deno.test("occupancyCases() have every limiter, no block, full and partial occupancy", () => {
  const seen = new Map<string, number>();
  const count = (name: string) => seen.set(name, (seen.get(name) ?? 0) + 1);
  for (const { limits, usage } of occupancyCases(12_000, 3)) {
    const { limiter, occupancy: share } = occupancy(limits, usage);
    count(limiter);
    count(share === 0 ? "none" : share === 1 ? "full" : "partial");
  }
  const kinds = ["warps", "blocks", "registers", "sharedMemory", "barriers", "none", "full"];
  for (const kind of [...kinds, "partial"]) assert((seen.get(kind) ?? 0) >= 100, kind);
});
