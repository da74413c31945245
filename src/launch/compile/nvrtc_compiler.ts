/**
 * NVRTC as a compiler.
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
import { rememberedIdentity } from "../cache/compiler_identity.ts";
import { partDigest } from "../cache/digest.ts";
import { absentHeader, isInToolkit } from "./absent_header.ts";
import { CompileError, diagnosticText } from "./compile_error.ts";
import type { CompiledImage, CompileInputs, Compiler, CompileRequest } from "./compiler.ts";
import { CompilerUnavailableError } from "./compiler_unavailable_error.ts";
import { ConcurrencyLimit } from "./concurrency_limit.ts";
import { unseenByNvrtc } from "./nvrtc_dependencies.ts";
import { type DiagnosedTexts, readNvrtcDiagnostics, unopenedHeader } from "./nvrtc_diagnostics.ts";
import {
  type HeaderPlaces,
  includedIdentity,
  type IncludedTexts,
  includedTexts,
  toolkitClosure,
} from "./nvrtc_headers.ts";
import {
  findNvrtc,
  type NvrtcInstallation,
  openCandidate,
  UnusableNvrtc,
} from "./nvrtc_installation.ts";
import {
  chooseArchitecture,
  nvrtcOptions,
  type ProgramOptions,
  readOptions,
} from "./nvrtc_options.ts";
import { ptxasResources, withoutReports } from "./ptxas_report.ts";
import { searchToolkitHeaders, toolkitDirectories, type ToolkitSearch } from "./toolkit_headers.ts";

/** As many compilations run at a time as there are processors. */
const limit = new ConcurrencyLimit(navigator.hardwareConcurrency);

/**
 * Compiles kernels for CUDA in this process, with NVIDIA's library for that. It needs no GPU.
 */
export class NvrtcCompiler implements Compiler {
  /** How messages name it: `NVRTC 13.0`. */
  readonly label: string;
  readonly #library: NativeLibrary;
  readonly #installation: NvrtcInstallation;
  readonly #toolkit: ToolkitSearch;

  private constructor(
    library: NativeLibrary,
    installation: NvrtcInstallation,
    toolkit: ToolkitSearch,
  ) {
    this.label = `NVRTC ${installation.version.join(".")}`;
    this.#library = library;
    this.#installation = installation;
    this.#toolkit = toolkit;
  }

  /**
   * Finds NVRTC.
   *
   * @param library Any native library, also that of the host device: it opens NVRTC.
   * @param environment The variables that say where to look.
   * @throws {CompilerUnavailableError} If there is none; the message lists where it was looked for.
   */
  static async find(
    library: NativeLibrary,
    environment: EnvironmentReader = grantedEnvironment,
  ): Promise<NvrtcCompiler> {
    const installation = await findNvrtc(library, environment);
    const { candidate, version } = installation;
    const toolkit = searchToolkitHeaders(candidate.library, version, environment);
    return new NvrtcCompiler(library, installation, toolkit);
  }

  /** Its version, build and files, and the headers that a request includes besides its own. */
  async identity(request: CompileInputs): Promise<readonly string[]> {
    const places = this.#places(readOptions(request, this.label));
    const { texts, toolkit } = await includedIdentity(request, places);
    return [
      ...this.#installation.identity,
      ...texts,
      ...(toolkit.length === 0 ? [] : await this.#toolkitIdentity(toolkit)),
    ];
  }

  /**
   * The digest of the toolkit's headers that are included. A toolkit is installed as a whole: while
   * those that the program names are as they were, so are those that they include.
   */
  async #toolkitIdentity(paths: readonly string[]): Promise<readonly string[]> {
    const { fitting } = this.#toolkit;
    const basis = {
      subject: "headers of a CUDA toolkit",
      files: [...fitting.map(({ versionHeader }) => versionHeader), ...paths],
      settings: paths,
    };
    return await rememberedIdentity(basis, async () => {
      const texts = await toolkitClosure(paths, toolkitDirectories(fitting));
      const parts = texts.flatMap(([path, text]) => [
        { label: "path", payload: path },
        { label: "text", payload: text },
      ]);
      return [await partDigest(parts)];
    });
  }

  /**
   * Compiles to machine code for exactly the device's architecture, or to PTX where NVRTC is older
   * than the device.
   *
   * @throws {CompileError} If the source is wrong; it says where and what.
   * @throws {TypeError} If an option is not allowed, or NVRTC does not know it.
   * @throws {RangeError} If NVRTC is too new for the device.
   * @throws {CompilerUnavailableError} If NVRTC cannot be opened any more.
   */
  async compile(request: CompileRequest): Promise<CompiledImage> {
    this.#open();
    const options = readOptions(request, this.label);
    const architecture = options.architecture ??
      chooseArchitecture(request, nvrtcArchitectures(this.#library), this.label);
    const { result, texts } = await this.#run(request, options, architecture);
    if (!("refused" in result)) return compiledImage(request, result, texts);
    if (result.refused === "option") {
      throw new TypeError(
        `Cannot compile ${request.name} with ${this.label} as it refuses an option: ` +
          result.log.trim(),
      );
    }
    const diagnostics = readNvrtcDiagnostics(result.log, texts);
    throw new CompileError(request.name, this.label, diagnostics, result.log);
  }

  /**
   * Compiles, again with every header of the toolkit that turns out to be included by the name of a
   * macro, as Thrust does, until none is missing any more.
   */
  async #run(
    request: CompileRequest,
    options: ProgramOptions,
    architecture: string,
  ): Promise<{ result: NvrtcResult; texts: DiagnosedTexts }> {
    const computed: string[] = [];
    for (;;) {
      const places = { ...this.#places(options), computed };
      const included = await includedTexts(request, places);
      const result = await limit.run(() =>
        compileNvrtc(this.#library, {
          source: included.source,
          name: request.name,
          options: nvrtcOptions(request, options, architecture, this.#installation.isolating),
          headers: included.headers,
          expressions: request.expressions,
        })
      );
      const missing = "refused" in result ? unopenedHeader(result.log) : undefined;
      const isNews = missing !== undefined && !included.headers.has(missing) &&
        !computed.includes(missing) && isInToolkit(missing, this.#toolkit);
      if (!isNews) return { result, texts: this.#diagnosed(request, included, options) };
      computed.push(missing);
    }
  }

  #diagnosed(
    { expressions }: CompileRequest,
    included: IncludedTexts,
    { directories }: ProgramOptions,
  ): DiagnosedTexts {
    return {
      ...included,
      expressions,
      searched: (header) => absentHeader(header, this.#toolkit, directories),
    };
  }

  #open(): void {
    const { candidate } = this.#installation;
    try {
      openCandidate(this.#library, candidate);
    } catch (error) {
      if (!(error instanceof UnusableNvrtc)) throw error;
      throw new CompilerUnavailableError(
        `Cannot use ${candidate.library} any more as it cannot be opened: ${error.message}`,
      );
    }
  }

  #places({ directories, first }: ProgramOptions): HeaderPlaces {
    return { directories, first, toolkit: toolkitDirectories(this.#toolkit.fitting) };
  }
}

function compiledImage(
  { expressions, defines }: CompileRequest,
  { cubin, ptx, loweredNames, log }: NvrtcOutput,
  texts: DiagnosedTexts,
): CompiledImage {
  const own = [...texts.own].flatMap((name) => texts.originals.get(name) ?? []);
  const unseen = unseenByNvrtc(own, defines);
  const warnings = readNvrtcDiagnostics(withoutReports(log), texts)
    .filter(({ severity }) => severity === "warning");
  return {
    ...(cubin === undefined
      ? { format: "ptx" as const, image: ptx }
      : { format: "cubin" as const, image: cubin }),
    loweredNames: new Map(expressions.map((name, index) => [name, loweredNames[index]!])),
    resources: ptxasResources(log),
    log: warnings.map((warning) => diagnosticText(warning)).join("\n"),
    ...(unseen.length === 0 ? {} : { unseen }),
  };
}
