/**
 * Lists devices, real, host and fake, without opening any of them.
 *
 * @module
 */

import type { NativeLibrary } from "../ffi/library.ts";
import { LibraryNotFoundError } from "../ffi/locate.ts";
import {
  countDevices,
  deviceAttribute,
  deviceBusId,
  deviceCapacity,
  deviceCountStatus,
  deviceMemory,
  deviceName,
  deviceUuid,
  deviceVersions,
  observedFreeMemory,
  setTopology,
} from "../ffi/native_device.ts";
import { openLibrary } from "../ffi/open_library.ts";
import { EnvironmentError } from "../ffi/granted_environment.ts";
import { configureLogging, logger } from "../ffi/logging.ts";
import { type DeviceInfo, deviceInformation } from "./device_information.ts";
import { Environment } from "./environment.ts";
import { FAKE_VARIABLE, fakeDevices, type FakeSetting, hostTopology } from "./fake_topology.ts";
import type { DeviceKind } from "./selection.ts";

/** The process's environment variables: one instance, which collects denied ones for `doctor`. */
export const environment: Environment = new Environment();

/** The setting of `GRIDSTRIDE_FAKE`. */
export function fakeSetting(): FakeSetting | undefined {
  const setting = environment.fake;
  if (setting !== undefined && environment.strict) {
    throw new EnvironmentError(
      FAKE_VARIABLE,
      environment.read(FAKE_VARIABLE) ?? "",
      "unset, because GRIDSTRIDE_STRICT=1 refuses fakes",
    );
  }
  return setting;
}

/**
 * Reads every variable once: a malformed one is an error even if this call does not depend on it,
 * because the native libraries would silently ignore theirs.
 */
export function checkEnvironment(): void {
  void environment.library;
  void environment.cacheDirectory;
  void environment.cacheSize;
  void environment.strict;
  void environment.device;
  void environment.visibleDevices;
  void environment.deviceOrder;
  void environment.launchBlocking;
  void environment.hostThreads;
  void environment.hostOrder;
  void environment.memoryFraction;
  void environment.memoryPoolSize;
  void environment.memoryPoolTrim;
  configureLogging(environment.log);
}

let prepared: NativeLibrary | undefined;

/** The host library, with the fake devices if there are any. */
export function hostLibrary(): NativeLibrary {
  checkEnvironment();
  if (prepared !== undefined) return prepared;
  const library = openLibrary("host");
  const setting = fakeSetting();
  const devices = setting === undefined ? [] : fakeDevices(setting);
  if (devices.length > 0) setTopology(library, hostTopology(devices), devices.length);
  prepared = library;
  return library;
}

/** The CUDA library. */
export function cudaLibrary(): NativeLibrary {
  checkEnvironment();
  return openLibrary("cuda");
}

/** The number of real GPUs, and the CUDA code that explains why there are none. */
export interface CudaPresence {
  readonly library?: NativeLibrary;
  /** The reason for which the library could not be opened. */
  readonly error?: LibraryNotFoundError;
  /** The status of counting devices; 0 or a CUDA code such as 35, driver insufficient. */
  readonly status: number;
  readonly count: number;
}

/** Counts real GPUs, regardless of `GRIDSTRIDE_FAKE`. */
export function cudaPresence(): CudaPresence {
  try {
    const library = cudaLibrary();
    return { library, ...deviceCountStatus(library) };
  } catch (error) {
    if (error instanceof LibraryNotFoundError) return { error, status: 0, count: 0 };
    throw error;
  }
}

/**
 * Whether there is a real NVIDIA GPU that this process can use. A fake does not count, and while
 * `GRIDSTRIDE_FAKE` is set real GPUs are hidden.
 *
 * @example
 * ```ts
 * import { cudaAvailable } from "@gridstride/cuda";
 *
 * console.log(cudaAvailable() ? "CUDA" : "the host device");
 * ```
 * @category Devices
 */
export function cudaAvailable(): boolean {
  return fakeSetting() === undefined && cudaPresence().count > 0;
}

/** Describes one device of a library without opening it. */
export function describeDevice(library: NativeLibrary, ordinal: number): DeviceInfo {
  const { driver, runtime } = deviceVersions(library);
  return deviceInformation({
    attribute: (id) => deviceAttribute(library, ordinal, id),
    name: deviceName(library, ordinal),
    uuid: deviceUuid(library, ordinal),
    pciBusId: deviceBusId(library, ordinal),
    totalMemory: deviceCapacity(library, ordinal),
    driverVersion: library.kind === "host" ? 0 : driver,
    runtimeVersion: runtime,
  }, { kind: library.kind, fake: isFake(library.kind), ordinal });
}

function isFake(kind: DeviceKind): boolean {
  if (kind === "cuda") return false;
  const setting = fakeSetting();
  return setting !== undefined && fakeDevices(setting).length > 0;
}

function devicesOf(library: NativeLibrary): DeviceInfo[] {
  return Array.from(
    { length: countDevices(library) },
    (_, ordinal) => describeDevice(library, ordinal),
  );
}

/**
 * Lists all devices: real GPUs first, then the host device; if `GRIDSTRIDE_FAKE` is set, exactly the
 * fakes it names. Opens no device and creates no CUDA context.
 *
 * @throws {EnvironmentError} If an environment variable is malformed.
 * @throws {LibraryNotFoundError} If the native library is not built.
 * @throws {CudaError} If a device cannot be described.
 *
 * @example
 * ```ts
 * import { listDevices } from "@gridstride/cuda";
 *
 * for (const { kind, ordinal, name } of listDevices()) console.log(`${kind}:${ordinal} ${name}`);
 * ```
 * @category Devices
 */
export function listDevices(): DeviceInfo[] {
  const setting = fakeSetting();
  if (setting?.kind === "none") return [];
  if (setting !== undefined) return devicesOf(hostLibrary());
  const cuda = cudaPresence();
  const gpus = cuda.library === undefined || cuda.count === 0 ? [] : devicesOf(cuda.library);
  try {
    return [...gpus, ...devicesOf(hostLibrary())];
  } catch (error) {
    // A missing host library is no reason to hide a GPU.
    if (gpus.length === 0 || !(error instanceof LibraryNotFoundError)) throw error;
    logger("hardware").debug("no host device: {error}", { error: error.message });
    return gpus;
  }
}

/**
 * The devices of one kind, without a look at the library of the other kind: its absence, or a
 * missing permission for it, is of no concern then.
 *
 * @throws {LibraryNotFoundError} If the native library of the kind cannot be opened.
 */
export function listDevicesOf(kind: DeviceKind): DeviceInfo[] {
  const setting = fakeSetting();
  if (setting?.kind === "none" || (setting !== undefined && kind === "cuda")) return [];
  if (kind === "host") return devicesOf(hostLibrary());
  const { library, error, count } = cudaPresence();
  if (error !== undefined) throw error;
  return count === 0 ? [] : devicesOf(library!);
}

/**
 * The number of devices that {@linkcode listDevices} lists.
 *
 * @example
 * ```ts
 * import { deviceCount, listDevices } from "@gridstride/cuda";
 *
 * console.log(deviceCount() === listDevices().length); // true
 * ```
 * @category Devices
 */
export function deviceCount(): number {
  return listDevices().length;
}

/**
 * Free memory of a device that may not be open: of a GPU from NVML, `undefined` if NVML does not
 * report it; of a host device, which needs no context, the current value.
 */
export function freeMemoryWithoutOpening(info: DeviceInfo): number | undefined {
  return info.kind === "cuda"
    ? observedFreeMemory(cudaLibrary(), info.ordinal)
    : deviceMemory(hostLibrary(), info.ordinal).free;
}
