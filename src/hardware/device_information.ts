/**
 * What is known of a device without opening it.
 *
 * @module
 */

import { type Extents, type TensorCoreFormats, tensorCoreFormats } from "./capability_limits.ts";
import { DEVICE_ATTRIBUTES, VIRTUAL_MEMORY_MANAGEMENT } from "./device_attributes.ts";
import { type DeviceKind, deviceLabel } from "./selection.ts";

/** What is known of a device. Memory is in bytes; the values come from CUDA's device attributes. */
export interface DeviceInfo {
  /** `"cuda"` for an NVIDIA GPU, `"host"` for the kernels on the CPU. */
  readonly kind: DeviceKind;
  /** True where `GRIDSTRIDE_FAKE` made the device up. */
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
  /** Level 2 cache; null where the library does not say. */
  readonly l2CacheSize: number | null;
  /** Memory for `__constant__` variables. */
  readonly constantMemory: number;
  /** Largest pitch of a copy. */
  readonly maxPitch: number;
  /** Highest clock of the multiprocessors in MHz; null where the driver does not say. */
  readonly clockMegahertz: number | null;
  /** Memory clock in MHz, two transfers per cycle; null where the driver does not say. */
  readonly memoryClockMegahertz: number | null;
  /** Width of the memory bus in bits; null where the driver does not say. */
  readonly memoryBusWidth: number | null;
  /** Memory clock × 2 × bus width / 8, in bytes per second; null where a factor is not known. */
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
  readonly tensorCores: TensorCoreFormats;
  /** Newest CUDA version the driver supports, such as `"13.0"`; null without a driver. */
  readonly driverVersion: string | null;
  /** Version of the CUDA runtime in the native library, such as `"13.0"`. */
  readonly runtimeVersion: string | null;
}

/** Reads one device; the FFI layer implements it. */
export interface DeviceReader {
  /** The value of a `cudaDeviceAttr`; undefined or NaN where the device or driver has none. */
  attribute(id: number): number | undefined;
  /** Marketing name. */
  readonly name: string;
  /** Uuid in NVIDIA's notation. */
  readonly uuid: string;
  /** PCI bus id. */
  readonly pciBusId: string;
  /** Total memory in bytes. */
  readonly totalMemory: number;
  /** As CUDA encodes it: 13000 is 13.0; 0 without a driver. */
  readonly driverVersion: number;
  /** As CUDA encodes it. */
  readonly runtimeVersion: number;
}

/** Which device a reader reads. */
export interface DeviceIdentity {
  /** Its kind. */
  readonly kind: DeviceKind;
  /** Whether it is made up. */
  readonly fake: boolean;
  /** Its ordinal. */
  readonly ordinal: number;
}

/** A version as CUDA encodes it, major × 1000 + minor × 10, as text; null for 0, that is none. */
export function cudaVersionText(version: number): string | null {
  if (!(version > 0)) return null;
  return `${Math.floor(version / 1000)}.${Math.floor((version % 1000) / 10)}`;
}

type AttributeName = keyof typeof DEVICE_ATTRIBUTES;

/** Typed access to the attributes of one reader. */
class AttributeView {
  constructor(readonly reader: DeviceReader, readonly label: string) {}

  optional(id: number): number | undefined {
    const value = this.reader.attribute(id);
    return value === undefined || Number.isNaN(value) ? undefined : value;
  }

  /** A value without which a device cannot be used. */
  number(name: AttributeName): number {
    const value = this.optional(DEVICE_ATTRIBUTES[name]);
    if (value !== undefined) return value;
    throw new Error(
      `Cannot describe ${this.label} as its attribute ${name} (${DEVICE_ATTRIBUTES[name]}) ` +
        "must have a value: it has none",
    );
  }

  flag(name: AttributeName): boolean {
    return this.optional(DEVICE_ATTRIBUTES[name]) === 1;
  }

  /** A figure that drivers of integrated devices report as 0 where they do not know it. */
  positive(name: AttributeName): number | null {
    const value = this.optional(DEVICE_ATTRIBUTES[name]);
    return value !== undefined && value > 0 ? value : null;
  }

  megahertz(name: AttributeName): number | null {
    const kilohertz = this.positive(name);
    return kilohertz === null ? null : kilohertz / 1000;
  }
}

function launchLimits(view: AttributeView) {
  return {
    multiprocessorCount: view.number("multiProcessorCount"),
    warpSize: view.number("warpSize"),
    maxThreadsPerBlock: view.number("maxThreadsPerBlock"),
    maxBlockDimensions: {
      x: view.number("maxBlockDimX"),
      y: view.number("maxBlockDimY"),
      z: view.number("maxBlockDimZ"),
    },
    maxGridDimensions: {
      x: view.number("maxGridDimX"),
      y: view.number("maxGridDimY"),
      z: view.number("maxGridDimZ"),
    },
    maxThreadsPerMultiprocessor: view.number("maxThreadsPerMultiProcessor"),
    maxBlocksPerMultiprocessor: view.number("maxBlocksPerMultiprocessor"),
    registersPerBlock: view.number("maxRegistersPerBlock"),
    registersPerMultiprocessor: view.number("maxRegistersPerMultiprocessor"),
  };
}

function memoryLimits(view: AttributeView) {
  const memoryClockMegahertz = view.megahertz("memoryClockRate");
  const memoryBusWidth = view.positive("globalMemoryBusWidth");
  const known = memoryClockMegahertz !== null && memoryBusWidth !== null;
  return {
    sharedMemoryPerBlock: view.number("maxSharedMemoryPerBlock"),
    sharedMemoryPerBlockOptIn: view.number("maxSharedMemoryPerBlockOptin"),
    sharedMemoryPerMultiprocessor: view.number("maxSharedMemoryPerMultiprocessor"),
    reservedSharedMemoryPerBlock: view.number("reservedSharedMemoryPerBlock"),
    l2CacheSize: view.positive("l2CacheSize"),
    constantMemory: view.number("totalConstantMemory"),
    maxPitch: view.number("maxPitch"),
    clockMegahertz: view.megahertz("clockRate"),
    memoryClockMegahertz,
    memoryBusWidth,
    peakBandwidth: known ? memoryClockMegahertz * 1e6 * 2 * (memoryBusWidth / 8) : null,
  };
}

function features(view: AttributeView) {
  return {
    integrated: view.flag("integrated"),
    errorCorrection: view.flag("eccEnabled"),
    asyncEngineCount: view.optional(DEVICE_ATTRIBUTES.asyncEngineCount) ?? 0,
    concurrentKernels: view.flag("concurrentKernels"),
    unifiedAddressing: view.flag("unifiedAddressing"),
    managedMemory: view.flag("managedMemory"),
    memoryPools: view.flag("memoryPoolsSupported"),
    virtualMemoryManagement: view.optional(VIRTUAL_MEMORY_MANAGEMENT) === 1,
    cooperativeLaunch: view.flag("cooperativeLaunch"),
    clusterLaunch: view.flag("clusterLaunch"),
  };
}

/**
 * Describes a device from what a reader says of it. Creates no context, as long as the reader does
 * not.
 *
 * @throws {Error} If the device lacks an attribute that every CUDA device has.
 */
export function deviceInformation(reader: DeviceReader, identity: DeviceIdentity): DeviceInfo {
  const view = new AttributeView(reader, deviceLabel(identity.kind, identity.ordinal));
  const major = view.number("computeCapabilityMajor");
  const minor = view.number("computeCapabilityMinor");
  return {
    kind: identity.kind,
    fake: identity.fake,
    ordinal: identity.ordinal,
    uuid: reader.uuid,
    name: reader.name,
    pciBusId: reader.pciBusId,
    computeCapability: `${major}.${minor}`,
    totalMemory: reader.totalMemory,
    ...launchLimits(view),
    ...memoryLimits(view),
    ...features(view),
    tensorCores: tensorCoreFormats(major, minor),
    driverVersion: cudaVersionText(reader.driverVersion),
    runtimeVersion: cudaVersionText(reader.runtimeVersion),
  };
}
