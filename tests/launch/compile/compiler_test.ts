import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import { ConcurrencyLimit } from "../../../src/launch/compile/compiler.ts";

Deno.test("ConcurrencyLimit.run() runs tasks in order, up to the limit", async () => {
  for (const most of [1, 2, 3]) {
    const limit = new ConcurrencyLimit(most);
    const begun: number[] = [];
    let [running, peak] = [0, 0];
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        limit.run(async () => {
          begun.push(index);
          peak = Math.max(peak, ++running);
          // Each takes another number of turns.
          for (let turn = 0; turn < index % 4; turn++) await Promise.resolve();
          running--;
          return index;
        })),
    );
    assertEquals(results, begun);
    assertStrictEquals(peak, most);
  }
});

Deno.test("ConcurrencyLimit.run() starts the next task after a failure", async () => {
  const limit = new ConcurrencyLimit(1);
  const failing = limit.run(() => Promise.reject(new RangeError("no")));
  const next = limit.run(() => Promise.resolve(7));
  await assertRejects(() => failing, RangeError);
  assertStrictEquals(await next, 7);
});
