/**
 * The precompiled headers of kernels for the host device, beside the host library: one for a
 * program's kernels, and one for the loops of tensors, which have options of their own.
 *
 * A small kernel takes g++ 0.3 s, a quarter of it for the language's headers. The build precompiles
 * them. A compilation uses the result only while its record matches: the same compiler, flags,
 * environment and texts of the language's headers. A precompiled header is code, so it must also
 * belong to the user that owns the library.
 *
 * @module
 */

import { formatBytes } from "../describe_value.ts";
import { dirname, join } from "node:path";
import type { EnvironmentReader } from "../granted_environment.ts";
import { install, installText, removeIfPresent } from "./atomic_install.ts";
import type { SourceTree } from "./source_tree.ts";
import type { BuildSettings } from "./build_options.ts";
import type { CompilerFamily, CppCompiler } from "./compilers.ts";
import { runProgram } from "./programs.ts";
import { KERNEL_HEADERS, kernelFlags } from "./toolchains.ts";

/** The folder of the language's headers, below the package's root. */
export const HOST_HEADERS = "csrc/host/include";

/** Variables that change the programs, options or headers of compilers. */
const AMBIENT: readonly string[] = [
  "GCC_EXEC_PREFIX",
  "COMPILER_PATH",
  "CCC_OVERRIDE_OPTIONS",
  "SOURCE_DATE_EPOCH",
  "SDKROOT",
  "MACOSX_DEPLOYMENT_TARGET",
];

/** The set and readable variables that affect C++ compilers. */
export function ambientSettings(environment: EnvironmentReader): string[] {
  return AMBIENT.flatMap((variable) => {
    const value = environment(variable);
    return value === undefined ? [] : [`${variable}=${value}`];
  });
}

/**
 * Variables for compiling kernels without the search directories of the environment, which the compile
 * cache does not know.
 */
export const NO_SEARCH_PATHS = { CPATH: "", C_INCLUDE_PATH: "", CPLUS_INCLUDE_PATH: "" } as const;

/** Everything that a precompiled header depends on. */
export interface PreludeBasis {
  /** The compiler, after a wrapper such as ccache if there is one. */
  readonly command: readonly string[];
  readonly family: CompilerFamily;
  readonly version: string;
  readonly flags: readonly string[];
  /** The variables that compilers read. */
  readonly ambient: readonly string[];
  /** The directory of the language's headers. */
  readonly language: string;
  readonly digest: string;
}

/**
 * The folder of a precompiled header.
 *
 * @param options Of the compiler, beyond the flags of all kernels.
 */
export function preludeDirectory(library: string, options: readonly string[] = []): string {
  return join(dirname(library), options.length === 0 ? "host_prelude" : "host_prelude_loops");
}

/** The digest of headers: names relative to a directory, and texts. */
export async function headersDigest(directory: string, names: readonly string[]): Promise<string> {
  const texts = names.map((name) => [name, Deno.readTextFileSync(join(directory, name))]);
  const bytes = new TextEncoder().encode(JSON.stringify(texts));
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

/**
 * The arguments that make a compiler begin with the precompiled header; none where it does not exist,
 * does not match, belongs to another user, or may not be read without a prompt.
 */
export function preludeArguments(
  directory: string,
  library: string,
  basis: PreludeBasis,
): readonly string[] {
  const { header, compiled, record } = preludeFiles(directory, basis.family);
  const permission = { name: "read", path: dirname(library) } as const;
  if (Deno.permissions.querySync(permission).state !== "granted") return [];
  try {
    if (Deno.readTextFileSync(record) !== recordText(basis, directory)) return [];
    const { uid } = Deno.statSync(library);
    const isForeign = [directory, header, compiled, record].some((path) => {
      const found = Deno.lstatSync(path);
      return found.isSymlink || found.uid !== uid || ((found.mode ?? 0) & 0o002) !== 0;
    });
    if (isForeign) return [];
  } catch (error) {
    if (isOfSystem(error)) return [];
    throw error;
  }
  return basis.family === "gcc" ? ["-include", header] : ["-include-pch", compiled];
}

function preludeFiles(directory: string, family: CompilerFamily) {
  return {
    header: join(directory, "prelude.h"),
    // Each family looks for its own name.
    compiled: join(directory, family === "gcc" ? "prelude.h.gch" : "prelude.pch"),
    record: join(directory, "record.json"),
  };
}

function recordText(basis: PreludeBasis, directory: string): string {
  // clang++ looks for the header at the path at which it was precompiled.
  return JSON.stringify({ ...basis, directory }) + "\n";
}

class PreludeProblem extends Error {}

/** Whether an error is the compiler's or the file system's. */
function isOfSystem(error: unknown): error is Error {
  return error instanceof PreludeProblem || error instanceof Deno.errors.NotCapable ||
    (error instanceof Error && "code" in error);
}

/**
 * Precompiles the language's headers beside a host library, unless they are up to date. A failure is
 * a warning: kernels then take longer to compile.
 *
 * @param options Of the compiler, beyond the flags of all kernels.
 */
export async function precompilePrelude(
  { command, family, identity: version }: CppCompiler,
  tree: SourceTree,
  library: { readonly path: string; readonly architectures: string },
  options: readonly string[],
  settings: BuildSettings,
): Promise<void> {
  const names = tree.files.filter((file) => file.startsWith(`${HOST_HEADERS}/`))
    .map((file) => file.slice(HOST_HEADERS.length + 1));
  if (!KERNEL_HEADERS.every((name) => names.includes(name))) return;
  const start = performance.now();
  const directory = preludeDirectory(library.path, options);
  const { header, compiled, record } = preludeFiles(directory, family);
  const language = join(tree.directory, HOST_HEADERS);
  try {
    const basis: PreludeBasis = {
      command,
      family,
      version,
      flags: [...kernelFlags(family, library.architectures), ...options],
      ambient: ambientSettings(settings.environment),
      language,
      digest: await headersDigest(language, names),
    };
    if (!settings.force && preludeArguments(directory, library.path, basis).length > 0) return;
    await removeIfPresent(record);
    await Deno.mkdir(directory, { recursive: true });
    await installText(header, KERNEL_HEADERS.map((name) => `#include <${name}>\n`).join(""));
    await install(compiled, async (temporary) => {
      const { success, code, stderr } = await runProgram(
        command,
        [
          ...basis.flags,
          `-I${language}`,
          // A checkout gives files new times and the same texts.
          ...(family === "clang" ? ["-Xclang", "-fno-pch-timestamp"] : []),
          ...["-x", "c++-header", header, "-o", temporary],
        ],
        Deno.cwd(),
        NO_SEARCH_PATHS,
      );
      if (success) return;
      throw new PreludeProblem(`${command.join(" ")} ends with ${code}: ${stderr.trim()}`);
    });
    if (await headersDigest(language, names) !== basis.digest) {
      throw new PreludeProblem("the headers changed meanwhile");
    }
    await installText(record, recordText(basis, directory));
    const size = formatBytes((await Deno.stat(compiled)).size);
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    settings.progress(
      `host kernels' headers, precompiled  ${seconds} s, ${size} in ` +
        directory,
    );
  } catch (error) {
    if (!isOfSystem(error)) throw error;
    settings.warnings(
      `Cannot precompile the headers of kernels for the host device, which every compilation then ` +
        `reads: ${error.message}`,
    );
  }
}
