import { assert, assertEquals } from "@std/assert";
import { configureKernelCache } from "../../../mod.ts";
import {
  autotune,
  clearTunings,
  type TuningResult,
  tuningStats,
} from "../../../src/lab/tuning/mod.ts";
import {
  decodeRecord,
  encodeRecord,
  tuningIdentity,
  type TuningRecord,
} from "../../../src/lab/tuning/tuning_store.ts";
import { device } from "../../support/device.ts";
import { runProgram } from "../../support/subprocess.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";
import { type Spin, Spinner } from "./spinning.ts";

/** One round suffices for times that differ by a factor of four and ten milliseconds. */
const FAST = { warmUp: 0, repeats: 20 } as const;

function spins(...times: number[]): Spin[] {
  return times.map((microseconds) => ({ microseconds }));
}

/** A temporary directory for results. */
class Store implements Disposable {
  readonly #folder = new TemporaryDirectory();
  readonly #out = device.allocate("float32", 1);
  readonly spinner = new Spinner(device, this.#out);

  constructor() {
    configureKernelCache({ directory: `${this.#folder.path}/cache` });
  }

  /** Tunes configurations; `launched` has those that were launched. */
  async tune(
    configurations: Spin[],
    more: { name?: string; key?: number; version?: string } = {},
  ): Promise<TuningResult<Spin> & { readonly launched: number[] }> {
    this.spinner.launched.length = 0;
    const options = { ...FAST, name: "stored", key: 1, configurations, ...more };
    const result = await autotune(device, { ...options, launch: this.spinner.launch });
    return { ...result, launched: this.spinner.distinct };
  }

  /** The files of the results. */
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

Deno.test("autotune() makes the same choice from stored results, also among fewer configurations", async () => {
  using store = new Store();
  const first = await store.tune(spins(20_000, 100, 30_000));
  assertEquals([first.origin, first.launched], ["timed", [100, 20_000, 30_000]]);
  const second = await store.tune(spins(20_000, 100, 30_000));
  assertEquals([second.origin, second.launched, second.best], ["stored", [], first.best]);
  assertEquals(second.report, first.report);
  const fewer = await store.tune(spins(20_000, 30_000));
  assertEquals([fewer.origin, fewer.launched, fewer.best.microseconds], ["stored", [], 20_000]);
  assertEquals(store.files().length, 1);
});

Deno.test("autotune() stores results by name, key and version", async () => {
  using store = new Store();
  for (const more of [{}, { name: "other" }, { key: 2 }, { version: "2" }]) {
    assertEquals((await store.tune(spins(100, 20_000), more)).origin, "timed");
  }
  assertEquals(store.files().length, 4);
});

Deno.test("autotune() times all anew when a configuration is added", async () => {
  using store = new Store();
  await store.tune(spins(70_000, 12_000));
  const more = await store.tune(spins(70_000, 12_000, 100));
  assertEquals([more.origin, more.launched], ["timed", [100, 12_000, 70_000]]);
  assertEquals(more.best, { microseconds: 100 });
});

Deno.test("autotune() ignores, counts and replaces damaged and foreign files", async () => {
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

Deno.test("autotune() keeps results in memory when the disk cannot be written", async () => {
  using store = new Store();
  using folder = new TemporaryDirectory();
  const file = folder.file(new Uint8Array(1), "no directory");
  configureKernelCache({ directory: file });
  const { failed } = tuningStats();
  assertEquals((await store.tune(spins(100, 20_000), { name: "kept" })).origin, "timed");
  assertEquals(tuningStats().failed, failed + 1);
  assertEquals((await store.tune(spins(100, 20_000), { name: "kept" })).origin, "stored");
});

Deno.test("clearTunings() deletes all results, and returns the number of files", async () => {
  using store = new Store();
  await store.tune(spins(100, 20_000));
  await store.tune(spins(100, 20_000), { key: 2 });
  assertEquals(await clearTunings(), 2);
  assertEquals(await clearTunings(), 0);
  assertEquals((await store.tune(spins(100, 20_000))).origin, "timed");
});

/** Tunes configurations in another process, and prints the launches and the choice. */
const PROGRAM = `
import { openDevice } from "@gridstride/cuda";
import { autotune } from "@gridstride/cuda/tuning";
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

Deno.test("autotune() finds results of other processes, also when they tune at the same time", async () => {
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

const IDENTITY = '["transpose",{"rows":1},"a device"]';

const RECORD: TuningRecord = {
  entries: new Map([
    ['{"tile":16}', { samples: [1.5, 2], stoppedEarly: false }],
    ['{"tile":32}', { samples: [], stoppedEarly: false, failure: "it\nfails" }],
    ['{"tile":8n}', { samples: [0], stoppedEarly: true }],
  ]),
  confirmation: { first: '{"tile":16}', challenger: '{"tile":8n}', confirmed: true },
};

Deno.test("decodeRecord() reads the record that encodeRecord() wrote, for its tuning only", () => {
  assertEquals(decodeRecord(IDENTITY, encodeRecord(IDENTITY, RECORD)), RECORD);
  const empty = { entries: new Map() };
  assertEquals(decodeRecord(IDENTITY, encodeRecord(IDENTITY, empty)), empty);
  assertEquals(decodeRecord("another", encodeRecord(IDENTITY, RECORD)), undefined);
});

Deno.test("decodeRecord() is undefined for files with an entry that cannot be", () => {
  const entry = { configuration: "1", samples: [1], stoppedEarly: false };
  const right = { first: "1", challenger: "2", confirmed: true };
  const read = (entries: unknown, confirmation?: unknown) => {
    const file = JSON.parse(
      new TextDecoder().decode(encodeRecord(IDENTITY, { entries: new Map() })),
    );
    const text = JSON.stringify({ ...file, entries, confirmation });
    return decodeRecord(IDENTITY, new TextEncoder().encode(text));
  };
  assert(read([entry], right) !== undefined);
  for (
    const entries of [
      [7],
      [{ ...entry, configuration: 1 }],
      [{ ...entry, samples: [] }],
      [{ ...entry, samples: [-1] }],
      [{ ...entry, stoppedEarly: 0 }],
      [{ ...entry, failure: 1 }],
      [{ ...entry, failure: "and times" }],
    ]
  ) assertEquals(read(entries), undefined, JSON.stringify(entries));
  for (const wrong of [null, 7, { ...right, first: 1 }, { ...right, confirmed: "yes" }]) {
    assertEquals(read([entry], wrong), undefined, JSON.stringify(wrong));
  }
});

Deno.test("tuningIdentity() changes with each part of the device's model", () => {
  const { info, library } = device.context;
  const identity = (
    changes: Partial<typeof info> = {},
    build: Partial<typeof library.build> = {},
    kind = library.kind,
  ) => {
    const changed = { ...library, kind, build: { ...library.build, ...build } };
    const context = { info: { ...info, ...changes }, library: changed } as typeof device.context;
    return tuningIdentity(context, "spin", "key", "1");
  };
  const parts: Partial<typeof info>[] = [
    { kind: info.kind === "host" ? "cuda" : "host" },
    { fake: !info.fake },
    { name: "another" },
    { computeCapability: "12.1" },
    { multiprocessorCount: info.multiprocessorCount + 1 },
    { driverVersion: "99.9" },
    { driverVersion: "99.10" },
  ];
  const identities = [
    identity(),
    ...parts.map((changes) => identity(changes)),
    identity({}, {}, library.kind === "host" ? "cuda" : "host"),
    identity({}, { compiler: "another" }, "host"),
    identity({}, { architectures: "another" }, "host"),
  ];
  assertEquals(new Set(identities).size, identities.length);
  assertEquals(identity(), identities[0]);
});
