// `gridstride cache` in a process with its own cache directory.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { runCommandLine, runFile } from "../support/subprocess.ts";
import { TemporaryDirectory } from "../support/temporary_file.ts";
import { assertFails } from "./in_process.ts";

const PROGRAM = "tests/launch/cache/cache_process.ts";

function run(folder: TemporaryDirectory, args: readonly string[], size?: string) {
  return runCommandLine(["cache", ...args], {
    GRIDSTRIDE_CACHE_DIR: folder.path,
    GRIDSTRIDE_CACHE_SIZE: size,
  });
}

/** Compiles entries into the cache. */
async function fill(folder: TemporaryDirectory, entries: number): Promise<void> {
  const numbers = Array.from({ length: entries }, (_, index) => String(index));
  const { code, stderr } = await runFile(PROGRAM, {
    permissions: ["-A", "--no-check"],
    args: [`${folder.path}/kernels`, "1GiB", "compile", "2000", ...numbers],
  });
  assertEquals(code, 0, stderr);
}

Deno.test("`cache` lists and clears the entries", async () => {
  using folder = new TemporaryDirectory();
  await fill(folder, 3);
  const listed = await run(folder, ["list", "--json"]);
  assertEquals([listed.code, listed.stderr], [0, ""]);
  const rows = JSON.parse(listed.stdout) as Record<string, unknown>[];
  assertEquals(rows.length, 3);
  for (const row of rows) {
    assertEquals(Object.keys(row), ["key", "kernel", "bytes", "lastUsed"]);
    assertMatch(row["key"] as string, /^[0-9a-f]{64}$/);
    assertEquals(row["kernel"], "k, tile<float, 32>, tile<int, 8>");
    assert(row["bytes"] as number > 2000);
    assert(Date.parse(row["lastUsed"] as string) > 0);
  }
  const text = await run(folder, []);
  assertEquals(text.code, 0);
  assertStringIncludes(text.stdout, (rows[0]!["key"] as string).slice(0, 12));
  assertStringIncludes(text.stdout, "3 entries");

  const bytes = rows.reduce((sum, row) => sum + (row["bytes"] as number), 0);
  const cleared = await run(folder, ["clear", "--json"]);
  assertEquals(JSON.parse(cleared.stdout), { entries: 3, bytes });
  assertEquals(JSON.parse((await run(folder, ["--json"])).stdout), []);
  assertEquals((await run(folder, ["clear"])).stdout, "removed 0 entries, 0 B\n");
});

Deno.test("`cache` does not create a missing directory", async () => {
  using folder = new TemporaryDirectory();
  for (const size of [undefined, "0"]) {
    const { code, stdout, stderr } = await run(folder, ["--json"], size);
    assertEquals([code, JSON.parse(stdout), stderr], [0, [], ""]);
  }
  assertEquals([...Deno.readDirSync(folder.path)], []);
});

Deno.test("`cache` marks a damaged entry", async () => {
  using folder = new TemporaryDirectory();
  await fill(folder, 1);
  const [row] = JSON.parse((await run(folder, ["--json"])).stdout) as [{ key: string }];
  const path = `${folder.path}/kernels/entries/${row.key.slice(0, 2)}/${row.key.slice(2)}`;
  Deno.truncateSync(path, 60);
  const damaged = JSON.parse((await run(folder, ["--json"])).stdout) as [Record<string, unknown>];
  assertEquals([damaged[0]["kernel"], damaged[0]["bytes"]], ["(damaged)", 60]);
});

Deno.test("`cache` exits with 1 for an unsafe or invalid directory", async () => {
  using folder = new TemporaryDirectory();
  await fill(folder, 1);
  Deno.chmodSync(`${folder.path}/kernels`, 0o777);
  for (const action of ["list", "clear"]) {
    const { code, stdout, stderr } = await run(folder, [action]);
    assertEquals([code, stdout], [1, ""]);
    assertStringIncludes(stderr, "others may write to it");
    assertEquals(stderr.trim().split("\n").length, 1);
  }
  Deno.removeSync(`${folder.path}/kernels`, { recursive: true });
  folder.file(new Uint8Array(), "kernels");
  const { code, stderr } = await run(folder, ["list"]);
  assertEquals(code, 1, stderr);
  assertStringIncludes(stderr, "Cannot list the compiled kernels");
});

Deno.test("`cache` exits with 2 for invalid arguments", async () => {
  using folder = new TemporaryDirectory();
  await assertFails(2, (args) => run(folder, args), [
    [["empty"], "Cannot run gridstride cache empty as the action must be list or clear"],
    [["list", "more"], "too many arguments"],
    [["--output", "x"], "unknown option"],
  ]);
});
