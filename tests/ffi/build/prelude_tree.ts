/**
 * Sources of a package whose language is a header or two, so that to precompile them takes a
 * fraction of a second.
 *
 * @module
 */

import { dirname, join } from "node:path";
import { readSettings } from "../../../src/ffi/build/build_settings.ts";
import { type CppCompiler, findCppCompiler } from "../../../src/ffi/build/compilers.ts";
import { kernelFlags } from "../../../src/ffi/build/host_toolchain.ts";
import {
  type PreludeBasis,
  preludeDirectory,
  type PreludeFiles,
  preludeFiles,
} from "../../../src/ffi/build/prelude_record.ts";
import { precompilePrelude } from "../../../src/ffi/build/precompile_prelude.ts";
import { runProgram } from "../../../src/ffi/build/programs.ts";
import { grantedEnvironment } from "../../../src/ffi/granted_environment.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";

const LANGUAGE = "csrc/host/include";

const SOURCES: Readonly<Record<string, string>> = {
  "gridstride/user_source.h": `#pragma once
#include "inner.h"
#include <stddef.h>
#if __has_include(<absent/extra.h>)
#include <absent/extra.h>
#endif
`,
  "gridstride/inner.h": "#pragma once\n#define INNER 1\n",
  "gridstride/module_table.h": "#pragma once\n",
};

/** The tree, in a directory that is removed with it. */
export class PreludeTree extends TemporaryDirectory {
  /** What was said of problems so far. */
  readonly warnings: string[] = [];
  /** What was said of progress so far. */
  readonly progress: string[] = [];
  /** Where the library would be. */
  readonly library: string = `${this.path}/build/libgridstride_host.so`;
  /** The compiler. */
  compiler: CppCompiler;

  private constructor(compiler: CppCompiler) {
    super();
    this.compiler = compiler;
    this.reset();
    Deno.mkdirSync(dirname(this.library));
    Deno.writeTextFileSync(this.library, "");
  }

  /** Makes the headers what they were in the beginning. */
  reset(): void {
    Deno.mkdirSync(this.header(""), { recursive: true });
    Deno.removeSync(this.header(""), { recursive: true });
    for (const [name, text] of Object.entries(SOURCES)) this.write(name, text);
  }

  /** A tree for the compiler that a build would take. */
  static async open(): Promise<PreludeTree> {
    return new PreludeTree(await findCppCompiler(undefined, grantedEnvironment));
  }

  /** The files of its precompiled header. */
  get files(): PreludeFiles {
    return preludeFiles(preludeDirectory(this.library), this.compiler.family);
  }

  /** The path of a header. */
  header(name: string): string {
    return join(this.path, LANGUAGE, name);
  }

  /** Writes a header. */
  write(name: string, text: string): void {
    const path = this.header(name);
    Deno.mkdirSync(dirname(path), { recursive: true });
    Deno.writeTextFileSync(path, text);
  }

  /** Precompiles, as a build does. */
  async precompile(changes: { readonly force?: boolean } = {}): Promise<void> {
    const settings = readSettings({
      environment: grantedEnvironment,
      progress: (line) => this.progress.push(line),
      warnings: (line) => this.warnings.push(line),
      ...changes,
    });
    const files = Object.keys(SOURCES).map((name) => `${LANGUAGE}/${name}`);
    const library = { path: this.library, architectures: "x86-64" };
    await precompilePrelude(this.compiler, { directory: this.path, files }, library, settings);
  }

  /** What a kernel is compiled with that may use it. */
  async basis(): Promise<PreludeBasis> {
    const { command, family, identity } = this.compiler;
    return {
      command,
      family,
      version: identity,
      machine: (await runProgram(command, ["-dumpmachine"])).stdout.trim(),
      flags: kernelFlags(family, "x86-64"),
      language: join(this.path, LANGUAGE),
      ambient: [],
    };
  }
}
