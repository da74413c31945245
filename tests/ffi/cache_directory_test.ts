import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { join } from "node:path";
import {
  CacheDirectoryError,
  makeCacheDirectory,
  ownershipProblem,
  verifyCachedFile,
  versionedCacheDirectory,
} from "../../src/ffi/cache_directory.ts";
import { TemporaryDirectory } from "../support/temporary_file.ts";

function mode(path: string): number {
  return Deno.lstatSync(path).mode! & 0o777;
}

Deno.test("`ownershipProblem()` refuses links, other owners and shared write access", () => {
  const owned = { uid: 1000, mode: 0o40700, isSymlink: false };
  assertEquals(ownershipProblem(owned, 1000), undefined);
  assertEquals(ownershipProblem({ ...owned, mode: 0o40755 }, 1000), undefined);
  assertEquals(ownershipProblem({ uid: null, mode: null, isSymlink: false }, null), undefined);
  const problems: [Partial<typeof owned>, string][] = [
    [{ isSymlink: true }, "symbolic link"],
    [{ uid: 0 }, "belongs to user 0 while this process runs as user 1000"],
    [{ mode: 0o40770 }, "mode 0770"],
    [{ mode: 0o40702 }, "mode 0702"],
  ];
  for (const [change, expected] of problems) {
    assertStringIncludes(ownershipProblem({ ...owned, ...change }, 1000) ?? "", expected);
  }
});

Deno.test("`makeCacheDirectory()` creates missing directories for their user alone", () => {
  using temporary = new TemporaryDirectory();
  const root = join(temporary.path, "a", "gridstride");
  const directory = versionedCacheDirectory(root, "1.2.3", "triple");
  assertEquals(directory, join(root, "1.2.3", "triple"));
  makeCacheDirectory(root, directory);
  makeCacheDirectory(root, directory);
  for (const path of [root, join(root, "1.2.3"), directory]) assertEquals(mode(path), 0o700);
});

Deno.test("`verifyCachedFile()` refuses a cache that others can write to", () => {
  using temporary = new TemporaryDirectory();
  const root = join(temporary.path, "gridstride");
  const directory = join(root, "version");
  makeCacheDirectory(root, directory);
  const file = join(directory, "library.so");
  Deno.writeTextFileSync(file, "", { mode: 0o600 });
  verifyCachedFile(root, file);
  for (const path of [root, directory, file]) {
    const before = mode(path);
    Deno.chmodSync(path, 0o777);
    const error = assertThrows(() => verifyCachedFile(root, file), CacheDirectoryError);
    assertStringIncludes(error.message, `Cannot trust ${path} as others may write to it`);
    if (path !== file) {
      assertThrows(() => makeCacheDirectory(root, directory), CacheDirectoryError, path);
    }
    Deno.chmodSync(path, before);
  }
});

Deno.test("`makeCacheDirectory()` refuses a link", () => {
  using temporary = new TemporaryDirectory();
  const root = join(temporary.path, "gridstride");
  Deno.mkdirSync(join(temporary.path, "elsewhere"), { mode: 0o700 });
  Deno.symlinkSync(join(temporary.path, "elsewhere"), root);
  assertThrows(() => makeCacheDirectory(root, root), CacheDirectoryError, "symbolic link");
});

Deno.test("`verifyCachedFile()` throws NotFound for a missing file", () => {
  using temporary = new TemporaryDirectory();
  const root = join(temporary.path, "gridstride");
  makeCacheDirectory(root, root);
  assertThrows(() => verifyCachedFile(root, join(root, "x.so")), Deno.errors.NotFound);
  Deno.writeTextFileSync(join(root, "file"), "", { mode: 0o600 });
  assertThrows(() => verifyCachedFile(root, join(root, "file/x.so")), Deno.errors.NotADirectory);
  assertThrows(() => verifyCachedFile(root, join(root, "none/x.so")), Deno.errors.NotFound);
});

Deno.test("`verifyCachedFile()` refuses a file outside the root", () => {
  using temporary = new TemporaryDirectory();
  assertThrows(
    () => verifyCachedFile(join(temporary.path, "root"), join(temporary.path, "x.so")),
    RangeError,
    "must lie in",
  );
});

Deno.test("`verifyCachedFile()` names the flags of missing permissions", {
  permissions: { read: false, sys: false },
}, () => {
  assertThrows(
    () => verifyCachedFile("/cache", "/cache/x.so"),
    CacheDirectoryError,
    "run again with --allow-read=/cache --allow-sys=uid",
  );
});
