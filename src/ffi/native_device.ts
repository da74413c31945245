/**
 * Devices as the native library knows them.
 *
 * @module
 */

import { check, statusError } from "./check.ts";
import { checkInt32 } from "./integers.ts";
import type { NativeLibrary } from "./library.ts";
import { readText } from "./text.ts";

/** CUDA codes for an attribute that the driver or the device does not know. */
const UNKNOWN_ATTRIBUTE: readonly number[] = [1, 801];

/** The CUDA code by which counting says that there is nothing to count. */
const NO_DEVICE = 100;

const LAST_CALL_SYNCHRONIZE = "cudaDeviceSynchronize";

/** The status of counting devices: 0, or the CUDA code that says why there are none. */
export function deviceCountStatus(library: NativeLibrary): { status: number; count: number } {
  const status = library.symbols.gs_device_count(library.result);
  return { status, count: status === 0 ? library.result[0]! : 0 };
}

/**
 * The number of devices.
 *
 * @throws {CudaError} If they cannot be counted.
 */
export function countDevices(library: NativeLibrary): number {
  const { status, count } = deviceCountStatus(library);
  if (status !== NO_DEVICE) check(library, status, "count the devices");
  return count;
}

/** Sets the fake devices of the host library; see `gs_topology_set` for the records. */
export function setTopology(
  library: NativeLibrary,
  records: Float64Array<ArrayBuffer>,
  count: number,
): void {
  check(
    library,
    library.symbols.gs_topology_set(records, checkInt32(count, "count", "set the topology")),
    "set the fake devices",
  );
}

/** Driver and runtime version as CUDA encodes them: 13000 is 13.0; 0 when there is no driver. */
export function deviceVersions(library: NativeLibrary): { driver: number; runtime: number } {
  check(library, library.symbols.gs_device_versions(library.result), "read the CUDA versions");
  return { driver: library.result[0]!, runtime: library.result[1]! };
}

/** The value of a `cudaDeviceAttr`; `undefined` when this driver or device has no such one. */
export function deviceAttribute(
  library: NativeLibrary,
  device: number,
  attribute: number,
): number | undefined {
  const action = "read a device attribute";
  const status = library.symbols.gs_device_attribute(
    checkInt32(device, "device", action),
    checkInt32(attribute, "attribute", action),
    library.result,
  );
  if (UNKNOWN_ATTRIBUTE.includes(status)) return undefined;
  check(library, status, action, device);
  return library.result[0]!;
}

type DeviceTextSymbol = "gs_device_name" | "gs_device_bus" | "gs_device_uuid";

function deviceText(
  library: NativeLibrary,
  symbol: DeviceTextSymbol,
  device: number,
  action: string,
): string {
  checkInt32(device, "device", action);
  const { status, text } = readText((bytes, capacity) =>
    library.symbols[symbol](device, bytes, capacity)
  );
  check(library, status, action, device);
  return text;
}

/** The marketing name. */
export function deviceName(library: NativeLibrary, device: number): string {
  return deviceText(library, "gs_device_name", device, "read the device's name");
}

/** The PCI bus id, such as `0000:01:00.0`. */
export function deviceBusId(library: NativeLibrary, device: number): string {
  return deviceText(library, "gs_device_bus", device, "read the device's PCI bus id");
}

/** The uuid, such as `GPU-01234567-89ab-cdef-0123-456789abcdef`. */
export function deviceUuid(library: NativeLibrary, device: number): string {
  return deviceText(library, "gs_device_uuid", device, "read the device's uuid");
}

/** Total memory in bytes. */
export function deviceCapacity(library: NativeLibrary, device: number): number {
  const action = "read the device's total memory";
  checkInt32(device, "device", action);
  check(library, library.symbols.gs_device_capacity(device, library.result), action, device);
  return library.result[0]!;
}

/** Free memory in bytes as NVML tells it, without a context; `undefined` where it does not. */
export function observedFreeMemory(library: NativeLibrary, device: number): number | undefined {
  checkInt32(device, "device", "observe the device's memory");
  const status = library.symbols.gs_device_observe(device, library.result);
  return status === 0 ? library.result[0]! : undefined;
}

/** Creates the device's context. */
export function openDeviceContextNative(library: NativeLibrary, device: number): void {
  const action = `open device ${library.kind}:${device}`;
  checkInt32(device, "device", action);
  check(library, library.symbols.gs_device_open(device), action, device);
}

/** Free and total memory in bytes of an opened device. */
export function deviceMemory(
  library: NativeLibrary,
  device: number,
): { free: number; total: number } {
  const action = "read the device's free memory";
  checkInt32(device, "device", action);
  check(library, library.symbols.gs_device_memory(device, library.result), action, device);
  return { free: library.result[0]!, total: library.result[1]! };
}

/** Waits, blocking this thread, for all work of the device. */
export function synchronizeDeviceSync(library: NativeLibrary, device: number): void {
  const action = "wait for the device";
  checkInt32(device, "device", action);
  check(library, library.symbols.gs_device_synchronize(device), action, device);
}

/** Waits for all work of the device without blocking the event loop. */
export async function synchronizeDevice(library: NativeLibrary, device: number): Promise<void> {
  const action = "wait for the device";
  checkInt32(device, "device", action);
  const status = await library.symbols.gs_device_synchronize_async(device);
  if (status !== 0) {
    throw statusError(library, status, { action, device, call: LAST_CALL_SYNCHRONIZE });
  }
}

/** Whether `device` can address the memory of `peer`. */
export function canAccessPeer(library: NativeLibrary, device: number, peer: number): boolean {
  const action = "ask for peer access";
  checkInt32(device, "device", action);
  checkInt32(peer, "peer", action);
  check(library, library.symbols.gs_device_peer(device, peer, library.result), action, device);
  return library.result[0] === 1;
}

/** Lets `device` address the memory of `peer`. */
export function enablePeerAccess(library: NativeLibrary, device: number, peer: number): void {
  const action = `enable peer access to device ${peer}`;
  checkInt32(device, "device", action);
  checkInt32(peer, "peer", action);
  check(library, library.symbols.gs_device_join(device, peer), action, device);
}

/** Live native resources of the process. */
export interface ResourceTally {
  /** Allocations made and not freed. */
  readonly allocations: number;
  /** Their bytes. */
  readonly allocatedBytes: number;
  /** Streams created and not destroyed. */
  readonly streams: number;
  /** Events created and not destroyed. */
  readonly events: number;
  /** Pinned slabs registered and not released. */
  readonly pinnedSlabs: number;
  /** Their bytes. */
  readonly pinnedBytes: number;
  /** Ranges of addresses reserved and not released. */
  readonly reservations: number;
  /** Bytes mapped in them. */
  readonly mappedBytes: number;
  /** Graphs that are ready to be launched. */
  readonly graphs: number;
  /** Files opened and not closed. */
  readonly files: number;
  /** Modules created and not given back. */
  readonly modules: number;
  /** Programs for NVRTC that are not forgotten. */
  readonly programs: number;
}

/** Counts the live native resources of the process, over all isolates. */
export function resourceTally(library: NativeLibrary): ResourceTally {
  const { result } = library;
  check(library, library.symbols.gs_resource_tally(result), "count the live resources");
  return {
    allocations: result[0]!,
    allocatedBytes: result[1]!,
    streams: result[2]!,
    events: result[3]!,
    pinnedSlabs: result[4]!,
    pinnedBytes: result[5]!,
    reservations: result[6]!,
    mappedBytes: result[7]!,
    graphs: result[8]!,
    files: result[9]!,
    modules: result[10]!,
    programs: result[11]!,
  };
}
