/**
 * The compiler of the host device: the machine's own for C++.
 *
 * @module
 */

import { basename, dirname, join } from "node:path";
import type { BuildRecord } from "../../ffi/build_record.ts";
import { kernelFlags, kernelLinkFlags } from "../../ffi/build/host_toolchain.ts";
import { digest } from "../../ffi/build/source_tree.ts";
import { type EnvironmentReader, grantedEnvironment } from "../../ffi/granted_environment.ts";
import { rememberedIdentity } from "../cache/compiler_identity.ts";
import { readSource, type SourceContext } from "../source/source_context.ts";
import { CompileError, diagnosticText } from "./compile_error.ts";
import type { CompiledImage, Compiler, CompileRequest } from "./compiler.ts";
import { CompilerUnavailableError } from "./compiler_unavailable_error.ts";
import { ConcurrencyLimit } from "./concurrency_limit.ts";
import { type CompiledFiles, readHostDiagnostics } from "./host_diagnostics.ts";
import { withCompileDirectory } from "./host_directory.ts";
import { type HostHeaders, openHostHeaders } from "./host_headers.ts";
import {
  findHostProgram,
  type HostProgram,
  type HostProgramVersion,
  programFiles,
  requirePermission,
  versionOf,
} from "./host_program.ts";
import { includedFiles, namedFiles } from "./host_options.ts";
import { sealedImage } from "./image_seal.ts";
import { loweredName, wrapperText } from "./host_wrapper.ts";
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

/** Directories that the environment adds: the cache does not know what is in them. */
const NO_SEARCH_PATHS = { CPATH: "", C_INCLUDE_PATH: "", CPLUS_INCLUDE_PATH: "" } as const;

/** As many compilers run at a time as there are processors. */
const limit = new ConcurrencyLimit(navigator.hardwareConcurrency);

/** Compiles kernels to shared libraries for the host device. */
export class HostCompiler implements Compiler {
  readonly #library: HostLibrary;
  readonly #environment: EnvironmentReader;
  readonly #program: HostProgram;
  #label: string;
  #identity: Promise<readonly string[]> | undefined;

  /**
   * Finds the compiler; starts nothing.
   *
   * @throws {CompilerUnavailableError} If there is none.
   */
  constructor(library: HostLibrary, environment: EnvironmentReader = grantedEnvironment) {
    this.#library = library;
    this.#environment = environment;
    this.#program = findHostProgram(library.build.compiler, environment);
    this.#label = basename(this.#program.command.at(-1)!);
  }

  /** How messages name it; with its version once it has been started. */
  get label(): string {
    return this.#label;
  }

  /**
   * Its version and machine, its flags, the host library's build, the headers of the language, and
   * the files that a request includes from where its options say. A process is only started where
   * what the compiler is is not remembered from an earlier one.
   */
  async identity(request: CompileRequest): Promise<readonly string[]> {
    const files = await includedFiles(request);
    this.#identity ??= this.#findIdentity();
    try {
      return [...await this.#identity, ...files];
    } catch (error) {
      this.#identity = undefined;
      throw error;
    }
  }

  async #findIdentity(): Promise<readonly string[]> {
    const headers = await openHostHeaders();
    const { build: { architectures, sourceHash } } = this.#library;
    const { command } = this.#program;
    const basis = {
      subject: "the C++ compiler of the host device",
      files: [...programFiles(this.#program, this.#environment), ...headers.files],
      settings: [...command, architectures, sourceHash],
    };
    return await rememberedIdentity(basis, async () => {
      const version = await versionOf(this.#program);
      return [
        version.version,
        version.machine,
        ...command,
        ...this.#flags(version),
        sourceHash,
        await digestOf(headers),
      ];
    });
  }

  /** {@inheritDoc Compiler.compile} */
  async compile(request: CompileRequest): Promise<CompiledImage> {
    requireHeaderNames(request.headers.keys());
    namedFiles(request);
    return await limit.run(async () => {
      const headers = await openHostHeaders();
      const version = await versionOf(this.#program);
      this.#label = version.label;
      return await withCompileDirectory(this.#environment, async (directory) => {
        const files = {
          directory,
          headers: join(directory, "headers"),
          language: headers.directory,
        };
        return await this.#compileIn(files, version, request);
      });
    });
  }

  #flags({ family }: HostProgramVersion): string[] {
    const { architectures } = this.#library.build;
    return [...kernelFlags(family, architectures), ...DIAGNOSTIC_FLAGS[family]];
  }

  async #compileIn(
    files: CompiledFiles,
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
    const log = await this.#run(files, version, request, context, [
      ...this.#flags(version),
      `-I${files.headers}`,
      ...[...request.defines].map(([name, value]) => `-D${name}=${value}`),
      ...request.options,
      `-I${files.language}`,
      source,
      ...kernelLinkFlags(this.#library.path),
      ...["-o", image],
    ]);
    return {
      format: "library",
      image: sealedImage(await Deno.readFile(image)),
      loweredNames: new Map(request.expressions.map((text) => [text, loweredName(text)])),
      resources: new Map(),
      log,
    };
  }

  /** Runs the compiler. Returns its warnings. */
  async #run(
    files: CompiledFiles,
    { label }: HostProgramVersion,
    request: CompileRequest,
    context: SourceContext,
    args: readonly string[],
  ): Promise<string> {
    const [program, ...first] = this.#program.command;
    requirePermission(program);
    const { success, signal, stdout, stderr } = await new Deno.Command(program, {
      args: [...first, ...args],
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
      // Messages in one language; what the compiler keeps between its steps goes with the rest.
      env: { LC_ALL: "C", TMPDIR: files.directory, ...NO_SEARCH_PATHS },
    }).output();
    const decoder = new TextDecoder();
    const output = decoder.decode(stderr) + decoder.decode(stdout);
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
}

async function digestOf({ directory, files }: HostHeaders): Promise<string> {
  const contents = await Promise.all(
    files.map(async (file) => [file.slice(directory.length), await Deno.readFile(file)] as const),
  );
  return digest(...contents.flat());
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
