/**
 * The public detection of backends, and the check whether CUDA can be used on this machine.
 *
 * @module
 */

import type { LibraryNotFoundError } from "../ffi/locate.ts";
import { deviceVersions } from "../ffi/native_device.ts";
import { detectBackends as detect, type DetectionOptions, summary } from "./backends.ts";
import { cudaObstacle, type NativeCudaState } from "./cuda_backend.ts";
import { cudaPresence, environment } from "./device_list.ts";
import { FAKE_VARIABLE, fakeDevices, type FakeSetting } from "./fake_topology.ts";
import type { BackendReport } from "./probe.ts";

type PreflightResult = Awaited<ReturnType<typeof preflight>>;

function nativeState(): NativeCudaState {
  const { library, error, status, count } = cudaPresence();
  if (library !== undefined) {
    const { driver: driverVersion, runtime: runtimeVersion } = deviceVersions(library);
    return { kind: "queried", status, deviceCount: count, driverVersion, runtimeVersion };
  }
  const denied = error?.attempts.find(({ reason }) => reason.includes("--allow-ffi"));
  if (denied !== undefined) return { kind: "permission", detail: denied.reason };
  return { kind: "no-library", detail: (error as LibraryNotFoundError).message };
}

function options(): DetectionOptions {
  return { cuda: nativeState, cudaHome: environment.cudaHome, fake: environment.fake };
}

/**
 * Detects CUDA, ROCm, Metal and WebGPU on this machine, with the evidence for each. Never prompts for
 * a permission: a probe without permission is reported as denied.
 *
 * @returns One report per backend, in the order `cuda`, `rocm`, `metal`, `webgpu`.
 * @throws {EnvironmentError} If `GRIDSTRIDE_FAKE` is malformed.
 *
 * @example
 * ```ts
 * import { detectBackends } from "@gridstride/cuda";
 *
 * for (const { backend, available } of await detectBackends()) console.log(backend, available);
 * ```
 */
export async function detectBackends(): Promise<BackendReport[]> {
  return await detect(options());
}

/**
 * Checks whether CUDA can be used here and, if not, distinguishes the reasons: no library, no driver,
 * a driver too old, no device, a missing permission.
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
export async function preflight(): Promise<
  | {
    /** CUDA, or the fake that replaces it, can be used. */
    readonly ok: true;
    /** The available backends in one line; a fake is labelled. */
    readonly summary: string;
  }
  | {
    /** CUDA cannot be used. */
    readonly ok: false;
    /** The cause, for programs. */
    readonly code:
      | "no-library"
      | "permission"
      | "no-driver"
      | "driver-too-old"
      | "no-device"
      | "driver-error"
      | "fake-refused";
    /** The cause in one sentence. */
    readonly reason: string;
    /** The remedy, in one or two sentences. */
    readonly fix: string;
    /** The other backends of the machine in one line. */
    readonly summary: string;
  }
> {
  return await checkCuda(options(), environment.strict);
}

/** The check with the inputs of detection; `strict` refuses a fake. */
export async function checkCuda(
  options: DetectionOptions,
  strict: boolean,
): Promise<PreflightResult> {
  const reports = await detect(options);
  const line = summary(reports);
  if (options.fake !== undefined) return checkFake(options.fake, strict, line);
  const obstacle = cudaObstacle(options.cuda());
  return obstacle === undefined
    ? { ok: true, summary: line }
    : { ok: false, ...obstacle, summary: line };
}

function checkFake(fake: FakeSetting, strict: boolean, line: string): PreflightResult {
  if (strict) {
    return {
      ok: false,
      code: "fake-refused",
      reason: `${FAKE_VARIABLE} is set and GRIDSTRIDE_STRICT=1 refuses fakes`,
      fix: `Unset ${FAKE_VARIABLE} or GRIDSTRIDE_STRICT.`,
      summary: line,
    };
  }
  const count = fakeDevices(fake).length;
  if (count > 0) {
    return { ok: true, summary: `${count} fake device(s) of ${FAKE_VARIABLE}; ${line}` };
  }
  return {
    ok: false,
    code: "no-device",
    reason: `${FAKE_VARIABLE} shows no device`,
    fix: `Unset ${FAKE_VARIABLE}, or name devices in it.`,
    summary: line,
  };
}
