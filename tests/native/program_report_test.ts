import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { ProgramFailure, readProgramReport, runTestProgram } from "./program_report.ts";

Deno.test("readProgramReport() reads checks, failures with their details, and skips", () => {
  const report = readProgramReport(
    `ok one
ok   two: of another suite
FAIL three: (runtime/copy_checks.cpp:8)
FAILED four
  2 failed, first for: 7
     last failure: none
okay is no check, nor is what follows
skip what needs a device: cudaErrorNoDevice
FAILED five
3 failed
`,
  );
  assertEquals(report, {
    passed: 2,
    failures: [
      "FAIL three: (runtime/copy_checks.cpp:8)",
      "FAILED four\n  2 failed, first for: 7\n     last failure: none",
      "FAILED five",
    ],
    skips: ["what needs a device: cudaErrorNoDevice"],
  });
});

function shell(script: string, limit?: number) {
  const args = ["-c", script];
  return runTestProgram("/bin/sh", limit === undefined ? { args } : { args, limit });
}

async function failureOf(script: string, limit?: number): Promise<string> {
  return (await assertRejects(() => shell(script, limit), ProgramFailure)).message;
}

Deno.test("a program whose checks hold passes", async () => {
  assertEquals(await shell("echo ok one; echo ok two; echo 0 failed"), {
    passed: 2,
    failures: [],
    skips: [],
  });
});

Deno.test("a program fails by a failed check, whatever it ends with", async () => {
  for (const status of [0, 1]) {
    assertEquals(
      await failureOf(`echo ok one; echo FAIL two; echo "  detail"; exit ${status}`),
      `/bin/sh ended with exit status ${status}\nFAIL two\n  detail`,
    );
  }
});

Deno.test("a program fails that checks nothing, crashes or ends with an error", async () => {
  assertStringIncludes(await failureOf("echo 0 failed"), "after 0 checks that held");
  const crash = await failureOf("echo ok one; echo about to crash >&2; kill -SEGV $$");
  assertStringIncludes(crash, "was ended by SIGSEGV after 1 checks that held");
  assertStringIncludes(crash, "about to crash");
  assertStringIncludes(await failureOf("echo ok one; exit 3"), "ended with exit status 3");
});

Deno.test("a program that hangs is ended", async () => {
  assertStringIncludes(
    await failureOf("echo ok one; exec sleep 30", 100),
    "ran out of time after 0.1 s",
  );
});

Deno.test("a program does not inherit what it is not to", async () => {
  const script = "echo ok one; echo skip ${HOME-unset}";
  const { skips } = await runTestProgram("/bin/sh", { args: ["-c", script], without: ["HOME"] });
  assertEquals(skips, ["unset"]);
});
