import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  autotune,
  type AutotuneOptions,
  setTuningMode,
  tuningStats,
  type TuningValue,
} from "../../../src/lab/tuning/mod.ts";
import { device } from "../../support/device.ts";
import { Spinner } from "./spinning.ts";

/** Rounds enough for a choice that a few interruptions do not change. */
const FAST = { store: false, warmUp: 1, repeats: 20 } as const;

Deno.test("autotune() finds the fastest configuration, and reports the times of all", async () => {
  using out = device.allocate("float32", 1);
  const { launch } = new Spinner(device, out);
  const configurations = [20_000, 100, 40_000, 30_000].map((microseconds) => ({ microseconds }));
  const { best, origin, report } = await autotune(device, {
    ...FAST,
    name: "spin",
    key: 1,
    configurations,
    launch,
  });
  assertEquals([best, origin], [{ microseconds: 100 }, "timed"]);
  assertEquals(report.map(({ configuration }) => configuration), configurations);
  for (const { configuration, medianMicroseconds, failed, samples } of report) {
    assertEquals(failed, false);
    assert(samples.length >= 1 && samples.length <= FAST.repeats);
    // A busy machine interrupts for milliseconds; a wrong unit would be a factor of a thousand.
    assert(
      medianMicroseconds >= configuration.microseconds &&
        medianMicroseconds < 5 * configuration.microseconds + 15_000,
      `${configuration.microseconds} took ${medianMicroseconds}`,
    );
  }
});

Deno.test("autotune() restores the buffers that launches write to in the end", async () => {
  using x = device.upload(new Float32Array([1, 2, 3]));
  using y = device.upload(new Float32Array([10, 20, 30]));
  using empty = device.allocate("float32", 0);
  const axpy = device.kernels.load(
    "axpy_float32(float a, const float* x, float* y, unsigned long long n)",
  );
  const seen: number[] = [];
  const { best } = await autotune(device, {
    ...FAST,
    name: "axpy",
    key: { elements: x.length },
    configurations: [{ block: 32 }, { block: 64 }],
    prepare: () => y.toArray().then(([first]) => void seen.push(first!)),
    launch: ({ block }) => axpy.launch({ grid: 1, block }, 2, x, y, x.length),
    restore: [y, y.view(1, 2), empty],
  });
  assertEquals([...await y.toArray()], [10, 20, 30]);
  assertEquals(seen, [10, 10]);
  axpy.launch({ grid: 1, block: best.block }, 2, x, y, x.length);
  assertEquals([...await y.toArray()], [12, 24, 36]);
});

Deno.test("autotune() restores the buffers before every launch", async () => {
  using total = device.upload(new Float32Array([0]));
  using most = device.upload(new Float32Array([0]));
  using one = device.upload(new Float32Array([1]));
  await autotune(device, {
    ...FAST,
    repeats: 8,
    name: "restore",
    key: null,
    configurations: [{ a: 1 }, { a: 2 }],
    launch: ({ a }) => {
      device.kernels.axpy(a, one, total);
      // Accumulates, as it is not restored: every launch adds what the total is in it.
      device.kernels.axpy(1, total, most);
    },
    restore: [total],
  });
  // 9 launches each of 1 and of 2; without restoring the sum of sums would be far more.
  assertEquals([...await most.toArray()], [27]);
});

Deno.test("autotune() compiles configurations in prepare, and disposes the modules", async () => {
  using x = device.allocate("float32", 50_000, { fill: 1 });
  const disposed: boolean[] = [];
  const modules: { readonly disposed: boolean }[] = [];
  const { best, report } = await autotune(device, {
    ...FAST,
    name: "rounds",
    key: { elements: x.length },
    configurations: [{ rounds: 2000 }, { rounds: 2 }],
    prepare: async ({ rounds }) => {
      const module = await device.compile(
        `__global__ void spend(float* x, int n) {
          for (int i = threadIdx.x; i < n; i += blockDim.x)
            for (int round = 0; round < ROUNDS; round++) x[i] = x[i] * 0.5f + 1.0f;
        }`,
        { name: "rounds.cu", defines: { ROUNDS: rounds } },
      );
      modules.push(module);
      return module;
    },
    launch: (_, module) => module.kernel("spend").launch({ grid: 1, block: 64 }, x, x.length),
    restore: [x],
  });
  disposed.push(...modules.map((module) => module.disposed));
  assertEquals([best, disposed], [{ rounds: 2 }, [true, true]]);
  assert(report[0]!.medianMicroseconds > 3 * report[1]!.medianMicroseconds);
  assertEquals(new Set(await x.toArray()), new Set([1]));
});

Deno.test("autotune() leaves out pruned configurations, and keeps the order of the others", async () => {
  using out = device.allocate("float32", 1);
  const spinner = new Spinner(device, out);
  const { report } = await autotune(device, {
    ...FAST,
    name: "pruned",
    key: { most: 200 },
    configurations: [100, 150, 900].map((microseconds) => ({ microseconds })),
    prune: (configurations, key) =>
      configurations
        .filter(({ microseconds }) => microseconds <= (key as { most: number }).most)
        .reverse(),
    launch: spinner.launch,
  });
  assertEquals(report.map(({ configuration }) => configuration.microseconds), [100, 150]);
  assertEquals(spinner.distinct, [100, 150]);
});

Deno.test("autotune() launches nothing with an override or in another mode than tune", async () => {
  using out = device.allocate("float32", 1);
  const spinner = new Spinner(device, out);
  const options = {
    ...FAST,
    store: "memory",
    name: "modes",
    key: "modes",
    configurations: [{ microseconds: 20_000 }, { microseconds: 100 }],
    launch: spinner.launch,
  } as const;
  const chosen = async (more = {}) => {
    const { best, origin } = await autotune(device, { ...options, ...more });
    return [best.microseconds, origin];
  };
  assertEquals(await chosen({ override: { microseconds: 20_000 } }), [20_000, "override"]);
  try {
    setTuningMode("stored");
    assertEquals(await chosen(), [20_000, "default"]);
    setTuningMode("off");
    assertEquals(await chosen(), [20_000, "default"]);
    assertEquals(spinner.launched, []);
    setTuningMode("tune");
    assertEquals(await chosen(), [100, "timed"]);
    const { found } = tuningStats();
    const launches = spinner.launched.length;
    assertEquals(await chosen(), [100, "stored"]);
    setTuningMode("stored");
    assertEquals(await chosen(), [100, "stored"]);
    setTuningMode("off");
    assertEquals(await chosen(), [20_000, "default"]);
    assertEquals(spinner.launched.length, launches);
    assertEquals(tuningStats().found, found + 1);
  } finally {
    setTuningMode("tune");
  }
});

Deno.test("autotune() takes turns with another tuning of the device", async () => {
  using out = device.allocate("float32", 1);
  using stream = device.createStream();
  const order: string[] = [];
  const tune = (name: string, more: object) =>
    autotune(device, {
      ...FAST,
      name,
      key: 0,
      configurations: [{ microseconds: 50 }, { microseconds: 51 }],
      launch: () => {
        order.push(name);
        device.kernels.fill(out, 1);
      },
      ...more,
    });
  await Promise.all([tune("one", {}), tune("other", { stream })]);
  const changes = order.filter((name, index) => index > 0 && name !== order[index - 1]);
  assertEquals(changes.length, 1, order.join(" "));
});

Deno.test("autotune() ends between launches when the signal aborts, and restores the buffers", async () => {
  using y = device.upload(new Float32Array([5]));
  using x = device.upload(new Float32Array([1]));
  const controller = new AbortController();
  let launches = 0;
  const tuning = () =>
    autotune(device, {
      ...FAST,
      name: "aborted",
      key: 0,
      configurations: [1, 2],
      launch: (a) => {
        device.kernels.axpy(a, x, y);
        if (++launches === 5) controller.abort(new Error("enough"));
      },
      restore: [y],
      signal: controller.signal,
    });
  await assertRejects(tuning, Error, "enough");
  assertEquals([launches, [...await y.toArray()]], [5, [5]]);
  await assertRejects(tuning, Error, "enough");
  assertEquals(launches, 5);
});

Deno.test("autotune() refuses wrong options by name, and launches nothing", async () => {
  using freed = device.allocate("float32", 1);
  freed.free();
  let launches = 0;
  const right: AutotuneOptions<TuningValue> = {
    ...FAST,
    name: "wrong",
    key: 1,
    configurations: [{ a: 1 }, { a: 2 }],
    launch: () => void launches++,
  };
  const refused: readonly (readonly [object, typeof Error, string])[] = [
    [{ name: "" }, RangeError, "options.name must be a text of 1..200 characters"],
    [{ name: 7 }, TypeError, "options.name must be"],
    [
      { configurations: [] },
      RangeError,
      "the length of options.configurations must be an integer in 1..10000: it is 0",
    ],
    [{ configurations: {} }, TypeError, "options.configurations must be an array"],
    [{ configurations: [1, () => 1] }, TypeError, "options.configurations[1] must be plain data"],
    [{ configurations: [{ a: 1, b: 2 }, { b: 2, a: 1 }] }, RangeError, "1 is the same as 0"],
    [{ key: Symbol("k") }, TypeError, "options.key must be plain data"],
    [{ key: { f: () => 1 } }, TypeError, "options.key.f must be plain data"],
    [{ launch: 1 }, TypeError, "options.launch must be a function"],
    [{ prepare: 1 }, TypeError, "options.prepare must be a function"],
    [{ prune: 1 }, TypeError, "options.prune must be a function"],
    [{ prune: () => [] }, RangeError, "options.prune must leave a configuration"],
    [{ prune: () => 1 }, TypeError, "options.prune must be a function that returns"],
    [{ prune: () => [{ a: 3 }] }, RangeError, 'there is {"a":3}'],
    [{ override: { a: 3 } }, RangeError, 'must be among options.configurations: there is {"a":3}'],
    [{ store: true }, TypeError, 'options.store must be "disk", "memory" or false'],
    [{ version: 1 }, TypeError, "options.version must be a text"],
    [{ warmUp: -1 }, RangeError, "options.warmUp must be an integer in 0..1000: it is -1"],
    [{ repeats: 0 }, RangeError, "options.repeats must be an integer in 1..10000: it is 0"],
    [{ repeats: "3" }, TypeError, "options.repeats"],
    [{ flushCache: 1 }, TypeError, "options.flushCache must be a boolean"],
    [{ restore: freed }, TypeError, "options.restore must be an array of buffers"],
    [{ restore: [freed] }, TypeError, "options.restore[0] must be a live buffer"],
    [{ restore: [1] }, TypeError, "options.restore[0] must be a DeviceBuffer"],
    [{ stream: 1 }, TypeError, "stream must be a Stream"],
    [{ signal: 1 }, TypeError, "options.signal must be an AbortSignal"],
  ];
  for (const [wrong, Kind, message] of refused) {
    const tuning = () => autotune(device, { ...right, ...wrong } as typeof right);
    await assertRejects(tuning, Kind, message);
  }
  const waits = { ...right, launch: () => Promise.reject(new Error("never seen")) };
  await assertRejects(() => autotune(device, waits), TypeError, "it returned a promise");
  assertEquals(launches, 0);
});
