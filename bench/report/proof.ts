/**
 * Running steps of which each is reported, whatever becomes of the others, within a time for all.
 *
 * @module
 */

import type { StepOutcome } from "./gpu_report.ts";

/** What a step found. */
export interface StepResult {
  /** Whether there was anything to run it on. */
  readonly status: "passed" | "skipped";
  /** Its findings, or the reason for the omission. */
  readonly detail: string;
}

/** One of the steps. */
export interface ProofStep {
  /** Its name. */
  readonly name: string;
  /** Milliseconds that the steps before it must leave over. */
  readonly reserve: number;
  /**
   * Does it.
   *
   * @param limit How many milliseconds it may take.
   * @throws {Error} If it fails.
   */
  run(limit: number): Promise<StepResult>;
}

/** The time limit of a step: the remaining time without the reserves of the later steps. */
export function stepLimit(steps: readonly ProofStep[], index: number, left: number): number {
  const reserved = steps.slice(index + 1).reduce((sum, { reserve }) => sum + reserve, 0);
  return Math.max(1, left - reserved);
}

/**
 * Runs the steps in order and says what became of each.
 *
 * @param total How many milliseconds they may take together.
 */
export async function runSteps(
  steps: readonly ProofStep[],
  total: number,
): Promise<StepOutcome[]> {
  const begin = performance.now();
  const outcomes: StepOutcome[] = [];
  for (const [index, step] of steps.entries()) {
    const start = performance.now();
    const result = await runStep(step, stepLimit(steps, index, total - (start - begin)));
    outcomes.push({ name: step.name, seconds: (performance.now() - start) / 1000, ...result });
  }
  return outcomes;
}

async function runStep(
  step: ProofStep,
  limit: number,
): Promise<Pick<StepOutcome, "status" | "detail">> {
  try {
    const result = await step.run(limit);
    if (result.status === "skipped") console.error(`\n== ${step.name}: skipped: ${result.detail}`);
    return result;
  } catch (error) {
    // Whatever went wrong is the step's failure: the report is written all the same.
    const detail = error instanceof Error ? error.message : String(error);
    console.error(`\n== ${step.name}: FAILED: ${detail}`);
    return { status: "failed", detail };
  }
}
