/**
 * Detection of WebGPU. A renderer that computes on the CPU is not a GPU.
 *
 * @module
 */

import type { BackendReport, EvidenceOutcome } from "./backend_report.ts";

/** What an adapter says of itself, as in the WebGPU standard. */
export interface GpuAdapterDescription {
  /** The vendor's name or PCI number. */
  readonly vendor?: string;
  /** The architecture's name. */
  readonly architecture?: string;
  /** The device's name or PCI number. */
  readonly device?: string;
  /** A name for people. */
  readonly description?: string;
  /** True for an adapter that is there only so that there is one. */
  readonly isFallbackAdapter?: boolean;
}

/** The part of `navigator.gpu` that detection uses. */
export interface GpuEntryPoint {
  /** The preferred adapter, or null if there is none. */
  requestAdapter(): Promise<{ readonly info?: GpuAdapterDescription } | null>;
}

/** How long WebGPU may take to find an adapter. */
const ADAPTER_MILLISECONDS = 10_000;

/** Renderers that compute on the CPU: Mesa's, Google's, Microsoft's and Apple's. */
const SOFTWARE_RENDERER =
  /llvmpipe|lavapipe|softpipe|swrast|swiftshader|basic render|software render|\bwarp\b/i;

/** The name an adapter gives itself. */
function adapterName(info: GpuAdapterDescription): string {
  const parts = [info.vendor, info.architecture, info.device].filter((part) => part);
  return info.description || parts.join(" ") || "unnamed adapter";
}

/** Whether an adapter computes on the CPU. */
export function isSoftwareRenderer(info: GpuAdapterDescription): boolean {
  const texts = [info.vendor, info.architecture, info.device, info.description];
  return info.isFallbackAdapter === true || SOFTWARE_RENDERER.test(texts.join(" "));
}

function report(
  outcome: EvidenceOutcome,
  detail: string,
  devices: readonly string[] = [],
): BackendReport {
  return {
    backend: "webgpu",
    available: devices.length > 0,
    fake: false,
    devices,
    evidence: [{ probe: "navigator.gpu", outcome, detail }],
  };
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
 * Looks for WebGPU.
 *
 * @param gpu Its entry point, or null where this build of Deno has none.
 * @param milliseconds How long it may take.
 */
export async function detectWebGpu(
  gpu: GpuEntryPoint | null,
  milliseconds: number = ADAPTER_MILLISECONDS,
): Promise<BackendReport> {
  if (gpu === null) return report("not-found", "this Deno has no WebGPU");
  try {
    const adapter = await requestAdapter(gpu, milliseconds);
    if (adapter === "timeout") return report("failed", `gave no answer within ${milliseconds} ms`);
    if (adapter === null) return report("not-found", "there is no adapter");
    const info = adapter.info ?? {};
    const name = adapterName(info);
    return isSoftwareRenderer(info)
      ? report("not-found", `${name} is a software renderer, not a GPU`)
      : report("found", name, [name]);
  } catch (error) {
    return report("failed", error instanceof Error ? error.message : String(error));
  }
}
