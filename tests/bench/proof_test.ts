// Steps of a GPU proof, and the processes that they start.

import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { step, StepError } from "../../.ci/steps.ts";
import type { StepOutcome } from "../../bench/report/gpu_report.ts";
import { type ProofStep, runStages, stageLimit } from "../../bench/report/proof.ts";

function proofStep(name: string, reserve: number, run: ProofStep["run"]): ProofStep {
  return { name, reserve, run };
}

const pass: ProofStep["run"] = () => Promise.resolve({ status: "passed", detail: "fine" });

Deno.test("stageLimit() leaves the later stages their reserved time", () => {
  const steps = [10, 20, 30].map((reserve, index) => proofStep(`${index}`, reserve, pass));
  assertEquals([0, 1, 2].map((index) => stageLimit(steps, index, 100)), [50, 70, 100]);
  assertEquals(stageLimit(steps, 0, 20), 1);
  // Of steps that run at the same time, the longest counts.
  assertEquals(stageLimit([steps[0]!, steps], 0, 100), 70);
});

Deno.test("runStages() runs the steps of a stage at the same time", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const outcomes: string[] = [];
  await runStages(
    [[
      proofStep("waits", 0, async () => {
        await promise;
        return { status: "passed", detail: "" };
      }),
      proofStep("is waited for", 0, () => {
        resolve();
        return pass(0);
      }),
    ]],
    1000,
    ({ name }) => outcomes.push(name),
  );
  assertEquals(outcomes, ["is waited for", "waits"]);
});

Deno.test("runStages() continues when a step fails, and subtracts the time of earlier steps", async () => {
  const limits: number[] = [];
  const outcomes: StepOutcome[] = [];
  await runStages(
    [
      proofStep("bad", 0, () => Promise.reject(new Error("broken"))),
      proofStep("worse", 0, () => {
        throw new RangeError("at once");
      }),
      proofStep("slow", 0, async (limit) => {
        limits.push(limit);
        await new Promise((resolve) => setTimeout(resolve, 50));
        return { status: "skipped", detail: "no GPU" };
      }),
      proofStep("last", 400, (limit) => {
        limits.push(limit);
        return pass(limit);
      }),
    ],
    1000,
    (outcome) => outcomes.push(outcome),
  );
  assertEquals(outcomes.map(({ name, status, detail }) => [name, status, detail]), [
    ["bad", "failed", "broken"],
    ["worse", "failed", "at once"],
    ["slow", "skipped", "no GPU"],
    ["last", "passed", "fine"],
  ]);
  assert(limits[0]! <= 600 && limits[1]! <= 951, `${limits}`);
});

Deno.test("step() returns the output, or an error that contains it", async () => {
  assertEquals(await step("echo", ["echo", "this"], { capture: "hidden" }), "this\n");
  const failing = () => step("fail", ["sh", "-c", "echo so far; exit 3"], { capture: "shown" });
  const error = await assertRejects(failing, StepError, "fail failed with exit status 3");
  assertEquals(error.output, "so far\n");
});

Deno.test("step() ends a slow program and its children", async () => {
  // The inner shell would hold standard output open while it sleeps.
  const script = "sh -c 'sleep 60' & echo started; wait";
  const error = await assertRejects(
    () => step("slow", ["sh", "-c", script], { capture: "hidden", limit: 500 }),
    StepError,
    "slow ran out of time",
  );
  assertStringIncludes(error.output, "started");
});
