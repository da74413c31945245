/**
 * The options of pools, their presets and the environment.
 *
 * An option has precedence over the environment, and the environment over the preset. All options
 * are checked first: a pool with a bad option takes no memory.
 *
 * @module
 */

import { requireOptions } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import { BYTE_SIZE_GRAMMAR, matchByteSize } from "../../hardware/byte_size.ts";
import { type Environment, MEMORY_POOL_SIZE_VARIABLE } from "../../hardware/environment.ts";
import { EnvironmentError } from "../../ffi/granted_environment.ts";

/**
 * The name of a preset; see {@linkcode POOL_PRESETS}.
 * @category Memory
 */
export type PoolPreset = "development" | "production" | "testing";

/**
 * Options of a memory pool. A size is a number of bytes, or a text such as `"2GB"` or `"512MiB"`
 * with units that are powers of 1024.
 *
 * @example
 * ```ts
 * import type { MemoryPoolOptions } from "@gridstride/cuda";
 *
 * const options: MemoryPoolOptions = { preset: "production", maxPoolSize: "8GB" };
 * console.log(options);
 * ```
 * @category Memory
 */
export interface MemoryPoolOptions {
  /** The preset with the defaults of the other options; see {@linkcode POOL_PRESETS}. */
  readonly preset?: PoolPreset;
  /** Maximum memory taken from the device; by default all that the device has. */
  readonly maxPoolSize?: number | string;
  /**
   * Maximum memory taken from the device, as a share of the memory usable when the pool is made:
   * above 0, up to 1. The smaller of this and `maxPoolSize` holds.
   */
  readonly memoryFraction?: number;
  /** Memory taken from the device when the pool is made; none by default. */
  readonly initialSize?: number | string;
  /**
   * Maximum number of free blocks per size class that are kept whole for the next request of that
   * class; the others join their free neighbours at once.
   */
  readonly maxCachedBuffers?: number;
  /**
   * Maximum free memory that the pool keeps; by default that of `GRIDSTRIDE_POOL_CACHE`, and no limit
   * without that variable.
   */
  readonly maxCachedBytes?: number | string;
  /** Whether the pool tracks the age, stream and allocation site of every buffer. */
  readonly enableMemoryTracking?: boolean;
  /**
   * Whether memory is poisoned and guarded: then the next check finds overruns and use after free.
   * Implies tracking; slow.
   */
  readonly debug?: boolean;
  /** Frames kept of an allocation site: 1 to 100. */
  readonly stackFrames?: number;
  /**
   * Milliseconds after which free memory is returned to the device, by a timer that does not keep
   * the process alive; 0 is never.
   */
  readonly cleanupInterval?: number;
  /**
   * Whether memory that stays free is returned to the device. `true` enables it with an interval of
   * 10 seconds unless there is another; `false` disables the interval of the preset.
   */
  readonly trim?: boolean;
  /**
   * Whether the pool grows by mapping memory behind reserved addresses, if the device has virtual
   * memory management; `true` by default. Otherwise memory comes in plain segments.
   */
  readonly virtualMemory?: boolean;
  /** Thresholds as shares of the pool's limit, above 0, up to 1. */
  readonly pressure?: {
    /**
     * A request that would take the pool above this share first returns free memory to the device.
     * 0.9 by default.
     */
    readonly reclaim?: number;
    /**
     * A request that is still above `reclaim` then is refused if more than this share would be in
     * use. 0.85 by default if `pressure` is given. Without `pressure`, nothing below the limit is
     * refused.
     */
    readonly refuse?: number;
  };
  /**
   * Called before a request fails for lack of memory, after waiting for streams. It may free buffers but must not allocate.
   * If it returns `true`, the request is tried again; it must not be asynchronous. An error that it throws reaches the caller
   * of the allocation.
   */
  readonly onMemoryPressure?: (event: {
    /** The device's label: `cuda:0`. */
    readonly device: string;
    /** The request that found no room. */
    readonly requested: number;
    /** Bytes requested for live buffers. */
    readonly live: number;
    /** Memory taken from the device. */
    readonly reserved: number;
    /** Freed memory that a stream may still use. */
    readonly pending: number;
    /** The pool's limit. */
    readonly limit: number;
  }) => boolean;
  /** The alignment of addresses: a power of two, 512 (the default) to 2^30. */
  readonly alignment?: number;
}

/**
 * The complete settings of a pool, in plain numbers.
 * @category Memory
 */
export interface PoolSettings extends
  Required<
    Pick<
      MemoryPoolOptions,
      | "maxCachedBuffers"
      | "enableMemoryTracking"
      | "debug"
      | "stackFrames"
      | "cleanupInterval"
      | "virtualMemory"
      | "alignment"
    >
  > {
  /** The preset; `null` for none. */
  readonly preset: PoolPreset | null;
  /** Maximum bytes taken from the device. */
  readonly limitBytes: number;
  /** The option or variable that `limitBytes` comes from; `null` if it is the device's memory. */
  readonly limitName: "maxPoolSize" | "memoryFraction" | "GRIDSTRIDE_MEMORY_FRACTION" | null;
  /** Bytes taken when the pool is made. */
  readonly initialBytes: number;
  /** Maximum free bytes; `Infinity` for no limit. */
  readonly maxCachedBytes: number;
  /** Share of the limit above which free memory is returned first. */
  readonly reclaimShare: number;
  /** Share of the limit above which requests are refused; `Infinity` for never. */
  readonly refuseShare: number;
  /** Called before a request fails. */
  readonly onMemoryPressure: MemoryPoolOptions["onMemoryPressure"];
}

/** The settings without options, environment and preset on a device of this size. */
export function defaultSettings(totalBytes: number): PoolSettings {
  return {
    preset: null,
    limitBytes: totalBytes,
    limitName: null,
    initialBytes: 0,
    maxCachedBuffers: 32,
    maxCachedBytes: Infinity,
    enableMemoryTracking: false,
    debug: false,
    stackFrames: 8,
    cleanupInterval: 0,
    virtualMemory: true,
    reclaimShare: 0.9,
    refuseShare: Infinity,
    onMemoryPressure: undefined,
    alignment: MIN_ALIGNMENT,
  };
}

/**
 * Presets: sets of defaults for the uses of a pool.
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
 * `development` shows the owners of memory. `production` is fast and returns unused memory to the
 * device. `testing` finds errors: with small caches a freed block is soon reused, and without timed
 * cleanup a test behaves the same in every run.
 * @category Memory
 */
export const POOL_PRESETS: Readonly<Record<PoolPreset, Partial<PoolSettings>>> = {
  development: { enableMemoryTracking: true, cleanupInterval: 10_000 },
  production: { maxCachedBuffers: 256, cleanupInterval: 60_000 },
  testing: {
    enableMemoryTracking: true,
    debug: true,
    stackFrames: 16,
    maxCachedBuffers: 2,
    maxCachedBytes: 16 * 2 ** 20,
  },
};

/** The variables that pools read. */
export type PoolEnvironment = Pick<
  Environment,
  "memoryFraction" | "memoryPoolSize" | "memoryPoolCache" | "memoryPoolTrim" | "read"
>;

/** The properties of a device that the settings depend on. */
export interface PoolDevice {
  /** Its total memory in bytes. */
  readonly totalBytes: number;
  /** Whether it has virtual memory management. */
  readonly virtualMemory: boolean;
  /** Queries its usable memory; called only for a share of it. */
  usableBytes(): number;
}

/** Share of the limit above which requests are refused, if `pressure` is given. */
const DEFAULT_REFUSE = 0.85;
/** The cleanup interval without another, in milliseconds. */
export const DEFAULT_CLEANUP_INTERVAL = 10_000;
/** The minimum alignment, and the default. */
const MIN_ALIGNMENT = 512;
const MAX_ALIGNMENT = 2 ** 30;
/** The maximum interval of a timer, in milliseconds. */
const MAX_INTERVAL = 2 ** 31 - 1;

const OPTION_NAMES = [
  "preset",
  "maxPoolSize",
  "memoryFraction",
  "initialSize",
  "maxCachedBuffers",
  "maxCachedBytes",
  "enableMemoryTracking",
  "debug",
  "stackFrames",
  "cleanupInterval",
  "trim",
  "virtualMemory",
  "pressure",
  "onMemoryPressure",
  "alignment",
] as const satisfies readonly (keyof MemoryPoolOptions)[];

const AsyncFunction = (async () => {}).constructor;

const PRESET_NAMES = Object.keys(POOL_PRESETS) as PoolPreset[];

const ACTION = "make a memory pool";

/** The error for a bad value: a `RangeError` if its type is allowed, else a `TypeError`. */
function refusal(option: string, allowed: string, value: unknown, ...types: string[]): Error {
  const Refusal = types.includes(typeof value) ? RangeError : TypeError;
  return new Refusal(
    `Cannot ${ACTION} as ${option} must be ${allowed}: it is ${describeValue(value)}`,
  );
}

function readSize(value: unknown, name: string, minimum: number): number | undefined {
  if (value === undefined) return undefined;
  const zero = value === "0" ? 0 : undefined;
  const bytes = typeof value === "string" ? matchByteSize(value) ?? zero : value;
  if (Number.isSafeInteger(bytes) && bytes as number >= minimum) return bytes as number + 0; // no -0
  const allowed = `an integer in ${minimum}..2^53-1 or ${BYTE_SIZE_GRAMMAR}`;
  throw refusal(`options.${name}`, allowed, value, "number", "string");
}

function checked<T>(
  value: unknown,
  name: string,
  isRight: (value: number) => boolean,
  allowed: string,
  ...types: string[]
): T | undefined {
  if (value === undefined || isRight(value as number)) return value as T | undefined;
  throw refusal(`options.${name}`, allowed, value, ...types);
}

function readInteger(value: unknown, name: string, min: number, max: number): number | undefined {
  const isRight = (each: number) => Number.isInteger(each) && each >= min && each <= max;
  const integer = checked<number>(value, name, isRight, `an integer in ${min}..${max}`, "number");
  return integer === undefined ? undefined : integer + 0; // no -0
}

function readShare(value: unknown, name: string): number | undefined {
  const isRight = (each: number) => typeof each === "number" && each > 0 && each <= 1;
  return checked(value, name, isRight, "a number above 0 and up to 1", "number");
}

function readFlag(value: unknown, name: string): boolean | undefined {
  return checked(value, name, (each) => typeof each === "boolean", "true or false");
}

function readAlignment(value: unknown): number {
  const isRight = (each: number) =>
    typeof each === "number" && Number.isInteger(Math.log2(each)) && each >= MIN_ALIGNMENT &&
    each <= MAX_ALIGNMENT;
  const allowed = `a power of two in ${MIN_ALIGNMENT}..${MAX_ALIGNMENT}`;
  return checked(value, "alignment", isRight, allowed, "number") ?? MIN_ALIGNMENT;
}

function readPressure(value: unknown): Partial<PoolSettings> {
  if (value === undefined) return {};
  requireOptions(value as object, ["reclaim", "refuse"], ACTION, "options.pressure");
  const { reclaim, refuse } = value as NonNullable<MemoryPoolOptions["pressure"]>;
  const reclaimShare = readShare(reclaim, "pressure.reclaim");
  return {
    ...(reclaimShare === undefined ? {} : { reclaimShare }),
    refuseShare: readShare(refuse, "pressure.refuse") ?? DEFAULT_REFUSE,
  };
}

/** Reads the cleanup interval. `trim` and the interval must not contradict each other. */
function readCleanup(
  options: MemoryPoolOptions,
  environment: PoolEnvironment,
  preset: number,
): number {
  const trim = readFlag(options.trim, "trim");
  const interval = readInteger(options.cleanupInterval, "cleanupInterval", 0, MAX_INTERVAL);
  if (interval !== undefined) {
    if (trim !== undefined && trim !== interval > 0) {
      const allowed = trim ? "more than 0 where trim is true" : "0 where trim is false";
      throw refusal("options.cleanupInterval", allowed, interval, "number");
    }
    return interval;
  }
  const isOn = trim ?? environment.memoryPoolTrim;
  if (isOn === undefined) return preset;
  if (!isOn) return 0;
  return preset > 0 ? preset : DEFAULT_CLEANUP_INTERVAL;
}

function readLimit(
  options: MemoryPoolOptions,
  environment: PoolEnvironment,
  device: PoolDevice,
): Pick<PoolSettings, "limitBytes" | "limitName"> {
  const size = readSize(options.maxPoolSize, "maxPoolSize", 1);
  const explicit = readShare(options.memoryFraction, "memoryFraction");
  // A share in the environment does not limit a size in the options.
  const fraction = explicit ?? (size === undefined ? environment.memoryFraction : undefined);
  const share = fraction === undefined ? Infinity : Math.floor(fraction * device.usableBytes());
  const limitBytes = Math.min(size ?? Infinity, share, device.totalBytes);
  const fractionName = explicit === undefined ? "GRIDSTRIDE_MEMORY_FRACTION" : "memoryFraction";
  const limitName = limitBytes === size
    ? "maxPoolSize"
    : limitBytes === share
    ? fractionName
    : null;
  return { limitBytes, limitName };
}

function readInitial(
  options: MemoryPoolOptions,
  environment: PoolEnvironment,
  limitBytes: number,
  totalBytes: number,
): number {
  const explicit = readSize(options.initialSize, "initialSize", 0);
  if (explicit !== undefined) {
    if (explicit <= limitBytes) return explicit;
    const allowed = `at most the pool's limit of ${limitBytes} bytes`;
    throw refusal("options.initialSize", allowed, options.initialSize, "number", "string");
  }
  const wanted = environment.memoryPoolSize ?? 0;
  if (wanted > totalBytes) {
    const allowed = `at most the ${totalBytes} bytes that the device has`;
    const text = environment.read(MEMORY_POOL_SIZE_VARIABLE) ?? String(wanted);
    throw new EnvironmentError(MEMORY_POOL_SIZE_VARIABLE, text, allowed);
  }
  return Math.min(wanted, limitBytes);
}

/**
 * Resolves the settings of a pool.
 *
 * @param environment The variables; `environment` of `device_list.ts` outside of tests.
 */
export function resolvePoolSettings(
  options: MemoryPoolOptions,
  environment: PoolEnvironment,
  device: PoolDevice,
): PoolSettings {
  requireOptions(options, OPTION_NAMES, ACTION);
  const known = `one of ${PRESET_NAMES.join(", ")}`;
  const isPreset = (value: unknown) => PRESET_NAMES.includes(value as PoolPreset);
  const preset = checked<PoolPreset>(options.preset, "preset", isPreset, known, "string") ?? null;
  const defaults = {
    ...defaultSettings(device.totalBytes),
    ...(preset === null ? {} : POOL_PRESETS[preset]),
  };
  const debug = readFlag(options.debug, "debug") ?? defaults.debug;
  const tracking = readFlag(options.enableMemoryTracking, "enableMemoryTracking");
  if (debug && tracking === false) {
    const allowed = "true where debug is true";
    throw refusal("options.enableMemoryTracking", allowed, tracking, "boolean");
  }
  const { limitBytes, limitName } = readLimit(options, environment, device);
  return {
    ...defaults,
    preset,
    limitBytes,
    limitName,
    initialBytes: readInitial(options, environment, limitBytes, device.totalBytes),
    maxCachedBuffers: readInteger(options.maxCachedBuffers, "maxCachedBuffers", 0, 2 ** 20) ??
      defaults.maxCachedBuffers,
    maxCachedBytes: readSize(options.maxCachedBytes, "maxCachedBytes", 0) ??
      environment.memoryPoolCache ?? defaults.maxCachedBytes,
    enableMemoryTracking: tracking ?? (debug || defaults.enableMemoryTracking),
    debug,
    stackFrames: readInteger(options.stackFrames, "stackFrames", 1, 100) ?? defaults.stackFrames,
    cleanupInterval: readCleanup(options, environment, defaults.cleanupInterval),
    virtualMemory: (readFlag(options.virtualMemory, "virtualMemory") ?? true) &&
      device.virtualMemory,
    ...readPressure(options.pressure),
    onMemoryPressure: checked(
      options.onMemoryPressure,
      "onMemoryPressure",
      (value: unknown) => typeof value === "function" && !(value instanceof AsyncFunction),
      "a function that is not asynchronous",
    ),
    alignment: readAlignment(options.alignment),
  };
}
