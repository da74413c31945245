import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { step, StepError } from "../../.ci/steps.ts";

Deno.test("step() returns the output, or an error that contains it", async () => {
  assertEquals(await step("echo", ["echo", "this"], { capture: "hidden" }), "this\n");
  const failing = () => step("fail", ["sh", "-c", "echo so far; exit 3"], { capture: "shown" });
  const error = await assertRejects(failing, StepError, "fail failed with exit status 3");
  assertEquals(error.output, "so far\n");
});

Deno.test("step() ends a slow program and its children", async () => {
  const file = await Deno.makeTempFile();
  try {
    // The inner shell would hold standard output open for as long as it sleeps.
    const script = `sh -c 'sleep 60; echo late >> ${file}' & echo started; wait`;
    const start = performance.now();
    const error = await assertRejects(
      () => step("slow", ["sh", "-c", script], { capture: "hidden", limit: 500 }),
      StepError,
      "slow ran out of time",
    );
    assertStringIncludes(error.output, "started");
    assert(performance.now() - start < 20_000);
  } finally {
    await Deno.remove(file);
  }
});
