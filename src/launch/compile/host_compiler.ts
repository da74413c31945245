/**
 * The compiler of the host device: the machine's C++ compiler.
 *
 * @module
 */

import { dirname, join } from "node:path";
import type { CompilerFamily } from "../../ffi/build/compilers.ts";
import { kernelFlags, kernelLinkFlags } from "../../ffi/build/toolchains.ts";
import { ambientSettings, preludeArguments, preludeDirectory } from "../../ffi/build/prelude.ts";
import type { NativeLibrary } from "../../ffi/library.ts";
import { type EnvironmentReader, environmentReader } from "../../ffi/granted_environment.ts";
import { noteCompiler, notedCompiler } from "../cache/kernel_cache.ts";
import { rewriteDynamicShared } from "../source/dynamic_shared.ts";
import { rewriteInlinePtx } from "../source/inline_ptx.ts";
import { shortenReductions } from "../source/reduction_loops.ts";
import { readSource, type SourceContext } from "../source/source_context.ts";
import { CompileError, CompilerUnavailableError, warningText } from "./compile_error.ts";
import {
  type CompiledImage,
  type CompileInputs,
  type Compiler,
  type CompileRequest,
  ConcurrencyLimit,
  targetMacros,
} from "./compiler.ts";
import { type CompiledFiles, readHostDiagnostics } from "./host_diagnostics.ts";
import { runHostProgram, withCompileDirectory } from "./host_directory.ts";
import { loweredName, sealedImage, wrapperText } from "./host_image.ts";
import { dependencyFlags, hostOptions, includedFiles, untrackedFiles } from "./host_options.ts";
import { statOf } from "./files.ts";
import { identityOf } from "./includes.ts";
import { explainMissingFeatures } from "./missing_features.ts";
import {
  findHostProgram,
  type HostHeaders,
  type HostProgram,
  type HostProgramVersion,
  openHostHeaders,
  programVariables,
  versionOf,
} from "./host_program.ts";

/** The maximum number of errors in the output: a message shows five. */
const MAX_ERRORS = 50;

/** The flags for output that `host_diagnostics.ts` reads: one line each, columns in bytes. */
const DIAGNOSTIC_FLAGS: Readonly<Record<CompilerFamily, string>> = {
  gcc: "-fno-diagnostics-show-caret -fdiagnostics-column-unit=byte -fdiagnostics-color=never " +
    `-fmessage-length=0 -fmax-errors=${MAX_ERRORS}`,
  // One process gets the flags of compiler and linker.
  clang: "-fno-caret-diagnostics -fno-color-diagnostics -fmessage-length=0 " +
    `-ferror-limit=${MAX_ERRORS} -Wno-unused-command-line-argument`,
};

/** As many compilers run at a time as there are processors. */
const limit = new ConcurrencyLimit(navigator.hardwareConcurrency);

/** The compiler and headers of one moment. */
interface Toolchain {
  readonly program: HostProgram;
  readonly version: HostProgramVersion;
  readonly headers: HostHeaders;
  readonly flags: readonly string[];
  /** The identity of the compiler, without the headers. */
  readonly identity: readonly string[];
}

/** Compiles kernels to shared libraries for the host device. */
export class HostCompiler implements Compiler {
  readonly #library: NativeLibrary;
  readonly #readerNow: () => EnvironmentReader;
  #label = "the C++ compiler of the host device";

  /** Creates a compiler for a library; the program is searched for on each use. */
  constructor(library: NativeLibrary, environment?: EnvironmentReader) {
    this.#library = library;
    this.#readerNow = environment === undefined ? environmentReader : () => environment;
  }

  /** The name in messages, with the version once the compiler has been started. */
  get label(): string {
    return this.#label;
  }

  /**
   * The compiler's files, version and flags, the host library's build, the language's headers, and
   * the files that a request includes from directories in its options.
   *
   * Where there is no compiler, or it may not be started, the last one that filled the cache counts:
   * its images need no compiler.
   *
   * @throws {CompilerUnavailableError} If there is none, and none has filled the cache.
   */
  async identity(inputs: CompileInputs): Promise<readonly string[]> {
    const files = identityOf(includedFiles(inputs));
    try {
      const { headers, identity } = await this.#findToolchain();
      return [headers.digest, ...identity, ...files];
    } catch (error) {
      const isAbsent = error instanceof CompilerUnavailableError;
      const last = isAbsent ? await notedCompiler(this.#selection()) : undefined;
      if (last === undefined) throw error;
      return [(await openHostHeaders()).digest, ...last, ...files];
    }
  }

  /** The settings that select a compiler, as far as they outlast the compiler. */
  #selection(): string[] {
    const { architectures, sourceHash } = this.#library.build;
    return [architectures, sourceHash, ...programVariables(this.#readerNow())];
  }

  async #findToolchain(): Promise<Toolchain> {
    const environment = this.#readerNow();
    const { compiler, architectures } = this.#library.build;
    const program = findHostProgram(compiler, environment);
    const version = await versionOf(program, environment);
    this.#label = version.label;
    const headers = await openHostHeaders();
    const { family } = version;
    const diagnosticFlags = DIAGNOSTIC_FLAGS[family].split(" ");
    const flags = [...kernelFlags(family, architectures), ...diagnosticFlags];
    const identity = [
      version.version,
      ...version.states,
      ...program.command,
      ...flags,
      this.#library.build.sourceHash,
      ...ambientSettings(environment),
    ];
    return { program, version, headers, flags, identity };
  }

  /** {@inheritDoc Compiler.compile} */
  async compile(request: CompileRequest, signal?: AbortSignal): Promise<CompiledImage> {
    hostOptions(request);
    const toolchain = await this.#findToolchain();
    const compileIn = (directory: string) => this.#compileIn(directory, toolchain, request, signal);
    const inDirectory = () => withCompileDirectory(this.#readerNow(), compileIn);
    const image = await limit.run(inDirectory, signal);
    await noteCompiler(this.#selection(), toolchain.identity);
    return image;
  }

  async #compileIn(
    directory: string,
    toolchain: Toolchain,
    request: CompileRequest,
    signal: AbortSignal | undefined,
  ): Promise<CompiledImage> {
    const { path } = this.#library;
    const { version, headers, flags } = toolchain;
    // Names of headers may begin with ../, and stay inside.
    const outwards = [...request.headers.keys()].map((name) => name.split("../").length - 1);
    const { directories, flags: options } = hostOptions(request);
    const files: CompiledFiles = {
      directory,
      headers: join(directory, "headers", ...Array(Math.max(0, ...outwards)).fill("in")),
      language: headers.directory,
      prelude: preludeDirectory(path, options),
    };
    const context = readSource(request.source, {
      ...targetMacros(request.target, request.defines),
      headers: request.headers,
    });
    const source = join(directory, "source.cpp");
    const image = join(directory, "kernels");
    await Deno.mkdir(files.headers, { recursive: true });
    const texts = [
      ...libraryHeaders(context, directories),
      ...request.headers,
      ...rewriteDynamicShared(context),
    ];
    for (const [name, written] of texts) {
      const text = shortenReductions(rewriteInlinePtx(written));
      const place = name === "" ? source : join(files.headers, name);
      await Deno.mkdir(dirname(place), { recursive: true });
      await Deno.writeTextFile(place, name === "" ? wrapperText(request, text) : text);
    }
    const start = (prelude: readonly string[]) => {
      const args = [
        ...flags,
        ...prelude,
        // Faults name files as the program does, and the language's headers like the system's.
        `-fdebug-prefix-map=${directory}=.`,
        `-fdebug-prefix-map=${files.headers}/=`,
        `-fdebug-prefix-map=${files.language}=/usr/include`,
        `-I${files.headers}`,
        // Before a toolkit's own headers.
        `-I${files.language}`,
        ...[...request.defines].map(([name, value]) => `-D${name}=${value}`),
        ...options,
        source,
        ...kernelLinkFlags(path),
        ...["-o", image],
        ...dependencyFlags(files, request),
      ];
      return runHostProgram(this.#library, toolchain.program, args, directory, signal);
    };
    const prelude = this.#preludeFor(toolchain, request, options);
    let run = await start(prelude);
    // Messages are then the same in every case.
    if (prelude.length > 0 && !(run.success && run.output === "")) run = await start([]);
    if (run.signal !== null) {
      throw new CompilerUnavailableError(
        `Cannot compile ${request.name} as ${version.label} was ended by ${run.signal}` +
          (run.signal === "SIGKILL" ? ", as the system does when memory runs out" : ""),
      );
    }
    const diagnostics = explainMissingFeatures(
      readHostDiagnostics(run.output, request, context, files),
    );
    if (!run.success) {
      const log = run.output.replaceAll(`${directory}/`, "");
      throw new CompileError(request.name, version.label, diagnostics, log);
    }
    const untracked = untrackedFiles(files, request);
    return {
      format: "library",
      image: await sealedImage(await Deno.readFile(image)),
      loweredNames: new Map(request.expressions.map((text) => [text, loweredName(text)])),
      resources: new Map(),
      log: warningText(diagnostics),
      ...(untracked.length === 0 ? {} : { untracked }),
    };
  }

  /** The arguments for the precompiled header, where that cannot change the result. */
  #preludeFor(
    { program, version: { version, family }, headers }: Toolchain,
    { headers: own, defines }: CompileRequest,
    options: readonly string[],
  ): readonly string[] {
    const { path, build } = this.#library;
    // A header of the request may hide one of the system. g++ notices macros that the precompiled
    // header depends on; clang++ does not.
    if (own.size > 0 || (family !== "gcc" && defines.size > 0)) return [];
    return preludeArguments(preludeDirectory(path, options), path, {
      command: program.command,
      family,
      version,
      flags: [...kernelFlags(family, build.architectures), ...options],
      ambient: ambientSettings(this.#readerNow()),
      language: headers.directory,
      digest: headers.digest,
    });
  }
}

/** The headers of libcu++ that texts include, each between macros under which it compiles here. */
function libraryHeaders(
  source: SourceContext,
  directories: readonly string[],
): [name: string, text: string][] {
  const names = [...source.headers, source].flatMap(({ includes }) =>
    includes.map(({ header }) => header)
  ).filter((name) => /^(?:cuda|nv)\//.test(name));
  const isThere = (name: string) =>
    directories.some((directory) => statOf(join(directory, name))?.isFile);
  return [...new Set(names)].filter(isThere).map((name) => [
    name,
    `#include <gridstride/libcudacxx/begin.h>\n#include_next <${name}>\n` +
    "#include <gridstride/libcudacxx/end.h>\n",
  ]);
}
