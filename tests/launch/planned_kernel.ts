/**
 * Kernels and devices that are nothing but their figures.
 *
 * @module
 */

import { capabilityLimits } from "../../src/hardware/capability_limits.ts";
import type { DeviceInfo } from "../../src/hardware/device_information.ts";
import type { LaunchConfig } from "../../src/launch/launch_config.ts";

/** What plans read of a device of this capability. */
export function devicePart(capability: string, changes: Partial<DeviceInfo> = {}): DeviceInfo {
  const limits = capabilityLimits(capability);
  const { multiprocessorCount } = limits.representative;
  return { ...limits, multiprocessorCount, kind: "cuda", ...changes } as unknown as DeviceInfo;
}

/** What plans read of a kernel that uses 32 registers and no shared memory. */
export function plannedKernel(info: DeviceInfo, changes: Record<string, number> = {}) {
  const attributes = {
    maxThreadsPerBlock: 1024,
    registersPerThread: 32,
    staticSharedMemory: 0,
    ...changes,
  };
  return { name: "kernel", context: { info }, attributes };
}

export function threeExtents(extents: LaunchConfig["grid"]): number[] {
  const [x = 1, y = 1, z = 1] = typeof extents === "number" ? [extents] : extents;
  return [x, y, z];
}
