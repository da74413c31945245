// The order of areas and the time of each, by a clock that only the areas move.

import "../support/cache_directory.ts";
import { assert, assertEquals } from "@std/assert";
import { AreaSchedule, type ScheduleOptions } from "../../.ci/gpu/area_schedule.ts";
import type { AreaBench } from "../../bench/report/figure.ts";
import type { StepOutcome } from "../../bench/report/gpu_report.ts";
import { AreaProcess } from "../../bench/report/area_process.ts";
import { runStages } from "../../bench/report/proof.ts";

const SECOND = 1000;

function bench(area: string): AreaBench {
  return {
    ...{ area, group: area, title: "t", baseline: true, bytes: null, clock: "device", calls: 1 },
    ...{ samples: [{ begin: 0, end: 1, nanoseconds: 1 }], host: [], peer: { kind: "work" } },
  };
}

interface Run {
  readonly schedule: AreaSchedule;
  readonly outcomes: StepOutcome[];
  /** What was run, in order: the area, or the area with `peers` before it, and its limit. */
  readonly log: { readonly name: string; readonly limit: number }[];
  /** Seconds that all took. */
  readonly seconds: number;
}

/** Runs the steps where ours and those of other libraries take so many seconds, or all they may. */
async function run(
  total: number,
  own: number,
  others: number,
  options: Partial<ScheduleOptions> = {},
): Promise<Run> {
  let clock = 0;
  const log: { name: string; limit: number }[] = [];
  const take = (name: string, limit: number, seconds: number) => {
    log.push({ name, limit });
    clock += Math.min(limit, seconds * SECOND);
  };
  const schedule = new AreaSchedule({
    ...{ isShort: false, only: [], isOursOnly: false, onChange() {}, impossible: () => [] },
    open: (area) => ({
      prepare: () => Promise.resolve(),
      run(order, limit, onEnd) {
        take(order === "forward" ? area : `${area} again`, limit, own);
        const benches = [bench(area)];
        benches.forEach(onEnd);
        return Promise.resolve({ benches, failures: [] });
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }),
    peers: () => ({
      load: () => Promise.resolve({ libraries: [] }),
      run(benches, limit) {
        take(`peers ${benches[0]!.area}`, limit, others);
        return Promise.resolve({ benches: [], skipped: [] });
      },
    }),
    ...options,
  });
  const outcomes: StepOutcome[] = [];
  await runStages(
    schedule.steps(),
    total * SECOND,
    (outcome) => outcomes.push(outcome),
    () => clock,
  );
  return { schedule, outcomes, log, seconds: clock / SECOND };
}

const IMPORTANT = ["attention", "launch", "copy", "kernel", "matmul", "ternary"];

Deno.test("AreaSchedule measures all of ours first when other libraries take all the time", async () => {
  const { log, seconds, schedule } = await run(350, 8, Infinity);
  const names = log.map(({ name }) => name);
  const first = names.findIndex((name) => name.startsWith("peers"));
  const ours = [...IMPORTANT, "stream", "pool", "tensor", "upload", "upstream", "memory"];
  assertEquals(names.slice(0, first), ours);
  // Each of them had its share, the first of them not all of it.
  const peers = names.slice(first);
  assertEquals(peers.slice(0, 9), ours.slice(0, 9).map((area) => `peers ${area}`));
  assert(seconds <= 350.001, `${seconds}`);
  assertEquals(schedule.passes.slice(0, 12).map((pass) => pass.length), Array(12).fill(1));
});

Deno.test("AreaSchedule keeps time for later areas when one takes all that it may", async () => {
  const { log } = await run(130, Infinity, 0, { isOursOnly: true });
  const limits = new Map(log.map(({ name, limit }) => [name, limit]));
  for (const area of [...IMPORTANT, "tensor"]) {
    assert(limits.get(area)! >= 4 * SECOND, `${area}: ${limits.get(area)}`);
  }
});

Deno.test("AreaSchedule measures ours again when time is left, and never without libraries", async () => {
  const names = ({ log }: Run) => log.map(({ name }) => name);
  const whole = names(await run(350, 2, 3));
  assertEquals(
    whole.slice(-4),
    ["tensor", "matmul", "ternary", "attention"].map((it) => `${it} again`),
  );
  const quick = names(await run(350, 2, 3, { isOursOnly: true, only: ["tensor", "atten"] }));
  assertEquals(quick, ["attention", "tensor"]);
});

Deno.test("AreaSchedule goes on after an area that fails, and says what is missing", async () => {
  const failing = {
    prepare: () => Promise.resolve(),
    run: () => Promise.resolve({ benches: [], failures: ["attention: it has ended"] }),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  const { schedule, outcomes } = await run(350, 2, 3, {
    only: ["attention"],
    open: () => failing,
  });
  const found = outcomes.map(({ name, status }) => [name, status]);
  assertEquals(found, [
    ["prepare", "passed"],
    ["attention", "failed"],
    ["attention in other libraries", "skipped"],
    ["attention, again in reverse order", "failed"],
  ]);
  assertEquals(schedule.missing, ["attention: it has ended"]);
});

Deno.test("AreaProcess runs benchmarks whose kernels were compiled before", async () => {
  const env = { GRIDSTRIDE_DEVICE: "host", GRIDSTRIDE_BENCH: "quick" };
  await using area = new AreaProcess("tensor", { env, filter: "float32: (new )?add$" });
  await area.prepare();
  // The second request comes too late, as where the time for compiling was over.
  const { benches, failures } = await area.run("forward", 20_000, () => void area.prepare());
  const titles = [...new Set(benches.map(({ title }) => title))];
  assertEquals([titles, failures], [["add", "new add"], []]);
});
