/**
 * What the members for occupancy are called with.
 *
 * @module
 */

import fc from "fast-check";
import { capabilityLimits, listDevices } from "../../mod.ts";
import { KNOWN_CAPABILITIES } from "../../src/hardware/capability_limits.ts";
import { Deferred, reference } from "./deferred.ts";
import { anyNumber, anything, type Arguments, mostly, options, takes } from "./values.ts";

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
