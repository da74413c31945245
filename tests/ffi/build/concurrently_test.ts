import { assertEquals, assertLessOrEqual } from "@std/assert";
import { forEachConcurrently } from "../../../src/ffi/build/source_tree.ts";

/** Lets everything that can run now run. */
function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

Deno.test("`forEachConcurrently()` runs every task once within the limit", async () => {
  for (const [count, limit] of [[0, 4], [1, 4], [7, 1], [7, 3], [3, 100]] as const) {
    const items = Array.from({ length: count }, (_, index) => index);
    const done: number[] = [];
    let running = 0;
    const failures = await forEachConcurrently(items, limit, async (item) => {
      running++;
      assertLessOrEqual(running, limit);
      await turn();
      running--;
      done.push(item);
    });
    assertEquals([failures, done.sort((a, b) => a - b)], [[], items]);
  }
});

Deno.test("`forEachConcurrently()` begins nothing after a failure and awaits running tasks", async () => {
  const begun: number[] = [];
  const ended: number[] = [];
  const failures = await forEachConcurrently([0, 1, 2, 3, 4, 5], 3, async (item) => {
    begun.push(item);
    await turn();
    if (item === 0) throw new Error("item 0");
    await turn();
    await turn();
    ended.push(item);
  });
  assertEquals(failures.map(String), ["Error: item 0"]);
  assertEquals([begun, ended], [[0, 1, 2], [1, 2]]);
});
