/**
 * What is known of the configurations, for the caller: rows, the choice, and errors.
 *
 * @module
 */

import { CudaError, OutOfMemoryError } from "../../ffi/cuda_error.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import type { DeviceContext } from "../../hardware/device_context.ts";
import { isFileProblem } from "../../launch/cache/file_problem.ts";
import { CompilerUnavailableError } from "../../launch/compile/compiler_unavailable_error.ts";
import type { TuningValue } from "./canonical_text.ts";
import {
  chooseConfiguration,
  findChallenger,
  isRefuted,
  type TimedConfiguration,
} from "./configuration_choice.ts";
import { median } from "./sample_statistics.ts";
import { TuningError } from "./tuning_error.ts";
import type { TuningOrigin, TuningResult, TuningRow } from "./tuning_options.ts";
import type { TuningEntry, TuningRecord } from "./tuning_record.ts";
import { ACTION, type Candidate } from "./tuning_settings.ts";

/** Why a configuration failed, in words. */
export function failureReason(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : describeValue(error);
}

/** Mistakes of a program: these are mended, and no configuration makes them. */
const MISTAKES = [TypeError, ReferenceError, SyntaxError];

/**
 * Whether a failure says nothing of the configuration: the next time there may be memory, a compiler
 * or a permission, and the program may have been mended.
 */
export function isPassing(error: unknown): boolean {
  if (error instanceof CudaError) return error instanceof OutOfMemoryError;
  if (MISTAKES.some((Mistake) => error instanceof Mistake)) return true;
  return error instanceof CompilerUnavailableError || isFileProblem(error);
}

/** Whether a device is lost to this process. */
export function isDeviceLost({ library, ordinal }: DeviceContext, error: unknown): boolean {
  return error instanceof CudaError && error.sticky || library.lostDevices.has(ordinal);
}

/** Rows of those configurations that something is known of, in their order. */
function reportRows<Configuration extends TuningValue>(
  candidates: readonly Candidate<Configuration>[],
  record: TuningRecord,
): TuningRow<Configuration>[] {
  const first = firstRunning(candidates, record)?.text;
  return candidates.flatMap(({ configuration, text }) => {
    const entry = record.get(text);
    if (entry === undefined) return [];
    const { samples, stoppedEarly, failure } = entry;
    return [{
      configuration,
      medianMicroseconds: failure === undefined ? median(samples) : Infinity,
      failed: failure !== undefined,
      ...(failure === undefined ? {} : { reason: failure }),
      samples,
      stoppedEarly,
      refuted: isRefuted(timedConfiguration(entry, first)),
    }];
  });
}

/** The first that is known to run: what the others have to be faster than. */
export function firstRunning<Configuration>(
  candidates: readonly Candidate<Configuration>[],
  record: TuningRecord,
): Candidate<Configuration> | undefined {
  return candidates.find(({ text }) => record.get(text)?.failure === undefined && record.has(text));
}

/** An entry as the choice takes it: a second look beside another first one says nothing. */
function timedConfiguration(entry: TuningEntry, first: string | undefined): TimedConfiguration {
  const { samples, stoppedEarly, confirmation } = entry;
  if (confirmation?.first !== first) return { samples, stoppedEarly };
  return { samples, stoppedEarly, ...(confirmation === undefined ? {} : { confirmation }) };
}

/** The best of those that something is known of; undefined where none of these runs. */
export function bestCandidate<Configuration>(
  candidates: readonly Candidate<Configuration>[],
  record: TuningRecord,
): Candidate<Configuration> | undefined {
  return candidates[chooseConfiguration(timedConfigurations(candidates, record))];
}

/** Who has to be confirmed to be taken in the place of the first; undefined when nobody has to. */
export function challengingCandidate<Configuration>(
  candidates: readonly Candidate<Configuration>[],
  record: TuningRecord,
): Candidate<Configuration> | undefined {
  return candidates[findChallenger(timedConfigurations(candidates, record))];
}

function timedConfigurations(
  candidates: readonly Candidate<unknown>[],
  record: TuningRecord,
): (TimedConfiguration | undefined)[] {
  const first = firstRunning(candidates, record)?.text;
  return candidates.map(({ text }) => {
    const entry = record.get(text);
    return entry === undefined ? undefined : timedConfiguration(entry, first);
  });
}

/**
 * The choice from what is known. Where that is nothing, the first configuration that is not known to
 * fail.
 *
 * @throws {TuningError} If all fail.
 */
export function resultFrom<Configuration extends TuningValue>(
  name: string,
  candidates: readonly Candidate<Configuration>[],
  record: TuningRecord,
  origin: TuningOrigin,
): TuningResult<Configuration> {
  const report = reportRows(candidates, record);
  const best = bestCandidate(candidates, record);
  if (best !== undefined) return { best: best.configuration, origin, report };
  const untried = candidates.find(({ text }) => !record.has(text));
  if (untried !== undefined) return { best: untried.configuration, origin: "default", report };
  throw allFailed(name, candidates, record, origin, report);
}

function allFailed(
  name: string,
  candidates: readonly Candidate<TuningValue>[],
  record: TuningRecord,
  origin: TuningOrigin,
  report: readonly TuningRow[],
): TuningError {
  const reasons = candidates.map(({ text }) =>
    `\n  ${text}: ${record.get(text)!.failure!.replaceAll("\n", "\n    ")}`
  );
  const advice = origin === "stored"
    ? "\nThat is known from before: they are tried again after clearTunings(), or with another version."
    : "";
  const count = candidates.length === 1
    ? "its only configuration fails"
    : `all ${candidates.length} configurations fail`;
  return new TuningError(
    `Cannot ${ACTION} ${name} as ${count}:${reasons.join("")}${advice}`,
    report,
  );
}

/** The device was lost to a configuration. */
export function deviceLost<Configuration extends TuningValue>(
  name: string,
  { label }: DeviceContext,
  candidates: readonly Candidate<Configuration>[],
  record: TuningRecord,
  guilty: Candidate<Configuration>,
  error: unknown,
): TuningError {
  return new TuningError(
    `Cannot ${ACTION} ${name} any further as ${label} is lost to this process after configuration ` +
      `${guilty.text}: ${failureReason(error)} The next process does not try this one.`,
    reportRows(candidates, record),
    error,
  );
}
