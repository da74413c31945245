import { device } from "../../support/device.ts";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { EnvironmentError } from "../../../src/ffi/granted_environment.ts";
import { Environment } from "../../../src/hardware/environment.ts";
import type { MemoryPoolOptions, PoolSettings } from "../../../src/memory/pool/pool_options.ts";
import {
  DEFAULT_CLEANUP_INTERVAL,
  POOL_PRESETS,
  type PoolDevice,
  resolvePoolSettings,
} from "../../../src/memory/pool/pool_options.ts";

const GIB = 2 ** 30;
const PRESETS = ["development", "production", "testing"] as const;
const DEVICE: PoolDevice = {
  totalBytes: 8 * GIB,
  virtualMemory: true,
  usableBytes: () => 7 * GIB,
};

function environment(values: Record<string, string>): Environment {
  return new Environment({ readable: () => true, get: (variable) => values[variable] });
}

function resolve(
  options: MemoryPoolOptions = {},
  variables: Record<string, string> = {},
  device: PoolDevice = DEVICE,
): PoolSettings {
  return resolvePoolSettings(options, environment(variables), device);
}

Deno.test("`resolvePoolSettings()` has the documented defaults", () => {
  const device = {
    ...DEVICE,
    usableBytes: () => {
      throw new Error("asked");
    },
  };
  assertEquals(resolve({}, {}, device), {
    preset: null,
    limitBytes: 8 * GIB,
    limitName: null,
    initialBytes: 0,
    maxCachedBuffers: 32,
    maxCachedBytes: Infinity,
    enableMemoryTracking: false,
    debug: false,
    stackFrames: 8,
    cleanupInterval: 0,
    virtualMemory: true,
    reclaimShare: 0.9,
    refuseShare: Infinity,
    onMemoryPressure: undefined,
    alignment: 512,
  });
});

for (const preset of PRESETS) {
  Deno.test(`the preset ${preset} sets defaults for options`, () => {
    const settings = resolve({ preset });
    assertEquals({ ...settings, ...POOL_PRESETS[preset] }, settings);
    assertEquals(settings.preset, preset);
    const overruled = resolve({
      preset,
      maxCachedBuffers: 7,
      maxCachedBytes: "3MiB",
      debug: false,
      enableMemoryTracking: false,
      stackFrames: 3,
      cleanupInterval: 11,
    });
    assertEquals({
      ...overruled,
      maxCachedBuffers: 7,
      maxCachedBytes: 3 * 2 ** 20,
      debug: false,
      enableMemoryTracking: false,
      stackFrames: 3,
      cleanupInterval: 11,
    }, overruled);
  });
}

Deno.test("the documentation of `POOL_PRESETS` agrees with the presets", () => {
  const source = new URL("../../../src/memory/pool/pool_options.ts", import.meta.url);
  const rows = [...Deno.readTextFileSync(source).matchAll(/^ \* \| `(\w+)` +\|(.*)\|$/gm)];
  assertEquals(rows.length, 6);
  const value = (text: string): unknown => {
    const [, number, unit] = /^([\d ]+?)(?: (s|MiB))?$/.exec(text) ?? [];
    if (number === undefined) return text === "—" ? Infinity : text === "true";
    return Number(number.replace(" ", "")) * (unit === "s" ? 1000 : unit === "MiB" ? 2 ** 20 : 1);
  };
  for (const [, name, cells] of rows) {
    const expected = [undefined, ...PRESETS].map((preset) =>
      resolve(preset === undefined ? {} : { preset })[name as keyof PoolSettings]
    );
    assertEquals(cells!.split("|").map((cell) => value(cell.trim())), expected, name);
  }
});

Deno.test("sizes are numbers or texts with a unit", () => {
  for (const size of [2 ** 31, "2GB", "2G", "2GiB", "2048MiB", "2147483648"]) {
    const settings = resolve({ maxPoolSize: size, initialSize: size, maxCachedBytes: size });
    assertEquals(
      [settings.limitBytes, settings.initialBytes, settings.maxCachedBytes],
      [2 ** 31, 2 ** 31, 2 ** 31],
    );
  }
  assertEquals(resolve({ initialSize: "0", maxCachedBytes: 0 }).maxCachedBytes, 0);
});

Deno.test("`limitBytes` is the minimum of all limits", () => {
  const limit = (options: MemoryPoolOptions) => resolve(options).limitBytes;
  assertEquals(limit({ maxPoolSize: "1TiB" }), 8 * GIB);
  assertEquals(limit({ memoryFraction: 1 }), 7 * GIB);
  assertEquals(limit({ memoryFraction: 0.3 }), Math.floor(0.3 * 7 * GIB));
  assertEquals(limit({ memoryFraction: 0.5, maxPoolSize: "3GiB" }), 3 * GIB);
  assertEquals(limit({ memoryFraction: 0.5, maxPoolSize: "4GiB" }), 3.5 * GIB);
  assertEquals(limit({ maxPoolSize: 1 }), 1);
});

Deno.test("GRIDSTRIDE_MEMORY_FRACTION limits a pool without a limit", () => {
  const variables = { GRIDSTRIDE_MEMORY_FRACTION: "0.5" };
  assertEquals(resolve({}, variables).limitBytes, 3.5 * GIB);
  assertEquals(resolve({ preset: "production" }, variables).limitBytes, 3.5 * GIB);
  assertEquals(resolve({ memoryFraction: 1 }, variables).limitBytes, 7 * GIB);
  assertEquals(resolve({ maxPoolSize: "6GiB" }, variables).limitBytes, 6 * GIB);
});

Deno.test("CUDA_MEMORY_POOL_SIZE preallocates, within the limit", () => {
  const variables = { CUDA_MEMORY_POOL_SIZE: "2G" };
  assertEquals(resolve({}, variables).initialBytes, 2 * GIB);
  assertEquals(resolve({ initialSize: "1G" }, variables).initialBytes, GIB);
  assertEquals(resolve({ initialSize: 0 }, variables).initialBytes, 0);
  assertEquals(resolve({ maxPoolSize: "1G" }, variables).initialBytes, GIB);
  const error = assertThrows(
    () => resolve({}, { CUDA_MEMORY_POOL_SIZE: "9G" }),
    EnvironmentError,
    "at most the 8589934592 bytes that the device has",
  );
  assertEquals([error.variable, error.value], ["CUDA_MEMORY_POOL_SIZE", "9G"]);
});

Deno.test("GRIDSTRIDE_POOL_CACHE limits cached bytes unless an option does", () => {
  const variables = { GRIDSTRIDE_POOL_CACHE: "256MiB" };
  assertEquals(resolve({ preset: "testing" }, variables).maxCachedBytes, 2 ** 28);
  assertEquals(resolve({ maxCachedBytes: 5 }, variables).maxCachedBytes, 5);
});

Deno.test("`onMemoryPressure` and `alignment` are refused by name when they cannot work", () => {
  const later = (() => Promise.resolve(true)) as unknown as () => boolean;
  const asynchronous = (async () => await true) as unknown as () => boolean;
  assertThrows(
    () => resolve({ onMemoryPressure: asynchronous }),
    TypeError,
    "options.onMemoryPressure must be a function that is not asynchronous",
  );
  using pool = device.createPool({ maxPoolSize: "2MiB", onMemoryPressure: later });
  const message = "onMemoryPressure must return true or false at once: it has returned a Promise";
  assertThrows(() => pool.allocate("uint8", 2 ** 22), TypeError, message);
  const allocate = () => pool.allocate("uint8", 1, { alignment: 2 ** 40 });
  assertThrows(allocate, RangeError, "alignment must be a power of two up to 2^30");
});

Deno.test("CUDA_MEMORY_POOL_TRIM overrides presets and not options", () => {
  const interval = (options: MemoryPoolOptions, trim?: string) =>
    resolve(options, trim === undefined ? {} : { CUDA_MEMORY_POOL_TRIM: trim }).cleanupInterval;
  assertEquals(interval({}, "1"), DEFAULT_CLEANUP_INTERVAL);
  assertEquals(interval({}, "true"), DEFAULT_CLEANUP_INTERVAL);
  assertEquals(interval({}, "0"), 0);
  assertEquals(interval({ preset: "production" }, "true"), 60_000);
  assertEquals(interval({ preset: "production" }, "false"), 0);
  assertEquals(interval({ cleanupInterval: 5 }, "0"), 5);
  assertEquals(interval({ cleanupInterval: 0 }, "1"), 0);
  assertEquals(interval({ trim: false }, "1"), 0);
  assertEquals(interval({ trim: true }, "0"), DEFAULT_CLEANUP_INTERVAL);
  assertEquals(interval({ trim: true, cleanupInterval: 7 }), 7);
  assertEquals(interval({ trim: false, preset: "production" }), 0);
});

Deno.test("`pressure` sets both thresholds", () => {
  const shares = (options: MemoryPoolOptions) => {
    const { reclaimShare, refuseShare } = resolve(options);
    return [reclaimShare, refuseShare];
  };
  assertEquals(shares({}), [0.9, Infinity]);
  assertEquals(shares({ pressure: {} }), [0.9, 0.85]);
  assertEquals(shares({ pressure: { reclaim: 0.5 } }), [0.5, 0.85]);
  assertEquals(shares({ pressure: { refuse: 1 } }), [0.9, 1]);
});

Deno.test("`debug` implies tracking", () => {
  assertEquals(resolve({ debug: true }).enableMemoryTracking, true);
  assertEquals(resolve({ enableMemoryTracking: true }).debug, false);
  assertEquals(resolve({ virtualMemory: false }).virtualMemory, false);
  const plain = { ...DEVICE, virtualMemory: false };
  assertEquals(resolve({ virtualMemory: true }, {}, plain).virtualMemory, false);
});

/** Options that are refused: the error's class, and the name that the message must hold. */
const REFUSED: readonly (readonly [options: unknown, error: ErrorConstructor, says: string])[] = [
  [null, TypeError, "options must be an object: it is null"],
  [7, TypeError, "options must be an object: it is 7"],
  [{ maxPoolsize: 1 }, TypeError, 'there is "maxPoolsize"'],
  [{ pressure: { reclame: 1 } }, TypeError, 'must be reclaim, refuse: there is "reclame"'],
  [{ preset: "fast" }, RangeError, 'development, production, testing: it is "fast"'],
  [{ preset: "toString" }, RangeError, "options.preset"],
  [{ preset: 1 }, TypeError, "options.preset"],
  ...[0, -1, 1.5, NaN, Infinity, 2 ** 53, "", "0", "-1", "2 GB", "lots"].map((value) =>
    [{ maxPoolSize: value }, RangeError, "options.maxPoolSize must be an integer in 1.."] as const
  ),
  [{ maxPoolSize: 5n }, TypeError, "options.maxPoolSize"],
  [{ maxPoolSize: null }, TypeError, "options.maxPoolSize"],
  ...[0, -0.5, 1.001, NaN, Infinity].map((value) =>
    [{ memoryFraction: value }, RangeError, "options.memoryFraction"] as const
  ),
  [{ memoryFraction: "0.5" }, TypeError, "options.memoryFraction"],
  [{ initialSize: -1 }, RangeError, "options.initialSize"],
  [{ initialSize: "9G" }, RangeError, 'limit of 8589934592 bytes: it is "9G"'],
  [{ initialSize: 2, maxPoolSize: 1 }, RangeError, "limit of 1 bytes: it is 2"],
  [{ maxCachedBuffers: -1 }, RangeError, "options.maxCachedBuffers"],
  [{ maxCachedBuffers: 0.5 }, RangeError, "options.maxCachedBuffers"],
  [{ maxCachedBuffers: "8" }, TypeError, "options.maxCachedBuffers"],
  [{ maxCachedBytes: -1 }, RangeError, "options.maxCachedBytes"],
  [{ maxCachedBytes: {} }, TypeError, "options.maxCachedBytes"],
  [{ enableMemoryTracking: 1 }, TypeError, "options.enableMemoryTracking must be true or false"],
  [{ debug: "yes" }, TypeError, "options.debug"],
  [{ debug: true, enableMemoryTracking: false }, RangeError, "true where debug is true"],
  [{ stackFrames: 0 }, RangeError, "options.stackFrames must be an integer in 1..100"],
  [{ stackFrames: 101 }, RangeError, "it is 101"],
  [{ cleanupInterval: -1 }, RangeError, "options.cleanupInterval"],
  [{ cleanupInterval: 2 ** 31 }, RangeError, "options.cleanupInterval"],
  [{ cleanupInterval: "10s" }, TypeError, "options.cleanupInterval"],
  [{ trim: true, cleanupInterval: 0 }, RangeError, "more than 0 where trim is true: it is 0"],
  [{ trim: false, cleanupInterval: 9 }, RangeError, "0 where trim is false: it is 9"],
  [{ trim: 1 }, TypeError, "options.trim"],
  [{ virtualMemory: 0 }, TypeError, "options.virtualMemory"],
  [{ pressure: 0.9 }, TypeError, "options.pressure must be an object"],
  [{ pressure: { reclaim: 0 } }, RangeError, "options.pressure.reclaim"],
  [{ pressure: { refuse: 1.1 } }, RangeError, "options.pressure.refuse"],
  [{ pressure: { refuse: true } }, TypeError, "options.pressure.refuse"],
  [{ onMemoryPressure: true }, TypeError, "options.onMemoryPressure must be a function"],
  ...[0, 1, 256, 511, 513, 768, 2 ** 31, -512, NaN, 512.5].map((value) =>
    [{ alignment: value }, RangeError, `512..1073741824: it is ${value}`] as const
  ),
  [{ alignment: "512" }, TypeError, "options.alignment"],
];

Deno.test("bad options throw with their name, the allowed values and the given one", () => {
  for (const [options, ErrorClass, says] of REFUSED) {
    const error = assertThrows(() => resolve(options as MemoryPoolOptions), Error);
    assertEquals(error.constructor, ErrorClass, error.message);
    assert(error.message.startsWith("Cannot make a memory pool as options"), error.message);
    assertStringIncludes(error.message, says);
  }
});
