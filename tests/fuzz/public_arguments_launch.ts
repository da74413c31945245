/**
 * Arguments of launches and of the functions for occupancy.
 *
 * @module
 */

import fc from "fast-check";
import { Deferred, reference } from "./deferred.ts";
import {
  anyNumber,
  anything,
  type Arguments,
  mostly,
  options,
  size,
  takes,
  typedArray,
  withoutArguments,
} from "./values.ts";
import { capabilityLimits, listDevices } from "../../mod.ts";
import { KNOWN_CAPABILITIES } from "../../src/hardware/capability_limits.ts";

const stream = reference("stream");
const kernel = reference("kernel", [0, 1, 2, 3, 4, 5, 6, 7, 8]);

/** Extents of a grid or block: small, or beyond every limit, which keeps launches short. */
const extent = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 8 }) },
  { weight: 1, arbitrary: fc.constantFrom(0, -1, 1.5, NaN, 2 ** 31, 2 ** 32, 2 ** 53) },
);

const extents = fc.oneof(
  extent,
  fc.tuple(extent),
  fc.tuple(extent, extent),
  fc.tuple(extent, extent, extent),
);

const launchConfig = fc.oneof(
  fc.record({ grid: fc.integer({ min: 1, max: 4 }), block: fc.integer({ min: 1, max: 64 }) }),
  fc.record(
    {
      grid: mostly(extents),
      block: mostly(extents),
      sharedMemory: mostly(fc.oneof(fc.nat(4096), fc.constantFrom(49152, 65536, 101376, 2 ** 31))),
      stream: mostly(stream),
      cooperative: mostly(fc.boolean()),
      cluster: mostly(extents),
    },
    { requiredKeys: ["grid", "block"] },
  ),
);

const buffer = reference("buffer");
const integers = reference("buffer", [2]);
const bins = reference("buffer", [3]);
const doubles = reference("buffer", [4]);
const counter = reference("buffer", [5]);
const scalar = reference("buffer", [6]);

/** Element counts that the stage's buffers hold. */
const count = fc.nat(100);
/** A short time in nanoseconds. */
const nanoseconds = fc.oneof(fc.nat(100_000), fc.bigInt({ min: 0n, max: 100_000n }));

/** Whether a value would be taken for nanoseconds and keep a kernel busy for long. */
function isLongTime(value: unknown): boolean {
  return typeof value === "bigint" && value > 100_000n && value < 1n << 64n ||
    Number.isSafeInteger(value) && (value as number) > 100_000;
}

const number = fc.oneof(anyNumber, fc.bigInt({ min: -3n, max: 1n << 64n }));
const triple = fc.oneof(fc.tuple(anyNumber, anyNumber, anyNumber), typedArray);
const particle = fc.record({
  position: mostly(triple),
  tags: mostly(fc.oneof(fc.array(fc.nat(127), { minLength: 3, maxLength: 3 }), typedArray)),
  pair: mostly(fc.record({ first: mostly(anyNumber), second: mostly(number) })),
});

/** Arguments for the stage's kernels, each list for one of them. */
const kernelArguments = fc.oneof(
  takes(bins, fc.oneof(fc.nat(9), anyNumber, fc.bigInt()), fc.nat(12)),
  takes(counter, fc.oneof(fc.bigInt({ min: 0n, max: 9n }), anyNumber), fc.nat(1)),
  takes(anyNumber, buffer, buffer, count),
  takes(integers, integers, integers, count),
  takes(scalar, nanoseconds, anyNumber),
  takes(particle, triple, doubles, fc.nat(2)),
  takes(fc.oneof(fc.boolean(), anyNumber), anyNumber, number, doubles, fc.nat(2)),
  takes(fc.integer({ min: -9, max: 9 })),
  takes(anything, anything, anything),
).filter(([, second]) => !isLongTime(second));

const planOptions = {
  coverage: mostly(fc.constantFrom("exact", "stride", "linear", "half")),
  block: mostly(extents),
  sharedMemory: mostly(fc.oneof(size, fc.constant(({ x }: { x: number }) => 4 * x))),
  stepsPerThread: mostly(size),
};

const problem = fc.oneof(
  fc.record(
    { elements: mostly(size), elementsPerThread: mostly(size), ...planOptions },
    { requiredKeys: ["elements"] },
  ),
  fc.record(
    {
      rows: mostly(size),
      columns: mostly(size),
      planes: mostly(size),
      x: mostly(fc.constantFrom("rows", "columns")),
      elementsPerThread: mostly(extents),
      ...planOptions,
    },
    { requiredKeys: ["rows", "columns"] },
  ),
  fc.record(
    {
      m: mostly(size),
      n: mostly(size),
      k: mostly(size),
      tile: mostly(fc.record({ m: mostly(size), n: mostly(size) })),
      splitK: mostly(fc.boolean()),
      ...planOptions,
    },
    { requiredKeys: ["m", "n", "k"] },
  ),
);

/** Launches: few, or more or fewer than there may be. */
const launches = fc.oneof(fc.nat(4), fc.constantFrom(-1, 0.5, NaN, 1_000_001, 2 ** 53));

/** Whether options request too many launches for a short run. */
function areManyLaunches(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return ["warmUp", "repeats"].some((name) => {
    const given = Object.getOwnPropertyDescriptor(value, name)?.value;
    return typeof given === "number" && given > 64 && given <= 1_000_000;
  });
}

/** The members. */
export const LAUNCH_MEMBERS: Readonly<Record<string, Arguments>> = {
  ...withoutArguments(
    "LaunchPlan",
    "coverage tiles blocks steps occupancy residentBlocks waves tailEffect",
    "explain",
  ),
  ...withoutArguments("Kernel", "gridStride", ""),
  "method Device.launchFor": takes(kernel, problem),
  "method Kernel.launch": fc.tuple(mostly(launchConfig), kernelArguments)
    .map(([config, list]) => [config, ...list]),
  "function timeKernel": takes(
    kernel,
    launchConfig,
    kernelArguments,
    options({ warmUp: launches, repeats: launches, flushCache: fc.boolean() }),
  ).filter((list) => !list.some(areManyLaunches)),
};

const limits = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...KNOWN_CAPABILITIES).map(capabilityLimits) },
  // Those of a device that does not exist, one figure of which is odd.
  fc.tuple(fc.constantFrom(...Object.keys(capabilityLimits("9.0"))), anything)
    .filter(([, value]) => !(value instanceof Deferred))
    .map(([name, value]) => ({ ...capabilityLimits("9.0"), [name]: value })),
);

const threads = fc.oneof(fc.integer({ min: 1, max: 1025 }), anyNumber);
const registers = fc.oneof(fc.nat(257), anyNumber);
const bytes = fc.oneof(fc.nat(120_000), anyNumber);
const figures = {
  registersPerThread: mostly(registers),
  staticSharedMemory: mostly(bytes),
  barriersPerBlock: mostly(fc.oneof(fc.nat(17), anyNumber)),
  maxThreadsPerBlock: mostly(threads),
  sharedMemoryOptIn: mostly(fc.boolean()),
};
const required = ["registersPerThread", "staticSharedMemory"] as const;

const usage = fc.record(
  { ...figures, threadsPerBlock: mostly(threads), dynamicSharedMemory: mostly(bytes) },
  { requiredKeys: [...required, "threadsPerBlock", "dynamicSharedMemory"] },
);

const bytesOf = fc.oneof(
  bytes,
  fc.nat(300).map((perThread) =>
    new Deferred(`<${perThread} bytes a thread>`, () => (count: number) => count * perThread)
  ),
  anything.map((answer) =>
    new Deferred(
      "<function with any answer>",
      (stage) => () => answer instanceof Deferred ? answer.make(stage) : answer,
    )
  ),
);

const config = fc.record({
  block: mostly(fc.oneof(threads, fc.array(threads, { maxLength: 4 }))),
  sharedMemory: mostly(bytes),
}, { requiredKeys: ["block"] });

/** The properties of a device, one of which may be odd. */
const speed = fc.record({
  name: mostly(fc.constantFrom("NVIDIA GeForce RTX 4090", "NVIDIA H200", "")),
  computeCapability: mostly(fc.constantFrom(...KNOWN_CAPABILITIES, "6.1", "13.0", "9")),
  multiprocessorCount: mostly(fc.oneof(fc.integer({ min: 1, max: 200 }), anyNumber)),
  clockMegahertz: mostly(fc.oneof(fc.integer({ min: 1, max: 3000 }), fc.constant(null))),
  peakBandwidth: mostly(fc.oneof(fc.integer({ min: 1, max: 1e13 }), fc.constant(null))),
});

/** The members. */
export const OCCUPANCY_MEMBERS: Readonly<Record<string, Arguments>> = {
  "function occupancy": takes(limits, usage),
  "function occupancyLimits": takes(
    fc.nat(1).map((index) => new Deferred(`<info of device ${index}>`, () => listDevices()[index])),
  ),
  "function occupancyOf": takes(reference("kernel", [0, 1, 2, 3]), config),
  "function peakThroughput": takes(speed),
  "function potentialBlockSize": takes(
    limits,
    fc.record(figures, { requiredKeys: [...required] }),
    options({ dynamicSharedMemory: bytesOf }),
  ),
};
