import { assertEquals } from "@std/assert";
import { ConcurrencyLimit } from "../../../src/launch/compile/compiler.ts";

Deno.test("ConcurrencyLimit.run() runs tasks in order, up to the limit, also after failures", async () => {
  const limit = new ConcurrencyLimit(2);
  const begun: number[] = [];
  let [running, peak] = [0, 0];
  const results = await Promise.allSettled(
    Array.from({ length: 20 }, (_, index) =>
      limit.run(async () => {
        begun.push(index);
        peak = Math.max(peak, ++running);
        // Each takes another number of turns.
        for (let turn = 0; turn < index % 4; turn++) await Promise.resolve();
        running--;
        if (index % 5 === 0) throw new RangeError("no");
      })),
  );
  assertEquals(begun, [...results.keys()]);
  assertEquals([peak, results.filter(({ status }) => status === "rejected").length], [2, 4]);
});
