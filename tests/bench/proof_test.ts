import { assert, assertEquals } from "@std/assert";
import { type ProofStep, runSteps, stepLimit } from "../../bench/report/proof.ts";

function proofStep(name: string, reserve: number, run: ProofStep["run"]): ProofStep {
  return { name, reserve, run };
}

const pass: ProofStep["run"] = () => Promise.resolve({ status: "passed", detail: "fine" });

Deno.test("stepLimit() leaves the later steps what they have reserved", () => {
  const steps = [10, 20, 30].map((reserve, index) => proofStep(`${index}`, reserve, pass));
  assertEquals(stepLimit(steps, 0, 100), 50);
  assertEquals(stepLimit(steps, 1, 100), 70);
  assertEquals(stepLimit(steps, 2, 100), 100);
  assertEquals(stepLimit(steps, 0, 20), 1);
});

Deno.test("Steps continue when one fails", async () => {
  const outcomes = await runSteps([
    proofStep("good", 0, pass),
    proofStep("bad", 0, () => Promise.reject(new Error("broken"))),
    proofStep("worse", 0, () => {
      throw new RangeError("at once");
    }),
    proofStep("absent", 0, () => Promise.resolve({ status: "skipped", detail: "no GPU" })),
    proofStep("last", 0, pass),
  ], 1000);
  assertEquals(outcomes.map(({ name, status, detail }) => [name, status, detail]), [
    ["good", "passed", "fine"],
    ["bad", "failed", "broken"],
    ["worse", "failed", "at once"],
    ["absent", "skipped", "no GPU"],
    ["last", "passed", "fine"],
  ]);
});

Deno.test("stepLimit() subtracts the time of earlier steps", async () => {
  const limits: number[] = [];
  const take = (milliseconds: number): ProofStep["run"] => async (limit) => {
    limits.push(limit);
    await new Promise((resolve) => setTimeout(resolve, milliseconds));
    return { status: "passed", detail: "" };
  };
  const steps = [proofStep("a", 0, take(50)), proofStep("b", 400, take(0))];
  const [first] = await runSteps(steps, 1000);
  assert(first!.seconds >= 0.049, `${first!.seconds} s`);
  assert(limits[0]! > 590 && limits[0]! <= 600, `${limits[0]}`);
  assert(limits[1]! <= 950 && limits[1]! > 900 - 500, `${limits[1]}`);
});
