/**
 * Checking what callers say of a tuning.
 *
 * @module
 */

import { refuseOption, requireInstance, requireObject } from "../../ffi/arguments.ts";
import type { DeviceContext } from "../../hardware/device_context.ts";
import { streamFor } from "../../memory/buffer_copy.ts";
import { DeviceBuffer } from "../../memory/device_buffer.ts";
import type { Stream } from "../../stream/stream.ts";
import { canonicalText, type TuningValue } from "./canonical_text.ts";
import type { AutotunerOptions, TuningRun, TuningStorage } from "./tuning_options.ts";

/** What the caller is about to do, as error messages say it. */
export const ACTION = "autotune";

/** A configuration, and the text that it is known by. */
export interface Candidate<Configuration> {
  /** As the caller has it. */
  readonly configuration: Configuration;
  /** Its text. */
  readonly text: string;
}

/** What all tunings of one kernel have in common, checked. */
export interface TunerSettings<Configuration extends TuningValue, Prepared> {
  /** What is tuned. */
  readonly name: string;
  /** What is chosen from. */
  readonly candidates: readonly Candidate<Configuration>[];
  /** What is taken for every key; absent where it is chosen. */
  readonly override: Candidate<Configuration> | undefined;
  /** Makes what a configuration needs. */
  readonly prepare: AutotunerOptions<Configuration, Prepared>["prepare"];
  /** Leaves out configurations. */
  readonly prune: AutotunerOptions<Configuration, Prepared>["prune"];
  /** State of what is tuned. */
  readonly version: string;
  /** Where results are kept. */
  readonly storage: TuningStorage;
  /** Rounds before the first that counts. */
  readonly warmUp: number;
  /** Rounds that count, at most. */
  readonly repeats: number;
  /** Whether the level-2 cache is overwritten before each launch. */
  readonly flushCache: boolean;
}

/** One tuning, checked. */
export interface RunSettings<Configuration extends TuningValue, Prepared> {
  /** Enqueues the work of a configuration. */
  readonly launch: TuningRun<Configuration, Prepared>["launch"];
  /** Buffers whose content is put back. */
  readonly restore: readonly DeviceBuffer[];
  /** The stream. */
  readonly stream: Stream;
  /** Ends the tuning. */
  readonly signal: AbortSignal | undefined;
}

const MOST_WARM_UP = 1000;
const MOST_REPEATS = 10_000;
const MOST_CONFIGURATIONS = 10_000;
const LONGEST_NAME = 200;
const STORAGES: readonly unknown[] = ["disk", "memory", false] satisfies TuningStorage[];

/**
 * Reads what all tunings of one kernel have in common.
 *
 * @throws {TypeError | RangeError} If an option is wrong.
 */
export function readSettings<Configuration extends TuningValue, Prepared>(
  options: AutotunerOptions<Configuration, Prepared>,
): TunerSettings<Configuration, Prepared> {
  requireObject(options, "options", ACTION);
  const { name, configurations, prepare, prune, version = "", store = "disk" } = options;
  const { warmUp = 2, repeats = 30, flushCache = true, override } = options;
  requireText("name", name, 1);
  requireText("version", version, 0);
  requireFunction("prepare", prepare);
  requireFunction("prune", prune);
  if (!STORAGES.includes(store)) {
    refuseOption(TypeError, ACTION, "store", '"disk", "memory" or false', store);
  }
  requireCount("warmUp", warmUp, 0, MOST_WARM_UP);
  requireCount("repeats", repeats, 1, MOST_REPEATS);
  if (typeof flushCache !== "boolean") {
    refuseOption(TypeError, ACTION, "flushCache", "a boolean", flushCache);
  }
  const candidates = readCandidates(configurations);
  return {
    name,
    candidates,
    override: override === undefined ? undefined : readOverride(override, candidates),
    prepare,
    prune,
    version,
    storage: store,
    warmUp,
    repeats,
    flushCache,
  };
}

function readCandidates<Configuration extends TuningValue>(
  configurations: readonly Configuration[],
): Candidate<Configuration>[] {
  if (!Array.isArray(configurations)) {
    refuseOption(TypeError, ACTION, "configurations", "an array", configurations);
  }
  const { length } = configurations;
  if (length < 1 || length > MOST_CONFIGURATIONS) {
    throw new RangeError(
      `Cannot ${ACTION} as options.configurations must have 1..${MOST_CONFIGURATIONS} elements: ` +
        `it has ${length}`,
    );
  }
  const places = new Map<string, number>();
  return Array.from(configurations as readonly Configuration[], (configuration, index) => {
    const path = `options.configurations[${index}]`;
    const text = canonicalText(configuration, ACTION, path);
    const before = places.get(text);
    if (before !== undefined) {
      throw new RangeError(
        `Cannot ${ACTION} as options.configurations must differ: ${index} is the same as ` +
          `${before}, ${text}`,
      );
    }
    places.set(text, index);
    return { configuration, text };
  });
}

function readOverride<Configuration extends TuningValue>(
  override: Configuration,
  candidates: readonly Candidate<Configuration>[],
): Candidate<Configuration> {
  const text = canonicalText(override, ACTION, "options.override");
  const found = candidates.find((candidate) => candidate.text === text);
  if (found !== undefined) return found;
  throw new RangeError(
    `Cannot ${ACTION} as options.override must be one of options.configurations: it is ${text}`,
  );
}

/**
 * The configurations that are worth timing for a key.
 *
 * @throws {TypeError | RangeError} If `prune` leaves none, or something else.
 */
export function prunedCandidates<Configuration extends TuningValue, Prepared>(
  { candidates, prune }: TunerSettings<Configuration, Prepared>,
  key: TuningValue,
): readonly Candidate<Configuration>[] {
  if (prune === undefined) return candidates;
  const left: unknown = prune(candidates.map(({ configuration }) => configuration), key);
  if (typeof (left as Partial<Iterable<unknown>> | null)?.[Symbol.iterator] !== "function") {
    refuseOption(
      TypeError,
      ACTION,
      "prune",
      "a function that returns the configurations that stay",
      left,
    );
  }
  const path = "what options.prune returns";
  const texts = new Set(
    Array.from(left as Iterable<unknown>, (each) => canonicalText(each, ACTION, path)),
  );
  // In their own order, which is that of preference, whatever the order they come back in.
  const stay = candidates.filter(({ text }) => texts.delete(text));
  const [foreign] = texts;
  if (foreign !== undefined) {
    throw new RangeError(
      `Cannot ${ACTION} as ${path} must be among options.configurations: there is ${foreign}`,
    );
  }
  if (stay.length > 0) return stay;
  throw new RangeError(
    `Cannot ${ACTION} as options.prune must leave a configuration: it left none`,
  );
}

/**
 * Reads what is launched, and what that changes.
 *
 * @throws {TypeError} If an option is wrong, or a buffer or the stream is of another device.
 */
export function readRun<Configuration extends TuningValue, Prepared>(
  context: DeviceContext,
  options: TuningRun<Configuration, Prepared>,
): RunSettings<Configuration, Prepared> {
  requireObject(options, "options", ACTION);
  const { launch, restore = [], stream, signal } = options;
  if (typeof launch !== "function") refuseOption(TypeError, ACTION, "launch", "a function", launch);
  if (!Array.isArray(restore)) {
    refuseOption(TypeError, ACTION, "restore", "an array of buffers", restore);
  }
  const buffers: readonly DeviceBuffer[] = Array.from(restore as unknown[], (buffer, index) => {
    const name = `options.restore[${index}]`;
    requireInstance(buffer, DeviceBuffer, name, ACTION);
    requireUsable(context, buffer, name);
    return buffer;
  });
  if (signal !== undefined) requireInstance(signal, AbortSignal, "options.signal", ACTION);
  return { launch, restore: buffers, stream: streamFor(context, stream), signal };
}

function requireUsable(context: DeviceContext, buffer: DeviceBuffer, name: string): void {
  if (buffer.disposed) {
    throw new TypeError(
      `Cannot ${ACTION} as ${name} must be a buffer that has its memory: it is disposed`,
    );
  }
  if (buffer.context.isSameDevice(context)) return;
  throw new TypeError(
    `Cannot ${ACTION} as ${name} must be on ${context.label}: it is on ${buffer.context.label}`,
  );
}

function requireText(name: string, value: unknown, least: number): asserts value is string {
  const allowed = `a text of ${least}..${LONGEST_NAME} characters`;
  if (typeof value !== "string") refuseOption(TypeError, ACTION, name, allowed, value);
  if (value.length < least || value.length > LONGEST_NAME) {
    refuseOption(RangeError, ACTION, name, allowed, value);
  }
}

function requireFunction(name: string, value: unknown): void {
  if (value !== undefined && typeof value !== "function") {
    refuseOption(TypeError, ACTION, name, "a function", value);
  }
}

function requireCount(name: string, value: unknown, least: number, most: number): void {
  if (Number.isInteger(value) && Number(value) >= least && Number(value) <= most) return;
  const Kind = typeof value === "number" ? RangeError : TypeError;
  refuseOption(Kind, ACTION, name, `an integer in ${least}..${most}`, value);
}
