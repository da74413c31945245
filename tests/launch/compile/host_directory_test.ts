import { assert, assertEquals } from "@std/assert";
import { dirname } from "node:path";
import { CompileError } from "../../../src/launch/compile/compile_error.ts";
import { withCompileDirectory } from "../../../src/launch/compile/host_directory.ts";
import { runProgram } from "../../support/subprocess.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";

function isThere(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

/** Variables that put the cache there. */
function cacheIn(root: string) {
  return (name: string) => name === "GRIDSTRIDE_CACHE_DIR" ? root : undefined;
}

Deno.test("withCompileDirectory() removes directories without a lock after an hour", async () => {
  using temporary = new TemporaryDirectory();
  const environment = cacheIn(`${temporary.path}/cache`);
  const parent = dirname(await withCompileDirectory(environment, (path) => Promise.resolve(path)));
  // Another root has not been swept by this process.
  const other = parent.replace("/cache/", "/other/");
  await Deno.mkdir(`${temporary.path}/other`, { mode: 0o700 });
  await Deno.mkdir(other, { recursive: true, mode: 0o700 });
  const old = (Date.now() - 61 * 60_000) / 1000;
  for (const name of ["compile-old", "compile-new", "kept"]) {
    await Deno.mkdir(`${other}/${name}`);
    await Deno.writeTextFile(`${other}/${name}/file`, "text");
    if (name !== "compile-new") await Deno.utime(`${other}/${name}`, old, old);
  }
  await withCompileDirectory(cacheIn(`${temporary.path}/other`), () => Promise.resolve());
  assertEquals([...Deno.readDirSync(other)].map(({ name }) => name).sort(), [
    "compile-new",
    "kept",
  ]);
});

Deno.test("withCompileDirectory() succeeds when another process has removed its directory", async () => {
  using temporary = new TemporaryDirectory();
  const result = await withCompileDirectory(cacheIn(`${temporary.path}/cache`), async (path) => {
    await Deno.remove(path, { recursive: true });
    return 1;
  });
  assertEquals(result, 1);
});

Deno.test("withCompileDirectory() removes directories of ended processes at a later start", async () => {
  using temporary = new TemporaryDirectory();
  const module = import.meta.resolve("../../../src/launch/compile/host_directory.ts");
  const root = `${temporary.path}/cache`;
  /** Compiles in a process of its own; prints the names in the directory of compilations. */
  const start = (use: string) =>
    runProgram(
      `import { withCompileDirectory } from "${module}";
      import { dirname } from "node:path";
      const names = (path) => [...Deno.readDirSync(dirname(path))].map(({ name }) => name).sort();
      await withCompileDirectory(
        (name) => name === "GRIDSTRIDE_CACHE_DIR" ? ${JSON.stringify(root)} : undefined,
        async (path) => { ${use} });`,
    );
  const lines = (text: string) => text.trim().split("\n");
  const killed = await start("console.log(path); Deno.kill(Deno.pid, 'SIGKILL');");
  const [left] = lines(killed.stdout);
  assert(isThere(left!), killed.stderr);
  await withCompileDirectory(cacheIn(root), async (own) => {
    const { stdout, stderr } = await start("console.log(path, names(path).length);");
    assert(!isThere(left!), "that of the ended process is gone");
    assert(isThere(own), "that of this process stays");
    assertEquals(lines(stdout)[0]!.split(" ")[1], "2", stderr);
  });
});

Deno.test("withCompileDirectory() goes on in temporary files when the cache's disk is full", async () => {
  using temporary = new TemporaryDirectory();
  const full = [
    Object.assign(new Error("No space left on device"), { code: "ENOSPC" }),
    new CompileError("k.cu", "g++", [], "source.s: No space left on device"),
  ];
  for (const problem of full) {
    const used: string[] = [];
    const result = await withCompileDirectory(cacheIn(`${temporary.path}/cache`), (path) => {
      used.push(path);
      return used.length === 1 ? Promise.reject(problem) : Promise.resolve("image");
    });
    assertEquals([result, used.length], ["image", 2]);
    assert(
      used[0]!.startsWith(temporary.path) && !used[1]!.startsWith(temporary.path),
      used.join(),
    );
    assert(!used.some(isThere), "both are gone");
  }
  const wrong = new CompileError("k.cu", "g++", [], "k.cu:1: error: expected ';'");
  let uses = 0;
  const failing = withCompileDirectory(cacheIn(`${temporary.path}/cache`), () => {
    uses++;
    return Promise.reject(wrong);
  });
  assertEquals([await failing.catch((error) => error), uses], [wrong, 1]);
});

Deno.test("withCompileDirectory() uses temporary files when there is no usable cache", async () => {
  using temporary = new TemporaryDirectory();
  const file = temporary.file(new Uint8Array(), "file");
  // Others may write to it, as to what a shared group has.
  const shared = `${temporary.path}/shared`;
  await Deno.mkdir(shared);
  await Deno.chmod(shared, 0o775);
  const roots = [`${file}/cache`, shared, "/proc/none/cache"];
  for (const environment of [...roots.map(cacheIn), () => undefined]) {
    const directory = await withCompileDirectory(environment, (path) => {
      assert(isThere(path));
      return Promise.resolve(path);
    });
    assert(!directory.startsWith(temporary.path), directory);
    assert(!isThere(directory));
  }
});
