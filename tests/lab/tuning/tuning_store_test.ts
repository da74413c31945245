/**
 * Results on the disk: found by other processes, merged, and never trusted more than they deserve.
 */

import { assert, assertEquals } from "@std/assert";
import { configureKernelCache } from "../../../mod.ts";
import {
  autotune,
  clearTunings,
  type TuningResult,
  tuningStats,
} from "../../../src/lab/tuning/mod.ts";
import { device } from "../../support/device.ts";
import { runProgram } from "../../support/subprocess.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";
import { type Spin, Spinner } from "./spinning.ts";

/**
 * One round tells these times apart, also on a busy machine: what takes more than four times as long
 * and ten milliseconds is dropped at once.
 */
const FAST = { warmUp: 0, repeats: 20 } as const;

function spins(...times: number[]): Spin[] {
  return times.map((microseconds) => ({ microseconds }));
}

/** A directory for results, that is gone after the test. */
class Store implements Disposable {
  readonly #folder = new TemporaryDirectory();
  readonly #out = device.allocate("float32", 1);
  readonly spinner = new Spinner(device, this.#out);

  constructor() {
    configureKernelCache({ directory: `${this.#folder.path}/cache` });
  }

  /** Tunes configurations of a name, and says which were launched for it. */
  async tune(
    configurations: Spin[],
    more: { name?: string; key?: number; version?: string } = {},
  ): Promise<TuningResult<Spin> & { readonly launched: number[] }> {
    this.spinner.launched.length = 0;
    const options = { ...FAST, name: "stored", key: 1, configurations, ...more };
    const result = await autotune(device, { ...options, launch: this.spinner.launch });
    return { ...result, launched: this.spinner.distinct };
  }

  /** The files with results. */
  files(): string[] {
    const entries = `${this.#folder.path}/cache/tunings/entries`;
    return [...Deno.readDirSync(entries)].flatMap(({ name }) =>
      [...Deno.readDirSync(`${entries}/${name}`)].map((file) => `${entries}/${name}/${file.name}`)
    );
  }

  [Symbol.dispose](): void {
    configureKernelCache();
    this.#out.free();
    this.#folder[Symbol.dispose]();
  }
}

Deno.test("what was timed is not timed again, and is chosen again from the same times", async () => {
  using store = new Store();
  const first = await store.tune(spins(20_000, 100, 30_000));
  assertEquals([first.origin, first.launched], ["timed", [100, 20_000, 30_000]]);
  const second = await store.tune(spins(20_000, 100, 30_000));
  assertEquals([second.origin, second.launched, second.best], ["stored", [], first.best]);
  assertEquals(second.report, first.report);
  // Fewer.
  const fewer = await store.tune(spins(20_000, 30_000));
  assertEquals([fewer.origin, fewer.launched, fewer.best.microseconds], ["stored", [], 20_000]);
  assertEquals(store.files().length, 1);
});

Deno.test("another name, key or version has results of its own", async () => {
  using store = new Store();
  for (const more of [{}, { name: "other" }, { key: 2 }, { version: "2" }]) {
    assertEquals((await store.tune(spins(100, 20_000), more)).origin, "timed");
  }
  assertEquals(store.files().length, 4);
});

Deno.test("a configuration that is added is timed beside the first and the best, and merged", async () => {
  using store = new Store();
  const first = await store.tune(spins(70_000, 12_000, 90_000));
  const slower = await store.tune(spins(70_000, 12_000, 90_000, 80_000));
  assertEquals([slower.origin, slower.launched], ["timed", [12_000, 70_000, 80_000]]);
  assertEquals(slower.best, { microseconds: 12_000 });
  assertEquals(slower.report.slice(0, 3), first.report);
  const faster = await store.tune(spins(70_000, 100, 12_000, 90_000, 80_000));
  assertEquals([faster.launched, faster.best], [[100, 12_000, 70_000], { microseconds: 100 }]);
  const all = await store.tune(spins(70_000, 100, 12_000, 90_000, 80_000));
  assertEquals([all.origin, all.launched, all.report], ["stored", [], faster.report]);
});

Deno.test("times of tunings that have nothing in common are not compared", async () => {
  using store = new Store();
  await store.tune(spins(100, 20_000, 30_000));
  await store.tune(spins(12_000));
  const both = await store.tune(spins(12_000, 100, 20_000, 30_000));
  // The one that was timed elsewhere is timed again, beside the best of the others.
  assertEquals([both.launched, both.best], [[100, 12_000], { microseconds: 100 }]);
});

Deno.test("what is added is on the scale of what was timed before", async () => {
  using store = new Store();
  await store.tune(spins(4_000, 60_000));
  // As though the machine had been twice as fast.
  const [file] = store.files();
  const record = JSON.parse(Deno.readTextFileSync(file!));
  for (const entry of record.entries) {
    entry.samples = entry.samples.map((time: number) => time / 2);
  }
  Deno.writeTextFileSync(file!, JSON.stringify(record));
  const { best, report } = await store.tune(spins(4_000, 60_000, 30_000));
  assertEquals(best, { microseconds: 4_000 });
  const [, , added] = report;
  const { medianMicroseconds } = added!;
  assert(medianMicroseconds > 9_000 && medianMicroseconds < 25_000, `${medianMicroseconds}`);
});

Deno.test("damaged and foreign files are ignored, counted and written anew", async () => {
  using store = new Store();
  await store.tune(spins(100, 20_000));
  await store.tune(spins(100, 20_000), { name: "foreign" });
  const [one, other] = store.files();
  const damages: (() => void)[] = [
    () => Deno.writeTextFileSync(one!, "not JSON"),
    () => Deno.truncateSync(one!, 40),
    () => Deno.writeFileSync(one!, new Uint8Array(100)),
    () => Deno.copyFileSync(other!, one!),
  ];
  for (const damage of damages) {
    damage();
    const { corrupt } = tuningStats();
    const results = [
      await store.tune(spins(100, 20_000)),
      await store.tune(spins(100, 20_000), { name: "foreign" }),
    ];
    assertEquals(results.map(({ origin }) => origin).sort(), ["stored", "timed"]);
    assertEquals(tuningStats().corrupt, corrupt + 1);
    assertEquals((await store.tune(spins(100, 20_000))).origin, "stored");
  }
});

Deno.test("where nothing can be written results are kept in memory", async () => {
  using store = new Store();
  using folder = new TemporaryDirectory();
  const file = folder.file(new Uint8Array(1), "no directory");
  configureKernelCache({ directory: file });
  const { failed } = tuningStats();
  assertEquals((await store.tune(spins(100, 20_000), { name: "kept" })).origin, "timed");
  assertEquals(tuningStats().failed, failed + 1);
  assertEquals((await store.tune(spins(100, 20_000), { name: "kept" })).origin, "stored");
});

Deno.test("results are forgotten on request, and how many files there were is told", async () => {
  using store = new Store();
  await store.tune(spins(100, 20_000));
  await store.tune(spins(100, 20_000), { key: 2 });
  assertEquals(await clearTunings(), 2);
  assertEquals(await clearTunings(), 0);
  assertEquals((await store.tune(spins(100, 20_000))).origin, "timed");
});

/** Tunes configurations in another process, and prints what was launched and chosen. */
const PROGRAM = `
import { openDevice } from "@gridstride/cuda";
using device = openDevice(Deno.args[0]);
using out = device.allocate("float32", 1);
const spin = device.kernels.load(
  "spin_float32(float* out, unsigned long long nanoseconds, float value)",
);
const launched = new Set();
const { best, origin } = await autotune(device, {
  name: "processes",
  key: 1,
  warmUp: 0,
  repeats: 20,
  configurations: JSON.parse(Deno.args[1]).map((microseconds) => ({ microseconds })),
  launch: ({ microseconds }) => {
    launched.add(microseconds);
    spin.launch({ grid: 1, block: 1 }, out, 1000 * microseconds, 1);
  },
});
console.log(JSON.stringify({ best: best.microseconds, origin, launched: [...launched].sort() }));
`;

Deno.test("processes find what others have timed, also when they tune at once", async () => {
  using folder = new TemporaryDirectory();
  const run = async (times: number[]) => {
    const { code, stdout, stderr } = await runProgram(PROGRAM, {
      permissions: ["-A", "--no-check"],
      args: [device.label, JSON.stringify(times)],
      environment: { GRIDSTRIDE_CACHE_DIR: folder.path },
    });
    assertEquals([code, stderr], [0, ""]);
    return JSON.parse(stdout);
  };
  const atOnce = await Promise.all([run([90_000, 100]), run([90_000, 12_000])]);
  assertEquals(atOnce.map(({ best }) => best), [100, 12_000]);
  const all = await run([90_000, 100, 12_000]);
  assertEquals(all.best, 100);
  assertEquals(await run([90_000, 100, 12_000]), { best: 100, origin: "stored", launched: [] });
});
