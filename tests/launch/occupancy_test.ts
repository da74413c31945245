import { assert, assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import {
  capabilityLimits,
  occupancy,
  occupancyLimits,
  occupancyOf,
  type OccupancyUsage,
  potentialBlockSize,
} from "../../mod.ts";
import {
  kernelAttributes,
  kernelDeclarations,
  kernelResidency,
  reserveSharedMemory,
} from "../../src/ffi/native_kernel.ts";
import { device } from "../support/device.ts";

const { context, info } = device;
const ada = capabilityLimits("8.9");

const BLOCK: OccupancyUsage = {
  threadsPerBlock: 256,
  registersPerThread: 40,
  staticSharedMemory: 0,
  dynamicSharedMemory: 0,
};

Deno.test("occupancy() has its own fields, also as JSON and in copies", () => {
  const result = occupancy(ada, { ...BLOCK, registersPerThread: 48 });
  const advice =
    "Occupancy is 83.3 %, limited to 5 blocks by registers: with at most 40 registers " +
    "per thread (it has 48) 6 blocks fit, 100 %.";
  const expected = {
    activeBlocks: 5,
    activeWarps: 40,
    occupancy: 40 / 48,
    limits: { warps: 6, blocks: 24, registers: 5, sharedMemory: 100, barriers: null },
    limiter: "registers",
    advice,
  };
  assertEquals(JSON.parse(JSON.stringify(result)), expected);
  assertEquals(structuredClone(result), expected as unknown as typeof result);
});

Deno.test("occupancy() of a block that cannot be launched is 0, and the advice explains it", () => {
  const cases: readonly (readonly [Partial<OccupancyUsage>, string, string])[] = [
    [{ threadsPerBlock: 1025 }, "warps", "a block has at most 1024 threads"],
    [{ maxThreadsPerBlock: 128 }, "warps", "a block has at most 128 threads"],
    [{ registersPerThread: 257 }, "registers", "at most 65536 registers, and a thread 255"],
    [
      { staticSharedMemory: 1, dynamicSharedMemory: 101376 },
      "sharedMemory",
      "a block has at most 101376 bytes of shared memory:",
    ],
    [
      { dynamicSharedMemory: 49153, sharedMemoryOptIn: false },
      "sharedMemory",
      "a block has at most 49152 bytes of shared memory:",
    ],
  ];
  for (const [change, limiter, reason] of cases) {
    const result = occupancy(ada, { ...BLOCK, ...change });
    assertEquals([result.activeBlocks, result.activeWarps, result.occupancy], [0, 0, 0]);
    assertEquals(result.limiter, limiter as typeof result.limiter);
    assert(result.advice.startsWith("No block fits as "), result.advice);
    assert(result.advice.includes(reason), result.advice);
    assert(/ \d+ blocks? fits?, /.test(result.advice), result.advice);
  }
});

Deno.test("occupancy() refuses impossible blocks and devices", () => {
  const refuse = (change: Record<string, unknown>, Kind: typeof RangeError, message: string) => {
    const usage = { ...BLOCK, ...change } as unknown as OccupancyUsage;
    assertThrows(() => occupancy(ada, usage), Kind, message);
  };
  for (const name of Object.keys(BLOCK).concat("barriersPerBlock", "maxThreadsPerBlock")) {
    const action = `Cannot calculate occupancy as usage.${name} must be an integer in `;
    for (const value of [-1, 0.5, NaN, 2 ** 31]) refuse({ [name]: value }, RangeError, action);
    for (const value of ["1", null, 1n]) refuse({ [name]: value }, TypeError, action);
  }
  refuse({ threadsPerBlock: 0 }, RangeError, "must be an integer in 1..2147483647: it is 0");
  refuse({ barriersPerBlock: 17 }, RangeError, "in 0..16: it is 17");
  refuse({ sharedMemoryOptIn: 1 }, TypeError, "usage.sharedMemoryOptIn must be a boolean: it is 1");
  const limits = { ...ada, warpSize: NaN };
  assertThrows(() => occupancy(limits, BLOCK), RangeError, "as limits.warpSize must be");
  for (const nothing of [undefined, null, 1, "8.9"]) {
    assertThrows(() => occupancy(nothing as never, BLOCK), TypeError, "limits must be an object");
    assertThrows(() => occupancy(ada, nothing as never), TypeError, "usage must be an object");
  }
});

Deno.test("occupancyLimits() prefers the figures of the device", () => {
  const limits = occupancyLimits(info);
  const table = capabilityLimits(info.computeCapability);
  for (const name of Object.keys(limits) as (keyof typeof limits)[]) {
    assertStrictEquals(limits[name], name in info ? info[name as "warpSize"] : table[name], name);
  }
  const other = occupancyLimits({ ...info, maxThreadsPerMultiprocessor: 64 });
  assertStrictEquals(occupancy(other, { ...BLOCK, threadsPerBlock: 32 }).activeBlocks, 2);
  // An unknown newer capability has the units of the newest known one.
  assertStrictEquals(
    occupancyLimits({ ...info, computeCapability: "13.0" }).warpSize,
    info.warpSize,
  );
  assertThrows(() => occupancyLimits({ ...info, computeCapability: "6.0" }), RangeError, "7.5");
  assertThrows(() => occupancyLimits(undefined as never), TypeError, "info must be an object");
});

Deno.test("occupancyOf() takes a kernel and the block of its launch", () => {
  const kernel = device.kernels.load(
    "fill_uint32(unsigned int*, unsigned int, unsigned long long)",
  );
  const { registersPerThread, staticSharedMemory } = kernel.attributes;
  assertStrictEquals(registersPerThread === undefined, device.info.kind === "host");
  const usage = {
    ...BLOCK,
    registersPerThread: registersPerThread ?? 0,
    ...{ staticSharedMemory, dynamicSharedMemory: 5000 },
  };
  const expected = occupancy(occupancyLimits(info), usage);
  for (const block of [256, [256], [16, 16], [4, 8, 8]] as const) {
    assertEquals({ ...occupancyOf(kernel, { block, sharedMemory: 5000 }) }, { ...expected });
  }
  assertStrictEquals(occupancyOf(kernel, { block: [1024, 2] }).activeBlocks, 0);
  const bad = [
    [{ block: [1, 1, 65] }, RangeError, "config.block.z must be an integer in 1..64: it is 65"],
    [{ block: 32, sharedMemory: -1 }, RangeError, "dynamicSharedMemory must be an integer in 0.."],
    [null, TypeError, "config must be an object: it is null"],
  ] as const;
  for (const [config, Kind, message] of bad) {
    assertThrows(() => occupancyOf(kernel, config as never), Kind, message);
  }
  assertThrows(
    () => occupancyOf(null as never, { block: 1 }),
    TypeError,
    "kernel must be an object",
  );
});

Deno.test("occupancy() equals the device's own calculation for all kernels", () => {
  const limits = occupancyLimits(info);
  const { library, ordinal } = context;
  for (const [index, declaration] of kernelDeclarations(library).entries()) {
    const id = index + 1;
    const attributes = kernelAttributes(library, ordinal, id);
    const { maxThreadsPerBlock, staticSharedMemory, registersPerThread } = attributes;
    const most = info.sharedMemoryPerBlockOptIn - staticSharedMemory;
    reserveSharedMemory(library, ordinal, id, most);
    for (const dynamicSharedMemory of [0, 1, 5000, 49152 - staticSharedMemory, most]) {
      for (const threadsPerBlock of [1, 32, 33, 100, 128, 256, 384, 1000, maxThreadsPerBlock]) {
        if (threadsPerBlock > maxThreadsPerBlock) continue;
        const usage = {
          threadsPerBlock,
          registersPerThread: registersPerThread ?? 0,
          staticSharedMemory,
          dynamicSharedMemory,
        };
        assertStrictEquals(
          occupancy(limits, usage).activeBlocks,
          kernelResidency(library, ordinal, id, threadsPerBlock, dynamicSharedMemory),
          `${declaration}: ${JSON.stringify(usage)}`,
        );
      }
    }
  }
});

Deno.test("potentialBlockSize() refuses wrong figures and a wrong result of the function", () => {
  const choose = (options: unknown, usage = BLOCK) => () =>
    potentialBlockSize(ada, usage, options as Record<string, never>);
  assertThrows(choose({}, null as never), TypeError, "Cannot choose a block size as usage must be");
  assertThrows(choose({ dynamicSharedMemory: "1" }), TypeError, "of the threads of a block: it is");
  assertThrows(choose({ dynamicSharedMemory: () => -1 }), RangeError, "it is -1");
});
