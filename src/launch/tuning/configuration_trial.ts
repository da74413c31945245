/**
 * Trying configurations on a device: preparing them, timing them in turn, and cleaning up.
 *
 * @module
 */

import { CudaError } from "../../ffi/cuda_error.ts";
import type { DeviceContext } from "../../hardware/device_context.ts";
import type { TuningValue } from "./canonical_text.ts";
import { raceConfigurations, RaceEndedError, type RaceOutcome } from "./configuration_race.ts";
import { inTurn } from "./device_turns.ts";
import { LaunchTimer } from "./launch_timer.ts";
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

/**
 * Tries configurations.
 *
 * @returns What became of each, by its text.
 * @throws {DeviceLostError} If one has taken the device with it.
 */
export async function tryConfigurations<Configuration extends TuningValue, Prepared>(
  context: DeviceContext,
  settings: TunerSettings<Configuration, Prepared>,
  run: RunSettings<Configuration, Prepared>,
  candidates: readonly Candidate<Configuration>[],
): Promise<Map<string, RaceOutcome>> {
  await using owned = new AsyncDisposableStack();
  const preparations = await prepareAll(settings, candidates, owned);
  const outcomes = new Map<string, RaceOutcome>();
  const ready: { readonly candidate: Candidate<Configuration>; readonly launch: () => void }[] = [];
  for (const [index, candidate] of candidates.entries()) {
    const preparation = preparations[index]!;
    if ("error" in preparation) {
      const { error } = preparation;
      if (isDeviceLost(context, error)) throw new DeviceLostError(candidate.text, error);
      outcomes.set(candidate.text, { samples: [], stoppedEarly: false, failure: { error } });
    } else {
      ready.push({ candidate, launch: () => launchOnce(run, candidate, preparation.value) });
    }
  }
  if (ready.length === 0) return outcomes;
  const launches = ready.map(({ launch }) => launch);
  try {
    const raced = await inTurn(context, () => race(context, settings, run, launches));
    for (const [index, outcome] of raced.entries()) {
      outcomes.set(ready[index]!.candidate.text, outcome);
    }
    return outcomes;
  } catch (error) {
    if (!(error instanceof RaceEndedError)) throw error;
    if (!isDeviceLost(context, error.cause)) throw error.cause;
    throw new DeviceLostError(ready[error.entrant]!.candidate.text, error.cause);
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
