/**
 * Which GPU programming interfaces the machine has, with the evidence for each.
 *
 * @module
 */

import { describeValue } from "../ffi/describe_value.ts";
import type { NativeCudaProbe } from "./cuda_driver_state.ts";
import { detectCuda } from "./backend_cuda.ts";
import { detectMetal, detectRocm } from "./backend_rocm_metal.ts";
import { detectWebGpu, type GpuEntryPoint } from "./backend_webgpu.ts";
import type { BackendReport } from "./backend_report.ts";
import { BACKENDS, FAKE_VARIABLE, type FakeSetting } from "./fake_topology.ts";
import { MACHINE, type ProbeRunner } from "./probe.ts";

export type { BackendReport, Evidence, EvidenceOutcome } from "./backend_report.ts";

/** Where detection looks. Everything but the CUDA library has a default: the real machine. */
export interface DetectionOptions {
  /** Asks the native CUDA library. */
  readonly cuda: NativeCudaProbe;
  /** Runs commands and reads files. */
  readonly runner?: ProbeRunner;
  /** The entry point of WebGPU; null where there is none. */
  readonly gpu?: GpuEntryPoint | null;
  /** The operating system, as `Deno.build.os` names it. */
  readonly operatingSystem?: string;
  /** The CUDA toolkit's directory, from the environment. */
  readonly cudaHome?: string | undefined;
  /** What `GRIDSTRIDE_FAKE` holds: it replaces detection. */
  readonly fake?: FakeSetting | undefined;
}

/** Reports for a fake: what it names is there, nothing else is, and each says that it is a fake. */
function fakeReports(fake: FakeSetting): BackendReport[] {
  // A topology shows host devices, which are no backend of any GPU.
  const present = fake.kind === "backends" ? fake.backends : [];
  return BACKENDS.map((backend) => {
    const available = present.includes(backend);
    const detail = `${FAKE_VARIABLE} replaces detection: ${available ? "named" : "not named"}`;
    const outcome = available ? "found" : "not-found";
    return {
      backend,
      available,
      fake: true,
      devices: [],
      evidence: [{ probe: FAKE_VARIABLE, outcome, detail }],
    };
  });
}

/** Deno's WebGPU, where this build of Deno has it. */
function denoGpu(): GpuEntryPoint | null {
  return (globalThis.navigator as { gpu?: GpuEntryPoint } | undefined)?.gpu ?? null;
}

/**
 * Looks for CUDA, ROCm, Metal and WebGPU at the same time. Nothing throws: what fails or may not be
 * looked at is evidence.
 *
 * @returns One report per backend, in the order `cuda`, `rocm`, `metal`, `webgpu`.
 */
export async function detectBackends(options: DetectionOptions): Promise<BackendReport[]> {
  if (options.fake !== undefined) return fakeReports(options.fake);
  const runner = options.runner ?? MACHINE;
  const operatingSystem = options.operatingSystem ?? Deno.build.os;
  const gpu = options.gpu === undefined ? denoGpu() : options.gpu;
  return await Promise.all([
    detectCuda(options.cuda, runner, operatingSystem, options.cudaHome),
    detectRocm(runner, operatingSystem),
    detectMetal(runner, operatingSystem),
    detectWebGpu(gpu),
  ]);
}

const NAMES = { cuda: "CUDA", rocm: "ROCm", metal: "Metal", webgpu: "WebGPU" } as const;

function describe(report: BackendReport): string {
  const version = report.version === undefined ? "" : ` ${report.version}`;
  const devices = report.devices.length === 0 ? "" : ` (${report.devices.join(", ")})`;
  return `${NAMES[report.backend]}${version}${devices}${report.fake ? " [fake]" : ""}`;
}

function isReport(value: unknown): value is BackendReport {
  if (typeof value !== "object" || value === null) return false;
  const { backend, version, devices } = value as Partial<BackendReport>;
  return typeof backend === "string" && Object.hasOwn(NAMES, backend) &&
    (version === undefined || typeof version === "string") &&
    Array.isArray(devices) && devices.every((device) => typeof device === "string");
}

/** One line: which backends are available. */
export function summary(reports: readonly BackendReport[]): string {
  if (!Array.isArray(reports) || !reports.every(isReport)) {
    throw new TypeError(
      `Cannot summarise backends as reports must be what detectBackends() resolves to: it is ${
        describeValue(reports)
      }`,
    );
  }
  const available = reports.filter((report) => report.available);
  const fake = reports.some((report) => report.fake) ? ` (${FAKE_VARIABLE} is set)` : "";
  if (available.length === 0) return `No GPU backend is available${fake}`;
  return `Available GPU backends: ${available.map(describe).join(", ")}`;
}
