/**
 * Fallback of single operations to another device.
 *
 * @module
 */

import { requireInstance, requireOptions } from "../ffi/arguments.ts";
import { CudaError, OutOfMemoryError } from "../ffi/cuda_error.ts";
import { describeValue } from "../ffi/describe_value.ts";
import { displayAs } from "../ffi/display.ts";
import { logger } from "../ffi/logging.ts";
import { labelOf } from "../hardware/device_context.ts";
import { CompilerUnavailableError } from "../launch/compile/compile_error.ts";
import { hostVectors } from "../tensor/kit/expression/vector_set.ts";
import { storageOf, Tensor } from "../tensor/tensor.ts";
import { Device } from "./device.ts";
import { DeviceStatistics, OperationRecorder, type Provider } from "./device_statistics.ts";
import { openDevice } from "./open_device.ts";

/** The reason for a fallback. */
type Reason = "out of memory" | "missing capability" | "launch failure" | "lost device";

/**
 * Statuses of devices that lack a driver, an instruction or a feature: stub library, insufficient
 * driver, invalid device function, no device, no kernel image, PTX that is invalid or too new, no JIT
 * compiler, not supported, system not ready or mismatched, and `GS_ERROR_UNSUPPORTED`.
 */
const MISSING = new Set([34, 35, 98, 100, 209, 218, 221, 222, 223, 801, 802, 803, 804, 811, -7]);

/**
 * Statuses of launches that fail for reasons of the device: initialization, devices unavailable, a
 * prior launch, an uncorrectable error of memory or NVLink, the operating system, resources, time
 * limit, an unspecified launch failure, an external device. Faults of kernels, such as illegal
 * addresses, are programming errors.
 */
const LAUNCH_FAILURES = new Set([3, 46, 53, 214, 220, 304, 701, 702, 719, 911]);

/** The reason to repeat a failed operation elsewhere; undefined for programming errors. */
function reasonOf(error: unknown, wasLost: boolean): Reason | undefined {
  if (error instanceof CompilerUnavailableError) return "missing capability";
  if (!(error instanceof CudaError)) return undefined;
  if (error instanceof OutOfMemoryError || error.code === 2) return "out of memory";
  if (MISSING.has(error.code)) return "missing capability";
  if (wasLost && error.sticky) return "lost device";
  return LAUNCH_FAILURES.has(error.code) ? "launch failure" : undefined;
}

/** Awaits an operation, and the work on a tensor that it returns, because launches fail later. */
async function completed<Result>(running: Result): Promise<Awaited<Result>> {
  const result = await running;
  if (result instanceof Tensor) {
    await result.ready();
    await storageOf(result).stream.done();
  }
  return result;
}

/**
 * Runs operations on a device, and those that fail there for reasons of the device on another. The
 * reasons are memory, a missing capability or compiler, a failed launch, and a device that an earlier
 * fault has lost. Each fallback is counted, and logged as a warning of the category `device`. All
 * other errors are thrown: wrong arguments, sources that do not compile, faults of kernels.
 *
 * @example
 * ```ts
 * import { DeviceFallback, fromTypedArray } from "@gridstride/cuda/tensor";
 *
 * using runner = new DeviceFallback(); // the best GPU and, when that fails, the host device
 * const data = new Float32Array([1, 2, 3]);
 * const squares = await runner.run("square", async (device) => {
 *   using x = fromTypedArray(data, [3], { device });
 *   using y = x.square();
 *   return await y.toArray();
 * });
 * console.log(squares, runner.stats().fallbackCount); // Float32Array(3) [ 1, 4, 9 ] 0
 * ```
 * @category Devices
 */
export class DeviceFallback implements Disposable {
  /** The device of all operations that do not fail there. */
  readonly device: Device;
  #fallback: Device | undefined;
  readonly #mayOpen: boolean;
  readonly #opened: Device[] = [];
  readonly #recorder = new OperationRecorder();

  /**
   * Chooses the devices. Devices that it opens itself end with it.
   *
   * @param options `device` is by default the one that `openDevice()` opens. `fallback` is by default
   * the host device if `device` is a GPU, opened by the first fallback; `null` for none.
   * @throws {TypeError} If an option is not a device, or both are the same.
   * @throws {NoDeviceError} If there is no device.
   */
  constructor(
    options: { readonly device?: Device; readonly fallback?: Device | null } = {},
  ) {
    const action = "choose devices";
    requireOptions(options, ["device", "fallback"], action);
    const { device, fallback } = options;
    if (device !== undefined) requireInstance(device, Device, "options.device", action);
    if (fallback != null) requireInstance(fallback, Device, "options.fallback", action);
    if (device !== undefined && device === fallback) {
      throw new TypeError(
        `Cannot ${action} as options.fallback must be another device than options.device: both are ${device.label}`,
      );
    }
    this.device = device ?? openDevice();
    if (device === undefined) this.#opened.push(this.device);
    this.#fallback = fallback ?? undefined;
    this.#mayOpen = fallback === undefined && this.device.info.kind === "cuda";
  }

  /** The instructions that the device runs: `"cuda"`, or the vector instructions of the processor. */
  get provider(): Provider {
    if (this.device.info.kind === "cuda") return "cuda";
    const vectors = hostVectors();
    return vectors === "avx512-vnni" ? "avx512" : vectors;
  }

  /**
   * Runs an operation on the device, or else on the fallback.
   *
   * @param kind The name of the operation in the statistics, such as `"matmul"`.
   * @param operation Makes its tensors and buffers on the device that it is passed, and resolves with
   * a result. A failed attempt is repeated from the start, so it changes nothing else before that. A
   * tensor as result is awaited, and lies on the device that computed it.
   * @throws What the operation throws. If the fallback fails too, its error, with the first one as its
   * `cause`.
   */
  async run<Result>(
    kind: string,
    operation: (device: Device) => Result,
  ): Promise<Awaited<Result>> {
    const action = "run an operation";
    if (typeof kind !== "string" || typeof operation !== "function") {
      throw new TypeError(
        `Cannot ${action} as kind must be a string and operation a function: they are ${
          describeValue(kind)
        } and ${describeValue(operation)}`,
      );
    }
    const end = this.#recorder.begin();
    try {
      const { device, result } = await this.#attempt(kind, operation);
      this.#recorder.complete(kind, device.info.kind, end());
      return result;
    } catch (error) {
      end();
      throw error;
    }
  }

  /** Runs an operation on the device, or else on the fallback, which it returns as well. */
  async #attempt<Result>(
    kind: string,
    operation: (device: Device) => Result,
  ): Promise<{ readonly device: Device; readonly result: Awaited<Result> }> {
    const { device } = this;
    const { library, ordinal } = device.context;
    const wasLost = library.lostDevices.has(ordinal);
    try {
      return { device, result: await completed(operation(device)) };
    } catch (error) {
      const reason = this.#note(device, error, wasLost);
      const fallback = reason && this.#openFallback();
      if (fallback === undefined) throw error;
      this.#recorder.fallbackCount++;
      logger("device").warn("{kind} falls back from {device} to {fallback}: {reason}: {error}", {
        kind,
        device: labelOf(device),
        fallback: labelOf(fallback),
        reason,
        error,
      });
      return { device: fallback, result: await this.#repeat(fallback, operation, error) };
    }
  }

  /** Records a failure that is one of a device, and returns the reason. */
  #note(device: Device, error: unknown, wasLost: boolean): Reason | undefined {
    const reason = reasonOf(error, wasLost);
    if (reason !== undefined) {
      this.#recorder.lastErrors[device.info.kind] = (error as Error).message;
    }
    return reason;
  }

  async #repeat<Result>(
    fallback: Device,
    operation: (device: Device) => Result,
    first: unknown,
  ): Promise<Awaited<Result>> {
    try {
      return await completed(operation(fallback));
    } catch (error) {
      this.#note(fallback, error, false);
      if (error instanceof Error) error.cause ??= first;
      throw error;
    }
  }

  /** The fallback; undefined if there is none, or it cannot be opened. */
  #openFallback(): Device | undefined {
    if (this.#fallback !== undefined || !this.#mayOpen) return this.#fallback;
    try {
      this.#opened.push(this.#fallback = openDevice("host"));
    } catch (error) {
      logger("device").error("cannot fall back to the host device: {error}", { error });
    }
    return this.#fallback;
  }

  /** The statistics of all operations so far. */
  stats(): DeviceStatistics {
    const fallback = this.#fallback === undefined
      ? this.#mayOpen ? "host" : undefined
      : labelOf(this.#fallback);
    return new DeviceStatistics(labelOf(this.device), fallback, this.provider, this.#recorder);
  }

  /** Releases the devices that it has opened itself. */
  [Symbol.dispose](): void {
    for (const device of this.#opened.splice(0)) device[Symbol.dispose]();
  }
}

displayAs(DeviceFallback.prototype, "DeviceFallback", {
  summary: (runner) => runner.stats().summary(),
});
