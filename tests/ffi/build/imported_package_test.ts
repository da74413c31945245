// Needs no GPU: it compiles.

import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { BuildError } from "../../../src/ffi/build/build_error.ts";
import { openOutputDirectory } from "../../../src/ffi/build/build_libraries.ts";
import { verifyCachedFile, versionedCacheDirectory } from "../../../src/ffi/cache_directory.ts";
import { libraryCandidates } from "../../../src/ffi/locate.ts";
import { BuildFixture } from "./build_fixture.ts";

/** Serves the fixture's files as a registry would, all below `/package/`. */
function serve(fixture: BuildFixture): { root: URL; requests: string[] } & AsyncDisposable {
  const requests: string[] = [];
  const server = Deno.serve({ port: 0, onListen: () => {} }, async (request) => {
    const file = new URL(request.url).pathname.replace(/^\/package\//, "");
    requests.push(file);
    try {
      return new Response(await Deno.readTextFile(fixture.path(file)));
    } catch {
      return new Response("none", { status: 404 });
    }
  });
  const root = new URL(`http://localhost:${server.addr.port}/package/`);
  return { root, requests, [Symbol.asyncDispose]: () => server.shutdown() };
}

Deno.test("`build()` fetches the sources of an imported package into the user cache", async () => {
  using fixture = new BuildFixture();
  await using server = serve(fixture);
  const cache = fixture.path("cache");
  fixture.variables["GRIDSTRIDE_CACHE_DIR"] = cache;
  const report = await fixture.build({}, server.root);
  assertEquals(report.directory, versionedCacheDirectory(cache));
  assert(report.found);
  assertEquals([...server.requests].sort(), [...fixture.files].sort());
  const candidates = libraryCandidates("host", {
    packageRoot: server.root,
    environment: (name) => fixture.variables[name],
  });
  assertEquals(candidates.map(({ path }) => path), [report.libraries[0]!.path]);
  verifyCachedFile(cache, candidates[0]!.path);
  assertEquals(Deno.lstatSync(cache).mode! & 0o777, 0o700);
  assert((await fixture.build({}, server.root)).libraries[0]!.upToDate);
});

Deno.test("`build()` throws when a source cannot be fetched", async () => {
  using fixture = new BuildFixture();
  await using server = serve(fixture);
  fixture.variables["GRIDSTRIDE_CACHE_DIR"] = fixture.path("cache");
  Deno.removeSync(fixture.path("csrc/kernels/scale.cu"));
  const error = await assertRejects(() => fixture.build({}, server.root), BuildError);
  assertEquals(
    error.message,
    `Cannot fetch ${server.root}csrc/kernels/scale.cu: the server answers 404`,
  );
});

Deno.test("`build()` gives the reason when a server cannot be reached", async () => {
  using fixture = new BuildFixture();
  fixture.variables["GRIDSTRIDE_CACHE_DIR"] = fixture.path("cache");
  // No server listens on a port that was free a moment ago.
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const root = new URL(`http://127.0.0.1:${listener.addr.port}/package/`);
  listener.close();
  const { message } = await assertRejects(() => fixture.build({}, root), BuildError);
  assertMatch(message, /^Cannot fetch http:\S+: .*[Cc]onnection refused/);
});

Deno.test("`build()` throws when others can write to the cache", async () => {
  using fixture = new BuildFixture();
  await using server = serve(fixture);
  const cache = fixture.path("cache");
  fixture.variables["GRIDSTRIDE_CACHE_DIR"] = cache;
  Deno.mkdirSync(cache);
  Deno.chmodSync(cache, 0o777);
  const error = await assertRejects(() => fixture.build({}, server.root), BuildError);
  assertStringIncludes(error.message, `Cannot trust ${cache} as others may write to it`);
});

Deno.test("`build()` throws when there is no place for a cache", async () => {
  using fixture = new BuildFixture();
  await using server = serve(fixture);
  const error = await assertRejects(() => fixture.build({}, server.root), BuildError);
  assertStringIncludes(error.message, "Set GRIDSTRIDE_CACHE_DIR");
});

Deno.test("`openOutputDirectory()` returns the user cache when a checkout is read-only", {
  // A folder that not even the superuser can create a file in.
  ignore: Deno.build.os !== "linux",
}, async () => {
  using fixture = new BuildFixture();
  fixture.variables["GRIDSTRIDE_CACHE_DIR"] = fixture.path("cache");
  const environment = (name: string) => fixture.variables[name];
  const output = await openOutputDirectory(new URL("file:///sys/"), undefined, environment);
  assertEquals(output, { path: versionedCacheDirectory(fixture.path("cache")), found: true });
});
