/**
 * Builds the native libraries of a package.
 *
 * @module
 */

import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { CacheDirectoryError, openCache } from "../cache_directory.ts";
import type { EnvironmentReader } from "../granted_environment.ts";
import { libraryFileName, PACKAGE_ROOT } from "../locate.ts";
import { chooseArchitectures } from "./architectures.ts";
import { BuildError } from "./build_error.ts";
import { withBuildLock } from "./atomic_install.ts";
import {
  digestTree,
  isCompiled,
  libraryFiles,
  openSourceTree,
  type SourceTree,
} from "./source_tree.ts";
import {
  type BuildOptions,
  type BuildReport,
  type BuildSettings,
  type BuiltLibrary,
  readSettings,
  type SkippedLibrary,
} from "./build_options.ts";
import { isUpToDate, planLibrary, runPlan } from "./build_plan.ts";
import {
  type CppCompiler,
  findCppCompiler,
  findCudaCompiler,
  hostArchitecture,
  presentCapabilities,
} from "./compilers.ts";
import { MANIFEST } from "./manifest.ts";
import { precompilePrelude } from "./prelude.ts";
import { LOOP_FLAGS, vectorFlags, vectorSets } from "./vector_sets.ts";
import { cudaToolchain, hostToolchain, type Toolchain } from "./toolchains.ts";

/**
 * Builds the native libraries of the running package: the host library with a C++17 compiler and, if
 * there is an nvcc, the CUDA library. A library that is up to date is left alone. Beside the host
 * library go the headers of kernels, precompiled (18 MB by g++, 4 MB by clang++), which halve the time
 * of compiling a short kernel with the same compiler; a failure is a warning. Needs permission to
 * read, write, run compilers and read the environment.
 *
 * @param options The targets, the compilers and the directories.
 * @returns The libraries that were built, were up to date, or were skipped.
 * @throws {BuildError} If there is no C++ compiler, a source does not compile, an option or
 * variable is malformed, or a permission is missing. A library that can be built is built whatever
 * becomes of the other.
 *
 * @example
 * ```ts no-run
 * import { build } from "@gridstride/cuda/build";
 *
 * const report = await build({ progress: console.error });
 * console.log(report.libraries.map((library) => library.path));
 * ```
 * @category Building
 */
export function build(options: BuildOptions = {}): Promise<BuildReport> {
  return buildPackage(PACKAGE_ROOT, MANIFEST, options);
}

/**
 * Builds the native libraries of a package.
 *
 * @param root The folder of its `mod.ts`, with a slash at the end.
 */
export async function buildPackage(
  root: URL,
  files: readonly string[],
  options: BuildOptions = {},
): Promise<BuildReport> {
  try {
    return await buildWithSettings(root, files, readSettings(options));
  } catch (error) {
    if (error instanceof CacheDirectoryError) throw new BuildError(error.message, 2);
    if (!(error instanceof Deno.errors.NotCapable)) throw error;
    throw new BuildError(
      `Cannot build as a permission is missing: ${error.message}. Run it with -A, or with ` +
        "--allow-run (compilers) --allow-read --allow-write (sources, objects, libraries) " +
        "--allow-env (PATH, CXX, CUDA_*) --allow-sys=uid (owner of the user cache) --allow-net " +
        "(sources of an imported package)",
      2,
      { cause: error },
    );
  }
}

async function buildWithSettings(
  root: URL,
  files: readonly string[],
  settings: BuildSettings,
): Promise<BuildReport> {
  const { environment } = settings;
  // An unsupported system is an error before any search.
  libraryFileName("host");
  const { cpp, toolchains, skipped, failures } = await chooseToolchains(files, settings);
  const output = await openOutputDirectory(root, settings.output, environment);
  const waiting = () => settings.progress(`waiting for another build in ${output.path}`);
  const libraries = await withBuildLock(output.path, waiting, async () => {
    const tree = await openSourceTree(root, files, () => openCache(environment));
    const digests = await digestTree(tree);
    const built: BuiltLibrary[] = [];
    for (const toolchain of toolchains) {
      try {
        built.push(await buildLibrary(toolchain, tree, digests, output.path, settings));
      } catch (error) {
        if (!(error instanceof BuildError)) throw error;
        failures.push(error);
      }
    }
    const host = built.find(({ kind }) => kind === "host");
    if (host === undefined) return built;
    const loops = [...LOOP_FLAGS, ...vectorFlags(vectorSets()[0]!)];
    const both = [[], loops].map((options) =>
      precompilePrelude(cpp, tree, host, options, settings)
    );
    await Promise.all(both);
    return built;
  });
  if (failures.length > 0) throw joined(failures, libraries);
  return { directory: output.path, found: output.found, libraries, skipped };
}

/** The error of a build of which parts failed; it names the libraries that are there nevertheless. */
function joined(failures: readonly BuildError[], libraries: readonly BuiltLibrary[]): BuildError {
  const [first] = failures;
  if (failures.length === 1 && libraries.length === 0) return first!;
  const lines = failures.map(({ message }) => message);
  for (const { kind, path } of libraries) lines.push(`The ${kind} library was built: ${path}`);
  return new BuildError(lines.join("\n\n"), first!.exitCode, { cause: first });
}

async function buildLibrary(
  toolchain: Toolchain,
  tree: SourceTree,
  digests: ReadonlyMap<string, string>,
  output: string,
  settings: BuildSettings,
): Promise<BuiltLibrary> {
  const start = performance.now();
  const { kind } = toolchain;
  const path = join(output, libraryFileName(kind));
  const plan = planLibrary(toolchain, digests, join(output, "objects", kind), path);
  const upToDate = !settings.force && await isUpToDate(path, plan.key);
  const summary = upToDate
    ? { compiled: 0, reused: 0 }
    : await runPlan(plan, { ...settings, directory: tree.directory });
  return {
    kind,
    path,
    upToDate,
    ...summary,
    seconds: (performance.now() - start) / 1000,
    compiler: toolchain.compiler,
    architectures: toolchain.architectures,
    sourceHash: plan.sourceHash,
    flags: toolchain.flags.join(" "),
  };
}

/**
 * Finds the compilers of the requested libraries. An nvcc that cannot be used is a failure of the
 * CUDA library alone.
 */
export async function chooseToolchains(
  files: readonly string[],
  settings: BuildSettings,
): Promise<
  { cpp: CppCompiler; toolchains: Toolchain[]; skipped: SkippedLibrary[]; failures: BuildError[] }
> {
  const { target, environment } = settings;
  const cpp = await findCppCompiler(settings.compiler, environment);
  const toolchains: Toolchain[] = [];
  const skipped: SkippedLibrary[] = [];
  const failures: BuildError[] = [];
  if (target !== "cuda") toolchains.push(hostToolchain(cpp, await hostArchitecture(), settings));
  if (target !== "host") {
    const found = await chooseCudaToolchain(files, cpp, settings).catch((error) => {
      // A wrong option or variable is an error before anything is built.
      if (!(error instanceof BuildError) || error.exitCode === 2) throw error;
      return error;
    });
    if (found instanceof BuildError) failures.push(found);
    else if (typeof found !== "string") toolchains.push(found);
    else if (target === "all") skipped.push({ kind: "cuda", reason: found });
    else throw new BuildError(`Cannot build the cuda library: ${found}`);
  }
  return { cpp, toolchains, skipped, failures };
}

/** The toolchain of the CUDA library, or the reason why there is none. */
async function chooseCudaToolchain(
  files: readonly string[],
  cpp: CppCompiler,
  settings: BuildSettings,
): Promise<Toolchain | string> {
  const { environment, jobs } = settings;
  const search = await findCudaCompiler(environment);
  if (search.compiler === undefined) {
    return `no nvcc in ${search.tried.join(", ")}. Install the CUDA toolkit 12 or 13 to use a GPU`;
  }
  const { compiler } = search;
  const choice = chooseArchitectures({
    request: settings.architectures,
    source: settings.architectureSource,
    release: settings.release,
    present: await presentCapabilities(environment),
    supported: compiler.supported,
    compiler: `nvcc ${compiler.version}`,
  });
  for (const note of [...search.notes, ...choice.notes]) settings.warnings(note);
  const sources = libraryFiles(files, "cuda").filter(isCompiled).length;
  return cudaToolchain(compiler, cpp, {
    ...settings,
    architectures: choice.architectures,
    // One source with many architectures is split only if there are processors to spare.
    threads: Math.max(1, Math.floor(jobs / Math.max(1, sources))),
    ownCppCompiler: environment("NVCC_CCBIN") !== undefined,
  });
}

/**
 * Creates the directory of a build: the requested one, else `build/` beside a `file:` module if that
 * is writable, else the user cache.
 */
export async function openOutputDirectory(
  root: URL,
  requested: string | undefined,
  environment: EnvironmentReader,
): Promise<Pick<BuildReport, "found"> & { readonly path: string }> {
  if (requested !== undefined) {
    const path = resolve(requested);
    await Deno.mkdir(path, { recursive: true });
    return { path, found: false };
  }
  if (root.protocol === "file:") {
    const path = join(fileURLToPath(root), "build");
    if (await isWritable(path)) return { path, found: true };
  }
  return { path: openCache(environment), found: true };
}

/** Creates the directory and tries to write there: access bits alone miss read-only file systems. */
async function isWritable(path: string): Promise<boolean> {
  const probe = join(path, `.probe.${Deno.pid}.${crypto.randomUUID()}`);
  try {
    await Deno.mkdir(path, { recursive: true });
    await Deno.writeTextFile(probe, "");
  } catch (error) {
    const isReadOnly = error instanceof Error && "code" in error && error.code === "EROFS";
    if (isReadOnly || error instanceof Deno.errors.PermissionDenied) return false;
    throw error;
  }
  await Deno.remove(probe);
  return true;
}
