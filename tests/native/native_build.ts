/**
 * Building the programs of this folder: with the compilers, the flags and the very objects of the
 * package's libraries, and only what changed. The programs go to `build/native-tests/<compiler>/`.
 *
 * @module
 */

import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { install, installText, withBuildLock } from "../../src/ffi/build/atomic_install.ts";
import { readSettings } from "../../src/ffi/build/build_options.ts";
import { chooseToolchains } from "../../src/ffi/build/build_libraries.ts";
import {
  type BuildPlan,
  type CompileStep,
  isUpToDate,
  type LibraryPlan,
  planLibrary,
  runPlan,
} from "../../src/ffi/build/build_plan.ts";
import { MANIFEST } from "../../src/ffi/build/manifest.ts";
import { runProgram } from "../../src/ffi/build/programs.ts";
import { digest, digestTree, isCompiled } from "../../src/ffi/build/source_tree.ts";
import type { Toolchain } from "../../src/ffi/build/toolchains.ts";
import type { LibraryKind } from "../../src/ffi/library.ts";
import { PACKAGE_ROOT } from "../../src/ffi/locate.ts";
import { libraryFileName } from "../../src/ffi/locate.ts";
import type { NativeProgram } from "./native_programs.ts";

const ROOT = fileURLToPath(PACKAGE_ROOT);

/** How a program is built. */
export interface NativeBuildOptions {
  /** The C++ compiler; by default the one that builds the libraries. */
  readonly compiler?: string;
  /** Make warnings in the programs errors. */
  readonly warningsAsErrors?: boolean;
}

/** The paths of the C++ and CUDA files in this folder, as the repository names them. */
export function nativeTestFiles(folder = "tests/native", names = /\.(?:cpp|cu)$/): string[] {
  return [...Deno.readDirSync(join(ROOT, folder))].flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory) return nativeTestFiles(path, names);
    return names.test(entry.name) ? [path] : [];
  }).sort();
}

/** One library's compiler with everything that it compiled. */
export class NativeBuild {
  readonly #toolchain: Toolchain;
  readonly #directory: string;
  readonly #options: NativeBuildOptions;
  readonly #jobs: number;
  #headers: string | undefined;
  #prelude: Promise<string | undefined> | undefined;
  #library: Promise<LibraryPlan> | undefined;

  private constructor(toolchain: Toolchain, jobs: number, options: NativeBuildOptions) {
    this.#toolchain = toolchain;
    this.#options = options;
    this.#jobs = jobs;
    const compiler = basename(toolchain.command.at(-1)!);
    this.#directory = join(ROOT, "build", "native-tests", compiler);
  }

  /**
   * Finds the compiler.
   *
   * @throws {BuildError} If there is none; the message says what to install.
   */
  static async open(kind: LibraryKind, options: NativeBuildOptions = {}): Promise<NativeBuild> {
    const { compiler } = options;
    const settings = readSettings({
      target: kind,
      ...(compiler === undefined ? {} : { compiler }),
    });
    const { toolchains, failures } = await chooseToolchains(MANIFEST, settings);
    if (failures.length > 0) throw failures[0];
    return new NativeBuild(toolchains[0]!, settings.jobs, options);
  }

  /** The compiler and its version. */
  get compiler(): string {
    return this.#toolchain.compiler;
  }

  /** Builds the package's library, unless it is up to date, and names its file. */
  async library(): Promise<string> {
    this.#library ??= this.#buildLibrary();
    return (await this.#library).output;
  }

  async #buildLibrary(): Promise<LibraryPlan> {
    const { kind } = this.#toolchain;
    const digests = await digestTree({ directory: ROOT, files: MANIFEST });
    const output = join(this.#directory, libraryFileName(kind));
    // The objects are those of `deno task build`: their names are digests of what made them.
    const objects = join(ROOT, "build", "objects", kind);
    const plan = planLibrary(this.#toolchain, digests, objects, output);
    await this.#run(plan);
    return plan;
  }

  /** Builds a program, unless it is up to date, and names its file. */
  async program(program: NativeProgram): Promise<string> {
    const linked = await this.#linkedObjects(program);
    if (program.needsLibrary) linked.push(await this.library());
    const isProgram = program.kind === "host" && program.form === "program";
    const prelude = isProgram ? await (this.#prelude ??= this.#precompile()) : undefined;
    const plan = this.#plan(program, linked, prelude);
    await this.#run(plan);
    return plan.output;
  }

  /** Precompiles the headers that take a third of the time of most files; g++ finds the result. */
  async #precompile(): Promise<string | undefined> {
    const { command, compileArguments } = this.#toolchain;
    if (!/g\+\+(?:-\d+)?$/.test(command.at(-1)!) || command.at(-1)!.includes("clang")) return;
    const args = (header: string, output: string) =>
      [...compileArguments(header, output), "-O1"].flatMap((one) => one === "-c" ? [] : one)
        .map((one) => one === "c++" ? "c++-header" : one);
    const text = STANDARD_HEADERS.map((name) => `#include <${name}>\n`).join("");
    const key = digest(this.#toolchain.identity, ...args("", ""), text).slice(0, 16);
    const header = join(this.#directory, `standard-${key}.h`);
    await Deno.mkdir(this.#directory, { recursive: true });
    await installText(header, text);
    await withBuildLock(this.#directory, () => {}, async () => {
      if (await Deno.stat(`${header}.gch`).then(() => true, () => false)) return;
      await install(`${header}.gch`, async (temporary) => {
        const { success, stderr } = await runProgram(command, args(header, temporary), ROOT);
        if (!success) throw new Error(`Cannot precompile ${header}: ${stderr}`);
      });
    });
    return header;
  }

  async #linkedObjects({ objects }: NativeProgram): Promise<string[]> {
    if (objects === undefined) return [];
    await this.library();
    return (await this.#library!).steps.filter(({ source }) => objects.test(source))
      .map(({ object }) => object);
  }

  #plan(program: NativeProgram, linked: readonly string[], prelude?: string): BuildPlan {
    const toolchain = this.#programToolchain(program, linked, prelude);
    const output = join(this.#directory, program.name);
    const objects = join(this.#directory, "objects", program.name);
    const steps = [...nativeTestFiles(), ...MANIFEST]
      .filter((file) => program.sources.test(file))
      .map((source) => this.#step(toolchain, source, objects));
    const key = digest(
      toolchain.identity,
      ...toolchain.linkArguments(steps.map(({ object }) => basename(object)), "", program.name)
        .map((argument) => linked.includes(argument) ? basename(argument) : argument),
    );
    return { toolchain, title: program.name, output, key, objects, steps };
  }

  #step(toolchain: Toolchain, source: string, objects: string): CompileStep {
    this.#headers ??= digest(
      ...[...nativeTestFiles("tests/native", /\.(?:h|cuh)$/), ...MANIFEST]
        .filter((file) => !isCompiled(file))
        .map((file) => Deno.readTextFileSync(join(ROOT, file))),
    );
    const key = digest(
      toolchain.identity,
      ...toolchain.compileArguments(source, ""),
      this.#headers,
      Deno.readTextFileSync(join(ROOT, source)),
    );
    return { source, object: join(objects, `${basename(source)}-${key.slice(0, 16)}.o`) };
  }

  #programToolchain(
    program: NativeProgram,
    linked: readonly string[],
    prelude: string | undefined,
  ): Toolchain {
    const library = this.#toolchain;
    const errors = this.#options.warningsAsErrors !== true
      ? []
      : library.kind === "cuda"
      ? ["-Werror=all-warnings", "-Xcompiler=-Werror"]
      : ["-Werror"];
    // Most of the time of the tests would else be the optimiser's.
    const flags = ["-O1", ...(program.flags ?? []), ...errors];
    return {
      ...library,
      compileArguments: (source, object) => [
        ...library.compileArguments(source, object),
        ...flags,
        ...(prelude === undefined ? [] : ["-include", prelude]),
      ],
      linkArguments: (objects, output, name) => {
        const all = [...objects, ...linked];
        if (program.form === "library") return library.linkArguments(all, output, name);
        return [...linkFlags(program), ...all, "-o", output, ...SYSTEM_LIBRARIES];
      },
    };
  }

  async #run(plan: BuildPlan): Promise<void> {
    await Deno.mkdir(this.#directory, { recursive: true });
    await withBuildLock(this.#directory, () => {}, async () => {
      if (await isUpToDate(plan.output, plan.key)) return;
      await runPlan(plan, {
        directory: ROOT,
        jobs: this.#jobs,
        force: false,
        progress: () => {},
        warnings: (line) => console.error(line),
      });
    });
  }
}

const STANDARD_HEADERS: readonly string[] = [
  "algorithm",
  "atomic",
  "chrono",
  "cstdio",
  "fstream",
  "functional",
  "random",
  "string",
  "thread",
  "vector",
];

const SYSTEM_LIBRARIES = Deno.build.os === "linux" ? ["-lpthread", "-ldl"] : [];

function linkFlags({ kind, form }: NativeProgram): readonly string[] {
  if (kind === "cuda") return ["-cudart=static"];
  // What a program exports is there for the plugin that it opens.
  if (form === "program") return ["-rdynamic"];
  return Deno.build.os === "darwin" ? ["-bundle", "-undefined", "dynamic_lookup"] : ["-shared"];
}
