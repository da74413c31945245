import { assertEquals } from "@std/assert";
import { stepFigures } from "../../bench/report/compile_times.ts";

Deno.test("compileTimes() reads the appended steps of several g++ runs", () => {
  const times = [
    "0.226206 0.043794 cc1plus -quiet -I /include source.cpp -o a.s",
    "0.003 0 as --64 -o a.o a.s",
    "0.0112 0.0128 /usr/lib/gcc/collect2 -shared -o kernels a.o",
    "0.2 0.01 cc1plus -quiet b.cpp -o 0.1 0.2 as",
    "0.5 0.5 lto-wrapper",
    "",
  ].join("\n");
  const figures = stepFigures(times).map(({ title, fastest, nanoseconds, samples }) =>
    [title, Math.round(fastest / 1e3), Math.round(nanoseconds / 1e3), samples] as const
  );
  assertEquals(figures, [
    ["compiling", 210_000, 270_000, 2],
    ["assembling", 3_000, 3_000, 1],
    ["linking", 24_000, 24_000, 1],
  ]);
  assertEquals(stepFigures(""), []);
});
