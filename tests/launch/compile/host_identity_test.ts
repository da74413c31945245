// What the key of the compile cache knows of the host device's compiler: which one it is, whether it
// is still the same, and where there is none any more, which one there was.

import "../../support/cache_directory.ts";
import { assert, assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import { openLibrary } from "../../../src/ffi/open_library.ts";
import { configureKernelCache } from "../../../src/launch/cache/cache_settings.ts";
import type { CompileRequest } from "../../../src/launch/compile/compiler.ts";
import { CompilerUnavailableError } from "../../../src/launch/compile/compiler_unavailable_error.ts";
import { HostCompiler } from "../../../src/launch/compile/host_compiler.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";

const { path, build } = openLibrary("host");

const REQUEST: CompileRequest = {
  source: "",
  name: "test.cu",
  headers: new Map(),
  defines: new Map(),
  options: [],
  expressions: [],
  target: { kind: "host", capability: "8.9" },
};

/** Directories of programs that call themselves g++, and a cache that is empty at first. */
class Machine extends TemporaryDirectory {
  constructor() {
    super();
    configureKernelCache({ directory: `${this.path}/cache` });
  }

  /** Installs a compiler that compiles nothing, but says that it has. */
  install(directory: string, version: string): void {
    Deno.mkdirSync(`${this.path}/${directory}`, { recursive: true });
    const program = `#!/bin/sh
case "$*" in
*--version*) echo "g++ ${version} Free Software Foundation" ;;
*-dumpmachine*) echo "pdp11-unknown-linux" ;;
*) while [ "$1" != -o ]; do shift; done; echo image > "$2" ;;
esac
`;
    Deno.chmodSync(this.file(new TextEncoder().encode(program), `${directory}/g++`), 0o755);
  }

  /** A compiler as a fresh process finds it. */
  compiler(directories: readonly string[], variables: Readonly<Record<string, string>> = {}) {
    const PATH = directories.map((name) => `${this.path}/${name}`).join(":");
    const all: Readonly<Record<string, string>> = {
      PATH,
      GRIDSTRIDE_CACHE_DIR: `${this.path}/builds`,
      ...variables,
    };
    return new HostCompiler({ path, build }, (name) => all[name]);
  }

  override [Symbol.dispose](): void {
    configureKernelCache();
    super[Symbol.dispose]();
  }
}

Deno.test("another PATH, CXX, or program of the same name is another compiler", async () => {
  using machine = new Machine();
  machine.install("one", "99.1.0");
  machine.install("two", "99.1.0");
  const identity = async (...of: Parameters<Machine["compiler"]>) =>
    (await machine.compiler(...of).identity(REQUEST)).join("\n");
  const one = await identity(["one"]);
  assertEquals(await identity(["one"]), one);
  assertEquals(await identity(["none", "one", "two"]), one);
  assertEquals(await identity(["two"], { CXX: `${machine.path}/one/g++` }), one);
  const others = [
    await identity(["two", "one"]),
    await identity(["one"], { CXX: `${machine.path}/two/g++ -m64` }),
    await identity(["one"], { CUDAHOSTCXX: "g++ -m32" }),
    // What compilers read by themselves.
    await identity(["one"], { COMPILER_PATH: "/elsewhere" }),
    await identity(["one"], { SOURCE_DATE_EPOCH: "0" }),
  ];
  // A program that is found before the one that was.
  machine.install("none", "99.1.0");
  others.push(await identity(["none", "one", "two"]));
  machine.install("one", "99.1.1");
  others.push(await identity(["one"]));
  assertEquals(new Set([one, ...others]).size, 1 + others.length);
});

Deno.test("where there is no compiler any more, the one that was used last counts", async () => {
  using machine = new Machine();
  const gone = () => machine.compiler(["one"]).identity(REQUEST);
  await assertRejects(gone, CompilerUnavailableError, "there is no C++17 compiler");
  machine.install("one", "99.1.0");
  const compiler = machine.compiler(["one"]);
  const identity = await compiler.identity(REQUEST);
  Deno.renameSync(`${machine.path}/one`, `${machine.path}/away`);
  await assertRejects(gone, CompilerUnavailableError);
  Deno.renameSync(`${machine.path}/away`, `${machine.path}/one`);
  await compiler.compile(REQUEST);
  Deno.removeSync(`${machine.path}/one/g++`);
  assertEquals(await gone(), identity);
  // What names a compiler that is none is a mistake, and no request for another.
  const mistaken = machine.compiler(["one"], { CXX: "g+++" });
  await assertRejects(() => mistaken.identity(REQUEST), CompilerUnavailableError, "g+++");
  const other = new HostCompiler(
    { path, build: { ...build, sourceHash: "another" } },
    () => undefined,
  );
  await assertRejects(() => other.identity(REQUEST), CompilerUnavailableError);
});

Deno.test("a compiler that is installed later is not taken for the one that was there", async () => {
  using machine = new Machine();
  machine.install("one", "99.1.0");
  await machine.compiler(["one"]).identity(REQUEST);
  const first = machine.compiler(["one"]);
  await first.identity(REQUEST);
  await first.compile(REQUEST);
  Deno.removeSync(`${machine.path}/one/g++`);
  const compiler = machine.compiler(["one"]);
  const before = await compiler.identity(REQUEST);
  machine.install("one", "99.2.0");
  await compiler.compile(REQUEST);
  const after = await compiler.identity(REQUEST);
  assertNotEquals(after, before);
  assert(after.join("\n").includes("99.2.0"));
});
