import { assertEquals, assertThrows } from "@std/assert";
import { addTestSummaries, formatTestSummary, readTestSummary } from "../../.ci/test_summary.ts";

Deno.test("readTestSummary() reads the last summary of deno test, and throws without one", () => {
  const summaries: Readonly<Record<string, string>> = {
    "x\nok | 3 passed | 0 failed (8ms)\n": "3 passed, 0 failed",
    "FAILED | 24 passed (4 steps) | 2 failed (1 step) | 1 ignored (1s)":
      "24 passed, 2 failed, 1 skipped",
    "ok | 9 passed | 9 failed (1s)\nok | 1 passed | 0 failed | 1 measured (1m2s)":
      "1 passed, 0 failed",
    "\x1b[32mok\x1b[0m | 5 passed | 0 failed \x1b[90m(1s)\x1b[0m": "5 passed, 0 failed",
  };
  for (const [log, text] of Object.entries(summaries)) {
    assertEquals(formatTestSummary(readTestSummary(log)), text);
  }
  assertThrows(() => readTestSummary("running 3 tests\nfirst ... ok (1ms)\n"), Error, "summary");
  assertThrows(() => readTestSummary("  ok | 3 passed | 0 failed"), Error, "summary");
});

Deno.test("addTestSummaries() counts several runs together", () => {
  const [first, second] = [[3, 1, 0], [40, 0, 2]].map(([passed, failed, ignored]) => ({
    ...{ passed: passed!, failed: failed!, ignored: ignored! },
  }));
  assertEquals(addTestSummaries([first!, second!]), { passed: 43, failed: 1, ignored: 2 });
});
