/**
 * Counts tests in the output of `deno test`, of one run or of several.
 *
 * ```sh
 * deno run --allow-read .ci/test_summary.ts test.log native.log
 * ```
 *
 * @module
 */

/** How many tests had which outcome. */
export interface TestSummary {
  /** Tests that passed. */
  readonly passed: number;
  /** Tests that failed. */
  readonly failed: number;
  /** Tests that were ignored, each with a reason in its source. */
  readonly ignored: number;
}

const SUMMARY =
  /^(?:ok|FAILED) \| (\d+) passed(?: \(\d+ steps?\))? \| (\d+) failed(?: \(\d+ steps?\))?(.*)$/gm;

function lastSummary(log: string): RegExpExecArray | undefined {
  // deno-lint-ignore no-control-regex
  const plain = log.replace(/\x1b\[[0-9;]*m/g, "");
  return [...plain.matchAll(SUMMARY)].at(-1);
}

/** Whether a run of `deno test` came to its end. */
export function hasTestSummary(log: string): boolean {
  return lastSummary(log) !== undefined;
}

/**
 * Reads the summary that `deno test` ends with.
 *
 * @throws {Error} If there is none: the run ended before its end.
 */
export function readTestSummary(log: string): TestSummary {
  const last = lastSummary(log);
  if (last === undefined) throw new Error("Cannot find the summary of deno test in its output");
  const ignored = /\| (\d+) ignored/.exec(last[3]!)?.[1] ?? "0";
  return { passed: Number(last[1]), failed: Number(last[2]), ignored: Number(ignored) };
}

/** The counts of several runs together. */
export function addTestSummaries(summaries: readonly TestSummary[]): TestSummary {
  const total = (outcome: keyof TestSummary) =>
    summaries.reduce((sum, summary) => sum + summary[outcome], 0);
  return { passed: total("passed"), failed: total("failed"), ignored: total("ignored") };
}

/** The summary as one line. */
export function formatTestSummary({ passed, failed, ignored }: TestSummary): string {
  return `${passed} passed, ${failed} failed` + (ignored === 0 ? "" : `, ${ignored} skipped`);
}

if (import.meta.main) {
  const summaries = Deno.args.map((log) => readTestSummary(Deno.readTextFileSync(log)));
  console.log(formatTestSummary(addTestSummaries(summaries)));
}
