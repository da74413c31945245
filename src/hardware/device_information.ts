/**
 * The description of a device, from its attributes and without opening it.
 *
 * @module
 */

import { type CapabilityLimits, type Extents, tensorCoreFormats } from "./capability_limits.ts";
import { type DeviceKind, deviceLabel } from "./selection.ts";

/**
 * The description of a device. Memory is in bytes; the values are CUDA's device attributes.
 * @category Devices
 */
export interface DeviceInfo {
  /** `"cuda"` for an NVIDIA GPU, `"host"` for the kernels on the CPU. */
  readonly kind: DeviceKind;
  /** True if `GRIDSTRIDE_FAKE` makes the device up. */
  readonly fake: boolean;
  /** Its number among the devices of its kind: CUDA's device id. */
  readonly ordinal: number;
  /** Such as `"GPU-5ac9…"`; stays the same when ordinals change. */
  readonly uuid: string;
  /** Marketing name. */
  readonly name: string;
  /** Such as `"0000:01:00.0"`. */
  readonly pciBusId: string;
  /** Such as `"8.9"`. */
  readonly computeCapability: string;
  /** Total memory. */
  readonly totalMemory: number;
  /** Streaming multiprocessors. */
  readonly multiprocessorCount: number;
  /** Threads of a warp. */
  readonly warpSize: number;
  /** Most threads in a block, over all axes. */
  readonly maxThreadsPerBlock: number;
  /** Most threads of a block along each axis. */
  readonly maxBlockDimensions: Extents;
  /** Most blocks of a grid along each axis. */
  readonly maxGridDimensions: Extents;
  /** Most threads resident on a multiprocessor. */
  readonly maxThreadsPerMultiprocessor: number;
  /** Most blocks resident on a multiprocessor. */
  readonly maxBlocksPerMultiprocessor: number;
  /** Most shared memory of a block that did not opt in to more. */
  readonly sharedMemoryPerBlock: number;
  /** Most shared memory of a block whose kernel opted in. */
  readonly sharedMemoryPerBlockOptIn: number;
  /** Shared memory of a multiprocessor. */
  readonly sharedMemoryPerMultiprocessor: number;
  /** Shared memory that the driver keeps in every block. */
  readonly reservedSharedMemoryPerBlock: number;
  /** Most 32-bit registers of a block. */
  readonly registersPerBlock: number;
  /** 32-bit registers of a multiprocessor. */
  readonly registersPerMultiprocessor: number;
  /** Level 2 cache; null if unknown. */
  readonly l2CacheSize: number | null;
  /** Memory for `__constant__` variables. */
  readonly constantMemory: number;
  /** Largest pitch of a copy. */
  readonly maxPitch: number;
  /** Highest clock of the multiprocessors in MHz; null if unknown. */
  readonly clockMegahertz: number | null;
  /** Memory clock in MHz, two transfers per cycle; null if unknown. */
  readonly memoryClockMegahertz: number | null;
  /** Width of the memory bus in bits; null if unknown. */
  readonly memoryBusWidth: number | null;
  /** Memory clock × 2 × bus width / 8, in bytes per second; null if a factor is unknown. */
  readonly peakBandwidth: number | null;
  /** Whether the device shares the memory of the host. */
  readonly integrated: boolean;
  /** Whether error-correcting memory is on. */
  readonly errorCorrection: boolean;
  /** Copies that run beside kernels at the same time. */
  readonly asyncEngineCount: number;
  /** Whether kernels of different streams can run at the same time. */
  readonly concurrentKernels: boolean;
  /** Whether host and devices share one address space. */
  readonly unifiedAddressing: boolean;
  /** Whether memory can be managed, that is migrate between host and device. */
  readonly managedMemory: boolean;
  /** Whether `cudaMallocAsync` and its pools work. */
  readonly memoryPools: boolean;
  /** Whether addresses can be reserved and mapped one by one. */
  readonly virtualMemoryManagement: boolean;
  /** Whether a whole grid can synchronise. */
  readonly cooperativeLaunch: boolean;
  /** Whether blocks can be launched in clusters. */
  readonly clusterLaunch: boolean;
  /** Formats that the tensor cores multiply. On a host device they are computed on the CPU. */
  readonly tensorCores: CapabilityLimits["tensorCores"];
  /** Newest CUDA version the driver supports, such as `"13.0"`; null without a driver. */
  readonly driverVersion: string | null;
  /** Version of the CUDA runtime in the native library, such as `"13.0"`. */
  readonly runtimeVersion: string | null;
}

/**
 * Device attributes by name: the values of `enum cudaDeviceAttr` in the CUDA runtime's
 * `driver_types.h`. `cudaDevAttrMaxThreadsPerBlock` is `maxThreadsPerBlock` here;
 * `tests/hardware/device_attributes_test.ts` compares them if a toolkit is installed.
 */
export const DEVICE_ATTRIBUTES = {
  maxThreadsPerBlock: 1,
  maxBlockDimX: 2,
  maxBlockDimY: 3,
  maxBlockDimZ: 4,
  maxGridDimX: 5,
  maxGridDimY: 6,
  maxGridDimZ: 7,
  maxSharedMemoryPerBlock: 8,
  totalConstantMemory: 9,
  warpSize: 10,
  maxPitch: 11,
  maxRegistersPerBlock: 12,
  /** In kHz. */
  clockRate: 13,
  textureAlignment: 14,
  gpuOverlap: 15,
  multiProcessorCount: 16,
  kernelExecTimeout: 17,
  integrated: 18,
  canMapHostMemory: 19,
  computeMode: 20,
  concurrentKernels: 31,
  eccEnabled: 32,
  pciBusId: 33,
  pciDeviceId: 34,
  /** In kHz; 0 if the memory is the host's. */
  memoryClockRate: 36,
  /** In bits. */
  globalMemoryBusWidth: 37,
  l2CacheSize: 38,
  maxThreadsPerMultiProcessor: 39,
  asyncEngineCount: 40,
  unifiedAddressing: 41,
  pciDomainId: 50,
  texturePitchAlignment: 51,
  computeCapabilityMajor: 75,
  computeCapabilityMinor: 76,
  streamPrioritiesSupported: 78,
  maxSharedMemoryPerMultiprocessor: 81,
  maxRegistersPerMultiprocessor: 82,
  managedMemory: 83,
  multiGpuBoardGroupID: 85,
  cooperativeLaunch: 95,
  maxSharedMemoryPerBlockOptin: 97,
  hostRegisterSupported: 99,
  maxBlocksPerMultiprocessor: 106,
  reservedSharedMemoryPerBlock: 111,
  memoryPoolsSupported: 115,
  clusterLaunch: 120,
} as const;

/**
 * Virtual memory management. Only the driver names this attribute
 * (`CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED`); the runtime shares its numbering.
 */
export const VIRTUAL_MEMORY_MANAGEMENT = 102;

/** Reads one device. Versions are as CUDA encodes them: 13000 is 13.0, 0 is none. */
export interface DeviceReader
  extends Pick<DeviceInfo, "name" | "uuid" | "pciBusId" | "totalMemory"> {
  /** The value of a `cudaDeviceAttr`; undefined or NaN if the device or driver has none. */
  attribute(id: number): number | undefined;
  readonly driverVersion: number;
  readonly runtimeVersion: number;
}

/** A version as CUDA encodes it, major × 1000 + minor × 10, as text; null for 0, no version. */
export function cudaVersionText(version: number): string | null {
  if (!(version > 0)) return null;
  return `${Math.floor(version / 1000)}.${Math.floor((version % 1000) / 10)}`;
}

type AttributeName = keyof typeof DEVICE_ATTRIBUTES;

/** Describes a device. Creates no context unless the reader does. */
export function deviceInformation(
  reader: DeviceReader,
  { kind, fake, ordinal }: Pick<DeviceInfo, "kind" | "fake" | "ordinal">,
): DeviceInfo {
  const attribute = (name: AttributeName) => {
    const value = reader.attribute(DEVICE_ATTRIBUTES[name]);
    return value === undefined || Number.isNaN(value) ? undefined : value;
  };
  const number = (name: AttributeName) => {
    const value = attribute(name);
    if (value !== undefined) return value;
    throw new Error(
      `Cannot describe ${deviceLabel(kind, ordinal)} as its attribute ${name} ` +
        `(${DEVICE_ATTRIBUTES[name]}) must have a value: it has none`,
    );
  };
  const flag = (name: AttributeName) => attribute(name) === 1;
  // Drivers of integrated devices report unknown figures as 0.
  const positive = (name: AttributeName) => {
    const value = attribute(name) ?? 0;
    return value > 0 ? value : null;
  };
  const megahertz = (name: AttributeName) => {
    const kilohertz = positive(name);
    return kilohertz === null ? null : kilohertz / 1000;
  };
  const [major, minor] = [number("computeCapabilityMajor"), number("computeCapabilityMinor")];
  const memoryClockMegahertz = megahertz("memoryClockRate");
  const memoryBusWidth = positive("globalMemoryBusWidth");
  return {
    kind,
    fake,
    ordinal,
    uuid: reader.uuid,
    name: reader.name,
    pciBusId: reader.pciBusId,
    computeCapability: `${major}.${minor}`,
    totalMemory: reader.totalMemory,
    multiprocessorCount: number("multiProcessorCount"),
    warpSize: number("warpSize"),
    maxThreadsPerBlock: number("maxThreadsPerBlock"),
    maxBlockDimensions: {
      x: number("maxBlockDimX"),
      y: number("maxBlockDimY"),
      z: number("maxBlockDimZ"),
    },
    maxGridDimensions: {
      x: number("maxGridDimX"),
      y: number("maxGridDimY"),
      z: number("maxGridDimZ"),
    },
    maxThreadsPerMultiprocessor: number("maxThreadsPerMultiProcessor"),
    maxBlocksPerMultiprocessor: number("maxBlocksPerMultiprocessor"),
    registersPerBlock: number("maxRegistersPerBlock"),
    registersPerMultiprocessor: number("maxRegistersPerMultiprocessor"),
    sharedMemoryPerBlock: number("maxSharedMemoryPerBlock"),
    sharedMemoryPerBlockOptIn: number("maxSharedMemoryPerBlockOptin"),
    sharedMemoryPerMultiprocessor: number("maxSharedMemoryPerMultiprocessor"),
    reservedSharedMemoryPerBlock: number("reservedSharedMemoryPerBlock"),
    l2CacheSize: positive("l2CacheSize"),
    constantMemory: number("totalConstantMemory"),
    maxPitch: number("maxPitch"),
    clockMegahertz: megahertz("clockRate"),
    memoryClockMegahertz,
    memoryBusWidth,
    peakBandwidth: memoryClockMegahertz === null || memoryBusWidth === null
      ? null
      : memoryClockMegahertz * 1e6 * 2 * (memoryBusWidth / 8),
    integrated: flag("integrated"),
    errorCorrection: flag("eccEnabled"),
    asyncEngineCount: attribute("asyncEngineCount") ?? 0,
    concurrentKernels: flag("concurrentKernels"),
    unifiedAddressing: flag("unifiedAddressing"),
    managedMemory: flag("managedMemory"),
    memoryPools: flag("memoryPoolsSupported"),
    virtualMemoryManagement: reader.attribute(VIRTUAL_MEMORY_MANAGEMENT) === 1,
    cooperativeLaunch: flag("cooperativeLaunch"),
    clusterLaunch: flag("clusterLaunch"),
    tensorCores: tensorCoreFormats(10 * major + minor),
    driverVersion: cudaVersionText(reader.driverVersion),
    runtimeVersion: cudaVersionText(reader.runtimeVersion),
  };
}
