/**
 * Trying configurations on a device: preparing them, timing them in turn, timing the best once more
 * beside the first, and cleaning up.
 *
 * @module
 */

import { setTimeout as delay } from "node:timers/promises";
import { CudaError } from "../../ffi/cuda_error.ts";
import type { DeviceContext } from "../../hardware/device_context.ts";
import type { TuningValue } from "./canonical_text.ts";
import { raceConfigurations, RaceEndedError, type RaceOutcome } from "./configuration_race.ts";
import { inTurn } from "./device_turns.ts";
import { LaunchTimer } from "./launch_timer.ts";
import type { Confirmation } from "./tuning_record.ts";
import { isDeviceLost } from "./tuning_report.ts";
import { ACTION, type Candidate, type RunSettings, type TunerSettings } from "./tuning_settings.ts";

/** What a configuration needs, or why it could not be made. */
type Preparation<Prepared> = { readonly value: Prepared } | { readonly error: unknown };

/** The device was lost to a configuration. */
export class DeviceLostError extends Error {
  /** The class, for stack traces. */
  override readonly name = "DeviceLostError";

  /** Takes the text of the configuration, and what was thrown. */
  constructor(readonly text: string, cause: unknown) {
    super("The device is lost", { cause });
  }
}

/** Thrown by what a caller does wrong in every configuration. */
class LaunchRefusedError extends TypeError {}

/** What became of the configurations that were tried, by their texts. */
export interface Trial {
  /** The times of each. */
  readonly outcomes: Map<string, RaceOutcome>;
  /** Second looks. */
  readonly confirmations: Map<string, Confirmation>;
}

/** Two configurations of which the second is to be confirmed beside the first. */
export interface Contest {
  /** The text of the one that is used without tuning. */
  readonly first: string;
  /** The text of the other. */
  readonly challenger: string;
}

/**
 * How long after a race the second look is taken, in milliseconds: long enough for threads to have
 * gone to sleep and for a clock to have changed, if they are about to.
 */
const PAUSE = 20;

/**
 * Tries configurations.
 *
 * @param nextContest Who has to be confirmed after what is known by now; undefined when nobody has to.
 * @throws {DeviceLostError} If one has taken the device with it.
 */
export async function tryConfigurations<Configuration extends TuningValue, Prepared>(
  context: DeviceContext,
  settings: TunerSettings<Configuration, Prepared>,
  run: RunSettings<Configuration, Prepared>,
  candidates: readonly Candidate<Configuration>[],
  nextContest: (trial: Trial) => Contest | undefined,
): Promise<Trial> {
  await using owned = new AsyncDisposableStack();
  const preparations = await prepareAll(settings, candidates, owned);
  const trial: Trial = { outcomes: new Map(), confirmations: new Map() };
  const launches: Launches = new Map();
  for (const [index, candidate] of candidates.entries()) {
    const preparation = preparations[index]!;
    if ("error" in preparation) {
      const { error } = preparation;
      if (isDeviceLost(context, error)) throw new DeviceLostError(candidate.text, error);
      trial.outcomes.set(candidate.text, { samples: [], stoppedEarly: false, failure: { error } });
    } else {
      launches.set(candidate.text, () => launchOnce(run, candidate, preparation.value));
    }
  }
  if (launches.size === 0) return trial;
  const time = (which: Launches) => raceLaunches(context, settings, run, which);
  await inTurn(context, async () => {
    for (const [text, outcome] of await time(launches)) trial.outcomes.set(text, outcome);
    await confirm(trial, launches, time, nextContest, run.signal);
  });
  return trial;
}

/** What enqueues the work of configurations, by their texts. */
type Launches = Map<string, () => void>;

/** Times those that have to be confirmed beside the first, as long as there are some. */
async function confirm(
  trial: Trial,
  launches: Launches,
  time: (which: Launches) => Promise<Map<string, RaceOutcome>>,
  nextContest: (trial: Trial) => Contest | undefined,
  signal: AbortSignal | undefined,
): Promise<void> {
  for (let contest = nextContest(trial); contest; contest = nextContest(trial)) {
    await pause(signal);
    const { first, challenger } = contest;
    const raced = await time(
      new Map([first, challenger].map((text) => [text, launches.get(text)!])),
    );
    const failed = [...raced].filter(([, { failure }]) => failure !== undefined);
    for (const [text, outcome] of failed) trial.outcomes.set(text, { ...outcome, samples: [] });
    if (failed.length > 0) continue;
    const [firstSamples, samples] = [raced.get(first)!.samples, raced.get(challenger)!.samples];
    trial.confirmations.set(challenger, { first, firstSamples, samples });
  }
}

/** Lets a moment pass; a signal ends it, and is told of by who looks at it next. */
async function pause(signal: AbortSignal | undefined): Promise<void> {
  await delay(PAUSE, undefined, signal === undefined ? {} : { signal }).catch(() => {});
}

/** Times launches in turn. */
async function raceLaunches<Configuration extends TuningValue, Prepared>(
  context: DeviceContext,
  settings: TunerSettings<Configuration, Prepared>,
  run: RunSettings<Configuration, Prepared>,
  launches: Launches,
): Promise<Map<string, RaceOutcome>> {
  const texts = [...launches.keys()];
  try {
    const raced = await race(context, settings, run, [...launches.values()]);
    return new Map(raced.map((outcome, index) => [texts[index]!, outcome]));
  } catch (error) {
    if (!(error instanceof RaceEndedError)) throw error;
    if (!isDeviceLost(context, error.cause)) throw error.cause;
    throw new DeviceLostError(texts[error.entrant]!, error.cause);
  }
}

/** Prepares all at once: compilers limit themselves. Everything made is given to `owned`. */
async function prepareAll<Configuration extends TuningValue, Prepared>(
  { prepare }: TunerSettings<Configuration, Prepared>,
  candidates: readonly Candidate<Configuration>[],
  owned: AsyncDisposableStack,
): Promise<Preparation<Prepared>[]> {
  return await Promise.all(candidates.map(async ({ configuration }) => {
    try {
      const value = await prepare?.(configuration) as Prepared;
      owned.defer(() => disposeIfPossible(value));
      return { value };
    } catch (error) {
      return { error };
    }
  }));
}

async function disposeIfPossible(value: unknown): Promise<void> {
  if (typeof value !== "object" || value === null) return;
  const { [Symbol.asyncDispose]: asynchronously, [Symbol.dispose]: synchronously } =
    value as Partial<AsyncDisposable & Disposable>;
  if (typeof asynchronously === "function") await asynchronously.call(value);
  else if (typeof synchronously === "function") synchronously.call(value);
}

function launchOnce<Configuration extends TuningValue, Prepared>(
  { launch }: RunSettings<Configuration, Prepared>,
  { configuration }: Candidate<Configuration>,
  prepared: Prepared,
): void {
  const returned: unknown = launch(configuration, prepared);
  if (typeof (returned as Partial<PromiseLike<unknown>> | undefined)?.then !== "function") return;
  // Nobody is going to wait for it.
  Promise.resolve(returned).catch(() => {});
  throw new LaunchRefusedError(
    `Cannot ${ACTION} as options.launch must enqueue and return: it returned a promise, and what ` +
      "is waited for within a launch would be timed with it; options.prepare may wait",
  );
}

/** Times what is ready, with the content of the buffers as it was before, also afterwards. */
async function race<Configuration extends TuningValue, Prepared>(
  context: DeviceContext,
  { warmUp, repeats, flushCache }: TunerSettings<Configuration, Prepared>,
  { stream, restore, signal }: RunSettings<Configuration, Prepared>,
  launches: readonly (() => void)[],
): Promise<RaceOutcome[]> {
  signal?.throwIfAborted();
  using timer = new LaunchTimer(stream, restore, flushCache);
  const time = async (entrant: number) => {
    signal?.throwIfAborted();
    try {
      return await timer.time(launches[entrant]!);
    } catch (error) {
      // What a launch has enqueued before it threw is not to disturb the next one.
      await stream.done().catch((later) => requireNoLoss(context, later));
      throw error;
    }
  };
  const isFatal = (error: unknown) =>
    error instanceof LaunchRefusedError || signal?.aborted === true || isDeviceLost(context, error);
  try {
    return await raceConfigurations({ entrants: launches.length, warmUp, repeats, time, isFatal });
  } finally {
    if (!isDeviceLost(context, undefined)) {
      timer.restore();
      await stream.done();
    }
  }
}

/** The first error of a launch is its reason; a later one counts only if the device is gone. */
function requireNoLoss(context: DeviceContext, error: unknown): void {
  if (!(error instanceof CudaError) || isDeviceLost(context, error)) throw error;
}
