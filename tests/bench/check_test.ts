// The tests of `deno task gpu check` that fail or do not end.

import "../support/cache_directory.ts";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  checkStages,
  describeFailure,
  emptyCheck,
  unsuccessfulTests,
} from "../../.ci/gpu/check.ts";
import type { GpuContext } from "../../.ci/gpu/context.ts";
import { missedFaults, PLANTED_FAULTS } from "../../.ci/gpu/planted_faults.ts";
import { runLimited } from "../../.ci/gpu/processes.ts";
import type { GpuReport, StepOutcome } from "../../bench/report/gpu_report.ts";
import { type ProofStep, runStages } from "../../bench/report/proof.ts";
import { ReportFiles } from "../../bench/report/report_files.ts";
import { TemporaryDirectory } from "../support/temporary_file.ts";
import { countOf, machineCodeOf, withoutMachineCode } from "../tensor/cuda/machine_code.ts";

const OUTPUT = `running 3 tests from ./tests/a_test.ts
passes ... ok (7ms)
fails ... FAILED (1ms)
outer ...
  inner ... ok (0ms)
outer ... ok (1ms)
never ends => really ...
------- output -------
hello
`;

Deno.test("unsuccessfulTests() names failed tests and the one that did not end", () => {
  assertEquals(unsuccessfulTests(OUTPUT), {
    failed: ["fails"],
    unfinished: "never ends => really",
  });
  const ended = `${OUTPUT}----- output end -----\nnever ends => really ... ok (1s)\n`;
  assertEquals(unsuccessfulTests(ended), { failed: ["fails"], unfinished: undefined });
  assertEquals(unsuccessfulTests("quiet ... "), { failed: [], unfinished: "quiet" });
});

Deno.test("runLimited() ends a program with all that it has started, at its end and at the limit", async () => {
  // The inner shell would hold the output open.
  const left = await runLimited(["sh", "-c", "sleep 60 & echo begun; exit 3"], {}, 30_000);
  assertEquals(left, { outcome: "failed", code: 3, output: "begun\n" });
  const late = await runLimited(
    ["sh", "-c", "echo $NAME; sh -c 'sleep 60' & wait"],
    { NAME: "n" },
    500,
  );
  // It was ended by SIGKILL.
  assertEquals(late, { outcome: "hung", code: 128 + 9, output: "n\n" });
});

const VALIDATION = `381 passed, 1 failed on cuda:0

   operation                        checks  largest error, of its bound
─  ───────────────────────────────  ──────  ───────────────────────────────
✓  attention                             3  4.27 of 16 ULP
✗  attention mma                         2  104 of 16 ULP; failed: bfloat16
========= Invalid __global__ read of size 4 bytes
=========     at tensor_sum+0x1a0
`;

Deno.test("describeFailure() names failed checks with their errors, and findings of the sanitizer", () => {
  assertEquals(
    describeFailure(VALIDATION, 1),
    "it failed with exit status 1: 381 passed, 1 failed on cuda:0; " +
      "attention mma, 2, 104 of 16 ULP; failed: bfloat16; Invalid __global__ read of size 4 bytes",
  );
  const hazard = (thread: number) =>
    `========= Error: Potential WAR hazard detected at __shared__ 0x7200 in block (2,0,0) :
=========     Read Thread (${thread},0,0) at void gridstride::tensor::attention_mma<Multiply>(int)+0x10
`;
  assertEquals(
    describeFailure(hazard(1) + hazard(2), 99),
    "it failed with exit status 99: Potential WAR hazard in gridstride::tensor::attention_mma",
  );
  assertEquals(describeFailure("error: no device", 2), "it failed with exit status 2");
  const many = Array.from({ length: 14 }, (_, at) => `✗  add ${at}  3 of 1 ULP`).join("\n");
  assert(describeFailure(many, 1).endsWith("add 11, 3 of 1 ULP; 2 more"));
});

Deno.test("missedFaults() names the kernels that compute-sanitizer does not", () => {
  const mirror = "========= Error: Race reported between Write access at planted_mirror+0x90";
  assertEquals(missedFaults("racecheck", mirror), ["planted_choice"]);
  const both = `${mirror}\n${mirror.replace("mirror", "choice")}`;
  assertEquals(missedFaults("racecheck", both), []);
  assertEquals(missedFaults("memcheck", "========= ERROR SUMMARY: 0 errors"), ["planted_store"]);
});

for (const fault of Object.values(PLANTED_FAULTS).flat()) {
  Deno.test({
    name: `${fault.name} keeps its fault in the machine code${withoutMachineCode}`,
    ignore: withoutMachineCode !== "",
    async fn() {
      const { instructions } = await machineCodeOf(fault.source, fault.name);
      for (const opcode of fault.opcodes) assert(countOf(instructions, opcode) > 0, `${opcode}`);
      assertEquals(countOf(instructions, /^BAR/), 0);
    },
  });
}

/** A test that fails until it has run that many times. */
const passesAtRun = (run: number) =>
  `Deno.test("needs quiet", () => {
    const marker = new URL(import.meta.url + ".runs");
    Deno.writeTextFileSync(marker, "x", { append: true });
    if (Deno.readTextFileSync(marker).length < ${run}) throw new Error("disturbed");
  });`;

Deno.test("checkStages() ends hung tests, names them, and runs failing files again", async () => {
  const hang = 'Deno.test("waits for itself", () => new Promise((end) => setTimeout(end, 1e8)));';
  using folder = TemporaryDirectory.of({
    "suspect_test.ts": hang,
    "hang_test.ts": `Deno.test("passes", () => {});\n${hang}`,
    "bad_test.ts": 'Deno.test("is wrong", () => { throw new Error("wrong"); });',
    // Pass when they run a second and a third time.
    "flaky_test.ts": passesAtRun(2),
    "lonely_test.ts": passesAtRun(3),
    "good_test.ts": 'Deno.test("is right", () => {});',
  });
  const path = (name: string) => `${folder.path}/${name}_test.ts`;
  const suspects = [path("suspect")];
  const files = [...suspects, ...["hang", "bad", "flaky", "lonely", "good"].map(path)];
  const report = emptyReport({ check: emptyCheck({ files, suspects }) });
  const context: GpuContext = {
    ...{ device: "host", env: { NO_COLOR: "1" }, report },
    files: new ReportFiles(`${folder.path}/results`, report),
  };
  const limits = { beside: 4000, alone: 4000 };
  const stages = checkStages(context, { files, suspects }, report.check!, limits).flat()
    .filter(({ name }: ProofStep) => /tests/.test(name));
  const outcomes: StepOutcome[] = [];
  await runStages(stages, 600_000, (outcome) => outcomes.push(outcome));
  assertEquals(outcomes.map(({ name, status }) => [name, status]), [
    ["tests that may hang", "failed"],
    ["tests", "passed"],
    ["failing tests again", "failed"],
  ]);
  assertStringIncludes(outcomes[1]!.detail, "4 of 5 files failed");
  assertEquals(outcomes[2]!.detail, "2 pass, 1 fail, 1 hang, 0 were not run again");
  const read: GpuReport = JSON.parse(Deno.readTextFileSync(`${context.files.path}.json`));
  assertEquals(read.check!.ran, 6);
  const found = read.check!.failing.map(({ file, outcome, alone, tests }) =>
    [file.replace(/.*\/|_test\.ts/g, ""), outcome, alone, tests.join()] as const
  );
  assertEquals(found.toSorted(), [
    ["bad", "failed", "failed", "is wrong"],
    ["flaky", "failed", "passed", "needs quiet"],
    ["hang", "hung", "hung", "waits for itself"],
    ["lonely", "failed", "passed", "needs quiet"],
    ["suspect", "hung", "hung", "waits for itself"],
  ]);
  const page = Deno.readTextFileSync(`${context.files.path}.md`);
  assertStringIncludes(page, "| hung | hung | waits for itself |");
  assertStringIncludes(Deno.readTextFileSync(`${context.files.path}.log`), "Error: wrong");
});

Deno.test("checkStages() does not count files that there was no time for", async () => {
  using folder = TemporaryDirectory.of({ "a_test.ts": "Deno.test('a', () => {});" });
  const files = [`${folder.path}/a_test.ts`];
  const report = emptyReport({ check: emptyCheck({ files, suspects: [] }) });
  const context: GpuContext = {
    ...{ device: "host", env: {}, report },
    files: new ReportFiles(`${folder.path}/results`, report),
  };
  const stage = checkStages(context, { files, suspects: [] }, report.check!).flat()
    .filter(({ name }: ProofStep) => name === "tests");
  const outcomes: StepOutcome[] = [];
  await runStages(stage, 500, (outcome) => outcomes.push(outcome));
  assertEquals(outcomes[0]?.detail, "There was time for 0 of 1 files");
  assert(outcomes[0]?.status === "failed" && report.check!.ran === 0);
});

function emptyReport(findings: Partial<GpuReport>): GpuReport {
  return {
    ...{ format: 1, command: "check", name: "A GPU", finished: false, device: null, gpu: null },
    machine: { processor: "p", processors: 1, system: "s", deno: "d" },
    ...{ date: "2030-01-02T03:04:05.000Z", commit: "0123abc", steps: [], ...findings },
  };
}
