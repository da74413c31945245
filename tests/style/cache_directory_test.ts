// Tests compile into a cache of their own, not into the user's.

import { assert, assertEquals } from "@std/assert";
import { cacheRoot } from "../../src/ffi/cache_directory.ts";
import { testCacheDirectory } from "../support/cache_directory.ts";
import { importsOf } from "./repository.ts";
import { filesBelow, textOf } from "./repository.ts";

/** The compile cache, and the module that redirects it. */
const STORES = "src/launch/cache/kernel_cache.ts";
const REDIRECTION = "tests/support/cache_directory.ts";
/** Starts processes, which inherit the directory of the cache. */
const PROCESSES = "tests/support/subprocess.ts";

/** A module and the modules of the repository that it loads. */
function loadedBy(file: string, known: ReadonlyMap<string, string>): Set<string> {
  const loaded = new Set<string>();
  const pending = [file];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const text = known.get(next);
    if (text === undefined || loaded.has(next)) continue;
    loaded.add(next);
    for (const { specifier, typesOnly } of importsOf(text)) {
      if (!specifier.startsWith(".") || typesOnly) continue;
      pending.push(new URL(specifier, `file:///${next}`).pathname.slice(1));
    }
  }
  return loaded;
}

function problemOf(file: string, known: ReadonlyMap<string, string>): string[] {
  const loaded = loadedBy(file, known);
  const mayCompile = loaded.has(STORES) || loaded.has(PROCESSES);
  return mayCompile && !loaded.has(REDIRECTION) ? [`${file} must import ${REDIRECTION}`] : [];
}

Deno.test("Every test that compiles uses the tests' cache", () => {
  const modules = filesBelow().filter((file) => file.endsWith(".ts"));
  const known = new Map(modules.map((file) => [file, textOf(file)]));
  const tests = modules.filter((file) => file.startsWith("tests/") && file.endsWith("_test.ts"));
  assert(tests.length > 100, `there are ${tests.length}`);
  assertEquals(tests.flatMap((file) => problemOf(file, known)), []);
});

Deno.test("cacheRoot() is the tests' cache in this process and its children", () => {
  assertEquals(cacheRoot((name) => Deno.env.get(name)), testCacheDirectory);
});
