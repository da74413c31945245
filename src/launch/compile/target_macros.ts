/**
 * The macros that compilers define and sources ask for.
 *
 * @module
 */

import type { CompileTarget } from "./compiler.ts";

/** Macros for reading a source. */
export interface TargetMacros {
  /** Macros and their values. */
  readonly defines: ReadonlyMap<string, string>;
  /** Macros that are not defined, though their names are the compilers'. */
  readonly undefines: readonly string[];
}

/** Compilers of other systems. */
const FOREIGN: readonly string[] = ["_WIN32", "_MSC_VER", "__INTEL_COMPILER", "__HIPCC__"];

/**
 * The macros of a target's compilers, and a program's own. On the host device there is no CUDA
 * compiler and no architecture: `csrc/host/include/gridstride/qualifiers.h` says why.
 *
 * @param defines The program's own.
 */
export function targetMacros(
  { kind, capability }: CompileTarget,
  defines: ReadonlyMap<string, string>,
): TargetMacros {
  const own: [string, string][] = kind === "host"
    ? [["__CUDASIM__", "1"], ["__cplusplus", "201703L"]]
    : [["__CUDACC__", "1"], ["__CUDA_ARCH__", `${capability.replace(".", "")}0`]];
  const absent = kind === "host"
    ? ["__CUDACC__", "__CUDA_ARCH__", "__NVCC__", "__CUDACC_RTC__"]
    : ["__CUDASIM__"];
  return { defines: new Map([...own, ...defines]), undefines: [...FOREIGN, ...absent] };
}
