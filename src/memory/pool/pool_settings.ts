/**
 * From options, environment and preset to the settings of a pool.
 *
 * An option wins over the environment, the environment over the preset. Everything is checked
 * before anything is done, so that a pool with a bad option has taken no memory.
 *
 * @module
 */

import { requireObject } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import { BYTE_SIZE_GRAMMAR, matchByteSize } from "../../hardware/byte_size.ts";
import { type Environment, MEMORY_POOL_SIZE_VARIABLE } from "../../hardware/environment.ts";
import { EnvironmentError } from "../../ffi/environment_error.ts";
import type {
  MemoryPoolOptions,
  MemoryPressureCallback,
  PoolSettings,
  PressureOptions,
} from "./pool_options.ts";
import { POOL_DEFAULTS, POOL_PRESET_NAMES, POOL_PRESETS, type PoolPreset } from "./pool_presets.ts";

/** The variables that pools read. */
export type PoolEnvironment = Pick<
  Environment,
  "memoryFraction" | "memoryPoolSize" | "memoryPoolTrim" | "read"
>;

/** The device that a pool is for, as far as its settings depend on it. */
export interface PoolDevice {
  /** Its total memory in bytes. */
  readonly totalBytes: number;
  /** Whether it has virtual memory management. */
  readonly virtualMemory: boolean;
  /** What is usable of its memory now; asked only where a share of it is wanted. */
  usableBytes(): number;
}

/** Share of the limit above which what is free goes back first. */
export const DEFAULT_RECLAIM = 0.9;
/** Share of the limit above which requests are refused, where pressure is watched. */
export const DEFAULT_REFUSE = 0.85;
/** Milliseconds after which free memory goes back, where nothing says how long. */
export const DEFAULT_CLEANUP_INTERVAL = 10_000;
/** What addresses are multiples of by default; no pool does with less. */
export const DEFAULT_ALIGNMENT = 512;

/** The longest time that a timer takes, in milliseconds. */
const LONGEST_INTERVAL = 2 ** 31 - 1;

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

const PRESSURE_NAMES = ["reclaim", "refuse"] as const satisfies readonly (keyof PressureOptions)[];

const ACTION = "make a memory pool";

function problem(option: string, allowed: string, value: unknown): string {
  return `Cannot ${ACTION} as ${option} must be ${allowed}: it is ${describeValue(value)}`;
}

function wrongType(option: string, allowed: string, value: unknown): TypeError {
  return new TypeError(problem(option, allowed, value));
}

function outOfRange(option: string, allowed: string, value: unknown): RangeError {
  return new RangeError(problem(option, allowed, value));
}

/** Refuses names that are no options, since a slip of the pen would go unnoticed. */
function checkNames(value: object, name: string, known: readonly string[]): void {
  const stranger = Object.keys(value).find((key) => !known.includes(key));
  if (stranger === undefined) return;
  throw new TypeError(
    `Cannot ${ACTION} as ${name} may have ${known.join(", ")}: it has ${describeValue(stranger)}`,
  );
}

function readPreset(value: unknown): PoolPreset | null {
  if (value === undefined) return null;
  const known = POOL_PRESET_NAMES.find((name) => name === value);
  if (known !== undefined) return known;
  const allowed = `one of ${POOL_PRESET_NAMES.join(", ")}`;
  if (typeof value !== "string") throw wrongType("options.preset", allowed, value);
  throw outOfRange("options.preset", allowed, value);
}

/** A size in bytes, as a number or a text; `undefined` where the option is absent. */
function readSize(value: unknown, name: string, minimum: number): number | undefined {
  if (value === undefined) return undefined;
  const option = `options.${name}`;
  const allowed = `an integer in ${minimum}..2^53-1 or ${BYTE_SIZE_GRAMMAR}`;
  if (typeof value !== "number" && typeof value !== "string") {
    throw wrongType(option, allowed, value);
  }
  const zero = value === "0" ? 0 : undefined;
  const bytes = typeof value === "string" ? matchByteSize(value) ?? zero : value;
  if (bytes === undefined || !Number.isSafeInteger(bytes) || bytes < minimum) {
    throw outOfRange(option, allowed, value);
  }
  return bytes + 0; // -0 is 0
}

function readInteger(value: unknown, name: string, minimum: number, maximum: number) {
  if (value === undefined) return undefined;
  const option = `options.${name}`;
  const allowed = `an integer in ${minimum}..${maximum}`;
  if (typeof value !== "number") throw wrongType(option, allowed, value);
  if (Number.isInteger(value) && value >= minimum && value <= maximum) return value + 0;
  throw outOfRange(option, allowed, value);
}

function readShare(value: unknown, name: string): number | undefined {
  if (value === undefined) return undefined;
  const option = `options.${name}`;
  const allowed = "a number above 0 and up to 1";
  if (typeof value !== "number") throw wrongType(option, allowed, value);
  if (value > 0 && value <= 1) return value;
  throw outOfRange(option, allowed, value);
}

function readFlag(value: unknown, name: string): boolean | undefined {
  if (value === undefined || typeof value === "boolean") return value;
  throw wrongType(`options.${name}`, "true or false", value);
}

function readCallback(value: unknown): MemoryPressureCallback | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "function") return value as MemoryPressureCallback;
  throw wrongType("options.onMemoryPressure", "a function", value);
}

function readAlignment(value: unknown): number {
  const maximum = 2 ** 30;
  const allowed = `a power of two in ${DEFAULT_ALIGNMENT}..${maximum}`;
  if (value === undefined) return DEFAULT_ALIGNMENT;
  if (typeof value !== "number") throw wrongType("options.alignment", allowed, value);
  const isPower = Number.isInteger(Math.log2(value));
  if (isPower && value >= DEFAULT_ALIGNMENT && value <= maximum) return value;
  throw outOfRange("options.alignment", allowed, value);
}

function readPressure(value: unknown): Pick<PoolSettings, "reclaimShare" | "refuseShare"> {
  if (value === undefined) return { reclaimShare: DEFAULT_RECLAIM, refuseShare: Infinity };
  requireObject(value, "options.pressure", ACTION);
  checkNames(value, "options.pressure", PRESSURE_NAMES);
  const { reclaim, refuse } = value as PressureOptions;
  return {
    reclaimShare: readShare(reclaim, "pressure.reclaim") ?? DEFAULT_RECLAIM,
    refuseShare: readShare(refuse, "pressure.refuse") ?? DEFAULT_REFUSE,
  };
}

/**
 * How long memory stays free before it goes back. The interval and the flag are options of one
 * thing, so a pair that contradicts itself is refused.
 */
function readCleanup(
  options: MemoryPoolOptions,
  environment: PoolEnvironment,
  preset: number,
): number {
  const trim = readFlag(options.trim, "trim");
  const interval = readInteger(options.cleanupInterval, "cleanupInterval", 0, LONGEST_INTERVAL);
  if (interval !== undefined) {
    if (trim !== undefined && trim !== interval > 0) {
      const allowed = trim ? "more than 0 where trim is true" : "0 where trim is false";
      throw outOfRange("options.cleanupInterval", allowed, interval);
    }
    return interval;
  }
  const isOn = trim ?? environment.memoryPoolTrim;
  if (isOn === undefined) return preset;
  if (!isOn) return 0;
  return preset > 0 ? preset : DEFAULT_CLEANUP_INTERVAL;
}

/** Most bytes the pool takes: the least of what the options, the environment and the device say. */
function readLimit(
  options: MemoryPoolOptions,
  environment: PoolEnvironment,
  device: PoolDevice,
): number {
  const size = readSize(options.maxPoolSize, "maxPoolSize", 1);
  const explicit = readShare(options.memoryFraction, "memoryFraction");
  // A size that the program names is not cut down by a share that the environment names.
  const fraction = explicit ?? (size === undefined ? environment.memoryFraction : undefined);
  const share = fraction === undefined ? Infinity : fractionBytes(fraction, device.usableBytes());
  return Math.min(size ?? Infinity, share, device.totalBytes);
}

/** The bytes that a share of usable memory stands for. */
export function fractionBytes(fraction: number, usableBytes: number): number {
  return Math.floor(fraction * usableBytes);
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
    throw outOfRange("options.initialSize", allowed, options.initialSize);
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
 * The settings of a pool.
 *
 * @param options What the user says.
 * @param environment The variables; `environment` of `device_list.ts` outside tests.
 * @param device The device.
 * @throws {TypeError} If an option is of the wrong type, or there is no such option.
 * @throws {RangeError} If an option is out of range.
 * @throws {EnvironmentError} If a variable cannot be understood, or asks for more than there is.
 */
export function resolvePoolSettings(
  options: MemoryPoolOptions,
  environment: PoolEnvironment,
  device: PoolDevice,
): PoolSettings {
  requireObject(options, "options", ACTION);
  checkNames(options, "options", OPTION_NAMES);
  const preset = readPreset(options.preset);
  const defaults = preset === null ? POOL_DEFAULTS : POOL_PRESETS[preset];
  const debug = readFlag(options.debug, "debug") ?? defaults.debug;
  const tracking = readFlag(options.enableMemoryTracking, "enableMemoryTracking");
  if (debug && tracking === false) {
    throw outOfRange("options.enableMemoryTracking", "true where debug is true", tracking);
  }
  const limitBytes = readLimit(options, environment, device);
  return {
    preset,
    limitBytes,
    initialBytes: readInitial(options, environment, limitBytes, device.totalBytes),
    maxCachedBuffers: readInteger(options.maxCachedBuffers, "maxCachedBuffers", 0, 2 ** 20) ??
      defaults.maxCachedBuffers,
    maxCachedBytes: readSize(options.maxCachedBytes, "maxCachedBytes", 0) ??
      defaults.maxCachedBytes,
    enableMemoryTracking: tracking ?? (debug || defaults.enableMemoryTracking),
    debug,
    stackFrames: readInteger(options.stackFrames, "stackFrames", 1, 100) ?? defaults.stackFrames,
    cleanupInterval: readCleanup(options, environment, defaults.cleanupInterval),
    virtualMemory: (readFlag(options.virtualMemory, "virtualMemory") ?? true) &&
      device.virtualMemory,
    ...readPressure(options.pressure),
    onMemoryPressure: readCallback(options.onMemoryPressure),
    alignment: readAlignment(options.alignment),
  };
}
