/**
 * A host library with its precompiled header, and a compiler that notes what it is asked.
 *
 * @module
 */

import { basename, dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { install, installText, withBuildLock } from "../../../src/ffi/build/atomic_install.ts";
import { readSettings } from "../../../src/ffi/build/build_settings.ts";
import { type CppCompiler, findCppCompiler } from "../../../src/ffi/build/compilers.ts";
import { MANIFEST } from "../../../src/ffi/build/manifest.ts";
import { precompilePrelude } from "../../../src/ffi/build/precompile_prelude.ts";
import { preludeDirectory } from "../../../src/ffi/build/prelude_record.ts";
import { findProgram } from "../../../src/ffi/build/programs.ts";
import { grantedEnvironment } from "../../../src/ffi/granted_environment.ts";
import { PACKAGE_ROOT } from "../../../src/ffi/locate.ts";
import { openLibrary } from "../../../src/ffi/open_library.ts";
import { HostCompiler } from "../../../src/launch/compile/host_compiler.ts";
import { testCacheDirectory } from "../../support/cache_directory.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";

const library = openLibrary("host");

/** The names of the compilers that there are. */
export const COMPILERS: readonly string[] = ["g++", "clang++"].filter((name) =>
  findProgram(name, grantedEnvironment) !== undefined
);

const prepared = new Map<string, Promise<string>>();

/** A host library with a compiler's precompiled header, which all tests and runs share. */
function preparedLibrary(name: string): Promise<string> {
  const known = prepared.get(name) ?? prepareLibrary(name);
  prepared.set(name, known);
  return known;
}

/** Does what the fixture says that the compilation is of, and then starts the compiler. */
function scriptFor(name: string): string {
  return `#!/bin/sh
fixture="$TMPDIR/../../../.."
if [ -f "$fixture/script" ]; then . "$fixture/script"; fi
exec '${findProgram(name, grantedEnvironment)}' "$@"
`;
}

/** The compiler beside a library: a script, as what is precompiled is so for one command. */
function compilerBeside(path: string, name: string): string {
  return `${dirname(path)}/${name}`;
}

async function prepareLibrary(name: string): Promise<string> {
  const directory = `${testCacheDirectory}/prelude of ${name}`;
  await Deno.mkdir(directory, { recursive: true });
  const path = `${directory}/${basename(library.path)}`;
  const command = compilerBeside(path, name);
  await installText(command, scriptFor(name));
  await Deno.chmod(command, 0o755);
  const problems: string[] = [];
  const compiler: CppCompiler = await findCppCompiler(command, grantedEnvironment);
  const settings = readSettings({
    environment: grantedEnvironment,
    warnings: (line) => problems.push(line),
  });
  const tree = { directory: fileURLToPath(PACKAGE_ROOT), files: MANIFEST };
  const { architectures } = library.build;
  await withBuildLock(directory, () => {}, async () => {
    // Another run may have had another library; a link would belong to whom the library does.
    await install(path, (temporary) => Deno.copyFile(library.path, temporary));
    await precompilePrelude(compiler, tree, { path, architectures }, settings);
  });
  if (problems.length > 0) throw new Error(problems.join("\n"));
  return path;
}

/** A directory with the host library, its precompiled header, and a compiler in front of another. */
export class PreludeFixture extends TemporaryDirectory {
  readonly #library: string;
  readonly #compiler: string;

  /**
   * @param name The compiler, `g++` or `clang++`.
   * @param script What is done before the compiler is started with the same arguments.
   * @param prepared A library with a precompiled header, and the compiler beside it.
   * @param isShared Whether that library is used, and no copy without a precompiled header.
   */
  private constructor(name: string, script: string, prepared: string, isShared: boolean) {
    super();
    this.#library = isShared ? prepared : `${this.path}/${basename(library.path)}`;
    if (!isShared) Deno.copyFileSync(library.path, this.#library);
    this.#compiler = compilerBeside(prepared, name);
    Deno.writeTextFileSync(`${this.path}/script`, `echo "$*" >> '${this.path}/calls'\n${script}\n`);
  }

  /** With a precompiled header that must not be changed. */
  static async share(name: string): Promise<PreludeFixture> {
    return new PreludeFixture(name, "", await preparedLibrary(name), true);
  }

  /** With g++ and a copy of its precompiled header, which may be changed. */
  static async copy(script = ""): Promise<PreludeFixture> {
    const prepared = await preparedLibrary("g++");
    const shared = preludeDirectory(prepared);
    const fixture = new PreludeFixture("g++", script, prepared, false);
    Deno.mkdirSync(fixture.prelude);
    for (const { name } of Deno.readDirSync(shared)) {
      Deno.copyFileSync(`${shared}/${name}`, `${fixture.prelude}/${name}`);
    }
    return fixture;
  }

  /** With none. */
  static async plain(name: string): Promise<PreludeFixture> {
    return new PreludeFixture(name, "", await preparedLibrary(name), false);
  }

  /** The directory of the precompiled header. */
  get prelude(): string {
    return preludeDirectory(this.#library);
  }

  /** The compiler. */
  get compiler(): HostCompiler {
    const { build } = library;
    return new HostCompiler({ path: this.#library, build }, (variable) => {
      if (variable === "CXX") return this.#compiler;
      // What is compiled is compiled below the fixture, which tells the compiler of whom it is.
      return variable === "GRIDSTRIDE_CACHE_DIR" ? this.path : grantedEnvironment(variable);
    });
  }

  /** Of the compilations so far, whether each began with the precompiled header. */
  get calls(): boolean[] {
    return Deno.readTextFileSync(`${this.path}/calls`).trimEnd().split("\n")
      .filter((line) => / -o /.test(line))
      .map((line) => / -include(?:-pch)? .*\/host_prelude\/prelude\./.test(line));
  }
}
