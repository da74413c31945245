import { assertEquals } from "@std/assert";
import { tuningGoals } from "../../bench/report/tuned_choices.ts";

function row(untuned: number, tuned: number, untunedAgain = untuned, kept = false) {
  return { kernel: "k", elements: 1, untuned, tuned, untunedAgain, kept };
}

Deno.test("Tuning goals fail when one choice is slower than noise allows", () => {
  const reached = (...rows: ReturnType<typeof row>[]) =>
    tuningGoals(rows).map((goal) => goal.reached);
  assertEquals(reached(row(10, 5), row(10, 10.5)), [true, null, null]);
  assertEquals(reached(row(10, 1), row(10, 12)), [false, null, null]);
  // What no tuning itself differs by is no loss.
  assertEquals(reached(row(10, 12, 12)), [true, null, null]);
  // Nor is what is the same without tuning: that is how far equal launches are apart.
  const goals = tuningGoals([row(10, 5), row(10, 14, 10, true)]);
  assertEquals(goals.map(({ reached }) => reached), [true, null, null]);
  assertEquals(goals.map(({ measured }) => measured).slice(0, 2), ["0.500 ×", "1.40 ×"]);
  assertEquals(tuningGoals([row(10, 14, 10, true)])[0]!.reached, true);
  assertEquals(tuningGoals([]), []);
});

Deno.test("Tuning goals report the geometric mean gain and the noise", () => {
  const [slowest, noise, gain] = tuningGoals([row(10, 5, 8), row(10, 20)]);
  assertEquals([slowest!.measured, noise!.measured, gain!.measured], [
    "2.00 ×",
    "1.25 ×",
    "1.00 ×",
  ]);
});
