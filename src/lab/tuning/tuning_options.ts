/**
 * Options and results of tunings, and the validation of the options.
 *
 * @module
 */

import {
  cannot,
  refuseOption,
  requireInstance,
  requireInteger,
  requireOptions,
} from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import type { DeviceContext } from "../../hardware/device_context.ts";
import { streamFor } from "../../memory/buffer_copy.ts";
import { DeviceBuffer } from "../../memory/device_buffer.ts";
import type { Stream } from "../../stream/stream.ts";

/**
 * The values of keys and configurations: JSON data, and bigints. The order of an object's properties
 * has no meaning, and a property that is `undefined` counts as absent.
 * @category Tuning
 */
export type TuningValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | readonly TuningValue[]
  | { readonly [name: string]: TuningValue | undefined };

/**
 * Options that all tunings of one kernel share.
 *
 * @typeParam Configuration The configurations.
 * @typeParam Prepared The result of `prepare`.
 * @category Tuning
 */
export interface AutotunerOptions<Configuration extends TuningValue, Prepared = undefined> {
  /** The name that results are stored by. */
  readonly name: string;
  /**
   * The configurations in the order of preference. The first is the default. Another one replaces it
   * only if it is faster beyond the noise twice: among all, and once more beside the first alone.
   */
  readonly configurations: readonly Configuration[];
  /**
   * Prepares a configuration before anything is timed, for example compiles its module; several at
   * once. Its result is passed to `launch`, and disposed after the tuning if it is disposable.
   */
  readonly prepare?: (configuration: Configuration) => Prepared | Promise<Prepared>;
  /** Leaves out configurations that are not worth timing for a key; at least one must stay. */
  readonly prune?: (
    configurations: readonly Configuration[],
    key: TuningValue,
  ) => Iterable<Configuration>;
  /** The state of the kernel: results of another version are not found. Change it with the kernel. */
  readonly version?: string;
  /** The configuration for every key; nothing is timed. */
  readonly override?: Configuration;
  /**
   * The place of the results: `"disk"` by default, beside the compiled kernels, for other processes
   * too; `"memory"` until this process ends; `false` for none. If the disk cannot be used, memory is.
   * Failures are stored too, unless no configuration runs or the error is one of the program, such as
   * a `TypeError`.
   */
  readonly store?: "disk" | "memory" | false;
  /** Rounds before the first timed one: 0 to 1000; 2 by default. */
  readonly warmUp?: number;
  /**
   * The limit of timed rounds: 1 to 10 000; 30 by default. With fewer than 8, only configurations that
   * are clearly slower are dropped early.
   */
  readonly repeats?: number;
  /** Whether to overwrite the level-2 cache before each launch; `true` by default. */
  readonly flushCache?: boolean;
}

/**
 * One tuning: the launch to time, and the buffers that it changes.
 * @category Tuning
 */
export interface TuningRun<Configuration extends TuningValue, Prepared = undefined> {
  /**
   * Enqueues the work of a configuration on the stream, and returns: work on other streams is not
   * timed. Called many times.
   */
  readonly launch: (configuration: Configuration, prepared: Prepared) => void;
  /**
   * Buffers that a launch writes to. Their contents are restored before each launch and in the end,
   * from copies on the device.
   */
  readonly restore?: readonly DeviceBuffer[];
  /** The stream that `launch` enqueues on; the device's default stream by default. */
  readonly stream?: Stream;
  /** Ends the tuning between two launches; nothing is stored. */
  readonly signal?: AbortSignal;
}

/**
 * Options of {@linkcode autotune}.
 * @category Tuning
 */
export interface AutotuneOptions<Configuration extends TuningValue, Prepared = undefined>
  extends AutotunerOptions<Configuration, Prepared>, TuningRun<Configuration, Prepared> {
  /**
   * The parameters of the choice besides the device, such as `{ rows, columns, dtype }`. Each key has
   * results of its own.
   */
  readonly key: TuningValue;
}

/**
 * The results of one configuration.
 * @category Tuning
 */
export interface TuningRow<Configuration extends TuningValue = TuningValue> {
  /** The configuration. */
  readonly configuration: Configuration;
  /** The median time of a launch on the device; `Infinity` if it failed. */
  readonly medianMicroseconds: number;
  /** Whether it failed. */
  readonly failed: boolean;
  /** The reason of the failure. */
  readonly reason?: string;
  /** The time of each timed launch, in order. */
  readonly samples: readonly number[];
  /** Whether it was dropped because another was certainly faster. */
  readonly stoppedEarly: boolean;
  /** Whether it was the fastest of all, but not faster than the first beside the first alone. */
  readonly refuted: boolean;
}

/**
 * The result of a tuning.
 * @category Tuning
 */
export interface TuningResult<Configuration extends TuningValue = TuningValue> {
  /** The configuration to use. */
  readonly best: Configuration;
  /**
   * The source of the choice: timed now, found in the store, demanded by `override`, or the default
   * because nothing is known and nothing was to be timed.
   */
  readonly origin: "timed" | "stored" | "override" | "default";
  /** The known results of the configurations, in their order. */
  readonly report: readonly TuningRow<Configuration>[];
}

/** The caller's action in error messages. */
export const ACTION = "autotune";

/** A configuration, and its canonical text. */
export interface Candidate {
  /** The caller's value. */
  readonly configuration: TuningValue;
  /** Its text. */
  readonly text: string;
}

/** Checked options with their defaults. */
export type TunerSettings = ReturnType<typeof readSettings>;

const MAX_DEPTH = 64;
const MAX_VALUES = 100_000;
const MAX_CONFIGURATIONS = 10_000;
const MAX_NAME = 200;

/**
 * A text of a value that is equal for equal values only.
 *
 * @param path The value's name in errors.
 */
export function canonicalText(value: unknown, path: string): string {
  let count = 0;
  const refuse = (path: string, problem: string): never => {
    throw new TypeError(
      `${cannot(ACTION)} as ${path} must be plain data (numbers, bigints, texts, booleans, null, ` +
        `arrays and objects): ${problem}`,
    );
  };
  const textOf = (value: unknown, path: string, depth: number): string => {
    if (++count > MAX_VALUES) refuse(path, `it has more than ${MAX_VALUES} values`);
    if (depth > MAX_DEPTH) refuse(path, `it is more than ${MAX_DEPTH} deep`);
    if (value === null || typeof value === "boolean") return String(value);
    if (typeof value === "string") return JSON.stringify(value);
    if (typeof value === "bigint") return `${value}n`;
    // Adding 0 turns -0 into 0.
    if (Number.isFinite(value)) return String(Number(value) + 0);
    if (Array.isArray(value)) {
      const elements = Array.from(value, (each, i) => textOf(each, `${path}[${i}]`, depth + 1));
      return `[${elements.join(",")}]`;
    }
    const prototype: unknown = typeof value === "object" ? Object.getPrototypeOf(value) : value;
    if (prototype !== null && prototype !== Object.prototype) {
      return refuse(path, `it is ${describeValue(value)}`);
    }
    const object = value as Readonly<Record<string, unknown>>;
    if (Object.getOwnPropertySymbols(object).length > 0) refuse(path, "it has a symbol for a name");
    const members = Object.keys(object).sort().flatMap((name) => {
      const member = object[name];
      if (member === undefined) return [];
      return [`${JSON.stringify(name)}:${textOf(member, `${path}.${name}`, depth + 1)}`];
    });
    return `{${members.join(",")}}`;
  };
  return textOf(value, path, 0);
}

/** The names of {@linkcode AutotunerOptions}. */
const TUNER_NAMES = [
  "name",
  "configurations",
  "prepare",
  "prune",
  "version",
  "override",
  "store",
  "warmUp",
  "repeats",
  "flushCache",
];
/** The names of {@linkcode TuningRun}. */
const RUN_NAMES = ["launch", "restore", "stream", "signal"];
/** The names of {@linkcode AutotuneOptions}. */
const ALL_NAMES = [...TUNER_NAMES, ...RUN_NAMES, "key"];

/**
 * Checks the options that all tunings of one kernel share.
 *
 * @param withRun Whether those of one tuning are among them.
 */
export function readSettings(options: AutotunerOptions<TuningValue, unknown>, withRun = false) {
  requireOptions(options, withRun ? ALL_NAMES : TUNER_NAMES, ACTION);
  const { name, configurations, prepare, prune, override } = options;
  const { version = "", store = "disk", warmUp = 2, repeats = 30, flushCache = true } = options;
  requireText("name", name, 1);
  requireText("version", version, 0);
  for (const [option, value] of Object.entries({ prepare, prune })) {
    if (value === undefined || typeof value === "function") continue;
    refuseOption(TypeError, ACTION, option, "a function", value);
  }
  if (!(["disk", "memory", false] as unknown[]).includes(store)) {
    refuseOption(TypeError, ACTION, "store", '"disk", "memory" or false', store);
  }
  requireInteger(warmUp, "options.warmUp", ACTION, 0, 1000);
  requireInteger(repeats, "options.repeats", ACTION, 1, 10_000);
  if (typeof flushCache !== "boolean") {
    refuseOption(TypeError, ACTION, "flushCache", "a boolean", flushCache);
  }
  const candidates = readCandidates(configurations);
  return {
    ...{ name, candidates, prepare, prune, version, store, warmUp, repeats, flushCache },
    override: override === undefined
      ? undefined
      : candidatesAmong(candidates, [override], "options.override")[0],
  };
}

function readCandidates(configurations: readonly TuningValue[]): Candidate[] {
  if (!Array.isArray(configurations)) {
    refuseOption(TypeError, ACTION, "configurations", "an array", configurations);
  }
  const { length } = configurations;
  requireInteger(length, "the length of options.configurations", ACTION, 1, MAX_CONFIGURATIONS);
  const places = new Map<string, number>();
  return Array.from(configurations as readonly TuningValue[], (configuration, index) => {
    const text = canonicalText(configuration, `options.configurations[${index}]`);
    const before = places.get(text);
    if (before !== undefined) {
      throw new RangeError(
        `${cannot(ACTION)} as options.configurations must differ: ${index} is the same as ` +
          `${before}, ${text}`,
      );
    }
    places.set(text, index);
    return { configuration, text };
  });
}

/** The candidates of some configurations, in the order of preference. */
function candidatesAmong(
  candidates: readonly Candidate[],
  configurations: Iterable<unknown>,
  path: string,
): Candidate[] {
  const texts = new Set(Array.from(configurations, (each) => canonicalText(each, path)));
  const found = candidates.filter(({ text }) => texts.delete(text));
  const [foreign] = texts;
  if (foreign === undefined) return found;
  throw new RangeError(
    `${cannot(ACTION)} as ${path} must be among options.configurations: there is ${foreign}`,
  );
}

/** The configurations that are worth timing for a key. */
export function prunedCandidates(
  { candidates, prune }: TunerSettings,
  key: TuningValue,
): readonly Candidate[] {
  if (prune === undefined) return candidates;
  const left: unknown = prune(candidates.map(({ configuration }) => configuration), key);
  if (typeof (left as Partial<Iterable<unknown>> | null)?.[Symbol.iterator] !== "function") {
    refuseOption(TypeError, ACTION, "prune", "a function that returns configurations", left);
  }
  const stay = candidatesAmong(
    candidates,
    left as Iterable<unknown>,
    "the result of options.prune",
  );
  if (stay.length > 0) return stay;
  throw new RangeError(`${cannot(ACTION)} as options.prune must leave a configuration`);
}

/** Checks the options of one tuning, which may be those of {@linkcode AutotuneOptions}. */
export function readRun(context: DeviceContext, options: TuningRun<never>) {
  requireOptions(options, "key" in options ? ALL_NAMES : RUN_NAMES, ACTION);
  const { restore = [], stream, signal } = options;
  const launch = options.launch as (configuration: TuningValue, prepared: unknown) => void;
  if (typeof launch !== "function") refuseOption(TypeError, ACTION, "launch", "a function", launch);
  if (!Array.isArray(restore)) {
    refuseOption(TypeError, ACTION, "restore", "an array of buffers", restore);
  }
  const buffers = Array.from(restore as unknown[], (buffer, index): DeviceBuffer => {
    const name = `options.restore[${index}]`;
    requireInstance(buffer, DeviceBuffer, name, ACTION);
    if (!buffer.disposed && buffer.context.isSameDevice(context)) return buffer;
    const actual = buffer.disposed ? "disposed" : `on ${buffer.context.label}`;
    throw new TypeError(
      `${cannot(ACTION)} as ${name} must be a live buffer on ${context.label}: it is ${actual}`,
    );
  });
  if (signal !== undefined) requireInstance(signal, AbortSignal, "options.signal", ACTION);
  return { launch, restore: buffers, stream: streamFor(context, stream), signal };
}

function requireText(name: string, value: unknown, min: number): asserts value is string {
  if (typeof value === "string" && value.length >= min && value.length <= MAX_NAME) return;
  const Kind = typeof value === "string" ? RangeError : TypeError;
  refuseOption(Kind, ACTION, name, `a text of ${min}..${MAX_NAME} characters`, value);
}
