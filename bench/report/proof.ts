/**
 * Running steps of which each is reported, whatever becomes of the others, within a time for all.
 *
 * @module
 */

import type { StepOutcome } from "./gpu_report.ts";

/** The findings of a step. */
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
  /** Milliseconds that the stages before it must leave over. */
  readonly reserve: number;
  /**
   * Does it.
   *
   * @param limit How many milliseconds it may take.
   * @throws {Error} If it fails.
   */
  run(limit: number): Promise<StepResult>;
}

/** A step, or steps that run at the same time. */
export type ProofStage = ProofStep | readonly ProofStep[];

const stepsOf = (stage: ProofStage) => "run" in stage ? [stage] : stage;

/** The time limit of a stage: the remaining time without the reserves of the later ones. */
export function stageLimit(stages: readonly ProofStage[], index: number, left: number): number {
  const reserved = stages.slice(index + 1).reduce(
    (sum, stage) => sum + Math.max(...stepsOf(stage).map(({ reserve }) => reserve)),
    0,
  );
  return Math.max(1, left - reserved);
}

/**
 * Runs the stages in order.
 *
 * @param total Milliseconds they may take together.
 * @param onEnd Called with the outcome of each step when it ends.
 * @param now Milliseconds of a clock.
 */
export async function runStages(
  stages: readonly ProofStage[],
  total: number,
  onEnd: (outcome: StepOutcome) => void,
  now: () => number = () => performance.now(),
): Promise<void> {
  const begin = now();
  for (const [index, stage] of stages.entries()) {
    const limit = stageLimit(stages, index, total - (now() - begin));
    await Promise.all(
      stepsOf(stage).map(async (step) => {
        console.error(`== ${step.name}`);
        const start = now();
        const result = await runStep(step, limit);
        const seconds = (now() - start) / 1000;
        const status = result.status === "failed" ? "FAILED" : result.status;
        console.error(`== ${step.name}: ${status}, ${seconds.toFixed(1)} s: ${result.detail}`);
        onEnd({ name: step.name, seconds, ...result });
      }),
    );
  }
}

async function runStep(
  step: ProofStep,
  limit: number,
): Promise<Pick<StepOutcome, "status" | "detail">> {
  try {
    return await step.run(limit);
  } catch (error) {
    // Whatever went wrong is the step's failure: the report is written all the same.
    return { status: "failed", detail: error instanceof Error ? error.message : String(error) };
  }
}
