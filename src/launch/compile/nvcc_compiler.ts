/**
 * nvcc as a compiler, for machines with the toolkit but without NVRTC.
 *
 * @module
 */

import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { readDependencies } from "../../ffi/build/dependency_rule.ts";
import { runProgram } from "../../ffi/build/programs.ts";
import { type EnvironmentReader, grantedEnvironment } from "../../ffi/granted_environment.ts";
import { CompileError, type Diagnostic, diagnosticText } from "./compile_error.ts";
import type { CompiledImage, CompileInputs, Compiler, CompileRequest } from "./compiler.ts";
import { ConcurrencyLimit } from "./concurrency_limit.ts";
import { unseenFiles } from "./dependency_file.ts";
import { readDiagnostics } from "./diagnostics.ts";
import { withCompileDirectory } from "./host_directory.ts";
import { NAMES_FILE, readNames, withNames } from "./nvcc_names.ts";
import { findNvcc, type NvccProgram, requireRun } from "./nvcc_program.ts";
import { type DiagnosedTexts, readNvrtcDiagnostics } from "./nvrtc_diagnostics.ts";
import { includedIdentity, programPaths } from "./nvrtc_headers.ts";
import { chooseArchitecture, type ProgramOptions, readOptions } from "./nvrtc_options.ts";
import { ptxasResources, withoutReports } from "./ptxas_report.ts";

/** As many run at a time as there are processors. */
const limit = new ConcurrencyLimit(navigator.hardwareConcurrency);

/** The source, whose own name nvcc might take for an option or for a file of another kind. */
const SOURCE = "source.cu";

/** What nvcc includes before every source, and so lies where the headers of its toolkit are. */
const PRELUDE = "cuda_runtime.h";

/** What nvcc writes down of the files that it reads. */
const DEPENDENCIES = "dependencies";

/** Where the request's headers are, in the directory of a compilation. */
const HEADERS = "headers";

/** What nvcc is to make, or where to put it, is not the program's choice. */
const REFUSED: ReadonlySet<string> = new Set([
  ...["-o", "--output-file", "-odir", "--output-directory", "-c", "--compile", "-cubin", "--cubin"],
  ...["-ptx", "--ptx", "-fatbin", "--fatbin", "-E", "--preprocess", "-link", "--link", "-lib"],
  ...["--lib", "-run", "--run", "-gencode", "--generate-code", "-shared", "--shared", "-keep"],
  ...["--keep", "-keep-dir", "--keep-dir", "-M", "--generate-dependencies", "-MD", "-MF"],
]);

/** Compiles kernels for CUDA by starting nvcc. */
export class NvccCompiler implements Compiler {
  /** How messages name it: `nvcc 13.0.88`. */
  readonly label: string;
  readonly #program: NvccProgram;
  readonly #environment: EnvironmentReader;

  private constructor(program: NvccProgram, environment: EnvironmentReader) {
    this.label = `nvcc ${program.version}`;
    this.#program = program;
    this.#environment = environment;
  }

  /**
   * Finds nvcc.
   *
   * @param environment The variables that say where to look.
   * @throws {CompilerUnavailableError} If there is none, or it may not be started.
   */
  static async find(environment: EnvironmentReader = grantedEnvironment): Promise<NvccCompiler> {
    return new NvccCompiler(await findNvcc(environment), environment);
  }

  /** Its version, that of its C++ compiler, and the program's own headers. */
  async identity(request: CompileInputs): Promise<readonly string[]> {
    const { directories, first } = this.#options(request);
    const { texts } = await includedIdentity(request, { directories, first, toolkit: [] });
    return [...this.#program.identity, ...texts];
  }

  /**
   * Compiles as NVRTC does.
   *
   * @throws {CompileError} If the source is wrong; it says where and what.
   * @throws {TypeError} If an option is not allowed.
   * @throws {RangeError} If nvcc is too new for the device.
   * @throws {CompilerUnavailableError} If it may not be started, or nothing may be written.
   */
  async compile(request: CompileRequest): Promise<CompiledImage> {
    const options = this.#options(request);
    const architecture = options.architecture ??
      chooseArchitecture(request, this.#program.architectures, this.label);
    requireRun(this.#program.path);
    return await limit.run(() =>
      withCompileDirectory(
        this.#environment,
        (directory) => this.#compileIn(directory, request, options, architecture),
      )
    );
  }

  #options(request: CompileInputs): ProgramOptions {
    const refused = request.options.find((option) => REFUSED.has(option.split("=")[0]!));
    if (refused === undefined) return readOptions(request, this.label);
    throw new TypeError(
      `Cannot compile ${request.name} with ${this.label} as the option ${refused} is not allowed: ` +
        "what is made, and where it goes, is not for the program to say",
    );
  }

  async #compileIn(
    directory: string,
    request: CompileRequest,
    options: ProgramOptions,
    architecture: string,
  ): Promise<CompiledImage> {
    const { name, source, headers, expressions } = request;
    const text = `#line 1 "${name}"\n${withNames(source, expressions)}`;
    await Deno.writeTextFile(join(directory, SOURCE), text);
    await writeHeaders(join(directory, HEADERS), headers);
    const front = await this.#run(directory, request, [
      ...["--ptx", SOURCE, "--output-file", "named.ptx"],
      // PTX for exactly that architecture; the assembler makes machine code of it below.
      `--gpu-architecture=${architecture.replace("sm_", "compute_")}`,
      ...nvccOptions(request, options),
      // Those of the system need not be known: they are as old as the C++ compiler.
      ...["-MMD", "-MF", DEPENDENCIES],
    ]);
    const unseen = await this.#unseenFiles(directory, request, options);
    const kept = unseen.length === 0 ? {} : { unseen };
    const named = readNames(await Deno.readTextFile(join(directory, "named.ptx")), expressions);
    const { loweredNames } = named;
    if (!architecture.startsWith("sm_")) {
      const image = new TextEncoder().encode(named.ptx);
      return {
        format: "ptx",
        image,
        loweredNames,
        resources: new Map(),
        log: front.warnings,
        ...kept,
      };
    }
    await Deno.writeTextFile(join(directory, "kernels.ptx"), named.ptx);
    const back = await this.#run(directory, request, [
      ...["--cubin", "kernels.ptx", "--output-file", "kernels.cubin"],
      `--gpu-architecture=${architecture}`,
      "--ptxas-options=-v",
      ...options.others.filter((option) => /^(?:--ptxas-options|--maxrregcount|-G$)/.test(option)),
    ]);
    return {
      format: "cubin",
      image: await Deno.readFile(join(directory, "kernels.cubin")),
      loweredNames,
      resources: ptxasResources(back.log),
      log: [front.warnings, back.warnings].filter((text) => text !== "").join("\n"),
      ...kept,
    };
  }

  /** Files that were included and that the identity says nothing of. */
  async #unseenFiles(
    directory: string,
    request: CompileRequest,
    { directories, first }: ProgramOptions,
  ): Promise<string[]> {
    const read = readDependencies(await Deno.readTextFile(join(directory, DEPENDENCIES)));
    const paths = await programPaths(request, { directories, first, toolkit: [] });
    return unseenFiles(read, {
      directory,
      files: new Set(paths),
      searched: directories,
      trusted: read.filter((path) => basename(path) === PRELUDE).slice(0, 1).map(dirname)
        .map((path) => resolve(directory, path)),
    });
  }

  async #run(
    directory: string,
    request: CompileRequest,
    args: readonly string[],
  ): Promise<{ log: string; warnings: string }> {
    const { success, stdout, stderr } = await runProgram([this.#program.path], args, directory);
    const log = (stderr + stdout).replaceAll(`${HEADERS}/`, "");
    const diagnostics = nvccDiagnostics(withoutReports(log), request);
    if (!success) throw new CompileError(request.name, this.label, diagnostics, log);
    const warnings = diagnostics.filter(({ severity }) => severity === "warning")
      .map((warning) => diagnosticText(warning)).join("\n");
    return { log, warnings };
  }
}

function nvccOptions(
  { defines }: CompileRequest,
  { directories, first, others }: ProgramOptions,
): string[] {
  const has = (pattern: RegExp) => others.some((option) => pattern.test(option));
  return [
    ...(has(/^--std=/) ? [] : ["--std=c++17"]),
    ...(has(/^(?:-G|--device-debug)$/) ? [] : ["--generate-line-info"]),
    // As with NVRTC, where what is constexpr is the device's too.
    "--expt-relaxed-constexpr",
    `--include-path=${HEADERS}`,
    ...directories.map((directory) => `--include-path=${directory}`),
    ...first.map((header) => `--pre-include=${header}`),
    ...[...defines].map(([name, value]) => `--define-macro=${name}=${value}`),
    ...others,
  ];
}

/** Headers are written below a directory, and nowhere else. */
async function writeHeaders(
  directory: string,
  headers: ReadonlyMap<string, string>,
): Promise<void> {
  await Deno.mkdir(directory);
  for (const [name, text] of headers) {
    const path = join(directory, name);
    if (isAbsolute(name) || !path.startsWith(`${directory}/`)) {
      throw new RangeError(
        "Cannot compile a source as the names of headers must be relative paths that do not lead " +
          `out: one is ${JSON.stringify(name)}`,
      );
    }
    await Deno.mkdir(dirname(path), { recursive: true });
    await Deno.writeTextFile(path, text);
  }
}

/** nvcc starts a C++ preprocessor, its own front end, and the assembler; each has its own form. */
function nvccDiagnostics(log: string, request: CompileRequest): Diagnostic[] {
  const originals = new Map([[request.name, request.source], ...request.headers]);
  const texts: DiagnosedTexts = { originals, own: new Set([...originals.keys(), NAMES_FILE]) };
  const ofPreprocessor = readDiagnostics(log, (name) => ({
    name,
    isProgram: originals.has(name),
    textOf: (line) => originals.get(name)?.split(/\r?\n/)[line - 1],
  }));
  const diagnostics = [...ofPreprocessor, ...readNvrtcDiagnostics(log, texts)];
  const isSourceWrong = diagnostics.some(({ severity, file }) =>
    severity === "error" && file !== NAMES_FILE
  );
  return diagnostics.flatMap((diagnostic) => {
    const { severity, message, file, line } = diagnostic;
    if (file !== NAMES_FILE) return [diagnostic];
    // What is wrong with the names then follows from what is wrong with the source.
    if (isSourceWrong || severity !== "error") return [];
    const expression = request.expressions[(line ?? 1) - 1];
    return [{ severity, message: `in the expression ${expression}: ${message}` }];
  });
}
