/**
 * Which libraries can be built here, and with what.
 *
 * @module
 */

import { chooseArchitectures } from "./architectures.ts";
import { BuildError } from "./build_error.ts";
import type { SkippedLibrary } from "./build_options.ts";
import type { BuildSettings } from "./build_settings.ts";
import {
  type CppCompiler,
  findCppCompiler,
  findCudaCompiler,
  presentCapabilities,
} from "./compilers.ts";
import { cudaToolchain } from "./cuda_toolchain.ts";
import { hostToolchain } from "./host_toolchain.ts";
import { hostArchitecture } from "./processor.ts";
import { isCompiled, libraryFiles } from "./source_tree.ts";
import type { Toolchain } from "./toolchain.ts";

/** What there is to build, and why something is not. */
export interface Toolchains {
  /** The C++ compiler. */
  readonly cpp: CppCompiler;
  /** One for each library. */
  readonly toolchains: readonly Toolchain[];
  /** The libraries that cannot be built. */
  readonly skipped: readonly SkippedLibrary[];
}

/**
 * Finds the compilers of the libraries asked for.
 *
 * @param files The native sources.
 * @throws {BuildError} If there is none for a library that has to be built.
 */
export async function chooseToolchains(
  files: readonly string[],
  settings: BuildSettings,
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
  return { cpp, toolchains, skipped };
}

/** The toolchain of the CUDA library, or why there is none. */
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
    // One source with many architectures is split only when there are processors to spare.
    threads: Math.max(1, Math.floor(jobs / Math.max(1, sources))),
    ownCppCompiler: environment("NVCC_CCBIN") !== undefined,
  });
}
