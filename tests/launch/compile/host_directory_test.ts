import { assert, assertEquals } from "@std/assert";
import { dirname } from "node:path";
import { withCompileDirectory } from "../../../src/launch/compile/host_directory.ts";
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

Deno.test("withCompileDirectory() removes directories of killed processes after an hour", async () => {
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
