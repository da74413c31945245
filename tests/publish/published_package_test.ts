// Imports, builds and runs the published package in a directory of its own with an empty cache.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { dirname, join } from "node:path";
import { versionedCacheDirectory } from "../../src/ffi/cache_directory.ts";
import { MANIFEST } from "../../src/ffi/build/manifest.ts";
import { builtLibrary } from "../support/built_library.ts";
import { type PackageServer, servePackage } from "./published_package.ts";

const PROGRAM = `
import { openDevice } from "@gridstride/cuda";

using device = openDevice("host");
using x = device.upload(Float32Array.of(1, 2, 3));
using y = device.allocate("float32", 3, { fill: 1 });
const axpy = device.kernels.load(
  "axpy_float32(float a, const float* x, float* y, unsigned long long n)",
);
axpy.launch(device.launchFor(axpy, { elements: 3 }), 2, x, y, 3);
console.log((await y.toArray()).join(" "));
`;

/** A directory with a program that imports the package, and with caches of its own. */
class Importer implements Disposable {
  readonly #directory = Deno.makeTempDirSync({ prefix: "gridstride import " });
  readonly #root: URL;

  constructor(root: URL) {
    this.#root = root;
    const program = PROGRAM.replace("@gridstride/cuda", this.module("mod.ts"));
    Deno.writeTextFileSync(this.path("program.ts"), program);
    Deno.mkdirSync(this.path("deno"));
  }

  path(name: string): string {
    return join(this.#directory, name);
  }

  /** The directory that a build fills. */
  get cache(): string {
    return this.path("cache");
  }

  /** A module of the package as this program would import it. */
  module(name: string): string {
    return new URL(name, this.#root).href;
  }

  /**
   * Lends Deno's copies of npm packages, and the versions of this checkout, which Deno would ask the
   * registry for: a machine that tests may have no network.
   */
  async lendNpmPackages(): Promise<void> {
    const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] })
      .output();
    const { npmCache }: { npmCache: string } = JSON.parse(new TextDecoder().decode(stdout));
    await Deno.symlink(npmCache, this.path("deno/npm"));
    const lock = JSON.parse(await Deno.readTextFile(new URL("../../deno.lock", import.meta.url)));
    const { version, specifiers, npm } = lock;
    await Deno.writeTextFile(this.path("deno.lock"), JSON.stringify({ version, specifiers, npm }));
  }

  /** Runs `deno run`. */
  async run(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    const env: Record<string, string> = {
      ...Deno.env.toObject(),
      NO_COLOR: "1",
      DENO_NO_UPDATE_CHECK: "1",
      DENO_DIR: this.path("deno"),
      GRIDSTRIDE_CACHE_DIR: this.cache,
    };
    for (const name of ["LIBRARY", "DEVICE", "FAKE", "LOG"]) delete env[`GRIDSTRIDE_${name}`];
    const output = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--lock", "deno.lock", ...args],
      env,
      clearEnv: true,
      cwd: this.#directory,
      stdin: "null",
      signal: AbortSignal.timeout(240_000),
    }).output();
    const decoder = new TextDecoder();
    const stdout = decoder.decode(output.stdout);
    return { code: output.code, stdout, stderr: decoder.decode(output.stderr) };
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.#directory, { recursive: true });
  }
}

/**
 * Copies the object files of this checkout into the importer's cache, to save a minute. Their names are
 * digests of their sources and flags. Continuous integration compiles everything.
 */
function lendObjects(importer: Importer): void {
  if ((Deno.env.get("CI") ?? "") !== "") return;
  const objects = join(dirname(builtLibrary("host")!), "objects", "host");
  const target = join(versionedCacheDirectory(importer.cache), "objects", "host");
  Deno.mkdirSync(target, { recursive: true, mode: 0o700 });
  for (const { name } of Deno.readDirSync(objects)) {
    if (name.endsWith(".o")) Deno.copyFileSync(join(objects, name), join(target, name));
  }
}

async function checkImport(importer: Importer, server: PackageServer): Promise<void> {
  const before = await importer.run("--check", "program.ts");
  assertEquals([before.code, before.stdout], [1, ""]);
  // Without a library the error names the command that builds it.
  assertStringIncludes(before.stderr, `deno run -A ${importer.module("build.ts")}`);
  assertEquals([...server.served].filter((file) => file.startsWith("csrc/")), []);
}

async function checkBuild(importer: Importer, server: PackageServer): Promise<void> {
  const build = await importer.run(importer.module("build.ts"), "--target", "host");
  assertEquals(build.code, 0, build.stderr);
  const library = join(versionedCacheDirectory(importer.cache), "libgridstride_host.");
  assertStringIncludes(build.stderr, library);
  assertEquals(MANIFEST.filter((file) => !server.served.has(file)), []);
}

async function checkLaunch(importer: Importer): Promise<void> {
  const run = await importer.run("program.ts");
  assertEquals([run.code, run.stdout], [0, "3 5 7\n"], run.stderr);
  const main = importer.module("src/cli/main.ts");
  const validation = await importer.run(
    ...[main, "validate", "--device", "host", "--operations", "tanh"],
  );
  assertEquals(validation.code, 0, validation.stderr);
  assertMatch(validation.stdout, /^\d+ passed, 0 failed on host:0$/m);
}

Deno.test("The published package builds and launches a kernel when served over HTTP", async () => {
  await using server = await servePackage();
  using importer = new Importer(server.root);
  await importer.lendNpmPackages();
  await checkImport(importer, server);
  lendObjects(importer);
  await checkBuild(importer, server);
  await checkLaunch(importer);
  assertEquals(server.missed, []);
  assert(server.served.has("mod.ts"));
});
