/**
 * What a tuning found, for people.
 *
 * @module
 */

import type { TuningResult, TuningRow } from "../lab/tuning/mod.ts";
import { textTable } from "./text_table.ts";
import type { Macros } from "./tune_configurations.ts";

/** The configurations in a table, the best one first, and where the choice comes from. */
export function describeTuning({ best, report, origin }: TuningResult<Macros>): string {
  const names = [...new Set(report.flatMap(({ configuration }) => Object.keys(configuration)))];
  const fastest = report.find(({ configuration }) => configuration === best)!;
  const compared = report.map((row) => ({ row, share: shareOf(row, fastest) }));
  const rows = compared
    .sort((one, other) =>
      Number(other.row === fastest) - Number(one.row === fastest) ||
      one.share - other.share
    )
    .map(({ row, share }) => [
      row === fastest ? "→" : "",
      ...names.map((name) => String(row.configuration[name] ?? "")),
      row.failed ? "failed" : row.medianMicroseconds.toPrecision(4),
      row.failed ? "" : share.toFixed(2),
      remarkOf(row),
    ]);
  const table = textTable(
    ["", ...names, "µs", "× best", ""],
    rows,
    ["left", ...names.map(() => "right" as const), "right", "right", "left"],
  );
  const found = origin === "stored" ? "known from before; --fresh times again" : "timed now";
  const chosen = names.map((name) => `${name}=${best[name] ?? ""}`).join(" ");
  return `${table}\n\nbest: ${chosen} (${found})`;
}

/**
 * How many times as long as the best one a configuration takes, in the rounds that both were in: a
 * machine may have been faster before others were dropped than it was afterwards.
 */
function shareOf({ failed, samples }: TuningRow, best: TuningRow): number {
  if (failed) return Infinity;
  const rounds = Math.min(samples.length, best.samples.length);
  return medianOf(samples.slice(0, rounds)) / medianOf(best.samples.slice(0, rounds));
}

function medianOf(samples: readonly number[]): number {
  const sorted = samples.toSorted((one, other) => one - other);
  const middle = Math.floor(sorted.length / 2);
  return (sorted[middle]! + sorted[sorted.length - 1 - middle]!) / 2;
}

function remarkOf({ failed, reason = "", stoppedEarly, refuted }: TuningRow): string {
  if (failed) return reason.split("\n", 1)[0]!;
  if (refuted) return "not faster than the first when timed again";
  return stoppedEarly ? "dropped early" : "";
}
