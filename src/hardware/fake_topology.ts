/**
 * Fake devices: the grammar of `GRIDSTRIDE_FAKE`, which replaces the hardware of the machine, and the
 * records of devices for the host library.
 *
 * ```text
 * none
 * ITEM(,ITEM)*         ITEM = [COUNTx]SIZE(GiB|MiB)@CAPABILITY     4x24GiB@8.9,80GiB@9.0
 * BOARD(;BOARD)*       BOARD = ITEM(,ITEM)*                        24GiB@8.9;24GiB@8.9
 * BACKEND(,BACKEND)*   BACKEND = cuda | rocm | metal | webgpu
 * ```
 *
 * COUNT and SIZE are decimal integers without leading zeros; devices and backends do not mix. Devices
 * of one board are peers, those of different boards are not. The limits
 * of a fake device are those of its capability, size and speed those of the representative GPU.
 * Features are those of the host device: it reports features that it cannot simulate as unsupported.
 *
 * @module
 */

import { EnvironmentError } from "../ffi/granted_environment.ts";
import { capabilityLimits, KNOWN_CAPABILITIES } from "./capability_limits.ts";
import { DEVICE_ATTRIBUTES, VIRTUAL_MEMORY_MANAGEMENT } from "./device_information.ts";

/** The variable. */
export const FAKE_VARIABLE = "GRIDSTRIDE_FAKE";

/** A family of GPU programming interfaces. */
type Backend = "cuda" | "rocm" | "metal" | "webgpu";

/** All backends, in the order reports list them. */
export const BACKENDS: readonly Backend[] = ["cuda", "rocm", "metal", "webgpu"];

/** A fake device of the host library. */
export interface FakeDevice {
  /** Total memory in bytes. */
  readonly totalMemory: number;
  /** One of the known compute capabilities, such as `"8.9"`. */
  readonly computeCapability: string;
  /** The number of its board, if there are several: only devices of one board are peers. */
  readonly board?: number;
}

/** A value of `GRIDSTRIDE_FAKE`. */
export type FakeSetting =
  | { readonly kind: "none" }
  | { readonly kind: "topology"; readonly devices: readonly FakeDevice[] }
  | { readonly kind: "backends"; readonly backends: readonly Backend[] };

/** Most devices of a topology. */
const MAX_DEVICES = 64;

/**
 * Most memory of one fake device in bytes, 1 TiB. The host library reserves that many addresses
 * per device, and 64 such devices still fit the 47 bits of address a process has.
 */
const MAX_MEMORY: number = 2 ** 40;

/** The device that the fake backend `cuda` adds. */
const BACKEND_DEVICE: FakeDevice = { totalMemory: 16 * 2 ** 30, computeCapability: "8.9" };

const GRAMMAR = "none, or [COUNTx]SIZE(GiB|MiB)@CAPABILITY separated by commas " +
  '(such as "4x24GiB@8.9,80GiB@9.0") or, between devices that are no peers, semicolons, or a list of cuda, rocm, metal, webgpu';

const ITEM = /^(?:([1-9]\d*)x)?([1-9]\d*)(GiB|MiB)@(\d+\.\d+)$/;
const UNITS: Readonly<Record<string, number>> = { GiB: 2 ** 30, MiB: 2 ** 20 };

function isBackend(text: string): text is Backend {
  return (BACKENDS as readonly string[]).includes(text);
}

function refuse(value: string, offence: string): never {
  throw new EnvironmentError(FAKE_VARIABLE, value, GRAMMAR, offence);
}

function parseItem(value: string, item: string): FakeDevice[] {
  const quoted = JSON.stringify(item);
  if (item === "none" || isBackend(item)) refuse(value, `${quoted} does not mix with devices`);
  const match = ITEM.exec(item);
  if (match === null) refuse(value, `${quoted} is no device`);
  const count = Number(match[1] ?? "1");
  if (count > MAX_DEVICES) {
    refuse(value, `COUNT must be in 1..${MAX_DEVICES} in ${quoted}`);
  }
  const totalMemory = Number(match[2]) * UNITS[match[3]!]!;
  if (totalMemory > MAX_MEMORY) refuse(value, `SIZE must be at most 1024GiB in ${quoted}`);
  const computeCapability = match[4]!;
  if (!KNOWN_CAPABILITIES.includes(computeCapability)) {
    refuse(value, `CAPABILITY must be one of ${KNOWN_CAPABILITIES.join(", ")} in ${quoted}`);
  }
  return Array.from({ length: count }, () => ({ totalMemory, computeCapability }));
}

function parseTopology(value: string): FakeSetting {
  const boards = value.split(";");
  const devices = boards.flatMap((items, board) =>
    items.split(",").flatMap((item) => parseItem(value, item))
      .map((device) => boards.length === 1 ? device : { ...device, board })
  );
  if (devices.length > MAX_DEVICES) {
    refuse(value, `it has ${devices.length} devices, more than ${MAX_DEVICES}`);
  }
  return { kind: "topology", devices };
}

function parseBackends(value: string, items: readonly string[]): FakeSetting {
  const backends: Backend[] = [];
  for (const item of items) {
    if (!isBackend(item)) refuse(value, `${JSON.stringify(item)} is no backend`);
    if (backends.includes(item)) refuse(value, `${JSON.stringify(item)} comes twice`);
    backends.push(item);
  }
  return { kind: "backends", backends };
}

/**
 * Parses a value of `GRIDSTRIDE_FAKE`.
 *
 * @param value The variable's value, such as `"4x24GiB@8.9"`.
 */
export function parseFakeSetting(value: string): FakeSetting {
  if (value === "") refuse(value, "it is empty");
  if (value === "none") return { kind: "none" };
  const items = value.split(",");
  return isBackend(items[0]!) ? parseBackends(value, items) : parseTopology(value);
}

/**
 * The devices that a setting shows: those of a topology; for fake backends one device of 16 GiB
 * and capability 8.9 if `cuda` is among them.
 */
export function fakeDevices(setting: FakeSetting): readonly FakeDevice[] {
  switch (setting.kind) {
    case "none":
      return [];
    case "topology":
      return setting.devices;
    case "backends":
      return setting.backends.includes("cuda") ? [BACKEND_DEVICE] : [];
  }
}

/** Slots of a record: total memory, then one per `cudaDeviceAttr`. See `csrc/gridstride.h`. */
export const TOPOLOGY_RECORD_SLOTS = 161;

type AttributeValues = Partial<Record<keyof typeof DEVICE_ATTRIBUTES, number>>;

/** The features of the host device, for any capability. */
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

function attributesOf({ computeCapability, board = 0 }: FakeDevice): AttributeValues {
  const limits = capabilityLimits(computeCapability);
  const { maxBlockDimensions: block, maxGridDimensions: grid, representative: gpu } = limits;
  const [major, minor] = computeCapability.split(".").map(Number);
  return {
    ...HOST_FEATURES,
    computeCapabilityMajor: major!,
    computeCapabilityMinor: minor!,
    maxThreadsPerBlock: limits.maxThreadsPerBlock,
    maxBlockDimX: block.x,
    maxBlockDimY: block.y,
    maxBlockDimZ: block.z,
    maxGridDimX: grid.x,
    maxGridDimY: grid.y,
    maxGridDimZ: grid.z,
    warpSize: limits.warpSize,
    maxRegistersPerBlock: limits.registersPerBlock,
    maxRegistersPerMultiprocessor: limits.registersPerMultiprocessor,
    maxThreadsPerMultiProcessor: limits.maxThreadsPerMultiprocessor,
    maxBlocksPerMultiprocessor: limits.maxBlocksPerMultiprocessor,
    maxSharedMemoryPerBlock: limits.sharedMemoryPerBlock,
    maxSharedMemoryPerBlockOptin: limits.sharedMemoryPerBlockOptIn,
    maxSharedMemoryPerMultiprocessor: limits.sharedMemoryPerMultiprocessor,
    reservedSharedMemoryPerBlock: limits.reservedSharedMemoryPerBlock,
    totalConstantMemory: limits.constantMemory,
    maxPitch: limits.maxPitch,
    multiProcessorCount: gpu.multiprocessorCount,
    clockRate: gpu.clockMegahertz * 1000,
    memoryClockRate: gpu.memoryClockMegahertz * 1000,
    globalMemoryBusWidth: gpu.memoryBusWidth,
    l2CacheSize: gpu.l2CacheSize,
    integrated: gpu.integrated ? 1 : 0,
    multiGpuBoardGroupID: board,
  };
}

/**
 * The records of some devices, one after the other, as `gs_topology_set` takes them. Attributes
 * without a value are NaN; PCI bus ids, uuids and names are the library's.
 *
 * @param devices Their memory and capability; a device's index is its ordinal.
 */
export function hostTopology(devices: readonly FakeDevice[]): Float64Array<ArrayBuffer> {
  const records = new Float64Array(devices.length * TOPOLOGY_RECORD_SLOTS).fill(NaN);
  devices.forEach((device, ordinal) => {
    const begin = ordinal * TOPOLOGY_RECORD_SLOTS;
    records[begin] = device.totalMemory;
    for (const [name, value] of Object.entries(attributesOf(device))) {
      records[begin + 1 + DEVICE_ATTRIBUTES[name as keyof typeof DEVICE_ATTRIBUTES]] = value;
    }
    records[begin + 1 + VIRTUAL_MEMORY_MANAGEMENT] = 1;
  });
  return records;
}
