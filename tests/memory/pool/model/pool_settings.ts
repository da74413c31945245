/**
 * Settings of pools under test.
 *
 * @module
 */

import { defaultSettings, type PoolSettings } from "../../../../src/memory/pool/pool_options.ts";

/** Settings without limits, but for those given. Sizes are bytes. */
export function poolSettings(settings: Partial<PoolSettings> = {}): PoolSettings {
  return {
    ...defaultSettings(2 ** 40),
    maxCachedBuffers: 64,
    stackFrames: 1,
    ...settings,
  };
}
