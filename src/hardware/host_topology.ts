/**
 * What the host library is told of its devices: the records of `gs_topology_set`.
 *
 * Limits are those of the compute capability, size and speed those of a GPU that stands for it.
 * Features are those of the host device: what it cannot simulate it reports as unsupported, however
 * new the capability.
 *
 * @module
 */

import { type CapabilityLimits, capabilityLimits } from "./capability_limits.ts";
import { DEVICE_ATTRIBUTES, VIRTUAL_MEMORY_MANAGEMENT } from "./device_attributes.ts";
import type { FakeDevice } from "./fake_topology.ts";

/** Slots of a record: total memory, then one per `cudaDeviceAttr`. `csrc/gridstride.h` says so. */
export const TOPOLOGY_RECORD_SLOTS = 161;

type AttributeValues = Partial<Record<keyof typeof DEVICE_ATTRIBUTES, number>>;

function launchAttributes(limits: CapabilityLimits): AttributeValues {
  return {
    maxThreadsPerBlock: limits.maxThreadsPerBlock,
    maxBlockDimX: limits.maxBlockDimensions.x,
    maxBlockDimY: limits.maxBlockDimensions.y,
    maxBlockDimZ: limits.maxBlockDimensions.z,
    maxGridDimX: limits.maxGridDimensions.x,
    maxGridDimY: limits.maxGridDimensions.y,
    maxGridDimZ: limits.maxGridDimensions.z,
    warpSize: limits.warpSize,
    maxRegistersPerBlock: limits.registersPerBlock,
    maxRegistersPerMultiprocessor: limits.registersPerMultiprocessor,
    maxThreadsPerMultiProcessor: limits.maxThreadsPerMultiprocessor,
    maxBlocksPerMultiprocessor: limits.maxBlocksPerMultiprocessor,
  };
}

function memoryAttributes(limits: CapabilityLimits): AttributeValues {
  return {
    maxSharedMemoryPerBlock: limits.sharedMemoryPerBlock,
    maxSharedMemoryPerBlockOptin: limits.sharedMemoryPerBlockOptIn,
    maxSharedMemoryPerMultiprocessor: limits.sharedMemoryPerMultiprocessor,
    reservedSharedMemoryPerBlock: limits.reservedSharedMemoryPerBlock,
    totalConstantMemory: limits.constantMemory,
    maxPitch: limits.maxPitch,
  };
}

function speedAttributes({ representative }: CapabilityLimits): AttributeValues {
  return {
    multiProcessorCount: representative.multiprocessorCount,
    clockRate: representative.clockMegahertz * 1000,
    memoryClockRate: representative.memoryClockMegahertz * 1000,
    globalMemoryBusWidth: representative.memoryBusWidth,
    l2CacheSize: representative.l2CacheSize,
    integrated: representative.integrated ? 1 : 0,
  };
}

/** What the host device can do, whatever the capability. */
const HOST_FEATURES: AttributeValues = {
  gpuOverlap: 1,
  asyncEngineCount: 2,
  concurrentKernels: 1,
  canMapHostMemory: 1,
  hostRegisterSupported: 1,
  // Device memory lies in the address space of the process.
  unifiedAddressing: 1,
  streamPrioritiesSupported: 1,
  textureAlignment: 512,
  texturePitchAlignment: 32,
  eccEnabled: 0,
  kernelExecTimeout: 0,
  computeMode: 0,
  managedMemory: 0,
  memoryPoolsSupported: 0,
  cooperativeLaunch: 1,
  clusterLaunch: 0,
};

function capabilityAttributes(computeCapability: string): AttributeValues {
  const [major = 0, minor = 0] = computeCapability.split(".").map(Number);
  return { computeCapabilityMajor: major, computeCapabilityMinor: minor };
}

function writeRecord(record: Float64Array, device: FakeDevice): void {
  const limits = capabilityLimits(device.computeCapability);
  const values: AttributeValues = {
    ...launchAttributes(limits),
    ...memoryAttributes(limits),
    ...speedAttributes(limits),
    ...HOST_FEATURES,
    ...capabilityAttributes(device.computeCapability),
  };
  record.fill(NaN);
  record[0] = device.totalMemory;
  for (const [name, value] of Object.entries(values)) {
    record[1 + DEVICE_ATTRIBUTES[name as keyof typeof DEVICE_ATTRIBUTES]] = value;
  }
  record[1 + VIRTUAL_MEMORY_MANAGEMENT] = 1;
}

/**
 * The records of some devices, one after the other, as `gs_topology_set` takes them. Attributes
 * that a host device has no value for are NaN; PCI bus ids, uuids and names are the library's.
 *
 * @param devices Their memory and capability; a device's index is its ordinal.
 */
export function hostTopology(devices: readonly FakeDevice[]): Float64Array<ArrayBuffer> {
  const records = new Float64Array(devices.length * TOPOLOGY_RECORD_SLOTS);
  devices.forEach((device, ordinal) => {
    const begin = ordinal * TOPOLOGY_RECORD_SLOTS;
    writeRecord(records.subarray(begin, begin + TOPOLOGY_RECORD_SLOTS), device);
  });
  return records;
}
