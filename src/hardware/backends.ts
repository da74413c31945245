/**
 * Detection of GPU programming interfaces, with the evidence for each: ROCm on Linux, Metal on macOS,
 * WebGPU, and CUDA by `cuda_backend.ts`; and the check whether CUDA can be used.
 *
 * @module
 */

import { describeValue } from "../ffi/describe_value.ts";
import { cudaObstacle, detectCuda, type NativeCudaState } from "./cuda_backend.ts";
import { BACKENDS, FAKE_VARIABLE, fakeDevices, type FakeSetting } from "./fake_topology.ts";
import {
  type BackendReport,
  commandOutput,
  type Evidence,
  type Finding,
  listing,
  MACHINE,
  pathEvidence,
  type ProbeRunner,
} from "./probe.ts";
import type { LibraryNotFoundError } from "../ffi/locate.ts";
import { deviceVersions } from "../ffi/native_device.ts";
import { cudaPresence, environment } from "./device_list.ts";

/** The inputs of detection. All but the CUDA library default to the real machine. */
export interface DetectionOptions {
  /** Opens and queries the native CUDA library; must neither throw nor prompt. */
  readonly cuda: () => NativeCudaState;
  readonly runner?: ProbeRunner;
  /** The entry point of WebGPU; null for none. */
  readonly gpu?: GpuEntryPoint | null;
  /** The operating system, as `Deno.build.os` names it. */
  readonly operatingSystem?: string;
  /** The CUDA toolkit's directory, from the environment. */
  readonly cudaHome?: string | undefined;
  /** The value of `GRIDSTRIDE_FAKE`: it replaces detection. */
  readonly fake?: FakeSetting | undefined;
}

/** Reports for a fake: the backends that it names are available, all others are not. */
function fakeReports(fake: FakeSetting): BackendReport[] {
  // A topology shows host devices, which are no backend of any GPU.
  const present = fake.kind === "backends" ? fake.backends : [];
  return BACKENDS.map((backend) => {
    const available = present.includes(backend);
    const detail = `${FAKE_VARIABLE} replaces detection: ${available ? "named" : "not named"}`;
    const outcome = available ? "found" : "not-found";
    const evidence = [{ probe: FAKE_VARIABLE, outcome, detail }] as const;
    return { backend, available, fake: true, devices: [], evidence };
  });
}

/** Deno's WebGPU, if this build of Deno has it. */
function denoGpu(): GpuEntryPoint | null {
  return (globalThis.navigator as { gpu?: GpuEntryPoint } | undefined)?.gpu ?? null;
}

/**
 * Detects CUDA, ROCm, Metal and WebGPU at the same time. It never throws: failures and missing
 * permissions are evidence.
 *
 * @returns One report per backend, in the order `cuda`, `rocm`, `metal`, `webgpu`.
 */
export async function detect(options: DetectionOptions): Promise<BackendReport[]> {
  if (options.fake !== undefined) return fakeReports(options.fake);
  const runner = options.runner ?? MACHINE;
  const operatingSystem = options.operatingSystem ?? Deno.build.os;
  return await Promise.all([
    detectCuda(options.cuda(), runner, operatingSystem, options.cudaHome),
    detectRocm(runner, operatingSystem),
    detectMetal(runner, operatingSystem),
    detectWebGpu(options.gpu === undefined ? denoGpu() : options.gpu),
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

/** Lists the available backends in one line. */
export function summary(reports: readonly BackendReport[]): string {
  if (!Array.isArray(reports) || !reports.every(isReport)) {
    throw new TypeError(
      `Cannot summarise backends as reports must be the result of detectBackends(): it is ${
        describeValue(reports)
      }`,
    );
  }
  const available = reports.filter((report) => report.available);
  const fake = reports.some((report) => report.fake) ? ` (${FAKE_VARIABLE} is set)` : "";
  if (available.length === 0) return `No GPU backend is available${fake}`;
  return `Available GPU backends: ${available.map(describe).join(", ")}`;
}

/** Made by AMD's kernel driver for computing. */
const KERNEL_DRIVER = "/sys/class/kfd";
const ROCM_VERSION = "/opt/rocm/.info/version";

/** The names of the agents that `rocminfo` calls GPUs; it lists the processors as well. */
function readAgents(output: string): string[] {
  const agents = output.split(/^Agent \d+/m).slice(1);
  const gpus = agents.filter((agent) => /^\s*Device Type:\s*GPU\s*$/m.test(agent));
  return gpus.map((agent) => {
    const name = /^\s*Marketing Name:\s*(\S.*?)\s*$/m.exec(agent) ??
      /^\s*Name:\s*(\S.*?)\s*$/m.exec(agent);
    return name?.[1] ?? "unnamed GPU";
  });
}

/** The names in lines such as `GPU[0] : Card Series: AMD Instinct MI300X`. */
function readProductNames(output: string): string[] {
  return [...output.matchAll(/^GPU\[\d+\]\s*:\s*Card [Ss]eries:\s*(\S.*?)\s*$/gm)]
    .map((match) => match[1]!);
}

async function listGpus(
  runner: ProbeRunner,
  command: string,
  args: readonly string[],
  read: (output: string) => string[],
): Promise<Finding> {
  const result = commandOutput(command, await runner.run(command, args));
  return "evidence" in result ? { ...result, devices: [] } : listing(command, read(result.output));
}

function skipped(backend: "rocm" | "metal", system: string, supported: string): BackendReport {
  const detail = `is ${system}; ${NAMES[backend]} is detected on ${supported} only`;
  const evidence = [{ probe: "operating system", outcome: "skipped", detail }] as const;
  return { backend, available: false, fake: false, devices: [], evidence };
}

/** Detects ROCm: it is available if one of its tools lists a GPU. */
async function detectRocm(runner: ProbeRunner, operatingSystem: string): Promise<BackendReport> {
  if (operatingSystem !== "linux") return skipped("rocm", operatingSystem, "Linux");
  const [agents, products, kernelDriver, release] = await Promise.all([
    listGpus(runner, "rocminfo", [], readAgents),
    listGpus(runner, "rocm-smi", ["--showproductname"], readProductNames),
    runner.path(KERNEL_DRIVER),
    runner.path(ROCM_VERSION),
  ]);
  const devices = agents.devices.length > 0 ? agents.devices : products.devices;
  const version = release.kind === "present"
    ? /\d+\.\d+(?:\.\d+)?/.exec(release.text)?.[0]
    : undefined;
  return {
    backend: "rocm",
    available: devices.length > 0,
    fake: false,
    ...(version === undefined ? {} : { version }),
    devices,
    evidence: [
      agents.evidence,
      products.evidence,
      pathEvidence(KERNEL_DRIVER, kernelDriver),
      pathEvidence(ROCM_VERSION, release),
    ],
  };
}

/** Reads the JSON of `system_profiler`; throws if it is another text. */
function readDisplays(output: string): { readonly name: string; readonly version: string }[] {
  const root = JSON.parse(output) as { SPDisplaysDataType?: Record<string, unknown>[] };
  return (root.SPDisplaysDataType ?? []).flatMap((entry) => {
    const family = entry.spdisplays_mtlgpufamilysupport ?? entry.spdisplays_metalfamily;
    // Such as "spdisplays_metal3"; a GPU without Metal has no such field.
    const version = /metal\D*(\d+)?/.exec(String(family ?? ""));
    if (version === null) return [];
    const name = String(entry.sppci_model ?? entry._name ?? "unnamed GPU");
    return [{ name, version: version[1] ?? "" }];
  });
}

async function detectMetal(runner: ProbeRunner, operatingSystem: string): Promise<BackendReport> {
  if (operatingSystem !== "darwin") return skipped("metal", operatingSystem, "macOS");
  const probe = "system_profiler SPDisplaysDataType";
  const outcome = await runner.run("system_profiler", ["-json", "SPDisplaysDataType"]);
  const result = commandOutput(probe, outcome);
  const report = { backend: "metal", available: false, fake: false, devices: [] } as const;
  if ("evidence" in result) return { ...report, evidence: [result.evidence] };
  try {
    const displays = readDisplays(result.output);
    const { evidence, devices } = listing(probe, displays.map(({ name }) => name));
    const version = displays.map((display) => display.version).sort().at(-1);
    const available = devices.length > 0;
    return { ...report, available, ...(version ? { version } : {}), devices, evidence: [evidence] };
  } catch (error) {
    const detail = `is not the JSON expected: ${(error as Error).message}`;
    return { ...report, evidence: [{ probe, outcome: "failed", detail }] };
  }
}

/** The description of an adapter, as in the WebGPU standard. */
export interface GpuAdapterDescription {
  readonly vendor?: string;
  readonly architecture?: string;
  readonly device?: string;
  readonly description?: string;
  /** True for an adapter of last resort. */
  readonly isFallbackAdapter?: boolean;
}

/** The part of `navigator.gpu` that detection uses. */
export interface GpuEntryPoint {
  /** The preferred adapter, or null if there is none. */
  requestAdapter(): Promise<{ readonly info?: GpuAdapterDescription } | null>;
}

const ADAPTER_MILLISECONDS = 10_000;

/** Renderers that compute on the CPU: Mesa's, Google's, Microsoft's and Apple's. */
const SOFTWARE_RENDERER =
  /llvmpipe|lavapipe|softpipe|swrast|swiftshader|basic render|software render|\bwarp\b/i;

export function isSoftwareRenderer(info: GpuAdapterDescription): boolean {
  const texts = [info.vendor, info.architecture, info.device, info.description];
  return info.isFallbackAdapter === true || SOFTWARE_RENDERER.test(texts.join(" "));
}

async function requestAdapter(gpu: GpuEntryPoint, milliseconds: number) {
  const { promise: expired, resolve } = Promise.withResolvers<"timeout">();
  const timer = setTimeout(() => resolve("timeout"), milliseconds);
  try {
    return await Promise.race([gpu.requestAdapter(), expired]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Detects WebGPU. A renderer that computes on the CPU is not a GPU.
 *
 * @param gpu Its entry point, or null if this build of Deno has none.
 * @param milliseconds The time limit.
 */
export async function detectWebGpu(
  gpu: GpuEntryPoint | null,
  milliseconds: number = ADAPTER_MILLISECONDS,
): Promise<BackendReport> {
  const report = (outcome: Evidence["outcome"], detail: string, devices: string[] = []) => ({
    backend: "webgpu" as const,
    available: devices.length > 0,
    fake: false,
    devices,
    evidence: [{ probe: "navigator.gpu", outcome, detail }],
  });
  if (gpu === null) return report("not-found", "this Deno has no WebGPU");
  try {
    const adapter = await requestAdapter(gpu, milliseconds);
    if (adapter === "timeout") return report("failed", `gave no answer within ${milliseconds} ms`);
    if (adapter === null) return report("not-found", "there is no adapter");
    const info = adapter.info ?? {};
    const parts = [info.vendor, info.architecture, info.device].filter((part) => part);
    const name = info.description || parts.join(" ") || "unnamed adapter";
    return isSoftwareRenderer(info)
      ? report("not-found", `${name} is a software renderer, not a GPU`)
      : report("found", name, [name]);
  } catch (error) {
    return report("failed", error instanceof Error ? error.message : String(error));
  }
}

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

function machineOptions(): DetectionOptions {
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
 * @category Detection and diagnosis
 */
export async function detectBackends(): Promise<BackendReport[]> {
  return await detect(machineOptions());
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
 * @category Detection and diagnosis
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
  return await checkCuda(machineOptions(), environment.strict);
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
