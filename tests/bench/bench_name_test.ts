import { assertEquals, assertThrows } from "@std/assert";
import {
  benchName,
  type BenchWork,
  exactBytes,
  readBenchName,
} from "../../bench/report/bench_name.ts";

Deno.test("readBenchName() reads back what benchName() says", () => {
  const works: [BenchWork, string][] = [
    [{ title: "C loop", calls: 1, bytes: null }, "C loop"],
    [{ title: "C loop", calls: 500, bytes: null }, "C loop ×500"],
    [{ title: "add float32", calls: 10, bytes: 768 * 2 ** 20 }, "add float32 ×10 [768 MiB]"],
    [{ title: "copy", calls: 1, bytes: 100 }, "copy [100 B]"],
    [{ title: "nothing", calls: 2, bytes: 0 }, "nothing ×2 [0 B]"],
    [{ title: "a ×b [c]", calls: 1, bytes: null }, "a ×b [c]"],
  ];
  for (const [work, name] of works) {
    assertEquals(benchName(work), name);
    assertEquals(readBenchName(name), work);
  }
});

Deno.test("benchName() refuses a malformed count", () => {
  const name = (calls: number, bytes: number | null) => () =>
    benchName({ title: "x", calls, bytes });
  for (const calls of [0, -1, 1.5, NaN]) assertThrows(name(calls, null), RangeError, `${calls}`);
  for (const bytes of [-1, 0.5, NaN]) assertThrows(name(1, bytes), RangeError, `${bytes}`);
});

Deno.test("exactBytes() takes the largest unit that divides the size", () => {
  const sizes = [0, 1, 1023, 1024, 1025, 2 ** 20, 3 * 2 ** 29, 2 ** 30, 2 ** 42];
  const texts = [
    "0 B",
    "1 B",
    "1023 B",
    "1 KiB",
    "1025 B",
    "1 MiB",
    "1536 MiB",
    "1 GiB",
    "4096 GiB",
  ];
  assertEquals(sizes.map(exactBytes), texts);
});
