// The grammar of selectors, and the choice of the best device.

import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import {
  bestDevice,
  type DeviceCandidate,
  MEMORY_STEP,
  parseDeviceSelector,
} from "../../src/hardware/selection.ts";

Deno.test("`parseDeviceSelector()` reads kinds and ordinals", () => {
  assertEquals(parseDeviceSelector("cuda"), { kind: "cuda" });
  assertEquals(parseDeviceSelector("host"), { kind: "host" });
  assertEquals(parseDeviceSelector("cuda:0"), { kind: "cuda", ordinal: 0 });
  assertEquals(parseDeviceSelector("host:12"), { kind: "host", ordinal: 12 });
});

Deno.test("`parseDeviceSelector()` throws when a selector is malformed", () => {
  const malformed = ["", "gpu", "CUDA", "cuda:", "cuda:-1", "cuda:01", "cuda:1.0", "cuda 1"];
  const more = ["cuda:x", ":1", "1", "host:1:2", " cuda", "cuda:0 ", "cuda:999999", "cuda:0\n"];
  for (const text of [...malformed, ...more]) {
    const error = assertThrows(() => parseDeviceSelector(text), RangeError);
    assert(error.message.includes("selector must be cuda, host, or"), error.message);
    assert(error.message.endsWith(`it is ${JSON.stringify(text)}`), error.message);
  }
  assertThrows(() => parseDeviceSelector(1 as unknown as string), RangeError);
});

const GIB = 2 ** 30;

function device(ordinal: number, changes: Partial<DeviceCandidate> = {}): DeviceCandidate {
  return {
    kind: "cuda",
    ordinal,
    totalMemory: 80 * GIB,
    freeMemory: 40 * GIB,
    computeCapability: "8.0",
    multiprocessorCount: 108,
    ...changes,
  };
}

Deno.test("`bestDevice()` compares free memory first", () => {
  const busy = device(0, { totalMemory: 192 * GIB, freeMemory: GIB, computeCapability: "10.0" });
  const idle = device(1, { totalMemory: 24 * GIB, freeMemory: 23 * GIB });
  const choice = bestDevice([busy, idle])!;
  assertEquals(choice.device, idle);
  assertEquals(choice.memoryBasis, "free");
  assertEquals(choice.reason, "cuda:1 has most memory: 23 GiB of 24 GiB free");
});

Deno.test("`bestDevice()` compares capability, multiprocessors and ordinal when memory is equal", () => {
  const table: [DeviceCandidate[], ordinal: number, reason: string][] = [
    [
      [device(0, { computeCapability: "9.0" }), device(1, { computeCapability: "10.0" })],
      1,
      "newest compute capability",
    ],
    [[device(0), device(1, { multiprocessorCount: 109 })], 1, "the most multiprocessors"],
    [[device(2), device(0), device(1)], 0, "the lowest ordinal of equals"],
  ];
  for (const [candidates, ordinal, reason] of table) {
    const choice = bestDevice(candidates)!;
    assertEquals(choice.device.ordinal, ordinal);
    assert(choice.reason.includes(reason), choice.reason);
  }
  assertEquals(bestDevice([]), undefined);
});

Deno.test("`bestDevice()` ignores some megabytes of memory", () => {
  const free = 40 * GIB;
  const older = device(0, { freeMemory: free + MEMORY_STEP - 1 });
  const newer = device(1, { freeMemory: free, computeCapability: "9.0" });
  assertEquals(bestDevice([older, newer])!.device, newer);
  const roomier = device(0, { freeMemory: free + MEMORY_STEP });
  assertEquals(bestDevice([roomier, newer])!.device, roomier);
});

Deno.test("`bestDevice()` reports the basis when total memory replaces free memory", () => {
  const unknown = device(0, { freeMemory: undefined });
  const choice = bestDevice([unknown, device(1)])!;
  assertEquals([choice.device.ordinal, choice.memoryBasis], [0, "total"]);
  assert(choice.reason.includes("free memory is not known"), choice.reason);
});

Deno.test("`bestDevice()` takes a GPU before any host device", () => {
  const host = device(0, { kind: "host", freeMemory: 1000 * GIB, computeCapability: "12.1" });
  const small = device(3, { freeMemory: 0, computeCapability: "7.5", multiprocessorCount: 1 });
  const choice = bestDevice([host, small])!;
  assertEquals(choice.device, small);
  assert(choice.reason.includes("the only GPU"));
  assert(bestDevice([host])!.reason.startsWith("host:0 is the only device"));
});

Deno.test("`bestDevice()` does not depend on the order of candidates", () => {
  const candidate = fc.record({
    freeMemory: fc.option(fc.integer({ min: 0, max: 3 }).map((step) => step * MEMORY_STEP)),
    computeCapability: fc.constantFrom("8.9", "9.0", "10.0"),
    multiprocessorCount: fc.integer({ min: 1, max: 3 }),
    kind: fc.constantFrom("cuda" as const, "host" as const),
  });
  fc.assert(fc.property(fc.array(candidate, { minLength: 1, maxLength: 6 }), (figures) => {
    const devices = figures.map(({ freeMemory, ...rest }, ordinal) =>
      device(ordinal, { ...rest, freeMemory: freeMemory ?? undefined })
    );
    const before = structuredClone(devices);
    assertEquals(bestDevice(devices)!.device, bestDevice(devices.toReversed())!.device);
    assertEquals(devices, before);
  }));
});
