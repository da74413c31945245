import { assert, assertEquals, assertMatch, assertRejects, assertStrictEquals } from "@std/assert";
import { openLibrary } from "../../../src/ffi/open_library.ts";
import type { CompileRequest } from "../../../src/launch/compile/compiler.ts";
import { CompilerUnavailableError } from "../../../src/launch/compile/compiler_unavailable_error.ts";
import { HostCompiler } from "../../../src/launch/compile/host_compiler.ts";
import {
  findHostProgram,
  programFiles,
  versionOf,
} from "../../../src/launch/compile/host_program.ts";
import { repositoryPath, runProgram } from "../../support/subprocess.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";

const library = openLibrary("host");

const REQUEST: CompileRequest = {
  source: "",
  name: "test.cu",
  headers: new Map(),
  defines: new Map(),
  options: [],
  expressions: [],
  target: { kind: "host", capability: "8.9" },
};

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

Deno.test("the compiler is what CXX or CUDAHOSTCXX names, else one like the library's own", () => {
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

Deno.test("of a wrapper and its compiler both files tell whether they are the same", () => {
  using programs = new Programs();
  const [wrapper, gcc] = ["ccache", "g++"].map((name) => programs.add(name));
  const environment = programs.environment({ CXX: "ccache g++ -m64" });
  assertEquals(programFiles(findHostProgram("", environment), environment), [wrapper!, gcc!]);
});

Deno.test("where there is no compiler, the error lists what was looked for", async () => {
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
  const wrong = await compiling({ CXX: "no such c++" });
  assertStrictEquals(
    wrong.message,
    "Cannot compile kernels for the host device as CXX must name a C++ compiler: it is " +
      '"no such c++", which is no program',
  );
});

Deno.test("a program that is neither g++ nor clang++ is refused with what it says", async () => {
  using programs = new Programs();
  const command: [string] = [programs.add("c++", "echo I am nobody")];
  const error = await assertRejects(
    () => versionOf({ command, source: "CXX" }, programs.environment()),
    CompilerUnavailableError,
  );
  assertMatch(error.message, /\(from CXX\) must be g\+\+ or clang\+\+: .* says "I am nobody"$/);
});

Deno.test("a compiler that is killed is no error of the source, and leaves nothing behind", async () => {
  using programs = new Programs();
  using cache = new TemporaryDirectory();
  programs.add("g++", script('echo half > "$TMPDIR/half.s"; kill -9 $$'));
  const root = `${cache.path}/cache`;
  const compiler = new HostCompiler(library, programs.environment({ GRIDSTRIDE_CACHE_DIR: root }));
  const error = await assertRejects(() => compiler.compile(REQUEST), CompilerUnavailableError);
  assertMatch(error.message, /^Cannot compile test\.cu as g\+\+ 99\.1\.2 was ended by SIGKILL/);
  const left = [...walk(root)];
  assert(left.some((path) => path.endsWith("/compile")), left.join("\n"));
  assertEquals(left.filter((path) => path.includes("/compile/")), []);
  assertStrictEquals(
    Deno.statSync(left.find((path) => path.endsWith("/compile"))!).mode! & 0o777,
    0o700,
  );
});

function* walk(directory: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(directory)) {
    yield `${directory}/${name}`;
    if (isDirectory) yield* walk(`${directory}/${name}`);
  }
}

/** Compiles in a process with these permissions; prints what became of it. */
async function compileWith(permissions: readonly string[], cache: string): Promise<string> {
  const program = `
    import { HostCompiler } from "${url("src/launch/compile/host_compiler.ts")}";
    const library = ${JSON.stringify({ path: library.path, build: library.build })};
    const request = { source: "__global__ void k() {}", name: "k.cu", headers: new Map(),
      defines: new Map(), options: [], expressions: ["k"],
      target: { kind: "host", capability: "8.9" } };
    try {
      const { format } = await new HostCompiler(library).compile(request);
      console.log(format);
    } catch (error) {
      console.log(error.name + ": " + error.message);
    }`;
  const environment = { GRIDSTRIDE_CACHE_DIR: `${cache}/cache` };
  const { stdout, stderr } = await runProgram(program, { permissions, environment });
  return stdout + stderr;
}

function url(path: string): string {
  return `file://${repositoryPath(path)}`;
}

Deno.test("a missing permission is named, and without HOME none of the cache is needed", async () => {
  using cache = new TemporaryDirectory();
  const files = ["--allow-read", "--allow-env", "--allow-sys=uid"];
  const [noRun, noWrite, noHome] = await Promise.all([
    compileWith([...files, "--allow-write"], cache.path),
    compileWith([...files, "--allow-run"], cache.path),
    compileWith(["--allow-read", "--allow-write", "--allow-run", "--allow-env=PATH"], cache.path),
  ]);
  assertMatch(
    noRun,
    /^CompilerUnavailableError: Cannot compile .* as starting (\/\S+) is not permitted: run again with --allow-run=\1\n$/,
  );
  assertMatch(noWrite, /^CompilerUnavailableError: .*: run again with --allow-write=\S+\/cache\n$/);
  assertStrictEquals(noHome, "library\n");
});
