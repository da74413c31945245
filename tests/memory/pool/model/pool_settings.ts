/**
 * Settings of pools under test.
 *
 * @module
 */

import type { PoolSettings } from "../../../../src/memory/pool/pool_options.ts";

/** Settings without limits, but for those given. Sizes are bytes. */
export function poolSettings(settings: Partial<PoolSettings> = {}): PoolSettings {
  return {
    preset: null,
    limitBytes: 2 ** 40,
    initialBytes: 0,
    maxCachedBuffers: 64,
    maxCachedBytes: Infinity,
    enableMemoryTracking: false,
    debug: false,
    stackFrames: 1,
    cleanupInterval: 0,
    virtualMemory: true,
    reclaimShare: 0.9,
    refuseShare: Infinity,
    onMemoryPressure: undefined,
    alignment: 512,
    ...settings,
  };
}
