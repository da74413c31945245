/**
 * The CUDA library's toolchain.
 *
 * @module
 */

import { type Architecture, architectureFlags, architectureName } from "./architectures.ts";
import type { CppCompiler, CudaCompiler } from "./compilers.ts";
import type { Toolchain, ToolchainOptions } from "./toolchain.ts";

/** What nvcc is given besides its own options. */
export interface CudaToolchainOptions extends ToolchainOptions {
  /** What to compile for. */
  readonly architectures: readonly Architecture[];
  /** How many architectures of one source are compiled at a time. */
  readonly threads: number;
  /** Whether nvcc chooses its C++ compiler itself, as `NVCC_CCBIN` tells it to. */
  readonly ownCppCompiler: boolean;
}

/**
 * The toolchain that builds the CUDA library. The CUDA runtime is linked statically, so that the
 * library loads, and explains itself, on a machine without any of CUDA.
 */
export function cudaToolchain(
  compiler: CudaCompiler,
  cpp: CppCompiler,
  options: CudaToolchainOptions,
): Toolchain {
  const flags = [
    "-std=c++17",
    "-cudart=static",
    ...(options.debug ? ["-O0", "-g", "-G"] : ["-O3", "-lineinfo"]),
    "-Xcompiler=-fPIC,-fvisibility=hidden,-Wall,-Wextra",
    "-Icsrc",
    ...architectureFlags(options.architectures),
    ...(options.warningsAsErrors ? ["-Werror=all-warnings", "-Xcompiler=-Werror"] : []),
  ];
  // A wrapper such as "ccache g++" is not a program that nvcc can start.
  const cppProgram = options.ownCppCompiler || cpp.command.length !== 1
    ? []
    : ["-ccbin", cpp.command[0]!];
  return {
    kind: "cuda",
    command: [compiler.path],
    compiler: `nvcc ${compiler.version} with ${cpp.version}`,
    identity: [compiler.path, compiler.identity, ...cppProgram, cpp.identity].join("\n"),
    architectures: options.architectures.map(architectureName).join(" "),
    flags,
    compileArguments: (source, object, prefix) => [
      ...flags,
      ...cppProgram,
      `--threads=${options.threads}`,
      ...(prefix === undefined ? [] : ["-include", prefix]),
      ...["-c", source, "-o", object],
    ],
    linkArguments: (objects, library) => [
      ...["-shared", "-cudart=static"],
      ...cppProgram,
      // The CUDA runtime inside must not be taken for another library's: nothing of it is exported.
      "-Xlinker=-z,nodelete,-z,defs,--version-script=csrc/exports.map",
      ...["-o", library],
      ...objects,
      ...["-lpthread", "-ldl"],
    ],
  };
}
