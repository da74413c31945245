/**
 * Detection of ROCm, on Linux, and of Metal, on macOS.
 *
 * @module
 */

import {
  type BackendReport,
  commandOutput,
  type Evidence,
  pathEvidence,
} from "./backend_report.ts";
import type { ProbeRunner } from "./probe.ts";

/** Made by AMD's kernel driver for computing. */
const KERNEL_DRIVER = "/sys/class/kfd";
/** Where an installation of ROCm writes its version. */
const ROCM_VERSION = "/opt/rocm/.info/version";

interface Finding {
  readonly evidence: Evidence;
  readonly devices: readonly string[];
}

function finding(probe: string, devices: readonly string[]): Finding {
  const detail = devices.length === 0 ? "lists no GPU" : devices.join(", ");
  return {
    evidence: { probe, outcome: devices.length === 0 ? "not-found" : "found", detail },
    devices,
  };
}

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
  return "evidence" in result
    ? { evidence: result.evidence, devices: [] }
    : finding(command, read(result.output));
}

function absentHere(backend: "rocm" | "metal", os: string, where: string): BackendReport {
  const evidence: Evidence = {
    probe: "operating system",
    outcome: "skipped",
    detail: `is ${os}; ${backend === "rocm" ? "ROCm" : "Metal"} is looked for on ${where} only`,
  };
  return { backend, available: false, fake: false, devices: [], evidence: [evidence] };
}

/** Looks for ROCm. It is available where one of its tools lists a GPU. */
export async function detectRocm(
  runner: ProbeRunner,
  operatingSystem: string,
): Promise<BackendReport> {
  if (operatingSystem !== "linux") return absentHere("rocm", operatingSystem, "Linux");
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

interface MetalDisplay {
  readonly name: string;
  readonly version: string;
}

/** Reads the JSON of `system_profiler`; throws if it is no such JSON. */
function readDisplays(output: string): MetalDisplay[] {
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

/** Looks for Metal. */
export async function detectMetal(
  runner: ProbeRunner,
  operatingSystem: string,
): Promise<BackendReport> {
  if (operatingSystem !== "darwin") return absentHere("metal", operatingSystem, "macOS");
  const probe = "system_profiler SPDisplaysDataType";
  const outcome = await runner.run("system_profiler", ["-json", "SPDisplaysDataType"]);
  const result = commandOutput(probe, outcome);
  const report = { backend: "metal", available: false, fake: false, devices: [] } as const;
  if ("evidence" in result) return { ...report, evidence: [result.evidence] };
  let displays: MetalDisplay[];
  try {
    displays = readDisplays(result.output);
  } catch (error) {
    const detail = `is not the JSON expected: ${(error as Error).message}`;
    return { ...report, evidence: [{ probe, outcome: "failed", detail }] };
  }
  const { evidence, devices } = finding(probe, displays.map((display) => display.name));
  const version = displays.map((display) => display.version).sort().at(-1);
  return {
    ...report,
    available: devices.length > 0,
    ...(version ? { version } : {}),
    devices,
    evidence: [evidence],
  };
}
