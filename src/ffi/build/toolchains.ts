/**
 * The toolchains of both libraries: compilers with all their flags. The differences between compilers
 * and systems are in two tables.
 *
 * @module
 */

import type { LibraryKind } from "../library.ts";
import { type Architecture, architectureFlags, architectureName } from "./architectures.ts";
import type { BuildSettings } from "./build_options.ts";
import type { CompilerFamily, CppCompiler, CudaCompiler } from "./compilers.ts";

/** A compiler with its flags for a library. */
export interface Toolchain {
  readonly kind: LibraryKind;
  /** The program and its first arguments. */
  readonly command: readonly string[];
  /** The compiler and its version, as the library reports them. */
  readonly compiler: string;
  /** Distinguishes this compiler from all others. */
  readonly identity: string;
  /** The architectures of the library's code, as it reports them. */
  readonly architectures: string;
  /** The flags that decide the content of an object file, as the library reports them. */
  readonly flags: readonly string[];
  /**
   * The arguments that compile one source.
   *
   * @param source Relative to the folder of `csrc/`, where the compiler runs.
   * @param object The file to write.
   * @param prefix A header to include before the source's first line.
   */
  compileArguments(source: string, object: string, prefix?: string): string[];
  linkArguments(objects: readonly string[], library: string, name: string): string[];
}

type ToolchainOptions = Pick<BuildSettings, "debug" | "warningsAsErrors">;

const COMPILE_FLAGS: readonly string[] = [
  "-std=c++17",
  "-fPIC",
  "-fvisibility=hidden",
  "-pthread",
  "-Wall",
  "-Wextra",
  // Device code is full of #pragma unroll.
  "-Wno-unknown-pragmas",
  "-Icsrc/host/include",
  "-Icsrc",
];

const FAMILY_FLAGS: Readonly<Record<CompilerFamily, readonly string[]>> = {
  // A kernel's __shared__ variables are thread-local and constant-initialised: no wrapper function
  // around every use, and no process-wide unique symbols for those of templates. The note on
  // over-aligned parameters in g++ 4.6 is irrelevant. Jump threading in g++ 12.2 inverts some
  // comparisons with a NaN that is known on one path. clang++ reports loops that it does not vectorise,
  // such as those that convert 16-bit floats.
  gcc: ["-fno-extern-tls-init", "-fno-gnu-unique", "-Wno-psabi", "-fno-thread-jumps"],
  clang: ["-Wno-pass-failed"],
};

const SYSTEM_FLAGS: Readonly<Record<string, readonly string[]>> = {
  // A kernel's stack overflow must meet the guard page, not step over it.
  linux: ["-fstack-clash-protection"],
  darwin: [],
};

function machineFlags(architecture: string): readonly string[] {
  return architecture === "x86-64-v3" ? ["-march=x86-64-v3"] : [];
}

/**
 * Line tables, by which faults name lines: `csrc/host/execution/source_lines.cpp` reads this version.
 * The version comes first: behind the level it would raise that. g++ then also marks the statements
 * that call inline functions.
 */
const LINE_FLAGS: Readonly<Record<CompilerFamily, readonly string[]>> = {
  gcc: ["-gdwarf-4", "-g1", "-gz=none", "-gstatement-frontiers"],
  clang: ["-gdwarf-4", "-g1", "-gz=none"],
};

/**
 * What nvcc's device code assumes too: mathematical functions set no errno, and floating-point
 * operations do not trap. g++ vectorises loops of unknown length only by its dynamic cost model;
 * clang++ does so anyway.
 */
const VECTOR_FLAGS: Readonly<Record<CompilerFamily, readonly string[]>> = {
  gcc: ["-fvect-cost-model=dynamic", "-fno-math-errno", "-fno-trapping-math"],
  clang: ["-fno-math-errno", "-fno-trapping-math"],
};

/** The compiler flags of kernels for the host device, which match those of the host library. */
export function kernelFlags(
  family: CompilerFamily,
  architecture: string,
  os: string = Deno.build.os,
): string[] {
  return [
    "-std=c++17",
    "-O2",
    "-fPIC",
    "-fvisibility=hidden",
    "-pthread",
    // As nvcc compiles them: pointers of two types to one buffer are common in kernels.
    "-fno-strict-aliasing",
    "-Wno-unknown-pragmas",
    // Refuses arrays whose size is only known at run time, as CUDA does.
    "-Werror=vla",
    ...FAMILY_FLAGS[family],
    ...VECTOR_FLAGS[family],
    ...SYSTEM_FLAGS[os] ?? [],
    // On macOS they would be files of their own.
    ...(os === "linux" ? LINE_FLAGS[family] : []),
    ...machineFlags(architecture),
  ];
}

/** The headers of the language that are included before the first line of kernels. */
export const KERNEL_HEADERS: readonly string[] = [
  "gridstride/user_source.h",
  "gridstride/module_table.h",
];

/** The name of the host library in libraries of kernels that are compiled at run time, on Linux. */
const HOST_SONAME = "libgridstride_host.so";

/**
 * The linker flags of a library of kernels, after its sources: the host library, which is open
 * already when it is loaded, and no undefined symbols.
 */
export function kernelLinkFlags(library: string, os: string = Deno.build.os): string[] {
  if (os === "darwin") return ["-dynamiclib", library];
  // glibc's vector functions; other C libraries and machines have none, and kernels then do not ask.
  const vectors = Deno.build.arch === "x86_64" && Deno.build.target.endsWith("gnu")
    ? ["-lmvec"]
    : [];
  return ["-shared", library, "-Wl,-z,defs", "-Wl,--as-needed", ...vectors];
}

/** The linker flags of a shared library on each system. */
const LINK_FLAGS: Readonly<
  Record<string, { first: (name: string) => readonly string[]; last: readonly string[] }>
> = {
  linux: {
    // nodelete: worker threads and calls in flight may outlive the isolate that opened it.
    first: () => [
      "-shared",
      // Modules depend on this name: the loader then finds the loaded library for any path.
      `-Wl,-soname,${HOST_SONAME}`,
      "-Wl,-z,nodelete",
      "-Wl,-z,defs",
      // Kernels call gs_host_* directly, not through the linkage table.
      "-Wl,-Bsymbolic-functions",
      "-Wl,--version-script=csrc/exports.map",
    ],
    last: ["-pthread", "-ldl"],
  },
  darwin: {
    first: (name) => [
      "-dynamiclib",
      `-Wl,-install_name,@rpath/${name}`,
      "-Wl,-exported_symbol,_gs_*",
    ],
    last: [],
  },
};

/** The toolchain that builds the host library with this compiler for this processor. */
export function hostToolchain(
  compiler: CppCompiler,
  architecture: string,
  options: ToolchainOptions,
  os: string = Deno.build.os,
): Toolchain {
  const { first, last } = LINK_FLAGS[os]!;
  const flags = [
    ...COMPILE_FLAGS,
    ...(options.debug ? ["-Og", "-g"] : ["-O3"]),
    ...FAMILY_FLAGS[compiler.family],
    ...SYSTEM_FLAGS[os]!,
    ...machineFlags(architecture),
    ...(options.warningsAsErrors ? ["-Werror"] : []),
  ];
  return {
    kind: "host",
    command: compiler.command,
    compiler: compiler.version,
    identity: [...compiler.command, compiler.identity].join("\n"),
    architectures: architecture,
    flags,
    compileArguments: (source, object, prefix) => [
      ...flags,
      ...(prefix === undefined ? [] : ["-include", prefix]),
      // A .cu file is C++ here.
      ...["-x", "c++", "-c", source, "-o", object],
    ],
    linkArguments: (objects, library, name) => [
      ...first(name),
      ...["-o", library],
      ...objects,
      ...last,
    ],
  };
}

interface CudaToolchainOptions extends ToolchainOptions {
  readonly architectures: readonly Architecture[];
  /** Architectures of one source to compile at a time. */
  readonly threads: number;
  /** Whether nvcc chooses its C++ compiler by `NVCC_CCBIN`. */
  readonly ownCppCompiler: boolean;
}

/**
 * The toolchain that builds the CUDA library. The CUDA runtime is linked statically: the library then
 * loads, and explains the problem, on a machine without CUDA.
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
      // Nothing of the CUDA runtime inside is exported: other libraries must not use it.
      "-Xlinker=-z,nodelete,-z,defs,--version-script=csrc/exports.map",
      ...["-o", library],
      ...objects,
      ...["-lpthread", "-ldl"],
    ],
  };
}
