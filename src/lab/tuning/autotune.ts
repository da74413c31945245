/**
 * Tunings: stored results, or a race of the configurations, and the choice.
 *
 * @module
 */

import { cannot } from "../../ffi/arguments.ts";
import { setTimeout as delay } from "node:timers/promises";
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
  readRecord,
  tuningIdentity,
  type TuningRecord,
  writeRecord,
} from "./tuning_store.ts";

/**
 * A tuning found no configuration that runs, or lost the device to one; the message says why.
 * @category Tuning
 */
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
 * @param wanted `"tune"`, the initial mode, times unknown configurations. `"stored"` times nothing,
 * and takes the stored choice or the first configuration. `"off"` takes the first configuration and
 * reads nothing.
 * @throws {TypeError} If there is no such mode.
 *
 * @example
 * ```ts
 * import { setTuningMode } from "@gridstride/cuda/tuning";
 *
 * setTuningMode("stored");
 * ```
 * @category Tuning
 */
export function setTuningMode(wanted: "tune" | "stored" | "off"): void {
  if (MODES.includes(wanted)) mode = wanted;
  else {
    throw new TypeError(
      `Cannot set the tuning mode as it must be "tune", "stored" or "off": it is ${
        describeValue(wanted)
      }`,
    );
  }
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
 * @param options The configurations, how to prepare and launch one, and what identifies the work.
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
 * @category Tuning
 */
export async function autotune<const Configuration extends TuningValue, Prepared = undefined>(
  device: { readonly context: DeviceContext },
  options: AutotuneOptions<Configuration, Prepared>,
): Promise<TuningResult<Configuration>> {
  const context = contextOf(device, "device", ACTION);
  const settings = readSettings(options as never, true);
  const tuning = new Tuning(context, settings, options.key);
  return await tuning.tune(options as never) as TuningResult<Configuration>;
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
 * @category Tuning
 */
export class Autotuner<const Configuration extends TuningValue, Prepared = undefined> {
  readonly #context: DeviceContext;
  readonly #settings: TunerSettings;
  readonly #best = new Map<string, TuningValue>();
  readonly #inProgress = new Map<string, Promise<TuningResult>>();

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
    this.#settings = readSettings(options as never);
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
    const known = mode === "off" || override !== undefined ? undefined : this.#best.get(text);
    const [first] = override === undefined ? prunedCandidates(this.#settings, key) : [override];
    return (known ?? first!.configuration) as Configuration;
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
    let running = this.#inProgress.get(text);
    if (running === undefined) {
      running = new Tuning(this.#context, this.#settings, key).tune(run as never);
      this.#inProgress.set(text, running);
    }
    try {
      return this.#keep(text, await running) as TuningResult<Configuration>;
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
    const result = await new Tuning(this.#context, this.#settings, key).recall();
    return this.#keep(canonicalText(key, "options.key"), result).origin === "stored";
  }

  #keep(text: string, result: TuningResult): TuningResult {
    if (["timed", "stored"].includes(result.origin)) this.#best.set(text, result.best);
    return result;
  }
}

/** Milliseconds before the second race: threads go to sleep and clocks change in this time. */
const PAUSE = 20;

/** The device was lost to a configuration. */
class DeviceLostError extends Error {
  constructor(readonly text: string, cause: unknown) {
    super("The device is lost", { cause });
  }
}

/** Every configuration would throw it: the caller's mistake. */
class LaunchRefusedError extends TypeError {}

type Launches = ReadonlyMap<string, () => void>;

class Tuning {
  readonly #context: DeviceContext;
  readonly #settings: TunerSettings;
  readonly #candidates: readonly Candidate[];
  readonly #identity: string;
  /** Failures that may pass: the next tuning tries them again. */
  readonly #passing = new Set<string>();

  constructor(context: DeviceContext, settings: TunerSettings, key: TuningValue) {
    const { name, version, override } = settings;
    const text = canonicalText(key, "options.key");
    this.#context = context;
    this.#settings = settings;
    this.#identity = tuningIdentity(context, name, text, version);
    this.#candidates = override === undefined ? prunedCandidates(settings, key) : [override];
  }

  async tune(options: TuningRun<never>): Promise<TuningResult> {
    const run = readRun(this.#context, options);
    run.signal?.throwIfAborted();
    if (mode !== "tune" || this.#settings.override !== undefined) return await this.recall();
    const known = await readRecord(this.#identity, this.#settings.store);
    if (this.#choose(known).isFinal) {
      countTuning(0);
      return await this.recall(known);
    }
    refuseWhileCapturing(this.#context.library, ACTION);
    return await whileHeld(this.#context, async () => {
      const record = await inTurn(this.#context, () => this.#race(known, run));
      const { best } = this.#choose(record);
      if (best === undefined) throw this.#allFailed(record, "");
      const lasting = [...record.entries].filter(([text]) => !this.#passing.has(text));
      const stored = { ...record, entries: new Map(lasting) };
      await writeRecord(this.#identity, this.#settings.store, stored);
      return this.#result(record, best, "timed");
    });
  }

  async recall(known?: TuningRecord): Promise<TuningResult> {
    const { override, store } = this.#settings;
    const [first] = this.#candidates;
    const none = { entries: new Map() };
    if (override !== undefined) return this.#result(none, override, "override");
    if (mode === "off") return this.#result(none, first!, "default");
    const record = known ?? await readRecord(this.#identity, store);
    const { best } = this.#choose(record);
    if (best !== undefined) return this.#result(record, best, "stored");
    const untried = this.#candidates.find(({ text }) => !record.entries.has(text));
    if (untried !== undefined) return this.#result(record, untried, "default");
    const advice =
      "\nThese are stored results: clearTunings() or another version has them tried again.";
    throw this.#allFailed(record, advice);
  }

  /**
   * The choice from known results. It is final if all candidates are known, and the winner is the
   * first of them or was raced beside it alone.
   */
  #choose({ entries, confirmation }: TuningRecord) {
    const known = this.#candidates.map(({ text }) => entries.get(text));
    const runs = (index: number) => (known[index]?.samples.length ?? 0) > 0;
    const first = this.#candidates.find((_, index) => runs(index));
    const winner = this.#candidates[chooseWinner(known)];
    const isRaced = winner === first ||
      confirmation?.first === first?.text && confirmation?.challenger === winner?.text;
    const isTaken = winner === first || isRaced && confirmation?.confirmed === true;
    const isFinal = isRaced && known.every((each) => each !== undefined);
    return { first, winner, best: isTaken ? winner : first, isFinal };
  }

  /** Races all candidates but those that are known to fail, and the winner beside the first. */
  async #race(known: TuningRecord, run: ReturnType<typeof readRun>): Promise<TuningRecord> {
    const failed = [...known.entries].filter(([, { failure }]) => failure !== undefined);
    const entries = new Map(failed);
    const entrants = this.#candidates.filter(({ text }) => !entries.has(text));
    const note = (text: string, { samples, stoppedEarly, failure }: RaceOutcome) => {
      if (failure !== undefined && isPassing(failure.error)) this.#passing.add(text);
      const reason = failure === undefined ? {} : { failure: failureReason(failure.error) };
      entries.set(text, { samples, stoppedEarly, ...reason });
    };
    countTuning(entrants.length);
    try {
      await using owned = new AsyncDisposableStack();
      const launches = await this.#prepare(entrants, run, owned, note);
      for (const [text, outcome] of await this.#time(launches, run)) note(text, outcome);
      const { first, winner } = this.#choose({ entries });
      if (first === undefined || winner === undefined || winner === first) return { entries };
      await delay(PAUSE, undefined, run.signal && { signal: run.signal }).catch(() => {});
      const pair = [first, winner].map(({ text }) => [text, launches.get(text)!] as const);
      const again = await this.#time(new Map(pair), run);
      for (const [text, outcome] of again) if (outcome.failure !== undefined) note(text, outcome);
      const [firstTimes, times] = [first, winner].map(({ text }) => again.get(text)!.samples);
      const confirmed = times!.length > 0 && isSlower(firstTimes!, times!);
      return { entries, confirmation: { first: first.text, challenger: winner.text, confirmed } };
    } catch (error) {
      if (!(error instanceof DeviceLostError)) throw error;
      const { text, cause } = error;
      const reason = failureReason(cause);
      const entry = { samples: [], stoppedEarly: false, failure: reason };
      const record = { entries: new Map([...failed, [text, entry] as const]) };
      await writeRecord(this.#identity, this.#settings.store, record);
      throw new TuningError(
        `Cannot ${ACTION} ${this.#settings.name} any further as ${this.#context.label} is lost to ` +
          `this process after configuration ${text}: ${reason} The next process does not try it.`,
        this.#rows(record),
        cause,
      );
    }
  }

  /** Prepares all at once: compilers limit themselves. */
  async #prepare(
    entrants: readonly Candidate[],
    { launch }: ReturnType<typeof readRun>,
    owned: AsyncDisposableStack,
    note: (text: string, outcome: RaceOutcome) => void,
  ): Promise<Launches> {
    const prepared = await Promise.all(entrants.map(async ({ configuration, text }) => {
      try {
        const value = await this.#settings.prepare?.(configuration);
        owned.defer(() => disposeIfPossible(value));
        return [text, () => requireNoPromise(launch(configuration, value))] as const;
      } catch (error) {
        if (isDeviceLost(this.#context, error)) throw new DeviceLostError(text, error);
        note(text, { samples: [], stoppedEarly: false, failure: { error } });
        return undefined;
      }
    }));
    return new Map(prepared.filter((each) => each !== undefined));
  }

  /** Times launches in turn, each with the contents of the restored buffers. */
  async #time(
    launches: Launches,
    { stream, restore, signal }: ReturnType<typeof readRun>,
  ): Promise<Map<string, RaceOutcome>> {
    if (launches.size === 0) return new Map();
    const context = this.#context;
    const { warmUp, repeats, flushCache } = this.#settings;
    const texts = [...launches.keys()];
    signal?.throwIfAborted();
    using timer = new LaunchTimer(stream, flushCache, restore);
    const time = async (entrant: number) => {
      signal?.throwIfAborted();
      try {
        const [milliseconds] = await timer.time(launches.get(texts[entrant]!)!);
        // Events resolve half a microsecond: further digits mean nothing.
        return Math.round(1e6 * milliseconds!) / 1000;
      } catch (error) {
        // Work that a launch enqueued before it threw must not disturb the next one. The launch's
        // own error is the reason of the failure, unless the device is lost.
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
    try {
      const race = { entrants: texts.length, warmUp, repeats, time, isFatal };
      const outcomes = await raceConfigurations(race);
      return new Map(outcomes.map((outcome, index) => [texts[index]!, outcome]));
    } finally {
      if (!isDeviceLost(context, undefined)) {
        timer.restore();
        await stream.done();
      }
    }
  }

  #rows({ entries, confirmation }: TuningRecord): TuningRow[] {
    return this.#candidates.flatMap(({ configuration, text }) => {
      const entry = entries.get(text);
      if (entry === undefined) return [];
      const { samples, stoppedEarly, failure } = entry;
      const failed = failure !== undefined;
      return [{
        configuration,
        medianMicroseconds: failed ? Infinity : median(samples),
        failed,
        ...(failed ? { reason: failure } : {}),
        samples,
        stoppedEarly,
        refuted: !failed && confirmation?.challenger === text && !confirmation.confirmed,
      }];
    });
  }

  #result(record: TuningRecord, best: Candidate, origin: TuningResult["origin"]): TuningResult {
    return { best: best.configuration, origin, report: this.#rows(record) };
  }

  #allFailed(record: TuningRecord, advice: string): TuningError {
    const reasons = this.#candidates.map(({ text }) =>
      `\n  ${text}: ${record.entries.get(text)!.failure!.replaceAll("\n", "\n    ")}`
    );
    const { length } = this.#candidates;
    const count = length === 1
      ? "its only configuration fails"
      : `all ${length} configurations fail`;
    return new TuningError(
      `Cannot ${ACTION} ${this.#settings.name} as ${count}:${reasons.join("")}${advice}`,
      this.#rows(record),
    );
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

async function disposeIfPossible(value: unknown): Promise<void> {
  if (typeof value !== "object" || value === null) return;
  const disposable = value as Partial<AsyncDisposable & Disposable>;
  await (disposable[Symbol.asyncDispose] ?? disposable[Symbol.dispose])?.call(disposable);
}

function requireNoPromise(returned: unknown): void {
  if (typeof (returned as Partial<PromiseLike<unknown>> | undefined)?.then !== "function") return;
  Promise.resolve(returned).catch(() => {});
  throw new LaunchRefusedError(
    `${
      cannot(ACTION)
    } as options.launch must enqueue and return: it returned a promise, and a wait ` +
      "within a launch would be timed with it; options.prepare may wait",
  );
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

function isDeviceLost({ library, ordinal }: DeviceContext, error: unknown): boolean {
  return error instanceof CudaError && error.sticky || library.lostDevices.has(ordinal);
}
