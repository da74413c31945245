/**
 * The compiler of the host device: the machine's own for C++.
 *
 * @module
 */

import { dirname, join } from "node:path";
import type { BuildRecord } from "../../ffi/build_record.ts";
import { ambientSettings } from "../../ffi/build/compiler_environment.ts";
import type { CompilerFamily } from "../../ffi/build/compilers.ts";
import { kernelFlags, kernelLinkFlags } from "../../ffi/build/host_toolchain.ts";
import { preludeDirectory } from "../../ffi/build/prelude_record.ts";
import { type EnvironmentReader, environmentReader } from "../../ffi/granted_environment.ts";
import { PACKAGE_ROOT } from "../../ffi/locate.ts";
import { VERSION } from "../../ffi/version.ts";
import { keepsKernels } from "../cache/cache_stores.ts";
import { type IdentityFiles, rememberedIdentity } from "../cache/compiler_identity.ts";
import { type DigestPart, partDigest } from "../cache/digest.ts";
import { lastCompiler, noteLastCompiler } from "../cache/last_compiler.ts";
import { readSource, type SourceContext } from "../source/source_context.ts";
import { CompileError, diagnosticText } from "./compile_error.ts";
import type { CompiledImage, CompileInputs, Compiler, CompileRequest } from "./compiler.ts";
import { CompilerUnavailableError } from "./compiler_unavailable_error.ts";
import { ConcurrencyLimit } from "./concurrency_limit.ts";
import { type CompiledFiles, readHostDiagnostics } from "./host_diagnostics.ts";
import { withCompileDirectory } from "./host_directory.ts";
import { type HostHeaders, openHostHeaders } from "./host_headers.ts";
import { findPrelude, type HostPrelude } from "./host_prelude.ts";
import { type HostRun, runHostProgram } from "./host_process.ts";
import {
  findHostProgram,
  type HostProgram,
  type HostProgramVersion,
  programFiles,
  programVariables,
  searchedPlaces,
  searchSettings,
  versionOf,
} from "./host_program.ts";
import { includedFiles, namedFiles } from "./host_options.ts";
import { dependencyFlags, unseenByHost } from "./host_dependencies.ts";
import { loweredName, wrapperText } from "./host_wrapper.ts";
import { mayRead } from "./readable_files.ts";
import { targetMacros } from "./target_macros.ts";

/** The host library as far as kernels depend on it. */
export interface HostLibrary {
  /** Its file, which kernels are linked with. */
  readonly path: string;
  /** How it was built. */
  readonly build: BuildRecord;
}

/** Most errors that are asked for: a message shows five. */
const MOST_ERRORS = 50;

/** How each family prints what `diagnostics.ts` reads: one line each, columns in bytes. */
const DIAGNOSTIC_FLAGS: Readonly<Record<HostProgramVersion["family"], readonly string[]>> = {
  gcc: [
    "-fno-diagnostics-show-caret",
    "-fdiagnostics-column-unit=byte",
    "-fdiagnostics-color=never",
    "-fmessage-length=0",
    `-fmax-errors=${MOST_ERRORS}`,
  ],
  clang: [
    "-fno-caret-diagnostics",
    "-fno-color-diagnostics",
    "-fmessage-length=0",
    `-ferror-limit=${MOST_ERRORS}`,
    // Flags for the linker are given to the compiler too, which is one process.
    "-Wno-unused-command-line-argument",
  ],
};

/** As many compilers run at a time as there are processors. */
const limit = new ConcurrencyLimit(navigator.hardwareConcurrency);

/** Compiles kernels to shared libraries for the host device. */
export class HostCompiler implements Compiler {
  readonly #library: HostLibrary;
  readonly #readerNow: () => EnvironmentReader;
  #label = "the C++ compiler of the host device";

  /** The compiler that fits a library, which is looked for when it is needed. */
  constructor(library: HostLibrary, environment?: EnvironmentReader) {
    this.#library = library;
    this.#readerNow = environment === undefined ? environmentReader : () => environment;
  }

  get #environment(): EnvironmentReader {
    return this.#readerNow();
  }

  /** How messages name it; with its version once it has been started. */
  get label(): string {
    return this.#label;
  }

  /**
   * Its version and machine, its flags, the host library's build, the headers of the language, and
   * the files that a request includes from where its options say. A process is only started where
   * what the compiler is is not remembered from an earlier one. Where there is no compiler, the one
   * that was used last counts: what it made is still there, and can be used.
   *
   * @throws {CompilerUnavailableError} If there is none, and never was.
   */
  async identity(inputs: CompileInputs): Promise<readonly string[]> {
    const files = await includedFiles(inputs);
    return [...await this.#findIdentity(), ...files];
  }

  async #findIdentity(): Promise<readonly string[]> {
    const { build } = this.#library;
    const environment = this.#environment;
    let absence: unknown;
    const basis = {
      subject: "the C++ compiler of the host device",
      settings: [
        ...[PACKAGE_ROOT.href, VERSION, build.architectures, build.sourceHash],
        ...searchSettings(build.compiler, environment),
        ...ambientSettings(environment),
      ],
      files: () =>
        this.#identityFiles().catch((error) => {
          absence = error;
          throw error;
        }),
    };
    try {
      return await rememberedIdentity(basis, () => this.#askIdentity());
    } catch (error) {
      if (error !== absence) throw error;
      return await this.#lastIdentity() ?? Promise.reject(error);
    }
  }

  /**
   * What the compiler's identity is found from.
   *
   * @throws {CompilerUnavailableError} If there is none.
   */
  async #identityFiles(): Promise<IdentityFiles> {
    const headers = await openHostHeaders();
    requireReadable(headers);
    const program = this.#findProgram();
    const places = searchedPlaces(program, this.#library.build.compiler, this.#environment);
    return {
      files: [...programFiles(program, this.#environment), ...headers.files],
      // A header that is new may hide another of its name.
      places: [...places, ...new Set(headers.files.map((file) => dirname(file)))],
    };
  }

  /** The state of the headers, first of all, and what else the machine code depends on. */
  async #askIdentity(): Promise<readonly string[]> {
    const program = this.#findProgram();
    const { family, version, machine } = await versionOf(program, this.#environment);
    return [
      await digestOf(await openHostHeaders()),
      version,
      machine,
      ...program.command,
      ...this.#flags(family),
      this.#library.build.sourceHash,
      ...ambientSettings(this.#environment),
    ];
  }

  /** That of the compiler that was used last, with the headers as they are now. */
  async #lastIdentity(): Promise<readonly string[] | undefined> {
    const last = lastCompiler(this.#lastSettings());
    const headers = await openHostHeaders();
    if (last === undefined || !mayRead(headers.directory)) return last;
    const basis = { subject: "headers of the host device", settings: [], files: headers.files };
    const digest = await rememberedIdentity(basis, async () => [await digestOf(headers)]);
    return [...digest, ...last.slice(1)];
  }

  #findProgram(): HostProgram {
    return findHostProgram(this.#library.build.compiler, this.#environment);
  }

  /** What decides which compiler is used, as far as that outlasts the compiler. */
  #lastSettings(): string[] {
    const { architectures, sourceHash } = this.#library.build;
    return [architectures, sourceHash, ...programVariables(this.#environment)];
  }

  /** {@inheritDoc Compiler.compile} */
  async compile(request: CompileRequest): Promise<CompiledImage> {
    requireHeaderNames(request.headers.keys());
    namedFiles(request);
    const program = this.#findProgram();
    return await limit.run(async () => {
      const headers = await openHostHeaders();
      const version = await versionOf(program, this.#environment);
      this.#label = version.label;
      const image = await withCompileDirectory(this.#environment, async (directory) => {
        const files = {
          directory,
          headers: join(directory, "headers"),
          language: headers.directory,
          prelude: preludeDirectory(this.#library.path),
        };
        return await this.#compileIn(files, program, version, request);
      });
      if (keepsKernels()) await noteLastCompiler(this.#lastSettings(), await this.#findIdentity());
      return image;
    });
  }

  #flags(family: CompilerFamily): string[] {
    const { architectures } = this.#library.build;
    return [...kernelFlags(family, architectures), ...DIAGNOSTIC_FLAGS[family]];
  }

  async #compileIn(
    files: CompiledFiles,
    program: HostProgram,
    version: HostProgramVersion,
    request: CompileRequest,
  ): Promise<CompiledImage> {
    const context = readSource(request.source, {
      ...targetMacros(request.target, request.defines),
      headers: request.headers,
    });
    const source = join(files.directory, "source.cpp");
    const image = join(files.directory, "kernels");
    await Deno.writeTextFile(source, wrapperText(request, context));
    await writeHeaders(files.headers, request.headers);
    const prelude = await this.#findPrelude(files, program, version, request);
    const compiling = this.#run(files, [program, version], request, context, prelude, (first) => [
      ...this.#flags(version.family),
      ...first,
      `-I${files.headers}`,
      ...[...request.defines].map(([name, value]) => `-D${name}=${value}`),
      ...request.options,
      `-I${files.language}`,
      source,
      ...kernelLinkFlags(this.#library.path),
      ...["-o", image],
      ...dependencyFlags(files, request),
    ]);
    // Beside the compiler: loading what makes the seal takes as long as all of a hit in the cache.
    const [log, { sealedImage }] = await Promise.all([compiling, import("./image_seal.ts")]);
    const unseen = await unseenByHost(files, request);
    return {
      format: "library",
      image: sealedImage(await Deno.readFile(image)),
      loweredNames: new Map(request.expressions.map((text) => [text, loweredName(text)])),
      resources: new Map(),
      log,
      ...(unseen.length === 0 ? {} : { unseen }),
    };
  }

  #findPrelude(
    { language }: CompiledFiles,
    { command }: HostProgram,
    { family, version, machine }: HostProgramVersion,
    request: CompileRequest,
  ): Promise<HostPrelude | undefined> {
    const { path, build } = this.#library;
    const flags = kernelFlags(family, build.architectures);
    const ambient = ambientSettings(this.#environment);
    const basis = { command, family, version, machine, flags, language, ambient };
    return findPrelude(path, basis, request);
  }

  /**
   * Runs the compiler. Returns its warnings.
   *
   * With a precompiled header it counts only what is made without a word, and while nobody made
   * another one. Whatever the compiler has to say it says once more without one: so no message, no
   * line of it and no way to fail is another.
   */
  async #run(
    files: CompiledFiles,
    [program, { label }]: readonly [HostProgram, HostProgramVersion],
    request: CompileRequest,
    context: SourceContext,
    prelude: HostPrelude | undefined,
    args: (first: readonly string[]) => readonly string[],
  ): Promise<string> {
    const attempt = prelude === undefined
      ? undefined
      : await runHostProgram(program, args(prelude.arguments), files.directory);
    const isSame = await prelude?.stillHolds();
    if (attempt?.success && attempt.output === "" && isSame) return "";
    const run = await runHostProgram(program, args([]), files.directory);
    if (attempt?.success === false && run.success && isSame) prelude?.refuse();
    return readRun(run, files, label, request, context);
  }
}

/** The warnings of a compilation; what it failed for is thrown. */
function readRun(
  { success, signal, output }: HostRun,
  files: CompiledFiles,
  label: string,
  request: CompileRequest,
  context: SourceContext,
): string {
  const log = output.replaceAll(`${files.directory}/`, "");
  if (signal !== null) {
    throw new CompilerUnavailableError(
      `Cannot compile ${request.name} as ${label} was ended by ${signal}` +
        (signal === "SIGKILL" ? ", which is what the system does when memory runs out" : ""),
    );
  }
  const diagnostics = readHostDiagnostics(output, request, context, files);
  if (!success) throw new CompileError(request.name, label, diagnostics, log);
  return diagnostics.filter(({ severity }) => severity === "warning")
    .map((warning) => diagnosticText(warning)).join("\n");
}

/** Headers that the compiler could read, but this process could not say what they are. */
function requireReadable({ directory }: HostHeaders): void {
  if (mayRead(directory)) return;
  throw new CompilerUnavailableError(
    `Cannot compile kernels for the host device as reading ${directory} is not permitted: run ` +
      `again with --allow-read=${directory}`,
  );
}

async function digestOf({ directory, files }: HostHeaders): Promise<string> {
  const parts = await Promise.all(files.map(async (file): Promise<DigestPart[]> => [
    { label: "name", payload: file.slice(directory.length) },
    { label: "content", payload: await Deno.readFile(file) },
  ]));
  return await partDigest(parts.flat());
}

/** Headers are written below a directory, and nowhere else. */
function requireHeaderNames(names: Iterable<string>): void {
  for (const name of names) {
    const parts = name.split("/");
    const isRelative = name !== "" && !parts.some((part) => part === "" || /^\.\.?$/.test(part));
    // deno-lint-ignore no-control-regex -- these are the characters in question
    if (isRelative && !/[\\\x00-\x1f]/.test(name)) continue;
    throw new RangeError(
      "Cannot compile a source as the names of headers must be relative paths without . and ..: " +
        `one is ${JSON.stringify(name)}`,
    );
  }
}

async function writeHeaders(
  directory: string,
  headers: ReadonlyMap<string, string>,
): Promise<void> {
  await Deno.mkdir(directory);
  for (const [name, text] of headers) {
    const path = join(directory, name);
    await Deno.mkdir(dirname(path), { recursive: true });
    await Deno.writeTextFile(path, text);
  }
}
