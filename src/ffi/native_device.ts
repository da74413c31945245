/**
 * Devices, the live resources of the process, and its output.
 *
 * @module
 */

import { call, callInTurn, callStatus, callText, check, statusError } from "./check.ts";
import type { NativeLibrary } from "./library.ts";

/** CUDA's codes for an attribute that is unknown to the driver or the device. */
const UNKNOWN_ATTRIBUTE: readonly number[] = [1, 801];
/** `cudaErrorNoDevice`. */
const NO_DEVICE = 100;

/** The number of devices; a CUDA code other than 0 gives the reason why there are none. */
export function deviceCountStatus(library: NativeLibrary): { status: number; count: number } {
  const status = callStatus(library, "gs_device_count", "count the devices");
  return { status, count: status === 0 ? library.result[0]! : 0 };
}

/** The number of devices. */
export function countDevices(library: NativeLibrary): number {
  const { status, count } = deviceCountStatus(library);
  if (status !== NO_DEVICE) check(library, status, "count the devices");
  return count;
}

/** Sets the fake devices of the host library; `gs_topology_set` describes the records. */
export function setTopology(
  library: NativeLibrary,
  records: Float64Array<ArrayBuffer>,
  count: number,
): void {
  call(library, "gs_topology_set", { action: "set the fake devices" }, records, count);
}

/** CUDA's numbers of the driver and runtime versions: 13000 is 13.0; 0 without a driver. */
export function deviceVersions(library: NativeLibrary): { driver: number; runtime: number } {
  const [driver, runtime] = call(library, "gs_device_versions", {
    action: "read the CUDA versions",
  });
  return { driver: driver!, runtime: runtime! };
}

/** The value of a `cudaDeviceAttr`; undefined if the driver or device does not have it. */
export function deviceAttribute(
  library: NativeLibrary,
  device: number,
  attribute: number,
): number | undefined {
  const action = "read a device attribute";
  const status = callStatus(library, "gs_device_attribute", action, device, attribute);
  if (UNKNOWN_ATTRIBUTE.includes(status)) return undefined;
  check(library, status, action, device);
  return library.result[0]!;
}

function deviceText(
  library: NativeLibrary,
  name: "gs_device_name" | "gs_device_bus" | "gs_device_uuid",
  device: number,
  action: string,
): string {
  const { status, text } = callText(library, name, action, device);
  check(library, status, action, device);
  return text;
}

export function deviceName(library: NativeLibrary, device: number): string {
  return deviceText(library, "gs_device_name", device, "read the device's name");
}

/** The PCI bus id, such as `0000:01:00.0`. */
export function deviceBusId(library: NativeLibrary, device: number): string {
  return deviceText(library, "gs_device_bus", device, "read the device's PCI bus id");
}

/** The UUID, such as `GPU-01234567-89ab-cdef-0123-456789abcdef`. */
export function deviceUuid(library: NativeLibrary, device: number): string {
  return deviceText(library, "gs_device_uuid", device, "read the device's uuid");
}

export function deviceCapacity(library: NativeLibrary, device: number): number {
  const context = { action: "read the device's total memory", device };
  return call(library, "gs_device_capacity", context, device)[0]!;
}

/** `GS_ERROR_UNSUPPORTED` and `GS_ERROR_SYSTEM`: there is no NVML, or a call of NVML has failed. */
const UNREPORTED = [-7, -13];

/** Free memory in bytes from NVML, without a context; undefined if NVML does not report it. */
export function observedFreeMemory(library: NativeLibrary, device: number): number | undefined {
  const action = "observe the device's memory";
  const status = callStatus(library, "gs_device_observe", action, device);
  if (UNREPORTED.includes(status)) return undefined;
  check(library, status, action, device);
  return library.result[0]!;
}

/** `GS_TELEMETRY_FIELDS`. */
const TELEMETRY_FIELDS = 10;

/** The fields of `gs_device_telemetry`: values, then NVML's code for each. */
export function deviceTelemetryFields(
  library: NativeLibrary,
  device: number,
): Float64Array<ArrayBuffer> {
  const fields = new Float64Array(2 * TELEMETRY_FIELDS);
  const context = { action: "read the device's telemetry", device };
  call(library, "gs_device_telemetry", context, device, fields);
  return fields;
}

export function openDeviceContextNative(library: NativeLibrary, device: number): void {
  const context = { action: `open device ${library.kind}:${device}`, device };
  call(library, "gs_device_open", context, device);
}

export function deviceMemory(
  library: NativeLibrary,
  device: number,
): { free: number; total: number } {
  const context = { action: "read the device's free memory", device };
  const [free, total] = call(library, "gs_device_memory", context, device);
  return { free: free!, total: total! };
}

/** The action of errors. */
export const WAIT_FOR_DEVICE = "wait for the device";

/** Waits, with a blocked thread, for all work of the device. */
export function synchronizeDeviceSync(library: NativeLibrary, device: number): void {
  call(library, "gs_device_synchronize", { action: WAIT_FOR_DEVICE, device }, device);
}

export async function synchronizeDevice(library: NativeLibrary, device: number): Promise<void> {
  const action = WAIT_FOR_DEVICE;
  const status = await callInTurn(
    library,
    "gs_device_synchronize_async",
    action,
    device,
    device,
  );
  if (status === 0) return;
  throw statusError(library, status, { action, device, call: "cudaDeviceSynchronize" });
}

export function canAccessPeer(library: NativeLibrary, device: number, peer: number): boolean {
  const context = { action: "query peer access", device };
  return call(library, "gs_device_peer", context, device, peer)[0] === 1;
}

export function enablePeerAccess(library: NativeLibrary, device: number, peer: number): void {
  const context = { action: `enable peer access to device ${peer}`, device };
  call(library, "gs_device_join", context, device, peer);
}

/** Limits the time of each launch on a device of the host library, in milliseconds; 0 for no limit. */
export function limitKernelTime(library: NativeLibrary, device: number, milliseconds: number) {
  const context = { action: "limit the time of kernels", device };
  call(library, "gs_device_limit", context, device, milliseconds);
}

/** The counters of `gs_resource_tally`, in its order. */
const RESOURCES = [
  "allocations",
  "allocatedBytes",
  "streams",
  "events",
  "pinnedSlabs",
  "pinnedBytes",
  "reservations",
  "mappedBytes",
  "graphs",
  "files",
  "modules",
  "programs",
] as const;

/** Live native resources of the process. */
export type ResourceTally = Readonly<Record<typeof RESOURCES[number], number>>;

/** Counts the live native resources of the process, over all isolates. */
export function resourceTally(library: NativeLibrary): ResourceTally {
  const counts = call(library, "gs_resource_tally", { action: "count the live resources" });
  const entries = RESOURCES.map((name, index) => [name, counts[index]!]);
  return Object.fromEntries(entries) as ResourceTally;
}

/** Redirects stdout of the process to stderr, until all results of this function are disposed. */
export function divertOutput(library: NativeLibrary): Disposable {
  call(library, "gs_output_divert", { action: "send stdout to stderr" }, 1);
  let isDiverted = true;
  return {
    [Symbol.dispose]() {
      if (!isDiverted) return;
      isDiverted = false;
      call(library, "gs_output_divert", { action: "restore stdout" }, 0);
    },
  };
}
