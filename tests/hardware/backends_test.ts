// Detection on scripted machines.

import { assert, assertEquals } from "@std/assert";
import {
  detect as detectBackends,
  type DetectionOptions,
  detectWebGpu,
  isSoftwareRenderer,
  summary,
} from "../../src/hardware/backends.ts";
import type { NativeCudaState } from "../../src/hardware/cuda_backend.ts";
import { parseFakeSetting } from "../../src/hardware/fake_topology.ts";
import type {
  BackendReport,
  CommandOutcome,
  PathOutcome,
  ProbeRunner,
} from "../../src/hardware/probe.ts";

const ABSENT: CommandOutcome = { kind: "absent" };
const NO_LIBRARY: NativeCudaState = { kind: "no-library", detail: "not built" };

function queried(changes: Partial<Extract<NativeCudaState, { kind: "queried" }>>): NativeCudaState {
  return {
    kind: "queried",
    status: 0,
    deviceCount: 1,
    driverVersion: 13020,
    runtimeVersion: 13000,
    ...changes,
  };
}

function exited(stdout: string, code = 0, stderr = ""): CommandOutcome {
  return { kind: "exited", code, stdout, stderr };
}

/** A machine that has only these commands and paths. */
function machine(
  commands: Record<string, CommandOutcome>,
  paths: Record<string, PathOutcome> = {},
): ProbeRunner {
  return {
    run: (command) => Promise.resolve(commands[command] ?? ABSENT),
    path: (path) => Promise.resolve(paths[path] ?? { kind: "absent" }),
  };
}

async function detect(
  backend: BackendReport["backend"],
  options: Partial<DetectionOptions> & { state?: NativeCudaState },
): Promise<BackendReport> {
  const reports = await detectBackends({
    cuda: () => options.state ?? NO_LIBRARY,
    runner: machine({}),
    gpu: null,
    operatingSystem: "linux",
    ...options,
  });
  assertEquals(reports.map((report) => report.backend), ["cuda", "rocm", "metal", "webgpu"]);
  return reports.find((report) => report.backend === backend)!;
}

const outcomes = (report: BackendReport) => report.evidence.map(({ outcome }) => outcome);

const NVCC = exited(
  "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 12.8, V1",
);
const SMI = exited("NVIDIA H100 80GB HBM3, 580.65.06\nNVIDIA H100 80GB HBM3, 580.65.06\n");

Deno.test("`detectBackends()` distinguishes the versions of driver and toolkit", async () => {
  const runner = machine({ nvcc: NVCC, "nvidia-smi": SMI });
  const report = await detect("cuda", { state: queried({}), runner });
  assertEquals(report.available, true);
  assertEquals([report.version, report.toolkitVersion], ["13.2", "12.8"]);
  assertEquals(report.devices, ["NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3"]);
  assertEquals(outcomes(report), ["found", "found", "found"]);
  assert(report.evidence[1]!.detail.endsWith("kernel driver 580.65.06"));
});

Deno.test("`detectBackends()` reports CUDA as unavailable when there is a toolkit without a driver", async () => {
  const state = queried({ status: 35, deviceCount: 0, driverVersion: 0 });
  const report = await detect("cuda", { state, runner: machine({ nvcc: NVCC }) });
  assertEquals([report.available, report.toolkitVersion], [false, "12.8"]);
  assertEquals("version" in report, false);
});

Deno.test("`detectBackends()` prefers the driver to nvidia-smi when the driver shows no device", async () => {
  const state = queried({ status: 100, deviceCount: 0 });
  const report = await detect("cuda", { state, runner: machine({ "nvidia-smi": SMI }) });
  assertEquals([report.available, report.version], [false, "13.2"]);
});

Deno.test("`detectBackends()` uses nvidia-smi when no library can be opened", async () => {
  const runner = machine({ "nvidia-smi": SMI });
  for (const state of [NO_LIBRARY, { kind: "permission", detail: "ffi" } as const]) {
    const report = await detect("cuda", { state, runner });
    assertEquals([report.available, "version" in report], [true, false]);
    assertEquals(outcomes(report)[0], state.kind === "permission" ? "denied" : "not-found");
  }
});

Deno.test("`detectBackends()` finds the nvidia-smi of WSL on Linux only", async () => {
  const runner = machine({ "/usr/lib/wsl/lib/nvidia-smi": SMI });
  const report = await detect("cuda", { runner });
  assertEquals(report.evidence[1]!.probe, "/usr/lib/wsl/lib/nvidia-smi");
  assertEquals(report.available, true);
  assertEquals((await detect("cuda", { runner, operatingSystem: "darwin" })).available, false);
});

Deno.test("`detectBackends()` runs the nvcc of CUDA_HOME", async () => {
  const runner = machine({ "/opt/cuda/bin/nvcc": NVCC, nvcc: exited("release 1.0,") });
  const report = await detect("cuda", { runner, cudaHome: "/opt/cuda" });
  assertEquals(report.toolkitVersion, "12.8");
});

// What a command says when it is of no help, and what the evidence makes of it.
const UNHELPFUL: readonly (readonly [string, CommandOutcome, string, string])[] = [
  ["is absent", ABSENT, "not-found", "not installed or not in PATH"],
  ["is denied", { kind: "denied" }, "denied", "--allow-run=nvidia-smi"],
  ["hangs", { kind: "timeout", milliseconds: 9 }, "failed", "within 9 ms"],
  ["cannot start", { kind: "failed", message: "EIO" }, "failed", "EIO"],
  ["fails", exited("", 9, "\n  NVML: Driver/library mismatch\n"), "failed", "9: NVML: Driver/lib"],
  ["fails silently", exited("", 1), "failed", "exited with 1: said nothing"],
  ["lists none", exited("No devices were found\n"), "not-found", "lists no GPU"],
  ["says nothing", exited(""), "not-found", "lists no GPU"],
];

for (const [what, outcome, expected, detail] of UNHELPFUL) {
  Deno.test(`detectBackends() gives evidence when nvidia-smi ${what}`, async () => {
    const report = await detect("cuda", { runner: machine({ "nvidia-smi": outcome }) });
    assertEquals(report.available, false);
    assertEquals(report.evidence[1]!.outcome as string, expected);
    assert(report.evidence[1]!.detail.includes(detail), report.evidence[1]!.detail);
  });
}

const ROCMINFO = exited(`ROCk module is loaded
Agent 1
  Name:                    AMD EPYC 9654
  Marketing Name:          AMD EPYC 9654
  Device Type:             CPU
*******
Agent 2
  Name:                    gfx942
  Marketing Name:          AMD Instinct MI300X
  Device Type:             GPU
`);

Deno.test("`detectBackends()` lists ROCm's GPUs and not its processors", async () => {
  const paths: Record<string, PathOutcome> = {
    "/sys/class/kfd": { kind: "present", text: "" },
    "/opt/rocm/.info/version": { kind: "present", text: "6.2.4-120\n" },
  };
  const report = await detect("rocm", { runner: machine({ rocminfo: ROCMINFO }, paths) });
  assertEquals([report.available, report.version], [true, "6.2.4"]);
  assertEquals(report.devices, ["AMD Instinct MI300X"]);
  assertEquals(outcomes(report), ["found", "not-found", "found", "found"]);
});

function displays(...entries: Record<string, string>[]): CommandOutcome {
  return exited(JSON.stringify({ SPDisplaysDataType: entries }));
}

Deno.test("`detectBackends()` finds Metal on macOS with its version", async () => {
  const output = displays({
    sppci_model: "Apple M3",
    spdisplays_mtlgpufamilysupport: "spdisplays_metal3",
  });
  const options = { operatingSystem: "darwin", runner: machine({ system_profiler: output }) };
  const report = await detect("metal", options);
  assertEquals([report.available, report.version, ...report.devices], [true, "3", "Apple M3"]);
  assertEquals((await detect("metal", { ...options, operatingSystem: "linux" })).available, false);
});

Deno.test("`detectBackends()` reports Metal as unavailable without a display or JSON", async () => {
  const table = [
    [displays({ sppci_model: "Old GPU" }), "not-found"],
    [displays(), "not-found"],
    [exited("{}"), "not-found"],
    [exited("oops"), "failed"],
    [exited("null"), "failed"],
    [ABSENT, "not-found"],
  ] as const;
  for (const [outcome, expected] of table) {
    const runner = machine({ system_profiler: outcome });
    const report = await detect("metal", { operatingSystem: "darwin", runner });
    assertEquals([report.available, ...outcomes(report)], [false, expected]);
  }
});

Deno.test("`detectBackends()` finds WebGPU on a GPU", async () => {
  const info = { vendor: "nvidia", architecture: "ada", description: "NVIDIA RTX 4090" };
  const gpu = { requestAdapter: () => Promise.resolve({ info }) };
  const report = await detect("webgpu", { gpu });
  assertEquals([report.available, ...report.devices], [true, "NVIDIA RTX 4090"]);
});

Deno.test("`isSoftwareRenderer()` recognises renderers that compute on the CPU", () => {
  const software = [
    { description: "llvmpipe (LLVM 15.0.6, 256 bits)" },
    { vendor: "google", architecture: "swiftshader" },
    { description: "SwiftShader Device (Subzero)" },
    { description: "Microsoft Basic Render Driver" },
    { description: "lavapipe" },
    { description: "Apple Software Renderer" },
    { description: "Something new", isFallbackAdapter: true },
  ];
  const hardware = [
    { description: "NVIDIA RTX 4090", isFallbackAdapter: false },
    { description: "AMD Radeon RX 7900 XTX (RADV NAVI31)" },
    { description: "Intel(R) Arc(tm) A770 Graphics" },
    { description: "Apple M3" },
    {},
  ];
  assertEquals(software.map(isSoftwareRenderer), software.map(() => true));
  assertEquals(hardware.map(isSoftwareRenderer), hardware.map(() => false));
});

Deno.test("`detectBackends()` reports WebGPU as unavailable for a software renderer", async () => {
  const info = { description: "llvmpipe (LLVM 15.0.6, 256 bits)" };
  const report = await detect("webgpu", {
    gpu: { requestAdapter: () => Promise.resolve({ info }) },
  });
  assertEquals([report.available, report.devices.length], [false, 0]);
  assert(report.evidence[0]!.detail.includes("llvmpipe (LLVM 15.0.6, 256 bits) is a software"));
});

Deno.test("`detectWebGpu()` reports no adapter, an error and no answer", async () => {
  const none = await detectWebGpu({ requestAdapter: () => Promise.resolve(null) });
  assertEquals(outcomes(none), ["not-found"]);
  const broken = await detectWebGpu({ requestAdapter: () => Promise.reject(new Error("lost")) });
  assertEquals([outcomes(broken)[0], broken.evidence[0]!.detail], ["failed", "lost"]);
  const silent = await detectWebGpu({ requestAdapter: () => new Promise(() => {}) }, 10);
  assertEquals([outcomes(silent)[0], silent.available], ["failed", false]);
});

Deno.test("`detectBackends()` replaces and labels all reports when there is a fake", async () => {
  const untouchable: DetectionOptions = {
    cuda: () => assert(false, "the library was queried") as never,
    runner: {
      run: () => assert(false, "a command was run") as never,
      path: () => assert(false, "a path was read") as never,
    },
    gpu: { requestAdapter: () => assert(false, "WebGPU was queried") as never },
  };
  const table = [
    ["cuda,webgpu", "Available GPU backends: CUDA [fake], WebGPU [fake]"],
    ["rocm", "Available GPU backends: ROCm [fake]"],
    ["none", "No GPU backend is available (GRIDSTRIDE_FAKE is set)"],
    ["4x24GiB@8.9", "No GPU backend is available (GRIDSTRIDE_FAKE is set)"],
  ] as const;
  for (const [value, line] of table) {
    const reports = await detectBackends({ ...untouchable, fake: parseFakeSetting(value) });
    assert(reports.every((report) => report.fake && report.evidence.length === 1));
    assertEquals(summary(reports), line);
  }
});

Deno.test("`summary()` names versions and devices of available backends only", async () => {
  const gpu = { requestAdapter: () => Promise.resolve({ info: { description: "RTX 4090" } }) };
  const reports = await detectBackends({
    cuda: () => queried({}),
    runner: machine({ nvcc: NVCC }),
    gpu,
    operatingSystem: "linux",
  });
  assertEquals(summary(reports), "Available GPU backends: CUDA 13.2, WebGPU (RTX 4090)");
  assertEquals(summary([]), "No GPU backend is available");
});
