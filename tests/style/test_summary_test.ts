import { assertEquals, assertThrows } from "@std/assert";
import { addTestSummaries, formatTestSummary, readTestSummary } from "../../.ci/test_summary.ts";

Deno.test("readTestSummary() reads the last summary in every form deno test prints", () => {
  const read = (log: string) => formatTestSummary(readTestSummary(log));
  assertEquals(read("x\nok | 3 passed | 0 failed (8ms)\n"), "3 passed, 0 failed");
  assertEquals(
    read("FAILED | 24 passed (4 steps) | 2 failed (1 step) | 1 ignored (1s)"),
    "24 passed, 2 failed, 1 skipped",
  );
  assertEquals(
    read("ok | 1 passed | 0 failed | 2 ignored | 1 measured | 7 filtered out (1m2s)"),
    "1 passed, 0 failed, 2 skipped",
  );
  // A test that runs `deno test` itself may have its summary shown first.
  assertEquals(
    read("ok | 9 passed | 9 failed (1s)\nok | 1 passed | 0 failed (1s)"),
    "1 passed, 0 failed",
  );
  assertEquals(
    read("\x1b[32mok\x1b[0m | 5 passed | 0 failed \x1b[90m(1s)\x1b[0m"),
    "5 passed, 0 failed",
  );
});

Deno.test("readTestSummary() throws for a truncated run", () => {
  assertThrows(() => readTestSummary("running 3 tests\nfirst ... ok (1ms)\n"), Error, "summary");
  assertThrows(() => readTestSummary("  ok | 3 passed | 0 failed"), Error, "summary");
});

Deno.test("addTestSummaries() counts several runs together", () => {
  const first = { passed: 3, failed: 1, ignored: 0 };
  const second = { passed: 40, failed: 0, ignored: 2 };
  assertEquals(addTestSummaries([first, second]), { passed: 43, failed: 1, ignored: 2 });
  assertEquals(addTestSummaries([]), { passed: 0, failed: 0, ignored: 0 });
});
