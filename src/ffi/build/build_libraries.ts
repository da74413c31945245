/**
 * A build from beginning to end.
 *
 * @module
 */

import { join } from "node:path";
import { CacheDirectoryError } from "../cache_directory.ts";
import { PACKAGE_ROOT } from "../locate.ts";
import { libraryFileName } from "../platform.ts";
import { withBuildLock } from "./atomic_install.ts";
import { BuildError } from "./build_error.ts";
import type { BuildOptions, BuildReport, BuiltLibrary } from "./build_options.ts";
import { type BuildSettings, readSettings } from "./build_settings.ts";
import { chooseToolchains } from "./choose_toolchains.ts";
import { planLibrary } from "./compile_plan.ts";
import { isUpToDate } from "./library_stamp.ts";
import { MANIFEST } from "./manifest.ts";
import { openCache, openOutputDirectory } from "./output_directory.ts";
import { precompilePrelude } from "./prelude.ts";
import { runPlan } from "./run_plan.ts";
import { digestTree, openSourceTree } from "./source_tree.ts";
import type { SourceTree } from "./source_tree.ts";
import type { Toolchain } from "./toolchain.ts";

/**
 * Builds the native libraries of the package that is running: the host library with a C++17
 * compiler and, where there is an nvcc, the CUDA library. A library that is up to date is left
 * alone. Beside the host library go the headers of kernels, precompiled (18 MB by g++, 4 MB by
 * clang++), so that a short kernel compiles in about half the time, by the same command of the same
 * compiler; where that cannot be done, a warning says why. Needs permission to read, write, run
 * compilers and read the environment.
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

async function buildWithSettings(
  root: URL,
  files: readonly string[],
  settings: BuildSettings,
): Promise<BuildReport> {
  const { environment } = settings;
  // First of all, so that an unsupported system is told so before anything is looked for.
  libraryFileName("host");
  const { cpp, toolchains, skipped } = await chooseToolchains(files, settings);
  const output = await openOutputDirectory(root, settings.output, environment);
  const waiting = () => settings.progress(`waiting for another build in ${output.path}`);
  const libraries = await withBuildLock(output.path, waiting, async () => {
    const tree = await openSourceTree(root, files, () => openCache(environment));
    const digests = await digestTree(tree);
    const built: BuiltLibrary[] = [];
    for (const toolchain of toolchains) {
      built.push(await buildLibrary(toolchain, tree, digests, output.path, settings));
    }
    const host = built.find(({ kind }) => kind === "host");
    if (host !== undefined) await precompilePrelude(cpp, tree, host, settings);
    return built;
  });
  return { directory: output.path, found: output.found, libraries, skipped };
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
