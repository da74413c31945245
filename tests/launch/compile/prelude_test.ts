import "../../support/cache_directory.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { fileURLToPath } from "node:url";
import { readSettings } from "../../../src/ffi/build/build_options.ts";
import { findCppCompiler } from "../../../src/ffi/build/compilers.ts";
import { MANIFEST } from "../../../src/ffi/build/manifest.ts";
import { precompilePrelude, preludeDirectory } from "../../../src/ffi/build/prelude.ts";
import { grantedEnvironment } from "../../../src/ffi/granted_environment.ts";
import { PACKAGE_ROOT } from "../../../src/ffi/locate.ts";
import { openLibrary } from "../../../src/ffi/open_library.ts";
import { CompileError } from "../../../src/launch/compile/compile_error.ts";
import type { CompileRequest } from "../../../src/launch/compile/compiler.ts";
import { HostCompiler } from "../../../src/launch/compile/host_compiler.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";
import { request } from "./host_request.ts";

const library = openLibrary("host");
const KERNEL = "__global__ void k(float* x) { x[threadIdx.x] += 1; }";

/** A host library with a precompiled header, and a compiler that records its command lines. */
class Fixture extends TemporaryDirectory {
  readonly library: string = `${this.path}/libgridstride_host.so`;
  readonly directory: string = preludeDirectory(this.library);
  readonly messages: string[] = [];

  /** Of a second precompiled header. */
  #options: readonly string[] = [];

  static async open(options: readonly string[] = []): Promise<Fixture> {
    const fixture = new Fixture();
    fixture.#options = options;
    Deno.copyFileSync(library.path, fixture.library);
    const { command, family } = await findCppCompiler(undefined, grantedEnvironment);
    const real = command.join(" ");
    // g++ ignores a precompiled header that it finds invalid, and -H says so. clang++ refuses it.
    const used = family === "gcc" ? `${real} "$@" -fsyntax-only -H 2>&1 | grep '^!'` : "echo";
    const script = `#!/bin/sh
case "$*" in *source.cpp*) echo "$@" $(${used}) >> "${fixture.path}/runs" ;; esac
[ ! -f "${fixture.path}/script" ] || . "${fixture.path}/script"
exec ${real} "$@"
`;
    Deno.writeTextFileSync(`${fixture.path}/c++`, script, { mode: 0o755 });
    await fixture.precompile();
    return fixture;
  }

  get #environment() {
    return (name: string) => name === "CXX" ? `${this.path}/c++` : grantedEnvironment(name);
  }

  async precompile(root: string = fileURLToPath(PACKAGE_ROOT)): Promise<void> {
    const settings = readSettings({
      environment: this.#environment,
      progress: (line) => this.messages.push(line),
      warnings: (line) => this.messages.push(line),
    });
    const compiler = await findCppCompiler(undefined, this.#environment);
    const { architectures } = library.build;
    const tree = { directory: root, files: MANIFEST };
    const host = { path: this.library, architectures };
    await precompilePrelude(compiler, tree, host, [], settings);
    if (this.#options.length > 0) {
      await precompilePrelude(compiler, tree, host, this.#options, settings);
    }
  }

  /** Compiles; returns whether each run of the compiler used the precompiled header. */
  async runs(changes: Partial<CompileRequest> = {}, source = KERNEL): Promise<boolean[]> {
    Deno.writeTextFileSync(`${this.path}/runs`, "");
    const compiler = new HostCompiler(
      { ...library, path: this.library },
      this.#environment,
    );
    const expressions = ["k"];
    await compiler.compile(request(source, { expressions, ...changes })).catch((error) => {
      if (!(error instanceof CompileError)) throw error;
    });
    return Deno.readTextFileSync(`${this.path}/runs`).trim().split("\n")
      .map((line) => new RegExp(`(?:!|-include-pch) ${this.directory}\\w*/`).test(line));
  }
}

Deno.test("compile() uses the precompiled header for a source without headers and options", async () => {
  using fixture = await Fixture.open(["-O3"]);
  assertEquals(await fixture.runs(), [true]);
  assertEquals(await fixture.runs({ options: ["-O1"] }), [false]);
  assertEquals(await fixture.runs({ options: ["-O3"] }), [true]);
  assertEquals(await fixture.runs({ headers: new Map([["a.h", ""]]) }), [false]);
  assertEquals(await fixture.runs({}, "__global__ void k() { mistake; }"), [true, false]);
});

Deno.test("compile() gives the same image and messages with and without the precompiled header", async () => {
  using fixture = await Fixture.open();
  const compile = (source: string) =>
    new HostCompiler({ ...library, path: fixture.library }, grantedEnvironment)
      .compile(request(source, { expressions: ["k"], options: [] }));
  const broken = "__global__ void k() {\n  mistake();\n}";
  const sources = [KERNEL, `#include <cmath>\n${KERNEL}`];
  const withPrelude = await Promise.all(sources.map(compile));
  const error = await assertRejects(() => compile(broken), CompileError);
  Deno.removeSync(`${fixture.directory}/record.json`);
  for (const [index, { image, log }] of (await Promise.all(sources.map(compile))).entries()) {
    assertEquals([image, log], [withPrelude[index]!.image, withPrelude[index]!.log]);
  }
  const { message } = await assertRejects(() => compile(broken), CompileError);
  assertEquals(message, error.message);
});

Deno.test("compile() ignores a precompiled header that does not match or belongs to others", async () => {
  using fixture = await Fixture.open();
  const { directory } = fixture;
  const record = `${directory}/record.json`;
  const text = Deno.readTextFileSync(record);
  const away = `${directory}_away`;
  const changes: Readonly<Record<string, readonly [() => void, () => void]>> = {
    "another record": [
      () => Deno.writeTextFileSync(record, text.replace("-O2", "-O3")),
      () => Deno.writeTextFileSync(record, text),
    ],
    "a directory that others may write to": [
      () => Deno.chmodSync(directory, 0o777),
      () => Deno.chmodSync(directory, 0o755),
    ],
    "a link": [
      () => (Deno.renameSync(directory, away), Deno.symlinkSync(away, directory)),
      () => (Deno.removeSync(directory), Deno.renameSync(away, directory)),
    ],
  };
  for (const [what, [change, undo]] of Object.entries(changes)) {
    change();
    assertEquals(await fixture.runs(), [false], what);
    undo();
  }
  // Compilation works when the compiler fails with the precompiled header.
  const script = `case "$*" in *${directory}/prelude*) kill -9 $$ ;; esac`;
  Deno.writeTextFileSync(`${fixture.path}/script`, script);
  assertEquals(await fixture.runs(), [true, false]);
  Deno.removeSync(`${fixture.path}/script`);
  if (Deno.uid() !== 0) return;
  Deno.chownSync(`${directory}/prelude.h`, 1, null);
  assertEquals(await fixture.runs(), [false]);
});

Deno.test("precompilePrelude() does its work once, and warns of a failure", async () => {
  using fixture = await Fixture.open();
  assertEquals(fixture.messages.length, 1);
  assertStringIncludes(fixture.messages[0]!, "precompiled");
  const state = () => Deno.statSync(`${fixture.directory}/record.json`).ino;
  const before = state();
  await fixture.precompile();
  assertEquals([fixture.messages.length, state()], [1, before]);
  const [broken] = MANIFEST.filter((file) => file.endsWith("user_source.h"));
  using tree = new TemporaryDirectory();
  for (const file of MANIFEST.filter((file) => file.startsWith("csrc/host/include/"))) {
    Deno.mkdirSync(`${tree.path}/${file}`.replace(/\/[^/]*$/, ""), { recursive: true });
    Deno.writeTextFileSync(`${tree.path}/${file}`, file === broken ? "#error broken\n" : "");
  }
  await fixture.precompile(tree.path);
  assert(/^Cannot precompile the headers of kernels.*broken/s.test(fixture.messages[1]!));
});
