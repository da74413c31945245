/**
 * Detection of CUDA. The driver's version comes from the driver, by way of the native library; the
 * toolkit's from nvcc; a machine may have either without the other.
 *
 * @module
 */

import { type BackendReport, commandOutput, type Evidence } from "./backend_report.ts";
import { cudaObstacle, type NativeCudaProbe, type NativeCudaState } from "./cuda_driver_state.ts";
import { cudaVersionText } from "./device_information.ts";
import type { ProbeRunner } from "./probe.ts";

const NVIDIA_SMI_ARGUMENTS = ["--query-gpu=name,driver_version", "--format=csv,noheader"];
/** Where WSL2 keeps the command, which its PATH need not name. */
const WSL_NVIDIA_SMI = "/usr/lib/wsl/lib/nvidia-smi";

interface Finding {
  readonly evidence: Evidence;
  readonly devices: readonly string[];
}

function nativeEvidence(state: NativeCudaState): Evidence {
  const probe = "native library";
  const obstacle = cudaObstacle(state);
  if (obstacle === undefined && state.kind === "asked") {
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

/** Reads lines such as `NVIDIA H100 80GB HBM3, 580.65.06`. */
function readGpuList(probe: string, output: string): Finding {
  const rows = output.split("\n").map((line) => line.split(",").map((cell) => cell.trim()));
  const gpus = rows.filter(([name, version]) => name !== undefined && version !== undefined);
  const devices = gpus.map(([name]) => name!);
  if (devices.length === 0) {
    return { evidence: { probe, outcome: "not-found", detail: "lists no GPU" }, devices };
  }
  const detail = `${devices.join(", ")}; kernel driver ${gpus[0]![1]}`;
  return { evidence: { probe, outcome: "found", detail }, devices };
}

async function runNvidiaSmi(runner: ProbeRunner, operatingSystem: string): Promise<Finding> {
  let command = "nvidia-smi";
  let outcome = await runner.run(command, NVIDIA_SMI_ARGUMENTS);
  if (outcome.kind === "absent" && operatingSystem === "linux") {
    const second = await runner.run(WSL_NVIDIA_SMI, NVIDIA_SMI_ARGUMENTS);
    // Without WSL the answer about the command in PATH is the one that helps.
    if (second.kind === "exited" || second.kind === "timeout") {
      command = WSL_NVIDIA_SMI;
      outcome = second;
    }
  }
  const result = commandOutput(command, outcome);
  if ("evidence" in result) return { evidence: result.evidence, devices: [] };
  return readGpuList(command, result.output);
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
 * Whether CUDA can be used. The native library has the last word wherever it could ask the driver;
 * where it could not be opened, GPUs that `nvidia-smi` lists show that there is something to open
 * it for.
 */
function isAvailable(state: NativeCudaState, devices: readonly string[]): boolean {
  return state.kind === "asked" ? cudaObstacle(state) === undefined : devices.length > 0;
}

/** Looks for CUDA. */
export async function detectCuda(
  cuda: NativeCudaProbe,
  runner: ProbeRunner,
  operatingSystem: string,
  cudaHome: string | undefined,
): Promise<BackendReport> {
  const state = cuda.state();
  const [smi, nvcc] = await Promise.all([
    runNvidiaSmi(runner, operatingSystem),
    runNvcc(runner, cudaHome),
  ]);
  const version = state.kind === "asked" ? cudaVersionText(state.driverVersion) : null;
  return {
    backend: "cuda",
    available: isAvailable(state, smi.devices),
    fake: false,
    ...(version === null ? {} : { version }),
    ...(nvcc.version === undefined ? {} : { toolkitVersion: nvcc.version }),
    devices: smi.devices,
    evidence: [nativeEvidence(state), smi.evidence, nvcc.evidence],
  };
}
