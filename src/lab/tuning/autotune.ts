/**
 * A tuning: what is known already, what has to be timed, and the choice.
 *
 * @module
 */

import { contextOf, type DeviceContext, whileHeld } from "../../hardware/device_context.ts";
import { refuseWhileCapturing } from "../../stream/running_captures.ts";
import { canonicalText, type TuningValue } from "./canonical_text.ts";
import type { RaceOutcome } from "./configuration_race.ts";
import {
  type Contest,
  DeviceLostError,
  type Trial,
  tryConfigurations,
} from "./configuration_trial.ts";
import { median } from "./sample_statistics.ts";
import { deviceModel, type TuningIdentity } from "./tuning_identity.ts";
import { tuningMode } from "./tuning_mode.ts";
import type { AutotuneOptions, TuningResult, TuningRun } from "./tuning_options.ts";
import type { TuningEntry, TuningRecord } from "./tuning_record.ts";
import {
  bestCandidate,
  challengingCandidate,
  deviceLost,
  failureReason,
  firstRunning,
  isPassing,
  resultFrom,
} from "./tuning_report.ts";
import {
  ACTION,
  type Candidate,
  prunedCandidates,
  readRun,
  readSettings,
  type RunSettings,
  type TunerSettings,
} from "./tuning_settings.ts";
import { addEntries, countTuning, readRecord } from "./tuning_store.ts";

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

/** The same for one key of a tuner. */
export async function tuneKey<Configuration extends TuningValue, Prepared>(
  context: DeviceContext,
  settings: TunerSettings<Configuration, Prepared>,
  key: TuningValue,
  options: TuningRun<Configuration, Prepared>,
): Promise<TuningResult<Configuration>> {
  const text = canonicalText(key, ACTION, "options.key");
  const run = readRun(context, options);
  run.signal?.throwIfAborted();
  const decided = decidedResult(settings, key);
  if (decided !== undefined) return decided;
  const candidates = prunedCandidates(settings, key);
  const identity = identityOf(context, settings, text);
  const record = await readRecord(identity, settings.storage);
  if (tuningMode() === "stored") return knownResult(settings.name, candidates, record);
  refuseWhileCapturing(context.library, ACTION);
  const tuning = { context, settings, identity, candidates, run };
  return await whileHeld(context, () => complete(tuning, comparableEntries(candidates, record)));
}

/**
 * The choice for a key without timing: what is known of it, else the first configuration.
 *
 * @throws {TuningError} If all configurations are known to fail.
 */
export async function recallKey<Configuration extends TuningValue, Prepared>(
  context: DeviceContext,
  settings: TunerSettings<Configuration, Prepared>,
  key: TuningValue,
): Promise<TuningResult<Configuration>> {
  const text = canonicalText(key, ACTION, "options.key");
  const decided = decidedResult(settings, key);
  if (decided !== undefined) return decided;
  const record = await readRecord(identityOf(context, settings, text), settings.storage);
  return knownResult(settings.name, prunedCandidates(settings, key), record);
}

/** The choice that takes neither timing nor reading; undefined where it does. */
function decidedResult<Configuration extends TuningValue, Prepared>(
  settings: TunerSettings<Configuration, Prepared>,
  key: TuningValue,
): TuningResult<Configuration> | undefined {
  const { override } = settings;
  if (override !== undefined) {
    return { best: override.configuration, origin: "override", report: [] };
  }
  if (tuningMode() !== "off") return undefined;
  const [first] = prunedCandidates(settings, key);
  return { best: first!.configuration, origin: "default", report: [] };
}

function knownResult<Configuration extends TuningValue>(
  name: string,
  candidates: readonly Candidate<Configuration>[],
  record: TuningRecord,
): TuningResult<Configuration> {
  return resultFrom(name, candidates, comparableEntries(candidates, record), "stored");
}

function identityOf<Configuration extends TuningValue, Prepared>(
  context: DeviceContext,
  { name, version }: TunerSettings<Configuration, Prepared>,
  key: string,
): TuningIdentity {
  return { name, key, device: deviceModel(context), version };
}

/** A tuning under way. */
interface Tuning<Configuration extends TuningValue, Prepared> {
  readonly context: DeviceContext;
  readonly settings: TunerSettings<Configuration, Prepared>;
  readonly identity: TuningIdentity;
  readonly candidates: readonly Candidate<Configuration>[];
  readonly run: RunSettings<Configuration, Prepared>;
}

/**
 * What is known of some configurations and can be compared: the failures, and the times of the
 * session that has most of them.
 */
function comparableEntries(
  candidates: readonly Candidate<TuningValue>[],
  record: TuningRecord,
): TuningRecord {
  const known = candidates.flatMap(({ text }) => {
    const entry = record.get(text);
    return entry === undefined ? [] : [[text, entry] as const];
  });
  const counts = new Map<string, number>();
  for (const [, { session, failure }] of known) {
    if (failure === undefined) counts.set(session, (counts.get(session) ?? 0) + 1);
  }
  const most = Math.max(0, ...counts.values());
  const session = [...counts].find(([, count]) => count === most)?.[0];
  return new Map(
    known.filter(([, entry]) => entry.failure !== undefined || entry.session === session),
  );
}

/** Times what is missing, and who has to be confirmed, until the choice can be made. */
async function complete<Configuration extends TuningValue, Prepared>(
  tuning: Tuning<Configuration, Prepared>,
  known: TuningRecord,
): Promise<TuningResult<Configuration>> {
  const { candidates, settings } = tuning;
  let record = known;
  let timed = 0;
  for (;;) {
    const missing = candidates.filter(({ text }) => !record.has(text));
    const challenger = challengingCandidate(candidates, record);
    if (missing.length === 0 && challenger === undefined) break;
    record = await extend(tuning, record, missing, challenger);
    timed += Math.max(1, missing.length);
  }
  countTuning(timed);
  return resultFrom(settings.name, candidates, record, timed === 0 ? "stored" : "timed");
}

/**
 * Times what is missing beside the first and the best of what is known.
 *
 * @param challenger The one that is known and has to be confirmed beside the first.
 * @returns What is known then.
 */
async function extend<Configuration extends TuningValue, Prepared>(
  tuning: Tuning<Configuration, Prepared>,
  known: TuningRecord,
  missing: readonly Candidate<Configuration>[],
  challenger: Candidate<Configuration> | undefined,
): Promise<TuningRecord> {
  const { candidates, settings } = tuning;
  const reference = bestCandidate(candidates, known);
  const again = new Set([firstRunning(candidates, known), reference, challenger]);
  const entrants = candidates.filter((each) => again.has(each) || !known.has(each.text));
  const recordAfter = (trial: Trial) =>
    new Map([...known, ...entriesOf(missing, trial, known, reference?.text)]);
  // It ran when it was timed: then no time that is known of the others holds any more.
  const isOutdated = ({ outcomes }: Trial) =>
    entrants.some((each) => again.has(each) && outcomes.get(each.text)!.failure !== undefined);
  const trial = await attemptAll(
    tuning,
    known,
    entrants,
    (trial) => isOutdated(trial) ? undefined : contestOf(entrants, candidates, recordAfter(trial)),
  );
  if (isOutdated(trial)) {
    // What failed is not tried again, as it may have been the end of a process.
    return new Map([...known].filter(([, { failure }]) => failure !== undefined));
  }
  const record = recordAfter(trial);
  // Where nothing runs the program may be to blame, and mended before it tries again.
  if (bestCandidate(candidates, record) !== undefined) {
    await addEntries(tuning.identity, settings.storage, lasting(record, known, trial.outcomes));
  }
  return record;
}

/** The next second look at one of those that are tried; undefined when there is none. */
function contestOf(
  entrants: readonly Candidate<TuningValue>[],
  candidates: readonly Candidate<TuningValue>[],
  record: TuningRecord,
): Contest | undefined {
  const challenger = challengingCandidate(candidates, record);
  if (challenger === undefined || !entrants.includes(challenger)) return undefined;
  return { first: firstRunning(candidates, record)!.text, challenger: challenger.text };
}

/** Tries configurations; one that takes the device with it is kept as one that fails. */
async function attemptAll<Configuration extends TuningValue, Prepared>(
  { context, settings, identity, candidates, run }: Tuning<Configuration, Prepared>,
  known: TuningRecord,
  entrants: readonly Candidate<Configuration>[],
  nextContest: (trial: Trial) => Contest | undefined,
): Promise<Trial> {
  try {
    return await tryConfigurations(context, settings, run, entrants, nextContest);
  } catch (error) {
    if (!(error instanceof DeviceLostError)) throw error;
    const guilty = entrants.find(({ text }) => text === error.text)!;
    const entry = failedEntry(error.cause);
    countTuning(1);
    await addEntries(identity, settings.storage, new Map([[guilty.text, entry]]));
    const record = new Map([...known, [guilty.text, entry]]);
    throw deviceLost(settings.name, context, candidates, record, guilty, error.cause);
  }
}

function failedEntry(error: unknown): TuningEntry {
  return { session: "", samples: [], stoppedEarly: false, failure: failureReason(error) };
}

/** What is added to the record: on the scale of what is known, if anything is. */
function entriesOf(
  missing: readonly Candidate<TuningValue>[],
  { outcomes, confirmations }: Trial,
  known: TuningRecord,
  reference: string | undefined,
): Map<string, TuningEntry> {
  const before = reference === undefined ? undefined : known.get(reference)!;
  const session = before?.session ?? crypto.randomUUID();
  const scale = before === undefined
    ? 1
    : scaleOf(before.samples, outcomes.get(reference!)!.samples);
  const entries = new Map(missing.map(({ text }): [string, TuningEntry] => {
    const { samples, stoppedEarly, failure } = outcomes.get(text)!;
    if (failure !== undefined) return [text, failedEntry(failure.error)];
    return [text, { session, samples: samples.map((time) => time * scale), stoppedEarly }];
  }));
  for (const [text, confirmation] of confirmations) {
    const entry = entries.get(text) ?? known.get(text)!;
    if (entry.failure === undefined) entries.set(text, { ...entry, confirmation });
  }
  return entries;
}

/** How many times as long the same launches took before; 1 where one of them took no time. */
function scaleOf(before: readonly number[], now: readonly number[]): number {
  const scale = median(before) / median(now);
  return Number.isFinite(scale) && scale > 0 ? scale : 1;
}

/** What is new in a record and will hold the next time too. */
function lasting(
  record: TuningRecord,
  known: TuningRecord,
  outcomes: ReadonlyMap<string, RaceOutcome>,
): TuningRecord {
  return new Map([...record].filter(([text, entry]) => {
    if (entry === known.get(text)) return false;
    const failure = outcomes.get(text)?.failure;
    return failure === undefined || !isPassing(failure.error);
  }));
}
