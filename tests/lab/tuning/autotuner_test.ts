import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { configureKernelCache } from "../../../mod.ts";
import { Autotuner, setTuningMode } from "../../../src/lab/tuning/mod.ts";
import { device } from "../../support/device.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";
import { Spinner } from "./spinning.ts";

const OPTIONS = {
  warmUp: 0,
  repeats: 20,
  configurations: [{ microseconds: 20_000 }, { microseconds: 100 }],
} as const;

Deno.test("Autotuner.best() is the first configuration until the key is tuned", async () => {
  using out = device.allocate("float32", 1);
  const spinner = new Spinner(device, out);
  const tuner = new Autotuner(device, { ...OPTIONS, name: "tuner", store: false });
  const keys = [1, "1", 1n, { rows: 1, columns: [2] }, null, true];
  for (const key of keys) {
    assertEquals(tuner.best(key).microseconds, 20_000);
    const { best } = await tuner.tune(key, { launch: spinner.launch });
    assertEquals(best.microseconds, 100);
    const launches = spinner.launched.length;
    assertEquals(tuner.best(key).microseconds, 100);
    assertEquals(spinner.launched.length, launches);
  }
  assertEquals(tuner.best({ columns: [2], rows: 1 }).microseconds, 100);
  assertEquals(tuner.best({ columns: [1], rows: 2 }).microseconds, 20_000);
  for (const key of [NaN, Symbol("k"), () => 1, { a: NaN }]) {
    assertThrows(() => tuner.best(key as never), TypeError, "options.key");
    const { launch } = spinner;
    await assertRejects(() => tuner.tune(key as never, { launch }), TypeError, "options.key");
  }
});

Deno.test("Autotuner.tune() tunes a key once when called twice at the same time", async () => {
  using out = device.allocate("float32", 1);
  const spinners = [new Spinner(device, out), new Spinner(device, out)];
  const tuner = new Autotuner(device, { ...OPTIONS, name: "at once", store: false });
  const results = await Promise.all(
    spinners.map(({ launch }) => tuner.tune({ rows: 7 }, { launch })),
  );
  assert(results[0] === results[1]);
  assertEquals(spinners[1]!.launched, []);
  // What failed is tried again.
  const fails = () => {
    throw new Error("no");
  };
  await assertRejects(() => tuner.tune(2, { launch: fails }), Error, "all 2 configurations fail");
  assertEquals(tuner.best(2).microseconds, 20_000);
  const { launch } = spinners[1]!;
  assertEquals((await tuner.tune(2, { launch })).best.microseconds, 100);
});

Deno.test("Autotuner.load() reads stored choices, and overrides and modes come first", async () => {
  using folder = new TemporaryDirectory();
  configureKernelCache({ directory: `${folder.path}/cache` });
  using out = device.allocate("float32", 1);
  const { launch, launched } = new Spinner(device, out);
  try {
    const options = { ...OPTIONS, name: "loaded" };
    await new Autotuner(device, options).tune(1, { launch });
    const launches = launched.length;
    const tuner = new Autotuner(device, options);
    assertEquals([await tuner.load(1), await tuner.load(2)], [true, false]);
    assertEquals([tuner.best(1).microseconds, tuner.best(2).microseconds], [100, 20_000]);
    assertEquals(launched.length, launches);
    const override = { microseconds: 20_000 } as const;
    const overridden = new Autotuner(device, { ...options, override });
    assertEquals([await overridden.load(1), overridden.best(1)], [false, override]);
    setTuningMode("off");
    assertEquals(tuner.best(1).microseconds, 20_000);
  } finally {
    setTuningMode("tune");
    configureKernelCache();
  }
});

Deno.test("Autotuner.best() is the first configuration that prune leaves for the key", () => {
  const tuner = new Autotuner(device, {
    name: "pruned",
    configurations: [64, 32, 16],
    prune: (tiles, key) => tiles.filter((tile) => tile <= Number(key)),
  });
  assertEquals([tuner.best(100), tuner.best(40), tuner.best(16)], [64, 32, 16]);
  assertThrows(() => tuner.best(1), RangeError, "options.prune must leave a configuration");
});

Deno.test("Autotuner refuses wrong options and devices", () => {
  assertThrows(() => new Autotuner(device, { ...OPTIONS, name: "" }), RangeError, "options.name");
  assertThrows(
    () => new Autotuner({} as never, { ...OPTIONS, name: "x" }),
    TypeError,
    "Cannot call autotune() as device.context must be a DeviceContext",
  );
});

Deno.test("setTuningMode() refuses unknown modes", () => {
  for (const wrong of ["on", 1, { mode: "off" }, null, undefined]) {
    assertThrows(() => setTuningMode(wrong as never), TypeError, "Cannot set the tuning mode as");
  }
});
