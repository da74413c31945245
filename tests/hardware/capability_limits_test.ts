// The figures of the capability table, against figures of the CUDA documentation written down here
// a second time, and the look-up of known, newer, in-between and malformed capabilities.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { capabilityLimits, tensorCoreFormats } from "../../src/hardware/capability_limits.ts";
import { KNOWN_CAPABILITIES } from "../../src/hardware/capability_limits.ts";

Deno.test("`KNOWN_CAPABILITIES` are the twelve from 7.5 to 12.1 in order", () => {
  const expected = "7.5 8.0 8.6 8.7 8.8 8.9 9.0 10.0 10.3 11.0 12.0 12.1";
  assertEquals(KNOWN_CAPABILITIES.join(" "), expected);
});

// Programming guide: threads, warps and blocks per multiprocessor; shared memory in KiB per
// multiprocessor and most per block.
const GUIDE: readonly (readonly [string, number, number, number, number, number])[] = [
  ["7.5", 1024, 32, 16, 64, 64],
  ["8.0", 2048, 64, 32, 164, 163],
  ["8.6", 1536, 48, 16, 100, 99],
  ["8.7", 1536, 48, 16, 164, 163],
  ["8.8", 1536, 48, 16, 100, 99],
  ["8.9", 1536, 48, 24, 100, 99],
  ["9.0", 2048, 64, 32, 228, 227],
  ["10.0", 2048, 64, 32, 228, 227],
  ["10.3", 2048, 64, 32, 228, 227],
  ["11.0", 1536, 48, 24, 228, 227],
  ["12.0", 1536, 48, 24, 100, 99],
  ["12.1", 1536, 48, 24, 100, 99],
];

for (const [capability, threads, warps, blocks, shared, optIn] of GUIDE) {
  Deno.test(`capabilityLimits() gives the guide's figures for ${capability}`, () => {
    const limits = capabilityLimits(capability);
    assertEquals([limits.computeCapability, limits.source, limits.exact], [
      capability,
      capability,
      true,
    ]);
    assertEquals(limits.maxThreadsPerMultiprocessor, threads);
    assertEquals(limits.maxWarpsPerMultiprocessor, warps);
    assertEquals(limits.maxBlocksPerMultiprocessor, blocks);
    assertEquals(limits.sharedMemoryPerMultiprocessor, shared * 1024);
    assertEquals(limits.sharedMemoryPerBlockOptIn, optIn * 1024);
    assertEquals(limits.reservedSharedMemoryPerBlock, (shared - optIn) * 1024);
    assertEquals(limits.sharedMemoryPerBlock, 49152);
    assertEquals(limits.constantMemory, 65536);
    assertEquals(limits.maxThreadsPerBlock, 1024);
    assertEquals(limits.maxBlockDimensions, { x: 1024, y: 1024, z: 64 });
    assertEquals(limits.maxGridDimensions, { x: 2147483647, y: 65535, z: 65535 });
    assertEquals([limits.registersPerBlock, limits.registersPerMultiprocessor], [65536, 65536]);
    assertEquals([limits.registersPerThread, limits.warpSize], [255, 32]);
  });
}

Deno.test("`capabilityLimits()` reports features from their first capability on", () => {
  const first = (has: (capability: string) => boolean) => KNOWN_CAPABILITIES.find(has);
  assertEquals(first((name) => capabilityLimits(name).tensorCores.float16), "7.5");
  assertEquals(first((name) => capabilityLimits(name).tensorCores.int8), "7.5");
  assertEquals(first((name) => capabilityLimits(name).tensorCores.bfloat16), "8.0");
  assertEquals(first((name) => capabilityLimits(name).tensorCores.tfloat32), "8.0");
  assertEquals(first((name) => capabilityLimits(name).tensorCores.float8), "8.9");
  assertEquals(first((name) => capabilityLimits(name).tensorCores.float4), "10.0");
  assertEquals(first((name) => capabilityLimits(name).asyncCopy), "8.0");
  assertEquals(first((name) => capabilityLimits(name).clusterLaunch), "9.0");
  assert(KNOWN_CAPABILITIES.every((name) => capabilityLimits(name).cooperativeLaunch));
});

Deno.test("`tensorCoreFormats()` covers capabilities before 7.5", () => {
  assertEquals(tensorCoreFormats(61).float16, false);
  assertEquals([tensorCoreFormats(70).float16, tensorCoreFormats(70).int8], [true, false]);
  assertEquals(tensorCoreFormats(72).int8, true);
});

Deno.test("`capabilityLimits()` has a representative GPU with a real bandwidth", () => {
  // Peak GB/s by the data sheet of each representative, to 1 %.
  const bandwidth = {
    "7.5": 320,
    "8.0": 1555,
    "8.6": 768,
    "8.7": 204.8,
    "8.8": 768,
    "8.9": 1008,
    "9.0": 3352,
    "10.0": 7672,
    "10.3": 7672,
    "11.0": 273,
    "12.0": 1792,
    "12.1": 273,
  };
  for (const [capability, expected] of Object.entries(bandwidth)) {
    const { representative } = capabilityLimits(capability);
    const { memoryClockMegahertz, memoryBusWidth, l2CacheSize } = representative;
    const actual = memoryClockMegahertz * 2 * memoryBusWidth / 8 / 1000;
    assert(Math.abs(actual / expected - 1) < 0.01, `${capability}: ${actual} GB/s`);
    assert(Number.isInteger(l2CacheSize) && l2CacheSize >= 2 ** 22);
  }
});

Deno.test("`capabilityLimits()` returns the newest known limits when a capability is unknown", () => {
  const table = [
    ["12.2", "12.1"],
    ["13.0", "12.1"],
    ["99.9", "12.1"],
    ["8.1", "8.0"],
    ["8.5", "8.0"],
    ["9.9", "9.0"],
    ["10.1", "10.0"],
    ["7.9", "7.5"],
  ] as const;
  for (const [asked, source] of table) {
    const limits = capabilityLimits(asked);
    assertEquals([limits.computeCapability, limits.source, limits.exact], [asked, source, false]);
    const known = capabilityLimits(source);
    assertEquals({ ...limits, computeCapability: source, exact: true }, known);
  }
});

Deno.test("`capabilityLimits()` throws when a capability is older than 7.5", () => {
  for (const old of ["7.4", "7.0", "6.1", "1.0"]) {
    const error = assertThrows(() => capabilityLimits(old), RangeError);
    assertEquals(
      error.message,
      `Cannot look up limits as computeCapability must be at least 7.5: it is "${old}"`,
    );
  }
});

Deno.test("`capabilityLimits()` throws when the argument is malformed", () => {
  const malformed = ["", "8", "8.", ".9", "8.9 ", "8.90", "08.9", "sm_89", "8,9", "0.9", "100.0"];
  for (const text of malformed) {
    const error = assertThrows(() => capabilityLimits(text), RangeError);
    assert(error.message.includes(`computeCapability must be "<major>.<minor>"`), error.message);
    assert(error.message.endsWith(`it is ${JSON.stringify(text)}`), error.message);
  }
  for (const value of [8.9, null, undefined, {}]) {
    assertThrows(() => capabilityLimits(value as unknown as string), RangeError);
  }
});
