import { assertEquals, assertThrows } from "@std/assert";
import { EnvironmentError } from "../../../src/ffi/granted_environment.ts";
import {
  cacheSetting,
  configureKernelCache,
  DEFAULT_CACHE_BYTES,
} from "../../../src/launch/cache/cache_settings.ts";

const VARIABLES = ["GRIDSTRIDE_CACHE_DIR", "GRIDSTRIDE_CACHE_SIZE", "HOME", "XDG_CACHE_HOME"];

/** Runs something with these variables and no others, and restores the configuration. */
function withVariables(values: Readonly<Record<string, string>>, run: () => void): void {
  const before = VARIABLES.map((name) => [name, Deno.env.get(name)] as const);
  try {
    for (const name of VARIABLES) Deno.env.delete(name);
    for (const [name, value] of Object.entries(values)) Deno.env.set(name, value);
    run();
  } finally {
    configureKernelCache();
    for (const [name, value] of before) {
      if (value === undefined) Deno.env.delete(name);
      else Deno.env.set(name, value);
    }
  }
}

function place(root: string, directory: string, maxBytes: number) {
  return { kind: "on" as const, place: { root, directory, maxBytes, mayWrite: true } };
}

Deno.test("cacheSetting() reads the environment", () => {
  withVariables({ HOME: "/h" }, () => {
    const root = Deno.build.os === "darwin"
      ? "/h/Library/Caches/gridstride"
      : "/h/.cache/gridstride";
    assertEquals(cacheSetting(), place(root, `${root}/kernels`, DEFAULT_CACHE_BYTES));
  });
  withVariables({ GRIDSTRIDE_CACHE_DIR: "/c", GRIDSTRIDE_CACHE_SIZE: "512MiB" }, () => {
    assertEquals(cacheSetting(), place("/c", "/c/kernels", 2 ** 29));
  });
  withVariables({ HOME: "/h", GRIDSTRIDE_CACHE_SIZE: "0" }, () => {
    assertEquals(cacheSetting(), { kind: "off" });
  });
  withVariables({}, () => assertEquals(cacheSetting().kind, "unavailable"));
});

Deno.test("configureKernelCache() takes precedence over the environment", () => {
  withVariables({ GRIDSTRIDE_CACHE_DIR: "/c", GRIDSTRIDE_CACHE_SIZE: "1K" }, () => {
    configureKernelCache({ directory: "/d/", maxBytes: "2K" });
    assertEquals(cacheSetting(), place("/d", "/d", 2048));
    configureKernelCache({ enabled: false });
    assertEquals(cacheSetting(), { kind: "off" });
    for (const maxBytes of [0, "0", -0]) {
      configureKernelCache({ maxBytes });
      assertEquals(cacheSetting(), { kind: "off" });
    }
    configureKernelCache();
    assertEquals(cacheSetting(), place("/c", "/c/kernels", 1024));
  });
});

Deno.test("cacheSetting() throws for a malformed variable in every case", () => {
  for (
    const [name, value] of [["GRIDSTRIDE_CACHE_SIZE", "big"], ["GRIDSTRIDE_CACHE_DIR", "here"]]
  ) {
    withVariables({ [name!]: value! }, () => {
      configureKernelCache({ directory: "/d", maxBytes: 1 });
      assertThrows(() => cacheSetting(), EnvironmentError, name);
      configureKernelCache({ enabled: false });
      assertThrows(() => cacheSetting(), EnvironmentError, name);
    });
  }
});

Deno.test("configureKernelCache() refuses invalid options and changes nothing", () => {
  withVariables({ GRIDSTRIDE_CACHE_DIR: "/c" }, () => {
    configureKernelCache({ maxBytes: 7 });
    for (
      const [options, Kind, message] of [
        [null, TypeError, "options must be an object"],
        [{ size: 1 }, TypeError, '"size"'],
        [{ directory: 7 }, TypeError, "options.directory must be an absolute path: it is 7"],
        [{ directory: "here" }, RangeError, 'it is "here"'],
        [{ directory: "" }, RangeError, 'it is ""'],
        [{ maxBytes: true }, TypeError, "options.maxBytes"],
        [{ maxBytes: -1 }, RangeError, "it is -1"],
        [{ maxBytes: 2 ** 53 }, RangeError, "options.maxBytes"],
        [{ maxBytes: "1 GiB" }, RangeError, '"1 GiB"'],
        [{ enabled: 1 }, TypeError, "options.enabled must be true or false: it is 1"],
      ] as const
    ) {
      assertThrows(() => configureKernelCache(options as never), Kind, message);
    }
    assertEquals(cacheSetting(), place("/c", "/c/kernels", 7));
  });
});
