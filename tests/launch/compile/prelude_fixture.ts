/**
 * A host library with its precompiled header, and a compiler that notes what it is asked.
 *
 * @module
 */

import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { install, withBuildLock } from "../../../src/ffi/build/atomic_install.ts";
import { readSettings } from "../../../src/ffi/build/build_settings.ts";
import { type CppCompiler, findCppCompiler } from "../../../src/ffi/build/compilers.ts";
import { MANIFEST } from "../../../src/ffi/build/manifest.ts";
import { precompilePrelude } from "../../../src/ffi/build/precompile_prelude.ts";
import { preludeDirectory } from "../../../src/ffi/build/prelude_record.ts";
import { findProgram } from "../../../src/ffi/build/programs.ts";
import { grantedEnvironment } from "../../../src/ffi/granted_environment.ts";
import { PACKAGE_ROOT } from "../../../src/ffi/locate.ts";
import { openLibrary } from "../../../src/ffi/open_library.ts";
import type { CompileRequest } from "../../../src/launch/compile/compiler.ts";
import { HostCompiler } from "../../../src/launch/compile/host_compiler.ts";
import { testCacheDirectory } from "../../support/cache_directory.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";

const library = openLibrary("host");

/** The names of the compilers that there are. */
export const COMPILERS: readonly string[] = ["g++", "clang++"].filter((name) =>
  findProgram(name, grantedEnvironment) !== undefined
);

/** A request for a source. */
export function request(source: string, changes: Partial<CompileRequest> = {}): CompileRequest {
  return {
    source,
    name: "test.cu",
    headers: new Map(),
    defines: new Map(),
    options: [],
    expressions: [],
    target: { kind: "host", capability: "8.9" },
    ...changes,
  };
}

const prepared = new Map<string, Promise<string>>();

/** A host library with a compiler's precompiled header, which all tests and runs share. */
function preparedLibrary(name: string): Promise<string> {
  const known = prepared.get(name) ?? prepareLibrary(name);
  prepared.set(name, known);
  return known;
}

async function prepareLibrary(name: string): Promise<string> {
  const directory = `${testCacheDirectory}/prelude of ${name}`;
  await Deno.mkdir(directory, { recursive: true });
  const problems: string[] = [];
  const compiler: CppCompiler = await findCppCompiler(name, grantedEnvironment);
  const settings = readSettings({
    environment: grantedEnvironment,
    warnings: (line) => problems.push(line),
  });
  const tree = { directory: fileURLToPath(PACKAGE_ROOT), files: MANIFEST };
  const path = `${directory}/${basename(library.path)}`;
  const { architectures } = library.build;
  await withBuildLock(directory, () => {}, async () => {
    await precompilePrelude(compiler, tree, { path, architectures }, settings);
    // Another run may have had another library.
    await install(path, (temporary) => Deno.symlink(library.path, temporary));
  });
  if (problems.length > 0) throw new Error(problems.join("\n"));
  return path;
}

/** A directory with the host library, its precompiled header, and a compiler in front of another. */
export class PreludeFixture extends TemporaryDirectory {
  readonly #library: string;
  readonly #program: string;

  /**
   * @param name The compiler, `g++` or `clang++`.
   * @param script What its script does before it starts the compiler with the same arguments.
   * @param shared A library with a precompiled header; none for one without.
   */
  private constructor(name: string, script: string, shared?: string) {
    super();
    this.#library = shared ?? `${this.path}/${basename(library.path)}`;
    if (shared === undefined) Deno.symlinkSync(library.path, this.#library);
    const real = findProgram(name, grantedEnvironment)!;
    const text = `#!/bin/sh\necho "$*" >> '${this.path}/calls'\n${script}\nexec '${real}' "$@"\n`;
    this.#program = this.file(new TextEncoder().encode(text), name);
    Deno.chmodSync(this.#program, 0o755);
  }

  /** With a precompiled header that must not be changed. */
  static async share(name: string): Promise<PreludeFixture> {
    return new PreludeFixture(name, "", await preparedLibrary(name));
  }

  /** With g++ and a copy of its precompiled header, which may be changed. */
  static async copy(script = ""): Promise<PreludeFixture> {
    const shared = preludeDirectory(await preparedLibrary("g++"));
    const fixture = new PreludeFixture("g++", script);
    Deno.mkdirSync(fixture.prelude);
    for (const { name } of Deno.readDirSync(shared)) {
      Deno.copyFileSync(`${shared}/${name}`, `${fixture.prelude}/${name}`);
    }
    return fixture;
  }

  /** With none. */
  static plain(name: string): PreludeFixture {
    return new PreludeFixture(name, "");
  }

  /** The directory of the precompiled header. */
  get prelude(): string {
    return preludeDirectory(this.#library);
  }

  /** The compiler. */
  get compiler(): HostCompiler {
    const { build } = library;
    return new HostCompiler({ path: this.#library, build }, (variable) => {
      return variable === "CXX" ? this.#program : grantedEnvironment(variable);
    });
  }

  /** Of the compilations so far, whether each began with the precompiled header. */
  get calls(): boolean[] {
    return Deno.readTextFileSync(`${this.path}/calls`).trimEnd().split("\n")
      .filter((line) => / -o /.test(line))
      .map((line) => / -include(?:-pch)? .*\/host_prelude\/prelude\./.test(line));
  }
}
