import { assertEquals, assertStringIncludes } from "@std/assert";
import { openLibrary } from "../../../src/ffi/open_library.ts";
import { PACKAGE_ROOT } from "../../../src/ffi/locate.ts";
import { repositoryPath, runProgram } from "../../support/subprocess.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";

const { path: library } = openLibrary("host");

/** What the program says of the module. */
interface Report {
  readonly cached: boolean;
  readonly kernels: readonly string[];
  readonly variables: readonly string[];
  readonly template: string;
  readonly sum: number;
}

/** Compiles, launches by the signature in the source, and requests a missing kernel. */
const PROGRAM = `
import { openDevice } from "@gridstride/cuda";
const [source, options] = JSON.parse(Deno.args[0]);
using device = openDevice("host");
using module = await device.compile(source, options);
let template = "";
try { module.kernel("tile(float* x)"); } catch (error) { template = error.message; }
using x = device.allocate("float32", 3, { fill: 1 });
module.kernel("n::add").launch({ grid: 1, block: 3 }, x, 2);
module.kernel("tile<float>(float* x)").launch({ grid: 1, block: 3 }, x);
const sum = (await x.toArray()).reduce((one, other) => one + other);
console.log(JSON.stringify({ cached: module.cached, kernels: module.kernelNames,
  variables: module.variableNames, template, sum }));
`;

const SOURCE = `
#include "own.h"
__constant__ float weights[4];
namespace n { __global__ void add(float* x, float by) { x[threadIdx.x] += by * OWN; } }
template <class T> __global__ void tile(T* x) { x[threadIdx.x] *= SCALE; }
int main() { return 0; }
`;

const OPTIONS = {
  headers: { "own.h": "#define OWN 1\n" },
  defines: { SCALE: 2 },
  instances: ["tile<float>"],
  options: ["-O1"],
};

interface Changes {
  readonly permissions?: readonly string[];
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly program?: string;
}

/** What a fresh process makes of the source. */
async function compileIn(cache: string, changes: Changes = {}): Promise<Report> {
  const { permissions = ["-A"], environment, program } = changes;
  const { code, stdout, stderr } = await runProgram(program ?? PROGRAM, {
    args: [JSON.stringify([SOURCE, OPTIONS])],
    permissions: [...permissions, "--no-check"],
    environment: {
      GRIDSTRIDE_CACHE_DIR: cache,
      GRIDSTRIDE_LIBRARY: library,
      // They come before PATH, and would hide the compilers that tests put there.
      CXX: undefined,
      CUDAHOSTCXX: undefined,
      ...environment,
    },
  });
  assertEquals(code, 0, stderr);
  return JSON.parse(stdout);
}

const WITHOUT_PROCESSES = ["--allow-read", "--allow-env", "--allow-ffi", "--allow-sys"];

Deno.test("compile() needs no compiler and no process for a hit", async () => {
  using cache = new TemporaryDirectory();
  const made = await compileIn(cache.path);
  assertEquals([made.cached, made.sum], [false, 18]);
  assertEquals([made.kernels, made.variables], [["n::add", "tile<float>"], ["weights"]]);
  assertStringIncludes(made.template, "tile");
  const same = { ...made, cached: true };
  const permissions = [...WITHOUT_PROCESSES, `--allow-write=${cache.path}`];
  const PATH = "/nonexistent";
  assertEquals(await compileIn(cache.path, { permissions }), same);
  assertEquals(await compileIn(cache.path, { permissions, environment: { PATH } }), same);
  // Nor may the cache be written to.
  const read = { permissions: WITHOUT_PROCESSES, environment: { PATH } };
  assertEquals(await compileIn(cache.path, read), same);
});

Deno.test("compile() notices changed headers and compilers", async () => {
  using folder = new TemporaryDirectory();
  // This package, but with headers of its own.
  const include = "csrc/host/include";
  Deno.mkdirSync(`${folder.path}/csrc/host`, { recursive: true });
  Deno.mkdirSync(`${folder.path}/bin`);
  copy(new URL(include, PACKAGE_ROOT).pathname, `${folder.path}/${include}`);
  for (const name of ["src", "mod.ts"]) {
    Deno.symlinkSync(repositoryPath(name), `${folder.path}/${name}`);
  }
  const program = PROGRAM.replace("@gridstride/cuda", `file://${folder.path}/mod.ts`);
  const environment = { PATH: `${folder.path}/bin:${Deno.env.get("PATH")}` };
  const cached = async () =>
    (await compileIn(`${folder.path}/cache`, { program, environment })).cached;
  assertEquals([await cached(), await cached()], [false, true]);
  const header = `${folder.path}/${include}/gridstride/module_table.h`;
  const text = Deno.readTextFileSync(header);
  Deno.writeTextFileSync(header, `${text}\n`);
  assertEquals(await cached(), false);
  Deno.writeTextFileSync(header, text);
  assertEquals(await cached(), true, "by its content it is the one that it was");
  const compiler = `${folder.path}/bin/g++`;
  Deno.writeTextFileSync(compiler, `#!/bin/sh\nPATH=\${PATH#*:}\nexec g++ "$@"\n`);
  assertEquals(await cached(), true, "it cannot be started");
  Deno.chmodSync(compiler, 0o755);
  assertEquals(await cached(), false);
});

function copy(from: string, to: string): void {
  Deno.mkdirSync(to);
  for (const { name, isDirectory } of Deno.readDirSync(from)) {
    if (isDirectory) copy(`${from}/${name}`, `${to}/${name}`);
    else Deno.copyFileSync(`${from}/${name}`, `${to}/${name}`);
  }
}
