/**
 * Selection and opening of devices.
 *
 * @module
 */

import { requireInteger, requireOptions } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import { doctorCommand } from "../ffi/locate.ts";
import { limitKernelTime, openDeviceContextNative } from "../ffi/native_device.ts";
import { DeviceContext, labelOf } from "../hardware/device_context.ts";
import type { DeviceInfo } from "../hardware/device_information.ts";
import {
  cudaLibrary,
  cudaPresence,
  environment,
  fakeSetting,
  freeMemoryWithoutOpening,
  hostLibrary,
  listDevices,
  listDevicesOf,
} from "../hardware/device_list.ts";
import { MAX_KERNEL_TIMEOUT } from "../hardware/environment.ts";
import {
  bestDevice as chooseBest,
  type DeviceKind,
  deviceLabel,
  type DeviceSelector,
  parseDeviceSelector,
} from "../hardware/selection.ts";
import { openPool } from "../memory/pool/device_pools.ts";
import type { MemoryPoolOptions } from "../memory/pool/pool_options.ts";
import { logger } from "../ffi/logging.ts";
import { Device } from "./device.ts";

/**
 * Thrown if there is no such device.
 * @category Devices
 */
export class NoDeviceError extends Error {
  /** The name of the class in printed errors. */
  override readonly name: string = "NoDeviceError";
}

function candidates(devices: readonly DeviceInfo[]) {
  return devices.map((info) => ({
    kind: info.kind,
    ordinal: info.ordinal,
    totalMemory: info.totalMemory,
    freeMemory: freeMemoryWithoutOpening(info),
    computeCapability: info.computeCapability,
    multiprocessorCount: info.multiprocessorCount,
    info,
  }));
}

/**
 * The best device: real GPUs before host devices, then most free memory, then the newest compute
 * capability, then the most multiprocessors. Opens no device.
 *
 * @param kind The kind to choose from; both by default.
 * @throws {NoDeviceError} If there is no device.
 * @throws {LibraryNotFoundError} If the native library is not built: that of `kind`, if it is given.
 * @throws {RangeError} If `kind` is not a kind of device.
 *
 * @example
 * ```ts
 * import { bestDevice } from "@gridstride/cuda";
 *
 * const { info, reason } = bestDevice();
 * console.log(info.name, reason);
 * ```
 * @category Devices
 */
export function bestDevice(kind?: DeviceKind): {
  /** The device. */
  readonly info: DeviceInfo;
  /** The compared memory: `"total"` if free memory is unknown. */
  readonly memoryBasis: "free" | "total";
  /** The reason in a sentence. */
  readonly reason: string;
} {
  if (kind !== undefined && kind !== "cuda" && kind !== "host") {
    throw new RangeError(
      `Cannot choose a device as kind must be "cuda" or "host": it is ${describeValue(kind)}`,
    );
  }
  const devices = kind === undefined ? listDevices() : listDevicesOf(kind);
  const choice = chooseBest(candidates(devices));
  if (choice === undefined) throw new NoDeviceError(absence(kind));
  return {
    info: choice.device.info,
    memoryBasis: choice.memoryBasis,
    reason: choice.reason,
  };
}

/** The reason why there is no device of a kind, and the remedy. */
function absence(kind: DeviceKind | undefined): string {
  const fake = environment.read("GRIDSTRIDE_FAKE");
  const hidden = fake === undefined ? "" : `: GRIDSTRIDE_FAKE=${fake} hides the real ones`;
  if (kind === undefined) return `Cannot open a device as there is none${hidden}`;
  if (kind === "host") return `Cannot open a host device as there is none${hidden}`;
  if (hidden !== "") return `Cannot open a cuda device as there is none${hidden}`;
  const { status } = cudaPresence();
  const cause = status === 0
    ? "CUDA sees no device"
    : `counting devices returned CUDA code ${status}`;
  return `Cannot open a cuda device as there is none: ${cause}. Run ${doctorCommand()}`;
}

function select(selector: DeviceSelector): DeviceInfo {
  const { kind, ordinal } = selector;
  if (ordinal === undefined) return bestDevice(kind).info;
  const devices = listDevicesOf(kind);
  const found = devices.find((info) => info.ordinal === ordinal);
  if (found !== undefined) return found;
  if (devices.length === 0) throw new NoDeviceError(absence(kind));
  throw new NoDeviceError(
    `Cannot open ${deviceLabel(kind, ordinal)} as the ordinal must be in 0..${
      devices.length - 1
    }: it is ${ordinal}`,
  );
}

/**
 * Options of {@linkcode openDevice}.
 * @category Devices
 */
export interface OpenDeviceOptions {
  /**
   * Options of the device's default pool. If absent, the first allocation makes the pool with the
   * options of the environment.
   */
  readonly memory?: MemoryPoolOptions;
  /**
   * Milliseconds that a kernel of a host device may run: 1 to 2^31 - 1, or `Infinity`. If absent,
   * `GRIDSTRIDE_KERNEL_TIMEOUT`, or else the device's current limit, which is ten minutes at first:
   * a kernel that runs longer probably never ends. Holds for all later launches on the device in this
   * process. A launch beyond the limit fails with `cudaErrorLaunchTimeout` and loses the device.
   * Outside Linux the limit ends nothing: such a kernel runs on.
   *
   * On a GPU the option changes nothing: a single kernel cannot be ended there. Only the driver of a
   * GPU that drives a display has a limit; the attribute `kernelExecTimeout` is 1 then.
   */
  readonly kernelTimeout?: number;
}

/** Sets the time limit of kernels; 0 for none. */
function limitTime(context: DeviceContext, timeout: number | undefined): void {
  const limit = timeout ?? environment.kernelTimeout;
  if (limit === undefined || context.library.kind === "cuda") return;
  limitKernelTime(context.library, context.ordinal, limit === Infinity ? 0 : limit);
}

function open(info: DeviceInfo, { memory, kernelTimeout }: OpenDeviceOptions): Device {
  const library = info.kind === "cuda" ? cudaLibrary() : hostLibrary();
  openDeviceContextNative(library, info.ordinal);
  const context = new DeviceContext(library, info.ordinal, info);
  try {
    limitTime(context, kernelTimeout);
    if (memory !== undefined) openPool(context, memory);
    return new Device(context);
  } finally {
    context.release(); // the device holds the context now
  }
}

/**
 * The device that `openDevice()` opens by default: `GRIDSTRIDE_DEVICE`, or else the best device. Opens
 * no device.
 *
 * @throws {NoDeviceError} If there is no such device.
 * @throws {LibraryNotFoundError} If the native library is not built.
 * @throws {EnvironmentError} If an environment variable is malformed.
 *
 * @example
 * ```ts
 * import { defaultDevice } from "@gridstride/cuda";
 *
 * console.log(defaultDevice().name);
 * ```
 * @category Devices
 */
export function defaultDevice(): DeviceInfo {
  fakeSetting();
  const wanted = environment.device;
  return wanted === undefined ? bestDevice().info : select(wanted);
}

/**
 * Opens the selected device, the device of `GRIDSTRIDE_DEVICE`, or the best device: the best GPU, or
 * the host device if there is no GPU.
 *
 * @param selector `"cuda"`, `"cuda:1"`, `"host"` or `"host:0"`. Without an ordinal, the best device of the kind.
 * @param options Options of the device's memory and kernels.
 * @throws {NoDeviceError} If there is no such device.
 * @throws {RangeError} If the selector is malformed, or an option is out of range.
 * @throws {TypeError} If an option is of the wrong type, or unknown.
 * @throws {OutOfMemoryError} If there is no room for the memory to preallocate.
 * @throws {EnvironmentError} If an environment variable is malformed.
 * @throws {LibraryNotFoundError} If the native library is not built: that of the selected kind, if
 * there is one. The error contains the build command.
 *
 * @example
 * ```ts
 * import { openDevice } from "@gridstride/cuda";
 *
 * using device = openDevice();
 * console.log(device.label, device.info.name);
 * ```
 * @category Devices
 */
export function openDevice(selector?: string, options: OpenDeviceOptions = {}): Device {
  fakeSetting();
  requireOptions(options, ["memory", "kernelTimeout"], "open a device");
  const { kernelTimeout = Infinity } = options;
  if (kernelTimeout !== Infinity) {
    requireInteger(
      kernelTimeout,
      "options.kernelTimeout",
      "open a device",
      1,
      MAX_KERNEL_TIMEOUT,
    );
  }
  const info = selector === undefined ? defaultDevice() : select(parseDeviceSelector(selector));
  const device = open(info, options);
  logger("device").info("opened {label}: {name}, {memory}", () => ({
    label: labelOf(device),
    name: info.name,
    memory: device.memoryInfo(),
  }));
  return device;
}
