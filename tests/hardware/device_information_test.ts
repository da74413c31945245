// Descriptions of devices from their attributes, and of fake devices from their topology records.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { capabilityLimits, KNOWN_CAPABILITIES } from "../../src/hardware/capability_limits.ts";
import {
  cudaVersionText,
  DEVICE_ATTRIBUTES,
  deviceInformation,
  type DeviceReader,
  VIRTUAL_MEMORY_MANAGEMENT,
} from "../../src/hardware/device_information.ts";
import { hostTopology, TOPOLOGY_RECORD_SLOTS } from "../../src/hardware/fake_topology.ts";

const GIB = 2 ** 30;

/** Reads a topology record as the host library does. */
function recordReader(record: Float64Array): DeviceReader {
  return {
    attribute: (id) => record[1 + id],
    name: "Gridstride host device",
    uuid: "GPU-00000000-0000-0000-0000-000000000000",
    pciBusId: "0000:01:00.0",
    totalMemory: record[0]!,
    driverVersion: 13000,
    runtimeVersion: 13020,
  };
}

function recordOf(computeCapability: string, totalMemory = 24 * GIB): Float64Array {
  return hostTopology([{ totalMemory, computeCapability }]);
}

const FAKE = { kind: "host", fake: true, ordinal: 0 } as const;

for (const capability of KNOWN_CAPABILITIES) {
  Deno.test(`deviceInformation() reads back the topology record of ${capability}`, () => {
    const limits = capabilityLimits(capability);
    const { representative } = limits;
    const info = deviceInformation(recordReader(recordOf(capability)), FAKE);
    assertEquals(info.computeCapability, capability);
    assertEquals(info.totalMemory, 25769803776);
    assertEquals(info.multiprocessorCount, representative.multiprocessorCount);
    assertEquals(info.maxBlockDimensions, limits.maxBlockDimensions);
    assertEquals(info.maxGridDimensions, limits.maxGridDimensions);
    assertEquals(info.tensorCores, limits.tensorCores);
    const same = [
      "warpSize",
      "maxThreadsPerBlock",
      "maxThreadsPerMultiprocessor",
      "maxBlocksPerMultiprocessor",
      "sharedMemoryPerBlock",
      "sharedMemoryPerBlockOptIn",
      "sharedMemoryPerMultiprocessor",
      "reservedSharedMemoryPerBlock",
      "registersPerBlock",
      "registersPerMultiprocessor",
      "constantMemory",
      "maxPitch",
    ] as const;
    for (const key of same) assertEquals(info[key], limits[key], key);
    for (const key of ["clockMegahertz", "memoryClockMegahertz", "l2CacheSize"] as const) {
      assertEquals(info[key], representative[key], key);
    }
  });
}

Deno.test("`deviceInformation()` calculates the bandwidth of an RTX 4090", () => {
  const info = deviceInformation(recordReader(recordOf("8.9")), FAKE);
  assertEquals(info.peakBandwidth, 1008096000000);
});

Deno.test("`deviceInformation()` reports the features of a host device", () => {
  const info = deviceInformation(recordReader(recordOf("12.1")), FAKE);
  const missing = ["managedMemory", "memoryPools", "clusterLaunch"] as const;
  for (const key of [...missing, "errorCorrection"] as const) {
    assertEquals(info[key], false, key);
  }
  const present = [
    "concurrentKernels",
    "unifiedAddressing",
    "virtualMemoryManagement",
    "cooperativeLaunch",
  ] as const;
  for (const key of present) assertEquals(info[key], true, key);
});

Deno.test("`deviceInformation()` reads flags from the device", () => {
  const record = recordOf("9.0");
  const flags = {
    integrated: DEVICE_ATTRIBUTES.integrated,
    errorCorrection: DEVICE_ATTRIBUTES.eccEnabled,
    concurrentKernels: DEVICE_ATTRIBUTES.concurrentKernels,
    unifiedAddressing: DEVICE_ATTRIBUTES.unifiedAddressing,
    managedMemory: DEVICE_ATTRIBUTES.managedMemory,
    memoryPools: DEVICE_ATTRIBUTES.memoryPoolsSupported,
    virtualMemoryManagement: VIRTUAL_MEMORY_MANAGEMENT,
    cooperativeLaunch: DEVICE_ATTRIBUTES.cooperativeLaunch,
    clusterLaunch: DEVICE_ATTRIBUTES.clusterLaunch,
  } as const;
  for (const [key, id] of Object.entries(flags)) {
    for (const value of [0, 1]) {
      record[1 + id] = value;
      const info = deviceInformation(recordReader(record), FAKE);
      assertEquals(info[key as keyof typeof flags], value === 1, key);
    }
  }
});

Deno.test("`deviceInformation()` reports null when clocks or bus are unknown", () => {
  for (const unknown of [0, NaN]) {
    const record = recordOf("11.0");
    record[1 + DEVICE_ATTRIBUTES.memoryClockRate] = unknown;
    const info = deviceInformation(recordReader(record), FAKE);
    assertEquals([info.memoryClockMegahertz, info.peakBandwidth], [null, null]);
    assert(info.memoryBusWidth !== null);
  }
});

Deno.test("`deviceInformation()` throws when a required attribute is missing", () => {
  const record = recordOf("8.9");
  record[1 + DEVICE_ATTRIBUTES.warpSize] = NaN;
  const error = assertThrows(() => deviceInformation(recordReader(record), FAKE), Error);
  assertEquals(
    error.message,
    "Cannot describe host:0 as its attribute warpSize (10) must have a value: it has none",
  );
});

Deno.test("`deviceInformation()` describes a device newer than the table", () => {
  const record = recordOf("12.1");
  record[1 + DEVICE_ATTRIBUTES.computeCapabilityMajor] = 14;
  const info = deviceInformation(recordReader(record), FAKE);
  assertEquals(info.computeCapability, "14.1");
  assertEquals(info.tensorCores.float4, true);
});

Deno.test("`TOPOLOGY_RECORD_SLOTS` agrees with csrc/gridstride.h", async () => {
  const header = await Deno.readTextFile(new URL("../../csrc/gridstride.h", import.meta.url));
  const slots = /#define GS_TOPOLOGY_RECORD_SLOTS (\d+)/.exec(header);
  assertEquals(Number(slots![1]), TOPOLOGY_RECORD_SLOTS);
});

Deno.test("`cudaVersionText()` reads CUDA's encoding", () => {
  assertEquals([12080, 13000, 13010, 9020].map(cudaVersionText), ["12.8", "13.0", "13.1", "9.2"]);
  assertEquals([0, -1, NaN].map(cudaVersionText), [null, null, null]);
});
