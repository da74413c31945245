import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { CacheDirectoryError } from "../../src/ffi/cache_directory.ts";
import {
  buildCommand,
  doctorCommand,
  libraryCandidates,
  libraryFileName,
  LibraryNotFoundError,
  type LocateOptions,
  UnsupportedPlatformError,
} from "../../src/ffi/locate.ts";
import { VERSION } from "../../src/ffi/version.ts";

const CHECKOUT = new URL("file:///home/ada/gridstride/");
const REGISTRY = new URL("https://jsr.io/@gridstride/cuda/0.6.0/");

function options(
  variables: Record<string, string>,
  rest: LocateOptions = {},
): LocateOptions {
  return {
    packageRoot: CHECKOUT,
    os: "linux",
    target: "x86_64-unknown-linux-gnu",
    environment: (name) => variables[name],
    workingDirectory: () => "/home/ada/program",
    ...rest,
  };
}

const CACHED = `/home/ada/.cache/gridstride/${VERSION}/x86_64-unknown-linux-gnu`;

Deno.test("`libraryCandidates()` returns the build directory, then the user cache, for a checkout", () => {
  assertEquals(libraryCandidates("host", options({ HOME: "/home/ada" })), [
    { path: "/home/ada/gridstride/build/libgridstride_host.so", origin: "build directory" },
    {
      path: `${CACHED}/libgridstride_host.so`,
      origin: "user cache",
      cacheRoot: "/home/ada/.cache/gridstride",
    },
  ]);
});

Deno.test("`libraryCandidates()` returns only the user cache for an imported package", () => {
  const candidates = libraryCandidates(
    "cuda",
    options({ HOME: "/home/ada" }, { packageRoot: REGISTRY }),
  );
  assertEquals(candidates.map(({ path }) => path), [`${CACHED}/libgridstride_cuda.so`]);
});

Deno.test("`libraryCandidates()` omits the cache without HOME and cache variables", () => {
  assertEquals(libraryCandidates("host", options({}, { packageRoot: REGISTRY })), []);
});

Deno.test("`libraryCandidates()` returns only an explicit place, load() before the variable", () => {
  const variables = { HOME: "/home/ada", GRIDSTRIDE_LIBRARY: "/opt/libraries" };
  assertEquals(libraryCandidates("cuda", options(variables)), [
    { path: "/opt/libraries/libgridstride_cuda.so", origin: "GRIDSTRIDE_LIBRARY" },
  ]);
  assertEquals(libraryCandidates("cuda", options(variables, { path: "/srv/my.so" })), [
    { path: "/srv/my.so", origin: "load({ path })" },
  ]);
});

Deno.test("`libraryCandidates()` ignores an explicit file of the other kind", () => {
  const variables = {
    HOME: "/home/ada",
    GRIDSTRIDE_LIBRARY: "/opt/libgridstride_host.so",
  };
  assertEquals(libraryCandidates("host", options(variables)), [
    { path: "/opt/libgridstride_host.so", origin: "GRIDSTRIDE_LIBRARY" },
  ]);
  const origins = libraryCandidates("cuda", options(variables)).map(({ origin }) => origin);
  assertEquals(origins, ["build directory", "user cache"]);
});

Deno.test("`libraryCandidates()` accepts relative paths, file: URLs, versioned files and directories", () => {
  const places: [string | URL, string][] = [
    ["build", "/home/ada/program/build/libgridstride_host.so"],
    ["./libgridstride_host.so", "/home/ada/program/libgridstride_host.so"],
    ["/opt/dir.d", "/opt/dir.d/libgridstride_host.so"],
    ["/opt/libgridstride_host.so.0.1.0", "/opt/libgridstride_host.so.0.1.0"],
    [new URL("file:///opt/with%20space/x.so"), "/opt/with space/x.so"],
    ["file:///opt/", "/opt/libgridstride_host.so"],
  ];
  for (const [path, expected] of places) {
    assertEquals(libraryCandidates("host", options({}, { path }))[0]?.path, expected);
  }
});

Deno.test("`libraryCandidates()` refuses an empty place and other URLs", () => {
  assertThrows(
    () => libraryCandidates("host", options({ GRIDSTRIDE_LIBRARY: "" })),
    TypeError,
    "Cannot use GRIDSTRIDE_LIBRARY as it must name a file or a directory: it is empty",
  );
  assertThrows(
    () => libraryCandidates("host", options({}, { path: new URL("https://example.com/x.so") })),
    TypeError,
    "Cannot use load({ path }) as it must be a path or a file: URL: it is https://example.com/x.so",
  );
});

Deno.test("`libraryCandidates()` finds the user cache by variables and system", () => {
  const cached = (variables: Record<string, string>, os = "linux") =>
    libraryCandidates("host", options(variables, { packageRoot: REGISTRY, os }))[0]?.cacheRoot;
  const all = { HOME: "/h", XDG_CACHE_HOME: "/x", GRIDSTRIDE_CACHE_DIR: "/g" };
  assertEquals(cached(all), "/g");
  assertEquals(cached({ ...all, GRIDSTRIDE_CACHE_DIR: "/g/" }), "/g");
  assertEquals(cached({ HOME: "/h", XDG_CACHE_HOME: "/x" }), "/x/gridstride");
  assertEquals(cached({ HOME: "/h", XDG_CACHE_HOME: "x" }), "/h/.cache/gridstride");
  assertEquals(
    cached({ HOME: "/h", XDG_CACHE_HOME: "/x" }, "darwin"),
    "/h/Library/Caches/gridstride",
  );
  assertThrows(
    () => cached({ GRIDSTRIDE_CACHE_DIR: "cache" }),
    CacheDirectoryError,
    'Cannot use GRIDSTRIDE_CACHE_DIR as it must be an absolute path: it is "cache"',
  );
});

Deno.test("`libraryFileName()` supports Linux and macOS, and suggests WSL2 on Windows", () => {
  assertEquals(libraryFileName("cuda", "linux"), "libgridstride_cuda.so");
  assertEquals(libraryFileName("host", "darwin"), "libgridstride_host.dylib");
  for (const os of ["windows", "freebsd"]) {
    const error = assertThrows(() => libraryFileName("host", os), UnsupportedPlatformError);
    assertStringIncludes(error.message, `it is ${os}`);
    assertEquals(error.message.includes("WSL2"), os === "windows");
  }
});

Deno.test("`buildCommand()` names the running version", () => {
  assertEquals(buildCommand(CHECKOUT), "`deno task build` in /home/ada/gridstride/");
  assertEquals(buildCommand(REGISTRY), "`deno run -A jsr:@gridstride/cuda@0.6.0/build`");
  assertEquals(
    buildCommand(new URL("http://localhost:8000/package/")),
    "`deno run -A http://localhost:8000/package/build.ts`",
  );
});

Deno.test("`doctorCommand()` can be run as printed", () => {
  assertEquals(doctorCommand(CHECKOUT), "`deno task gridstride doctor` in /home/ada/gridstride/");
  assertEquals(doctorCommand(REGISTRY), "`deno run -A jsr:@gridstride/cuda@0.6.0/cli doctor`");
});

Deno.test("`LibraryNotFoundError` lists every path in order, and the build command", () => {
  const attempts = libraryCandidates("host", options({ HOME: "/home/ada" }))
    .map((candidate, index) => ({ ...candidate, reason: `reason ${index}` }));
  const error = new LibraryNotFoundError("host", attempts, "`deno task build`", ["HOME"]);
  const lines = error.message.split("\n");
  assertEquals(lines.length, 5);
  attempts.forEach(({ path, origin, reason }, index) => {
    assertEquals(lines[index + 1], `  ${path} (${origin}): ${reason}`);
  });
  assertStringIncludes(lines[3]!, "HOME");
  assertStringIncludes(lines[4]!, "`deno task build`");
  const nowhere = new LibraryNotFoundError("cuda", [], "`deno task build`", []);
  assertStringIncludes(nowhere.message, "Cannot open the cuda library as there is no place");
});

Deno.test("`libraryCandidates()` needs no permission and does not prompt", {
  permissions: { env: false, read: false, sys: false, ffi: false, run: false },
}, () => {
  const candidates = libraryCandidates("host");
  assert(candidates.every(({ origin }) => origin === "build directory"));
  const error = new LibraryNotFoundError("host", []);
  assertStringIncludes(error.message, "--allow-env does not cover it: GRIDSTRIDE_LIBRARY");
  assertThrows(() => libraryCandidates("host", { path: "build" }), TypeError, "--allow-read");
});
