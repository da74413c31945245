/**
 * Detection and preflight on this machine: the public functions.
 *
 * @module
 */

import type { LibraryNotFoundError } from "../ffi/locate.ts";
import { deviceVersions } from "../ffi/native_device.ts";
import { type BackendReport, detectBackends as detect, type DetectionOptions } from "./backends.ts";
import type { NativeCudaProbe, NativeCudaState } from "./cuda_driver_state.ts";
import { cudaPresence, environment } from "./device_list.ts";
import { preflight as check, type PreflightResult } from "./preflight.ts";

function state(): NativeCudaState {
  const { library, error, status, count } = cudaPresence();
  if (library !== undefined) {
    const { driver, runtime } = deviceVersions(library);
    return {
      kind: "asked",
      status,
      deviceCount: count,
      driverVersion: driver,
      runtimeVersion: runtime,
    };
  }
  const attempts = error?.attempts ?? [];
  const denied = attempts.find(({ reason }) => reason.includes("--allow-ffi"));
  if (denied !== undefined) return { kind: "permission", detail: denied.reason };
  return { kind: "no-library", detail: (error as LibraryNotFoundError).message };
}

/** Asks the native CUDA library of this process. */
const NATIVE_CUDA: NativeCudaProbe = { state };

function options(): DetectionOptions {
  return { cuda: NATIVE_CUDA, cudaHome: environment.cudaHome, fake: environment.fake };
}

/**
 * Looks for CUDA, ROCm, Metal and WebGPU on this machine and says what it looked at.
 * Never prompts for a permission: what may not be looked at is reported as denied.
 *
 * @returns One report per backend, in the order `cuda`, `rocm`, `metal`, `webgpu`.
 * @throws {EnvironmentError} If `GRIDSTRIDE_FAKE` is malformed.
 *
 * @example
 * ```ts
 * import { backendSummary, detectBackends } from "@gridstride/cuda";
 *
 * console.log(backendSummary(await detectBackends()));
 * ```
 */
export async function detectBackends(): Promise<BackendReport[]> {
  return await detect(options());
}

/**
 * Checks whether CUDA can be used here and, if not, tells apart: no library, no driver, a driver
 * too old, no device, a missing permission.
 *
 * @throws {EnvironmentError} If an environment variable is malformed.
 *
 * @example
 * ```ts
 * import { preflight } from "@gridstride/cuda";
 *
 * const result = await preflight();
 * if (!result.ok) console.error(result.reason, result.fix);
 * ```
 */
export async function preflight(): Promise<PreflightResult> {
  return await check({ ...options(), strict: environment.strict });
}
