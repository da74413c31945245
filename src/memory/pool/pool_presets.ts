/**
 * Presets: sets of defaults for what a pool is used for.
 *
 * | option                 | none  | `development` | `production` | `testing` |
 * | ---------------------- | ----- | ------------- | ------------ | --------- |
 * | `enableMemoryTracking` | false | true          | false        | true      |
 * | `debug`                | false | false         | false        | true      |
 * | `stackFrames`          | 8     | 8             | 8            | 16        |
 * | `maxCachedBuffers`     | 32    | 32            | 256          | 2         |
 * | `maxCachedBytes`       | —     | —             | —            | 16 MiB    |
 * | `cleanupInterval`      | 0     | 10 s          | 60 s         | 0         |
 *
 * `development` is for finding out who holds memory, `production` for speed without holding on to
 * the device for ever, `testing` for finding errors: with small caches a freed block is soon
 * somebody else's, and with no clean-up by time a test does the same each time it is run.
 *
 * @module
 */

import type { MemoryPoolOptions } from "./pool_options.ts";

/** A preset's name. */
export type PoolPreset = "development" | "production" | "testing";

/** The names of all presets. */
export const POOL_PRESET_NAMES: readonly PoolPreset[] = ["development", "production", "testing"];

/** The options that presets set. */
export type PresetOptions =
  & Required<
    Pick<
      MemoryPoolOptions,
      "enableMemoryTracking" | "debug" | "stackFrames" | "cleanupInterval"
    >
  >
  & {
    /** Most blocks of a size class that are kept whole. */
    readonly maxCachedBuffers: number;
    /** Most free bytes kept; `Infinity` where there is no limit. */
    readonly maxCachedBytes: number;
  };

/** What holds where no preset is named. */
export const POOL_DEFAULTS: PresetOptions = {
  enableMemoryTracking: false,
  debug: false,
  stackFrames: 8,
  maxCachedBuffers: 32,
  maxCachedBytes: Infinity,
  cleanupInterval: 0,
};

/** The presets; see the table of this module. */
export const POOL_PRESETS: Readonly<Record<PoolPreset, PresetOptions>> = {
  development: {
    ...POOL_DEFAULTS,
    enableMemoryTracking: true,
    cleanupInterval: 10_000,
  },
  production: {
    ...POOL_DEFAULTS,
    maxCachedBuffers: 256,
    cleanupInterval: 60_000,
  },
  testing: {
    ...POOL_DEFAULTS,
    enableMemoryTracking: true,
    debug: true,
    stackFrames: 16,
    maxCachedBuffers: 2,
    maxCachedBytes: 16 * 2 ** 20,
  },
};
