/**
 * What the programs and libraries of this machine make possible, for `gridstride doctor`.
 *
 * @module
 */

import { environmentReader } from "../ffi/granted_environment.ts";
import type { NativeLibrary } from "../ffi/library.ts";
import { buildCommand } from "../ffi/locate.ts";
import { CompilerUnavailableError } from "../launch/compile/compile_error.ts";
import { findHostProgram } from "../launch/compile/host_program.ts";
import { CUBLASLT_LIBRARY, findNvrtc, searchLibrary } from "../launch/compile/nvrtc_search.ts";

/**
 * Something that the package can do, or not yet.
 * @category Detection and diagnosis
 */
export interface Ability {
  /** What it is. */
  readonly ability: string;
  /** What makes it possible, such as `NVRTC 13.0`; `null` if something is missing. */
  readonly by: string | null;
  /** What to install, if something is missing. */
  readonly install: string | null;
}

const DRIVER = "the NVIDIA driver";
const TOOLKIT = "the CUDA toolkit (nvcc)";
const NVRTC = "the CUDA toolkit, or `pip install nvidia-cuda-nvrtc nvidia-cuda-runtime`";

/** The result of a search, without its failure. */
function attempted<Found>(search: () => Found): Found | undefined {
  try {
    return search();
  } catch (error) {
    if (error instanceof CompilerUnavailableError) return undefined;
    throw error;
  }
}

/** An ability that needs all of some parts, each with what to install if it is absent. */
function ability(
  name: string,
  parts: readonly (readonly [by: string | undefined, install: string])[],
): Ability {
  const missing = parts.filter(([by]) => by === undefined).map(([, install]) => install);
  return {
    ability: name,
    by: missing.length > 0 ? null : parts.map(([by]) => by).join(", "),
    install: missing.length > 0 ? [...new Set(missing)].join(", and ") : null,
  };
}

/** The abilities on this machine. Compilers are looked for, not started. */
export function abilities(
  { cuda, host, driverVersion, toolkitVersion }: {
    readonly cuda: NativeLibrary | undefined;
    readonly host: NativeLibrary | undefined;
    /** Versions; `null` where there is none. */
    readonly driverVersion: string | null;
    readonly toolkitVersion: string | null;
  },
): Ability[] {
  const environment = environmentReader();
  const program = attempted(() => findHostProgram("", environment));
  const native = cuda ?? host;
  const nvrtc = native && attempted(() => findNvrtc(native, environment));
  const cublasLt = [...searchLibrary(CUBLASLT_LIBRARY, environment)]
    .find((found) => "library" in found);
  const needs = {
    nvcc: [toolkitVersion === null ? undefined : `nvcc ${toolkitVersion}`, TOOLKIT],
    driver: [driverVersion === null ? undefined : `driver for CUDA ${driverVersion}`, DRIVER],
    cudaLibrary: [
      cuda && "the CUDA library",
      `${toolkitVersion === null ? `${TOOLKIT}; then` : "the CUDA library:"} run ${buildCommand()}`,
    ],
    hostLibrary: [host && "the host library", `a C++17 compiler; then run ${buildCommand()}`],
    nvrtc: [nvrtc && `NVRTC ${nvrtc.version.join(".")}`, NVRTC],
    compiler: [program?.command.join(" "), "a C++17 compiler (g++ or clang++)"],
    cublasLt: [
      cublasLt !== undefined && "library" in cublasLt ? cublasLt.library : undefined,
      "the CUDA toolkit, or `pip install nvidia-cublas`",
    ],
  } as const satisfies Record<string, readonly [string | undefined, string]>;
  return [
    ability("host device: built-in kernels", [needs.hostLibrary]),
    ability("host device: kernels from source, tensors", [
      needs.hostLibrary,
      needs.compiler,
    ]),
    ability("GPU: built-in kernels", [needs.driver, needs.cudaLibrary]),
    ability("GPU: kernels from source, tensors", [
      needs.driver,
      needs.cudaLibrary,
      needs.nvrtc,
    ]),
    ability("GPU: products by cuBLASLt", [
      needs.driver,
      needs.cudaLibrary,
      needs.cublasLt,
    ]),
    ability("gridstride compile --arch", [needs.nvrtc]),
    ability("build of the CUDA library", [needs.nvcc]),
  ];
}
