import { assertEquals } from "@std/assert";
import { runBenchProgram } from "../../bench/report/program.ts";
import { ALL_POLICIES } from "../../bench/memory_models/policies.ts";
import type { ReplayResult } from "../../src/lab/memory/mod.ts";

Deno.test("replay_policies.ts --json prints a row for each policy", async () => {
  const rows = await runBenchProgram<ReplayResult[]>("replay_policies", {
    args: ["load", "--json"],
  });
  assertEquals(rows.map(({ policy }) => policy), ALL_POLICIES.map(({ name }) => name));
  for (const { trace, ratio, outOfMemory } of rows) {
    assertEquals([trace, ratio >= 1, outOfMemory], ["load", true, 0]);
  }
});
