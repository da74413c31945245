/**
 * Detection of CUDA. The driver's version comes from the driver, through the native library; the
 * toolkit's from nvcc. A machine may have either without the other.
 *
 * @module
 */

import { cudaErrorCode } from "../ffi/error_codes.ts";
import { cudaVersionText } from "./device_information.ts";
import {
  type BackendReport,
  commandOutput,
  type Evidence,
  type Finding,
  listing,
  type ProbeRunner,
} from "./probe.ts";

/** The outcome of opening the CUDA library and counting devices. */
export type NativeCudaState =
  /** The library file is nowhere, or cannot be opened. */
  | { readonly kind: "no-library"; readonly detail: string }
  /** The process may not open it. */
  | { readonly kind: "permission"; readonly detail: string }
  | {
    readonly kind: "queried";
    /** The status of counting devices: 0 or a CUDA error code. */
    readonly status: number;
    /** The number of devices; 0 unless the status is 0. */
    readonly deviceCount: number;
    /** Newest CUDA version the driver supports, as CUDA encodes it; 0 without a driver. */
    readonly driverVersion: number;
    /** Version of the CUDA runtime in the library, as CUDA encodes it. */
    readonly runtimeVersion: number;
  };

/** A reason for which CUDA cannot be used, and its remedy; see `PreflightResult`. */
export interface CudaObstacle {
  readonly code:
    | "no-library"
    | "permission"
    | "no-driver"
    | "driver-too-old"
    | "no-device"
    | "driver-error";
  readonly reason: string;
  readonly fix: string;
}

const STUB_LIBRARY = 34;
const INSUFFICIENT_DRIVER = 35;
const NO_DEVICE = 100;

const INSTALL_DRIVER = "Install the NVIDIA driver (on WSL2: on Windows, not inside Linux); in a " +
  "container, start it with the NVIDIA container toolkit and --gpus all.";

/** The obstacle to using CUDA; undefined if there is none. */
export function cudaObstacle(state: NativeCudaState): CudaObstacle | undefined {
  if (state.kind === "no-library") {
    return {
      code: "no-library",
      reason: `The native CUDA library cannot be opened: ${state.detail}`,
      fix: "Build it: deno run -A jsr:@gridstride/cuda/build (nvcc and a C++17 compiler are " +
        "needed), or name it in GRIDSTRIDE_LIBRARY.",
    };
  }
  if (state.kind === "permission") {
    return {
      code: "permission",
      reason: `The process may not open the native CUDA library: ${state.detail}`,
      fix: "Run Deno with --allow-ffi, or --allow-ffi=<path of the library>.",
    };
  }
  const { status, deviceCount, driverVersion, runtimeVersion } = state;
  if (status === 0 && deviceCount > 0) return undefined;
  if (status === 0 || status === NO_DEVICE) {
    return {
      code: "no-device",
      reason: "The NVIDIA driver works but shows no device",
      fix: "See whether CUDA_VISIBLE_DEVICES hides the devices and whether nvidia-smi lists them.",
    };
  }
  if (status === STUB_LIBRARY) {
    return {
      code: "no-driver",
      reason: "The libcuda that was found is the toolkit's stub, not a driver",
      fix: `Take the toolkit's lib64/stubs out of LD_LIBRARY_PATH. ${INSTALL_DRIVER}`,
    };
  }
  if (status !== INSUFFICIENT_DRIVER) {
    const { name, meaning, advice } = cudaErrorCode(status);
    const reason = `The NVIDIA driver failed with ${name} (${status}): ${meaning}`;
    return { code: "driver-error", reason, fix: advice };
  }
  // CUDA reports an insufficient driver both for an old driver and for none.
  if (driverVersion === 0) {
    return { code: "no-driver", reason: "There is no NVIDIA driver", fix: INSTALL_DRIVER };
  }
  const [driver, runtime] = [cudaVersionText(driverVersion), cudaVersionText(runtimeVersion)];
  return {
    code: "driver-too-old",
    reason: `The NVIDIA driver supports CUDA ${driver}, the library was built with CUDA ${runtime}`,
    fix: `Update the NVIDIA driver to one for CUDA ${runtime} or newer, or build the library ` +
      `with a CUDA ${driver} toolkit.`,
  };
}

const NVIDIA_SMI_ARGUMENTS = ["--query-gpu=name,driver_version", "--format=csv,noheader"];
/** The command's place in WSL2, which its PATH may lack. */
const WSL_NVIDIA_SMI = "/usr/lib/wsl/lib/nvidia-smi";

function nativeEvidence(state: NativeCudaState): Evidence {
  const probe = "native library";
  const obstacle = cudaObstacle(state);
  if (obstacle === undefined && state.kind === "queried") {
    const driver = cudaVersionText(state.driverVersion);
    const detail = `${state.deviceCount} device(s), driver for CUDA ${driver}`;
    return { probe, outcome: "found", detail };
  }
  const outcome = state.kind === "permission"
    ? "denied"
    : obstacle?.code === "driver-error"
    ? "failed"
    : "not-found";
  return { probe, outcome, detail: obstacle!.reason };
}

async function runNvidiaSmi(runner: ProbeRunner, operatingSystem: string): Promise<Finding> {
  let command = "nvidia-smi";
  let outcome = await runner.run(command, NVIDIA_SMI_ARGUMENTS);
  if (outcome.kind === "absent" && operatingSystem === "linux") {
    const second = await runner.run(WSL_NVIDIA_SMI, NVIDIA_SMI_ARGUMENTS);
    // Without WSL the evidence of the command in PATH is more helpful.
    if (second.kind === "exited" || second.kind === "timeout") {
      command = WSL_NVIDIA_SMI;
      outcome = second;
    }
  }
  const result = commandOutput(command, outcome);
  if ("evidence" in result) return { evidence: result.evidence, devices: [] };
  // Lines such as `NVIDIA H100 80GB HBM3, 580.65.06`.
  const rows = result.output.split("\n").map((line) => line.split(",").map((cell) => cell.trim()));
  const gpus = rows.filter(([name, version]) => name !== undefined && version !== undefined);
  const devices = gpus.map(([name]) => name!);
  return listing(command, devices, `${devices.join(", ")}; kernel driver ${gpus[0]?.[1]}`);
}

async function runNvcc(
  runner: ProbeRunner,
  cudaHome: string | undefined,
): Promise<{ evidence: Evidence; version?: string }> {
  const command = cudaHome === undefined ? "nvcc" : `${cudaHome}/bin/nvcc`;
  const probe = `${command} --version`;
  const result = commandOutput(probe, await runner.run(command, ["--version"]));
  if ("evidence" in result) return result;
  const version = /\brelease (\d+\.\d+)/.exec(result.output)?.[1];
  if (version === undefined) {
    return { evidence: { probe, outcome: "failed", detail: "names no release" } };
  }
  return { evidence: { probe, outcome: "found", detail: `toolkit ${version}` }, version };
}

/**
 * Detects CUDA. If the native library could query the driver, its result decides; otherwise GPUs that
 * `nvidia-smi` lists make CUDA available.
 */
export async function detectCuda(
  state: NativeCudaState,
  runner: ProbeRunner,
  operatingSystem: string,
  cudaHome: string | undefined,
): Promise<BackendReport> {
  const [smi, nvcc] = await Promise.all([
    runNvidiaSmi(runner, operatingSystem),
    runNvcc(runner, cudaHome),
  ]);
  const isQueried = state.kind === "queried";
  const version = isQueried ? cudaVersionText(state.driverVersion) : null;
  return {
    backend: "cuda",
    available: isQueried ? cudaObstacle(state) === undefined : smi.devices.length > 0,
    fake: false,
    ...(version === null ? {} : { version }),
    ...(nvcc.version === undefined ? {} : { toolkitVersion: nvcc.version }),
    devices: smi.devices,
    evidence: [nativeEvidence(state), smi.evidence, nvcc.evidence],
  };
}
