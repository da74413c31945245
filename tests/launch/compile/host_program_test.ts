// Needs no GPU: it compiles for the host device.

import "../../support/cache_directory.ts";
import { assertEquals, assertMatch, assertRejects, assertStrictEquals } from "@std/assert";
import { versionedCacheDirectory } from "../../../src/ffi/cache_directory.ts";
import { openLibrary } from "../../../src/ffi/open_library.ts";
import { configureKernelCache } from "../../../src/launch/cache/cache_settings.ts";
import { CompilerUnavailableError } from "../../../src/launch/compile/compile_error.ts";
import { HostCompiler } from "../../../src/launch/compile/host_compiler.ts";
import {
  findHostProgram,
  openHostHeaders,
  versionOf,
} from "../../../src/launch/compile/host_program.ts";
import { repositoryPath, runProgram } from "../../support/subprocess.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";
import { request } from "./host_request.ts";

const library = openLibrary("host");

const REQUEST = request("");

/** A directory of programs that are shell scripts. */
class Programs extends TemporaryDirectory {
  /** Makes a program. */
  add(name: string, script = "exit 1"): string {
    const path = this.file(new TextEncoder().encode(`#!/bin/sh\n${script}\n`), name);
    Deno.chmodSync(path, 0o755);
    return path;
  }

  /** Variables that find these programs and no others. */
  environment(variables: Readonly<Record<string, string>> = {}) {
    return (name: string) => ({ PATH: this.path, ...variables })[name];
  }
}

/** A program that calls itself g++, and does this when it is to compile. */
function script(compile: string): string {
  return `case "$*" in
*--version*) echo "g++ (Made up) 99.1.2"; echo "Copyright (C) Free Software Foundation, Inc." ;;
*-dumpmachine*) echo "pdp11-unknown-linux" ;;
*) ${compile} ;;
esac`;
}

Deno.test("findHostProgram() prefers CXX, CUDAHOSTCXX, then the library's own family", () => {
  using programs = new Programs();
  const [gcc, clang, own] = ["g++", "clang++", "my-c++"].map((name) => programs.add(name));
  const find = (builtWith: string, variables = {}) =>
    findHostProgram(builtWith, programs.environment(variables));
  assertEquals(find("g++ (Debian 12.2.0) 12.2.0"), { command: [gcc!], source: "PATH" });
  assertEquals(find("Debian clang version 14.0.6").command, [clang!]);
  assertEquals(find("", { CUDAHOSTCXX: own }), { command: [own!], source: "CUDAHOSTCXX" });
  assertEquals(find("", { CXX: "clang++", CUDAHOSTCXX: own }).command, [clang!]);
  assertEquals(find("", { CXX: " my-c++ g++ -m64 " }).command, [own!, "g++", "-m64"]);
  Deno.removeSync(gcc!);
  assertEquals(find("g++ (Debian 12.2.0) 12.2.0").command, [clang!]);
});

Deno.test("versionOf() starts a compiler once, until it is replaced", async () => {
  using programs = new Programs();
  const gcc = programs.add("g++", `echo >> "${programs.path}/runs"\n${script("exit 1")}`);
  const environment = programs.environment();
  const version = () => versionOf(findHostProgram("", environment), environment);
  const [one, other] = await Promise.all([version(), version()]);
  assertEquals([one!.label, one!.family, other], ["g++ 99.1.2", "gcc", one]);
  const runs = () => Deno.readTextFileSync(`${programs.path}/runs`).length;
  assertEquals(runs(), 1);
  Deno.utimeSync(gcc, 1, 1);
  assertEquals([(await version()).label, runs()], [one!.label, 2]);
});

Deno.test("compile() lists the searched places when there is no compiler", async () => {
  using programs = new Programs();
  const compiling = (variables = {}) =>
    assertRejects(
      () => new HostCompiler(library, programs.environment(variables)).compile(REQUEST),
      CompilerUnavailableError,
    );
  const missing = await compiling();
  assertMatch(
    missing.message,
    /^Cannot compile kernels for the host device as there is no C\+\+17 compiler in CXX .*, CUDAHOSTCXX .*, (?:g\+\+|clang\+\+) on PATH, .* on PATH, c\+\+ on PATH\..* Install one with /,
  );
  const command: [string] = [programs.add("other", "echo I am nobody")];
  await assertRejects(
    () => versionOf({ command, source: "CXX" }, programs.environment()),
    CompilerUnavailableError,
    "(from CXX) must be g++ or clang++: ",
  );
  const { message } = await compiling({ CXX: "no such c++" });
  assertMatch(
    message,
    /as CXX must name a C\+\+ compiler: it is "no such c\+\+", which is no prog/,
  );
});

Deno.test("compile() reports a killed compiler, and leaves no files behind", async () => {
  using programs = new Programs();
  using cache = new TemporaryDirectory();
  programs.add("g++", script('echo half > "$TMPDIR/half.s"; kill -9 $$'));
  const root = `${cache.path}/cache`;
  const compiler = new HostCompiler(library, programs.environment({ GRIDSTRIDE_CACHE_DIR: root }));
  const error = await assertRejects(() => compiler.compile(REQUEST), CompilerUnavailableError);
  assertMatch(error.message, /^Cannot compile test\.cu as g\+\+ 99\.1\.2 was ended by SIGKILL/);
  const directory = `${versionedCacheDirectory(root)}/compile`;
  assertStrictEquals(Deno.statSync(directory).mode! & 0o777, 0o700);
  assertEquals([...Deno.readDirSync(directory)], []);
});

/** Compiles in a process with these permissions; prints what became of it. */
async function compileWith(
  permissions: readonly string[],
  cache: string,
  variables: Readonly<Record<string, string | undefined>> = {},
): Promise<string> {
  const program = `
    import { HostCompiler } from "file://${repositoryPath("src/launch/compile/host_compiler.ts")}";
    import { openNativeLibrary } from "file://${repositoryPath("src/ffi/library.ts")}";
    const library = openNativeLibrary("${library.path}");
    const request = { source: "__global__ void k() {}", name: "k.cu", headers: new Map(),
      defines: new Map(), options: [], expressions: ["k"],
      target: { kind: "host", capability: "8.9" } };
    try {
      const { format } = await new HostCompiler(library).compile(request);
      console.log(format);
    } catch (error) {
      console.log(error.name + ": " + error.message);
    }`;
  const environment = { GRIDSTRIDE_CACHE_DIR: `${cache}/cache`, ...variables };
  const { stdout, stderr } = await runProgram(program, {
    permissions: [...permissions, `--allow-ffi=${library.path}`],
    environment,
  });
  return stdout + stderr;
}

Deno.test("compile() names a missing permission, and needs none for the cache without HOME", async () => {
  using cache = new TemporaryDirectory();
  const files = ["--allow-read", "--allow-env", "--allow-sys=uid"];
  const compilers = (Deno.env.get("PATH") ?? "").split(":")
    .flatMap((folder) => [`${folder}/g++`, `${folder}/clang++`]);
  const [noRun, noWrite, noHome] = await Promise.all([
    compileWith([...files, "--allow-write"], cache.path),
    compileWith([...files, "--allow-run"], cache.path),
    compileWith([
      "--allow-read",
      "--allow-write",
      `--allow-run=${compilers.join()}`,
      "--allow-env=PATH",
    ], cache.path),
  ]);
  assertMatch(
    noRun,
    /^CompilerUnavailableError: Cannot compile .* as starting (\/\S+) is not permitted: run again with --allow-run=\1\n$/,
  );
  assertMatch(noWrite, /^CompilerUnavailableError: .*: run again with --allow-write=\S+\/cache\n$/);
  assertStrictEquals(noHome, "library\n");
});

Deno.test("compile() needs the permission for the compiler alone when LD_LIBRARY_PATH is set", async () => {
  using cache = new TemporaryDirectory();
  const { command: [compiler] } = findHostProgram(
    library.build.compiler,
    (name) => Deno.env.get(name),
  );
  const permissions = ["--allow-read", "--allow-write", "--allow-env", "--allow-sys=uid"];
  const variables = { LD_LIBRARY_PATH: "/opt/cuda/lib64", CXX: compiler };
  const compiled = compileWith([...permissions, `--allow-run=${compiler}`], cache.path, variables);
  assertStrictEquals(await compiled, "library\n");
});

/** A package on a server: its native sources, of which some are headers of the host device. */
const FILES: Readonly<Record<string, string>> = {
  "csrc/host/include/cuda_runtime.h": "#pragma once\n",
  "csrc/host/include/gridstride/qualifiers.h": "#define __global__\n",
  "csrc/shim/launch/launch.cu": "int launch;\n",
};

Deno.test("openHostHeaders() fetches the headers of an imported package once", async () => {
  using cache = new TemporaryDirectory();
  const asked: string[] = [];
  let fails = "/csrc/host/include/gridstride/qualifiers.h";
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, ({ url }) => {
    const { pathname } = new URL(url);
    asked.push(pathname);
    const file = pathname.replace(/^\/\w*\//, "");
    const text = FILES[pathname.slice(1)] ?? FILES[file];
    return pathname === fails || text === undefined
      ? new Response("gone", { status: 404 })
      : new Response(text);
  });
  try {
    const open = (query: string) =>
      openHostHeaders(
        new URL(`http://127.0.0.1:${server.addr.port}/${query}`),
        Object.keys(FILES),
        () => cache.path,
      );
    await assertRejects(() => open(""), Error, "the server answers 404");
    fails = "";
    const { directory } = await open("");
    assertStrictEquals(directory, `${cache.path}/source/csrc/host/include`);
    const text = Deno.readTextFileSync(`${directory}/gridstride/qualifiers.h`);
    assertEquals(text, "#define __global__\n");
    assertEquals(asked.filter((path) => path.endsWith("launch.cu")), []);
    const before = asked.length;
    await open("");
    assertStrictEquals(asked.length, before);
    // Another version has other files.
    await open("v2/");
    assertStrictEquals(asked.length, before + 2);
  } finally {
    await server.shutdown();
  }
});

/** Directories of compilers, and a cache that is empty at first. */
class Machine extends Programs {
  constructor() {
    super();
    configureKernelCache({ directory: `${this.path}/cache` });
  }

  /** Installs a compiler that writes an image without compiling. */
  install(directory: string, version: string): void {
    Deno.mkdirSync(`${this.path}/${directory}`, { recursive: true });
    const compile = 'while [ "$1" != -o ]; do shift; done; echo image > "$2"';
    this.add(`${directory}/g++`, script(compile).replace("99.1.2", version));
  }

  /** A compiler as a fresh process finds it. */
  compiler(directories: readonly string[], variables: Readonly<Record<string, string>> = {}) {
    const PATH = directories.map((name) => `${this.path}/${name}`).join(":");
    const GRIDSTRIDE_CACHE_DIR = `${this.path}/builds`;
    return new HostCompiler(
      library,
      this.environment({ PATH, GRIDSTRIDE_CACHE_DIR, ...variables }),
    );
  }

  override [Symbol.dispose](): void {
    configureKernelCache();
    super[Symbol.dispose]();
  }
}

Deno.test("identity() changes with PATH, CXX, and the program", async () => {
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

Deno.test("identity() is that of the last compiler when there is none", async () => {
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
    { ...library, build: { ...library.build, sourceHash: "another" } },
    () => undefined,
  );
  await assertRejects(() => other.identity(REQUEST), CompilerUnavailableError);
});
