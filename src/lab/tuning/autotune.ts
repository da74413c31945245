/**
 * Tunings: stored results, or a race of the configurations, and the choice.
 *
 * @module
 */

import { setTimeout as delay } from "node:timers/promises";
import { requireObject } from "../../ffi/arguments.ts";
import { CudaError, OutOfMemoryError } from "../../ffi/cuda_error.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import type { NativeLibrary } from "../../ffi/library.ts";
import { contextOf, type DeviceContext, whileHeld } from "../../hardware/device_context.ts";
import { isFileProblem } from "../../launch/compile/files.ts";
import { CompilerUnavailableError } from "../../launch/compile/compile_error.ts";
import { LaunchTimer, median } from "../../launch/kernel_timing.ts";
import { refuseWhileCapturing } from "../../stream/running_captures.ts";
import { chooseWinner, isSlower, raceConfigurations, type RaceOutcome } from "./race.ts";
import {
  ACTION,
  type AutotuneOptions,
  type AutotunerOptions,
  type Candidate,
  canonicalText,
  prunedCandidates,
  readRun,
  readSettings,
  type TunerSettings,
  type TuningResult,
  type TuningRow,
  type TuningRun,
  type TuningValue,
} from "./tuning_options.ts";
import {
  countTuning,
  deviceModel,
  readRecord,
  type TuningEntry,
  type TuningIdentity,
  type TuningRecord,
  writeRecord,
} from "./tuning_store.ts";

/** A tuning found no configuration that runs, or lost the device to one; the message says why. */
export class TuningError extends Error {
  /** The class, for stack traces. */
  override readonly name: string = "TuningError";
  /** The results of the configurations. */
  readonly report: readonly TuningRow[];

  /** Makes the error; programs receive it from tunings. */
  constructor(message: string, report: readonly TuningRow[], cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.report = report;
  }
}

const MODES = ["tune", "stored", "off"] as const;
let mode: (typeof MODES)[number] = "tune";

/**
 * Sets the mode of tunings in this isolate. A program that times nothing runs the same way every
 * time and starts without a pause.
 *
 * @param options `mode` is `"tune"`, the default: time unknown configurations; `"stored"`: time
 * nothing, and take the stored choice or the first configuration; or `"off"`: take the first
 * configuration and read nothing.
 * @throws {TypeError} If there is no such option or mode.
 *
 * @example
 * ```ts
 * import { configureTuning } from "@gridstride/cuda/tuning";
 *
 * configureTuning({ mode: "stored" });
 * ```
 */
export function configureTuning(
  options: { readonly mode?: "tune" | "stored" | "off" } = {},
): void {
  const action = "configure tuning";
  requireObject(options, "options", action);
  const unknown = Object.keys(options).find((name) => name !== "mode");
  if (unknown !== undefined) {
    throw new TypeError(`Cannot ${action} as there is no option ${describeValue(unknown)}`);
  }
  const { mode: wanted = "tune" } = options;
  if (!MODES.includes(wanted)) {
    throw new TypeError(
      `Cannot ${action} as options.mode must be "tune", "stored" or "off": it is ${
        describeValue(wanted)
      }`,
    );
  }
  mode = wanted;
}

/**
 * Finds the fastest of several configurations of some work, such as block sizes of a kernel, by
 * timing them in turn on the device. Configurations that were timed before, by this process or
 * another, are not timed again. A configuration that fails is reported and not chosen.
 *
 * A configuration that faults, by a wild access for example, takes the device from this process. The
 * tuning ends with an error that names it, and the next process leaves it out. Tune configurations
 * that may fault in a process of their own.
 *
 * @param device The device, or another object with its context.
 * @throws {TypeError | RangeError} If an option is wrong.
 * @throws {TuningError} If all configurations fail, or one takes the device with it.
 * @throws {OutOfMemoryError} If there is no room for copies of the buffers to restore.
 *
 * @example
 * ```ts
 * import { openDevice } from "@gridstride/cuda";
 * import { autotune } from "@gridstride/cuda/tuning";
 *
 * using device = openDevice();
 * using x = device.allocate("float32", 100_000, { fill: 1 });
 * const { best, report } = await autotune(device, {
 *   name: "double",
 *   configurations: [{ each: 1 }, { each: 2 }, { each: 4 }],
 *   key: { elements: x.length },
 *   prepare: ({ each }) =>
 *     device.compile(`
 *       __global__ void twice(float* x, int n) {
 *         int first = (blockIdx.x * blockDim.x + threadIdx.x) * EACH;
 *         for (int i = first; i < min(first + EACH, n); i++) x[i] *= 2;
 *       }`, { defines: { EACH: each } }),
 *   launch: ({ each }, module) =>
 *     module.kernel("twice")
 *       .launch({ grid: Math.ceil(x.length / (256 * each)), block: 256 }, x, x.length),
 *   restore: [x],
 * });
 * console.log(best, report.map(({ medianMicroseconds }) => medianMicroseconds));
 * ```
 */
export async function autotune<const Configuration extends TuningValue, Prepared = undefined>(
  device: { readonly context: DeviceContext },
  options: AutotuneOptions<Configuration, Prepared>,
): Promise<TuningResult<Configuration>> {
  const context = contextOf(device, "device", ACTION);
  return await tuneKey(context, readSettings(options), options.key, options);
}

/** Tunes a kernel for one key. */
async function tuneKey<Configuration extends TuningValue, Prepared>(
  context: DeviceContext,
  settings: TunerSettings<Configuration, Prepared>,
  key: TuningValue,
  options: TuningRun<Configuration, Prepared>,
): Promise<TuningResult<Configuration>> {
  const text = canonicalText(key, "options.key");
  const run = readRun(context, options);
  run.signal?.throwIfAborted();
  const recalled = await recall(context, settings, key, text);
  const { candidates, record, result } = recalled;
  if (result !== undefined) return result;
  refuseWhileCapturing(context.library, ACTION);
  const identity = identityOf(context, settings, text);
  const tuning = { context, settings, candidates, run };
  return await whileHeld(context, async () => {
    const raced = await inTurn(context, () => race(tuning, identity, record));
    countTuning(raced.timed);
    const choice = choose(candidates, raced.record);
    if (choice.best === undefined) throw allFailed(settings.name, candidates, raced.record, "");
    await writeRecord(identity, settings.store, withoutPassing(raced));
    return resultOf(candidates, raced.record, choice.best, "timed");
  });
}

/** The candidates of a key, their stored results, and the choice if nothing is to be timed. */
async function recall<Configuration extends TuningValue, Prepared>(
  context: DeviceContext,
  settings: TunerSettings<Configuration, Prepared>,
  key: TuningValue,
  text: string,
  isTimed = mode === "tune",
) {
  const { override } = settings;
  const none: TuningRecord = { entries: new Map() };
  const candidates = override === undefined ? prunedCandidates(settings, key) : [override];
  if (override !== undefined) {
    return { candidates, record: none, result: resultOf([], none, override, "override") };
  }
  if (mode === "off") {
    return { candidates, record: none, result: resultOf([], none, candidates[0]!, "default") };
  }
  const record = await readRecord(identityOf(context, settings, text), settings.store);
  const { best, isFinal } = choose(candidates, record);
  if (isTimed && !isFinal) return { candidates, record };
  if (best !== undefined) {
    if (isTimed) countTuning(0);
    return { candidates, record, result: resultOf(candidates, record, best, "stored") };
  }
  const untried = candidates.find((each) => !record.entries.has(each.text));
  if (untried !== undefined) {
    return { candidates, record, result: resultOf(candidates, record, untried, "default") };
  }
  const advice =
    "\nThese are stored results: clearTunings() or another version has them tried again.";
  throw allFailed(settings.name, candidates, record, advice);
}

function identityOf<Configuration extends TuningValue, Prepared>(
  context: DeviceContext,
  { name, version }: TunerSettings<Configuration, Prepared>,
  key: string,
): TuningIdentity {
  return { name, key, device: deviceModel(context), version };
}

/**
 * The choice from known results. It is final if all candidates are known, and the winner is the first
 * of them or was raced beside it alone.
 */
function choose<C>(candidates: readonly Candidate<C>[], { entries, confirmation }: TuningRecord) {
  const known = candidates.map(({ text }) => entries.get(text) as RaceOutcome | undefined);
  const first =
    candidates[known.findIndex((each) => each !== undefined && each.samples.length > 0)];
  const winner = candidates[chooseWinner(known)];
  const isRaced = winner === first ||
    confirmation?.first === first?.text && confirmation?.challenger === winner?.text;
  const isTaken = winner === first || isRaced && confirmation?.confirmed === true;
  return {
    first,
    winner,
    best: isTaken ? winner : first,
    isFinal: isRaced && known.every((each) => each !== undefined),
  };
}

/** A tuning in progress. */
interface Tuning<Configuration extends TuningValue, Prepared> {
  readonly context: DeviceContext;
  readonly settings: TunerSettings<Configuration, Prepared>;
  readonly candidates: readonly Candidate<Configuration>[];
  readonly run: ReturnType<typeof readRun<Configuration, Prepared>>;
}

/** The results of a race, and its failures that later tunings try again. */
interface Raced {
  readonly record: TuningRecord;
  readonly passing: ReadonlySet<string>;
  readonly timed: number;
}

/** The device was lost to a configuration. */
class DeviceLostError extends Error {
  constructor(readonly text: string, cause: unknown) {
    super("The device is lost", { cause });
  }
}

/** Every configuration would throw it: the caller's mistake. */
class LaunchRefusedError extends TypeError {}

/** Milliseconds before the second race: threads go to sleep and clocks change in this time. */
const PAUSE = 20;

/** Races all candidates but those that are known to fail, and the winner beside the first. */
async function race<Configuration extends TuningValue, Prepared>(
  tuning: Tuning<Configuration, Prepared>,
  identity: TuningIdentity,
  known: TuningRecord,
): Promise<Raced> {
  const { context, settings, candidates, run } = tuning;
  const failed = [...known.entries].filter(([, { failure }]) => failure !== undefined);
  const entries = new Map(failed);
  const entrants = candidates.filter(({ text }) => !entries.has(text));
  const passing = new Set<string>();
  const note = (text: string, { samples, stoppedEarly, failure }: RaceOutcome) => {
    if (failure !== undefined && isPassing(failure.error)) passing.add(text);
    const reason = failure === undefined ? {} : { failure: failureReason(failure.error) };
    entries.set(text, { samples, stoppedEarly, ...reason });
  };
  try {
    await using owned = new AsyncDisposableStack();
    const launches = await prepareAll(tuning, entrants, owned, note);
    for (const [text, outcome] of await raceLaunches(tuning, launches)) note(text, outcome);
    const { first, winner } = choose(candidates, { entries });
    if (first === undefined || winner === undefined || winner === first) {
      return { record: { entries }, passing, timed: entrants.length };
    }
    await delay(PAUSE, undefined, run.signal && { signal: run.signal }).catch(() => {});
    const pair = [first.text, winner.text].map((text) => [text, launches.get(text)!] as const);
    const again = await raceLaunches(tuning, new Map(pair));
    for (const [text, outcome] of again) if (outcome.failure !== undefined) note(text, outcome);
    const [firstTimes, times] = [first, winner].map(({ text }) => again.get(text)!.samples);
    const confirmed = times!.length > 0 && isSlower(firstTimes!, times!);
    const confirmation = { first: first.text, challenger: winner.text, confirmed };
    return { record: { entries, confirmation }, passing, timed: entrants.length };
  } catch (error) {
    if (!(error instanceof DeviceLostError)) throw error;
    const { text, cause } = error;
    const failure = { samples: [], stoppedEarly: false, failure: failureReason(cause) };
    const record = { entries: new Map([...failed, [text, failure] as const]) };
    countTuning(1);
    await writeRecord(identity, settings.store, record);
    throw new TuningError(
      `Cannot ${ACTION} ${settings.name} any further as ${context.label} is lost to this process ` +
        `after configuration ${text}: ${failure.failure} The next process does not try this one.`,
      rowsOf(candidates, record),
      cause,
    );
  }
}

/** Launches of configurations by their texts. */
type Launches = ReadonlyMap<string, () => void>;

/** Prepares all at once: compilers limit themselves. */
async function prepareAll<Configuration extends TuningValue, Prepared>(
  { context, settings, run }: Tuning<Configuration, Prepared>,
  entrants: readonly Candidate<Configuration>[],
  owned: AsyncDisposableStack,
  note: (text: string, outcome: RaceOutcome) => void,
): Promise<Launches> {
  const prepared = await Promise.all(entrants.map(async ({ configuration, text }) => {
    try {
      const value = await settings.prepare?.(configuration) as Prepared;
      owned.defer(() => disposeIfPossible(value));
      return [text, () => launchOnce(run.launch(configuration, value))] as const;
    } catch (error) {
      if (isDeviceLost(context, error)) throw new DeviceLostError(text, error);
      note(text, { samples: [], stoppedEarly: false, failure: { error } });
      return undefined;
    }
  }));
  return new Map(prepared.filter((each) => each !== undefined));
}

async function disposeIfPossible(value: unknown): Promise<void> {
  if (typeof value !== "object" || value === null) return;
  const disposable = value as Partial<AsyncDisposable & Disposable>;
  await (disposable[Symbol.asyncDispose] ?? disposable[Symbol.dispose])?.call(disposable);
}

function launchOnce(returned: unknown): void {
  if (typeof (returned as Partial<PromiseLike<unknown>> | undefined)?.then !== "function") return;
  Promise.resolve(returned).catch(() => {});
  throw new LaunchRefusedError(
    `Cannot ${ACTION} as options.launch must enqueue and return: it returned a promise, and a wait ` +
      "within a launch would be timed with it; options.prepare may wait",
  );
}

/** Times launches in turn, each with the contents of the restored buffers. */
async function raceLaunches<Configuration extends TuningValue, Prepared>(
  { context, settings, run: { stream, restore, signal } }: Tuning<Configuration, Prepared>,
  launches: Launches,
): Promise<Map<string, RaceOutcome>> {
  if (launches.size === 0) return new Map();
  const texts = [...launches.keys()];
  signal?.throwIfAborted();
  using timer = new LaunchTimer(stream, settings.flushCache, restore);
  const time = async (entrant: number) => {
    signal?.throwIfAborted();
    try {
      const [milliseconds] = await timer.time(launches.get(texts[entrant]!)!);
      // Events resolve half a microsecond: further digits mean nothing.
      return Math.round(1e6 * milliseconds!) / 1000;
    } catch (error) {
      // Work that a launch enqueued before it threw must not disturb the next one. The launch's own
      // error is the reason of the failure, unless the device is lost.
      await stream.done().catch((later) => {
        if (!(later instanceof CudaError) || isDeviceLost(context, later)) throw later;
      });
      throw error;
    }
  };
  const isFatal = (error: unknown, entrant: number) => {
    if (isDeviceLost(context, error)) throw new DeviceLostError(texts[entrant]!, error);
    return error instanceof LaunchRefusedError || signal?.aborted === true;
  };
  const { warmUp, repeats } = settings;
  try {
    const outcomes = await raceConfigurations({
      ...{ entrants: texts.length, warmUp, repeats, time, isFatal },
    });
    return new Map(outcomes.map((outcome, index) => [texts[index]!, outcome]));
  } finally {
    if (!isDeviceLost(context, undefined)) {
      timer.restore();
      await stream.done();
    }
  }
}

const lastTurns = new WeakMap<NativeLibrary, Map<number, Promise<unknown>>>();

/** Runs one race at a time on a device, in this isolate: two would time each other. */
async function inTurn<Result>(
  { library, ordinal }: DeviceContext,
  run: () => Promise<Result>,
): Promise<Result> {
  const turns = lastTurns.get(library) ?? new Map<number, Promise<unknown>>();
  lastTurns.set(library, turns);
  const turn = (turns.get(ordinal) ?? Promise.resolve()).then(run);
  turns.set(ordinal, turn.catch(() => {}));
  return await turn;
}

function failureReason(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : describeValue(error);
}

/**
 * Whether a failure may pass: the next time there may be memory, a compiler or a permission, and the
 * program may be corrected.
 */
function isPassing(error: unknown): boolean {
  if (error instanceof CudaError) return error instanceof OutOfMemoryError;
  const mistakes = [TypeError, ReferenceError, SyntaxError, CompilerUnavailableError];
  return mistakes.some((Mistake) => error instanceof Mistake) || isFileProblem(error);
}

function withoutPassing({ record, passing }: Raced): TuningRecord {
  const entries = [...record.entries].filter(([text]) => !passing.has(text));
  return { ...record, entries: new Map(entries) };
}

/** Whether a device is lost to this process. */
function isDeviceLost({ library, ordinal }: DeviceContext, error: unknown): boolean {
  return error instanceof CudaError && error.sticky || library.lostDevices.has(ordinal);
}

function rowsOf<Configuration extends TuningValue>(
  candidates: readonly Candidate<Configuration>[],
  { entries, confirmation }: TuningRecord,
): TuningRow<Configuration>[] {
  const rowOf = (
    { configuration, text }: Candidate<Configuration>,
    { samples, stoppedEarly, failure }: TuningEntry,
  ): TuningRow<Configuration> => ({
    configuration,
    medianMicroseconds: failure === undefined ? median(samples) : Infinity,
    failed: failure !== undefined,
    ...(failure === undefined ? {} : { reason: failure }),
    samples,
    stoppedEarly,
    refuted: failure === undefined && confirmation?.challenger === text && !confirmation.confirmed,
  });
  return candidates.flatMap((candidate) => {
    const entry = entries.get(candidate.text);
    return entry === undefined ? [] : [rowOf(candidate, entry)];
  });
}

function resultOf<Configuration extends TuningValue>(
  candidates: readonly Candidate<Configuration>[],
  record: TuningRecord,
  { configuration }: Candidate<Configuration>,
  origin: TuningResult["origin"],
): TuningResult<Configuration> {
  return { best: configuration, origin, report: rowsOf(candidates, record) };
}

function allFailed(
  name: string,
  candidates: readonly Candidate<TuningValue>[],
  record: TuningRecord,
  advice: string,
): TuningError {
  const reasons = candidates.map(({ text }) =>
    `\n  ${text}: ${record.entries.get(text)!.failure!.replaceAll("\n", "\n    ")}`
  );
  const count = candidates.length === 1
    ? "its only configuration fails"
    : `all ${candidates.length} configurations fail`;
  return new TuningError(
    `Cannot ${ACTION} ${name} as ${count}:${reasons.join("")}${advice}`,
    rowsOf(candidates, record),
  );
}

/**
 * The choices for one kernel on one device. {@linkcode Autotuner.tune} finds the choice for a key,
 * {@linkcode Autotuner.best} returns it at once, without reading or timing anything.
 *
 * @typeParam Configuration The configurations.
 * @typeParam Prepared The result of `prepare`.
 *
 * @example
 * ```ts
 * import { openDevice } from "@gridstride/cuda";
 * import { Autotuner } from "@gridstride/cuda/tuning";
 *
 * using device = openDevice();
 * using x = device.allocate("float32", 100_000, { fill: 1 });
 * const scale = device.kernels.load(
 *   "scale_float32(const float* x, float* out, float factor, float offset, unsigned long long n)",
 * );
 * const tuner = new Autotuner(device, {
 *   name: "scale",
 *   configurations: [{ block: 256 }, { block: 128 }, { block: 512 }],
 * });
 * const launch = ({ block }: { block: number }) =>
 *   scale.launch({ grid: Math.ceil(x.length / block), block }, x, x, 2, 0, x.length);
 * await tuner.tune(x.length, { launch, restore: [x] });
 * launch(tuner.best(x.length)); // in every call
 * ```
 */
export class Autotuner<const Configuration extends TuningValue, Prepared = undefined> {
  readonly #context: DeviceContext;
  readonly #settings: TunerSettings<Configuration, Prepared>;
  readonly #best = new Map<string, Configuration>();
  readonly #inProgress = new Map<string, Promise<TuningResult<Configuration>>>();

  /**
   * Makes a tuner that knows no choice yet.
   *
   * @param device The device, or another object with its context.
   * @throws {TypeError | RangeError} If an option is wrong.
   */
  constructor(
    device: { readonly context: DeviceContext },
    options: AutotunerOptions<Configuration, Prepared>,
  ) {
    this.#context = contextOf(device, "device", ACTION);
    this.#settings = readSettings(options);
  }

  /** The name of the tuning. */
  get name(): string {
    return this.#settings.name;
  }

  /**
   * The configuration for a key: the override, the tuned or loaded one, otherwise the first that
   * `prune` leaves.
   *
   * @throws {TypeError} If the key is no plain data.
   */
  best(key: TuningValue): Configuration {
    const text = canonicalText(key, "options.key");
    const { override } = this.#settings;
    if (override !== undefined) return override.configuration;
    const known = mode === "off" ? undefined : this.#best.get(text);
    return known ?? prunedCandidates(this.#settings, key)[0]!.configuration;
  }

  /**
   * Whether the choice for a key was tuned or loaded.
   *
   * @throws {TypeError} If the key is no plain data.
   */
  isTuned(key: TuningValue): boolean {
    return this.#best.has(canonicalText(key, "options.key"));
  }

  /**
   * Finds the choice for a key, timing unknown configurations. A second call for a key in progress
   * waits for the first one, and makes no launches.
   *
   * @throws {TypeError | RangeError} If an option is wrong, or the key is no plain data.
   * @throws {TuningError} If all configurations fail, or one takes the device with it.
   */
  async tune(
    key: TuningValue,
    run: TuningRun<Configuration, Prepared>,
  ): Promise<TuningResult<Configuration>> {
    const text = canonicalText(key, "options.key");
    const running = this.#inProgress.get(text);
    if (running !== undefined) return await running;
    const tuning = tuneKey(this.#context, this.#settings, key, run);
    this.#inProgress.set(text, tuning);
    try {
      return this.#keep(text, await tuning);
    } finally {
      this.#inProgress.delete(text);
    }
  }

  /**
   * Reads the choice for a key from the store, and times nothing.
   *
   * @returns Whether there was one.
   * @throws {TypeError} If the key is no plain data.
   * @throws {TuningError} If all configurations are known to fail.
   */
  async load(key: TuningValue): Promise<boolean> {
    const text = canonicalText(key, "options.key");
    const { result } = await recall(this.#context, this.#settings, key, text, false);
    return this.#keep(text, result!).origin === "stored";
  }

  #keep(text: string, result: TuningResult<Configuration>): TuningResult<Configuration> {
    const isFound = result.origin === "timed" || result.origin === "stored";
    if (isFound) this.#best.set(text, result.best);
    return result;
  }
}
