/**
 * A build from beginning to end.
 *
 * @module
 */

import { join } from "node:path";
import { CacheDirectoryError } from "../cache_directory.ts";
import { PACKAGE_ROOT } from "../locate.ts";
import { libraryFileName } from "../platform.ts";
import {
  type ArchitectureRequest,
  chooseArchitectures,
  parseArchitectures,
} from "./architectures.ts";
import { withBuildLock } from "./atomic_install.ts";
import { BuildError } from "./build_error.ts";
import type { BuildOptions, BuildReport, BuiltLibrary, SkippedLibrary } from "./build_options.ts";
import { planLibrary } from "./compile_plan.ts";
import {
  type CppCompiler,
  findCppCompiler,
  findCudaCompiler,
  presentCapabilities,
} from "./compilers.ts";
import { cudaToolchain } from "./cuda_toolchain.ts";
import { hostToolchain } from "./host_toolchain.ts";
import { isUpToDate } from "./library_stamp.ts";
import { MANIFEST } from "./manifest.ts";
import { openCache, openOutputDirectory } from "./output_directory.ts";
import { hostArchitecture } from "./processor.ts";
import { runPlan } from "./run_plan.ts";
import { digestTree, isCompiled, libraryFiles, openSourceTree } from "./source_tree.ts";
import type { SourceTree } from "./source_tree.ts";
import type { Toolchain } from "./toolchain.ts";

/** The options with their defaults, and what was read from them. */
interface Settings extends Required<Omit<BuildOptions, "compiler" | "architectures" | "output">> {
  readonly compiler: string | undefined;
  readonly output: string | undefined;
  readonly architectures: ArchitectureRequest | undefined;
  /** The option or variable that the architectures come from. */
  readonly architectureSource: string;
}

/** What there is to build, and why something is not. */
interface Toolchains {
  readonly toolchains: readonly Toolchain[];
  readonly skipped: readonly SkippedLibrary[];
}

/**
 * Builds the native libraries of the package that is running: the host library with a C++17
 * compiler and, where there is an nvcc, the CUDA library. A library that is up to date is left
 * alone. Needs permission to read, write, run compilers and read the environment.
 *
 * @example
 * ```ts no-run
 * import { build } from "@gridstride/cuda/build";
 *
 * const report = await build({ progress: console.error });
 * console.log(report.libraries.map((library) => library.path));
 * ```
 *
 * @returns What was built, what was up to date, and what was skipped and why.
 * @throws {BuildError} If there is no C++ compiler, a source does not compile, an option or
 * variable cannot be read, or a permission is missing.
 */
export function build(options: BuildOptions = {}): Promise<BuildReport> {
  return buildPackage(PACKAGE_ROOT, MANIFEST, options);
}

/**
 * Builds the native libraries of a package.
 *
 * @param root The folder of its `mod.ts`, with a slash at the end.
 * @param files Its native sources, relative to that folder.
 */
export async function buildPackage(
  root: URL,
  files: readonly string[],
  options: BuildOptions = {},
): Promise<BuildReport> {
  try {
    return await buildWithSettings(root, files, readSettings(options));
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw permissionError(error);
    if (error instanceof CacheDirectoryError) throw new BuildError(error.message, 2);
    throw error;
  }
}

function permissionError(error: Error): BuildError {
  return new BuildError(
    `Cannot build as a permission is missing: ${error.message}. Run it with -A, or with ` +
      "--allow-run (compilers) --allow-read --allow-write (sources, objects, libraries) " +
      "--allow-env (PATH, CXX, CUDA_*) --allow-sys=uid (owner of the user cache) --allow-net " +
      "(sources of an imported package)",
    2,
    { cause: error },
  );
}

function readSettings(options: BuildOptions): Settings {
  const environment = options.environment ?? ((name) => Deno.env.get(name));
  const { jobs = navigator.hardwareConcurrency } = options;
  if (!Number.isSafeInteger(jobs) || jobs < 1) {
    throw new BuildError(`Cannot build as jobs must be an integer of 1 or more: it is ${jobs}`, 2);
  }
  const architectureSource = options.architectures === undefined ? "CUDA_ARCH" : "--arch";
  const architectures = options.architectures ?? environment("CUDA_ARCH");
  return {
    target: options.target ?? "all",
    compiler: options.compiler,
    architectures: architectures === undefined
      ? undefined
      : parseArchitectures(architectures, architectureSource),
    architectureSource,
    release: options.release ?? false,
    output: options.output,
    force: options.force ?? false,
    jobs,
    warningsAsErrors: options.warningsAsErrors ?? false,
    debug: options.debug ?? false,
    environment,
    progress: options.progress ?? (() => {}),
    warnings: options.warnings ?? (() => {}),
  };
}

async function buildWithSettings(
  root: URL,
  files: readonly string[],
  settings: Settings,
): Promise<BuildReport> {
  const { environment } = settings;
  // First of all, so that an unsupported system is told so before anything is looked for.
  libraryFileName("host");
  const { toolchains, skipped } = await chooseToolchains(files, settings);
  const output = await openOutputDirectory(root, settings.output, environment);
  const waiting = () => settings.progress(`waiting for another build in ${output.path}`);
  const libraries = await withBuildLock(output.path, waiting, async () => {
    const tree = await openSourceTree(root, files, () => openCache(environment));
    const digests = await digestTree(tree);
    const built: BuiltLibrary[] = [];
    for (const toolchain of toolchains) {
      built.push(await buildLibrary(toolchain, tree, digests, output.path, settings));
    }
    return built;
  });
  return { directory: output.path, found: output.found, libraries, skipped };
}

async function buildLibrary(
  toolchain: Toolchain,
  tree: SourceTree,
  digests: ReadonlyMap<string, string>,
  output: string,
  settings: Settings,
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

async function chooseToolchains(
  files: readonly string[],
  settings: Settings,
): Promise<Toolchains> {
  const { target, environment } = settings;
  const cpp = await findCppCompiler(settings.compiler, environment);
  const toolchains: Toolchain[] = [];
  const skipped: SkippedLibrary[] = [];
  if (target !== "cuda") toolchains.push(hostToolchain(cpp, await hostArchitecture(), settings));
  if (target !== "host") {
    const found = await chooseCudaToolchain(files, cpp, settings);
    if (typeof found !== "string") toolchains.push(found);
    else if (target === "all") skipped.push({ kind: "cuda", reason: found });
    else throw new BuildError(`Cannot build the cuda library: ${found}`);
  }
  return { toolchains, skipped };
}

/** The toolchain of the CUDA library, or why there is none. */
async function chooseCudaToolchain(
  files: readonly string[],
  cpp: CppCompiler,
  settings: Settings,
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
    // One source with many architectures is split only when there are processors to spare.
    threads: Math.max(1, Math.floor(jobs / Math.max(1, sources))),
    ownCppCompiler: environment("NVCC_CCBIN") !== undefined,
  });
}
