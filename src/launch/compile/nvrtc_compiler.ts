/**
 * The compiler for CUDA: NVRTC, in this process.
 *
 * @module
 */

import { type EnvironmentReader, grantedEnvironment } from "../../ffi/granted_environment.ts";
import type { NativeLibrary } from "../../ffi/library.ts";
import {
  compileNvrtc,
  nvrtcArchitectures,
  type NvrtcOutput,
  type NvrtcResult,
} from "../../ffi/native_nvrtc.ts";
import { CompileError, warningText } from "./compile_error.ts";
import {
  type CompiledImage,
  type CompileInputs,
  type Compiler,
  type CompileRequest,
  ConcurrencyLimit,
} from "./compiler.ts";
import { type CompilerOptions, readOptions } from "./compiler_options.ts";
import {
  filesOnDisk,
  hidesIncludes,
  identityOf,
  type IncludedTexts,
  includedTexts,
} from "./includes.ts";
import {
  ptxasResources,
  readNvrtcDiagnostics,
  unopenedHeader,
  withoutReports,
} from "./nvrtc_diagnostics.ts";
import { chooseArchitecture, ISOLATING_OPTIONS, nvrtcOptions } from "./nvrtc_options.ts";
import {
  absentHeader,
  findNvrtc,
  holdsHeader,
  type NvrtcInstallation,
  searchToolkitHeaders,
  type ToolkitSearch,
} from "./nvrtc_search.ts";

/** As many compilations run at a time as there are processors. */
const limit = new ConcurrencyLimit(navigator.hardwareConcurrency);

/** Compiles kernels for CUDA. It needs no GPU. */
export class NvrtcCompiler implements Compiler {
  /** The name in messages: `NVRTC 13.0`. */
  readonly label: string;
  readonly #library: NativeLibrary;
  readonly #installation: NvrtcInstallation;
  readonly #toolkit: ToolkitSearch;
  readonly #environment: EnvironmentReader;
  #isolating: Promise<readonly string[]> | undefined;

  /**
   * Finds and opens NVRTC.
   *
   * @param library Any native library, also that of the host device.
   * @param environment The variables of the search.
   * @param root The root of the file system in which headers of a toolkit are searched for.
   * @throws {CompilerUnavailableError} If there is none; the message lists the places.
   */
  constructor(
    library: NativeLibrary,
    environment: EnvironmentReader = grantedEnvironment,
    root = "/",
  ) {
    this.#library = library;
    this.#environment = environment;
    this.#installation = findNvrtc(library, environment);
    this.label = `NVRTC ${this.#installation.version.join(".")}`;
    this.#toolkit = searchToolkitHeaders(this.#installation, environment, root);
  }

  /** Its version and files, and the headers that a request includes besides its own. */
  identity(request: CompileInputs): Promise<readonly string[]> {
    return Promise.try(() => {
      const places = {
        ...readOptions(request, this.label, "nvrtc"),
        toolkit: this.#toolkit.fitting,
      };
      // NVRTC itself adds the options in this variable.
      const appended = this.#environment("NVRTC_APPEND_FLAGS") ?? "";
      return [
        ...this.#installation.identity,
        appended,
        ...identityOf(filesOnDisk(request, places)),
      ];
    });
  }

  /**
   * Compiles to machine code for exactly the device's architecture, or to PTX where NVRTC is older
   * than the device.
   *
   * @throws {CompileError} If the source is wrong.
   * @throws {TypeError} If an option is not allowed, or NVRTC does not know it.
   * @throws {RangeError} If NVRTC is too new for the device.
   */
  async compile(request: CompileRequest, signal?: AbortSignal): Promise<CompiledImage> {
    const options = readOptions(request, this.label, "nvrtc");
    const architecture = options.architecture ??
      chooseArchitecture(request, nvrtcArchitectures(this.#library), this.label);
    const { result, texts } = await this.#run(request, options, architecture, signal);
    if (!("refused" in result)) return compiledImage(request, result, texts);
    if (result.refused === "option") {
      throw new TypeError(
        `Cannot compile ${request.name} with ${this.label} as it refuses an option: ` +
          result.log.trim(),
      );
    }
    const diagnostics = readNvrtcDiagnostics(result.log, {
      ...texts,
      expressions: request.expressions,
      searched: (header) => absentHeader(header, this.#toolkit, options.directories),
    });
    throw new CompileError(request.name, this.label, diagnostics, result.log);
  }

  /**
   * Compiles, and repeats that with every header of the toolkit that turns out to be included by a
   * macro, as in Thrust, until none is missing.
   */
  async #run(
    request: CompileRequest,
    options: CompilerOptions,
    architecture: string,
    signal: AbortSignal | undefined,
  ): Promise<{ result: NvrtcResult; texts: IncludedTexts }> {
    const { directories, first } = options;
    const { fitting } = this.#toolkit;
    const isolating = await (this.#isolating ??= this.#findIsolating());
    const computed: string[] = [];
    for (;;) {
      const texts = includedTexts(request, { directories, first, toolkit: fitting, computed });
      const program = {
        source: texts.source,
        name: request.name,
        options: nvrtcOptions(request, options, architecture, isolating),
        headers: texts.headers,
        expressions: request.expressions,
      };
      const result = await limit.run(() => compileNvrtc(this.#library, program, signal), signal);
      const missing = "refused" in result ? unopenedHeader(result.log) : undefined;
      const isNew = missing !== undefined && !texts.headers.has(missing) &&
        !computed.includes(missing) && holdsHeader(fitting, missing);
      if (!isNew) return { result, texts };
      computed.push(missing);
    }
  }

  /** The {@linkcode ISOLATING_OPTIONS} that this NVRTC knows. */
  async #findIsolating(): Promise<readonly string[]> {
    const known = await Promise.all(ISOLATING_OPTIONS.map(async (option) => {
      const empty = { source: "", name: "empty.cu", headers: new Map(), expressions: [] };
      const result = await compileNvrtc(this.#library, { ...empty, options: [option] });
      return "refused" in result ? [] : [option];
    }));
    return known.flat();
  }
}

function compiledImage(
  { expressions }: CompileRequest,
  { cubin, ptx, loweredNames, log }: NvrtcOutput,
  texts: IncludedTexts,
): CompiledImage {
  const own = [...texts.own].flatMap((name) => texts.originals.get(name) ?? []);
  return {
    ...(cubin === undefined
      ? { format: "ptx" as const, image: ptx }
      : { format: "cubin" as const, image: cubin }),
    loweredNames: new Map(expressions.map((name, index) => [name, loweredNames[index]!])),
    resources: ptxasResources(log),
    log: warningText(readNvrtcDiagnostics(withoutReports(log), texts)),
    // NVRTC gets all headers by their texts, but opens a file by its absolute path.
    ...(hidesIncludes(own) ? { untracked: ["an #include that a macro makes"] } : {}),
  };
}
