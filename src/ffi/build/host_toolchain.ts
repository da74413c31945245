/**
 * The host library's toolchain: all that differs between compilers and systems is in two tables.
 *
 * @module
 */

import type { CompilerFamily, CppCompiler } from "./compilers.ts";
import type { Toolchain, ToolchainOptions } from "./toolchain.ts";

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

/** What one family of compilers takes and the other does not. */
const FAMILY_FLAGS: Readonly<Record<CompilerFamily, readonly string[]>> = {
  // A kernel's __shared__ variables are thread-local and constant-initialised: no wrapper function
  // around every use, and no process-wide unique symbols for those of templates. The note that
  // over-aligned parameters were passed otherwise by g++ 4.6 concerns nobody. Threading jumps, g++
  // 12.2 turns some comparisons with a NaN that is known on one path around.
  gcc: ["-fno-extern-tls-init", "-fno-gnu-unique", "-Wno-psabi", "-fno-thread-jumps"],
  clang: [],
};

/** What compilers take on one system only. */
const SYSTEM_FLAGS: Readonly<Record<string, readonly string[]>> = {
  // A kernel's stack overflow must meet the guard page, not step over it.
  linux: ["-fstack-clash-protection"],
  darwin: [],
};

/** What the processors of an architecture are told by. */
function architectureFlags(architecture: string): readonly string[] {
  return architecture === "x86-64-v3" ? ["-march=x86-64-v3"] : [];
}

/**
 * What a library of kernels for the host device is compiled with, so that it fits the host library.
 *
 * @param architecture What the host library was built for, as it reports it.
 */
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
    "-Wno-unknown-pragmas",
    ...FAMILY_FLAGS[family],
    ...SYSTEM_FLAGS[os] ?? [],
    ...architectureFlags(architecture),
  ];
}

/** The headers of the language that a source of kernels finds included before its first line. */
export const KERNEL_HEADERS: readonly string[] = [
  "gridstride/user_source.h",
  "gridstride/module_table.h",
];

/** What libraries of kernels that are compiled at run time call the host library, on Linux. */
const HOST_SONAME = "libgridstride_host.so";

/**
 * How a library of kernels is linked, behind its sources: with the host library, which is open
 * already when it is loaded, and with nothing left open.
 *
 * @param library The path of the host library.
 */
export function kernelLinkFlags(library: string, os: string = Deno.build.os): string[] {
  return os === "darwin" ? ["-dynamiclib", library] : ["-shared", library, "-Wl,-z,defs"];
}

/** How a shared library is linked on each system. */
const LINK_FLAGS: Readonly<
  Record<string, { first: (name: string) => readonly string[]; last: readonly string[] }>
> = {
  linux: {
    // nodelete: worker threads and calls in flight may outlive the isolate that opened it.
    first: () => [
      "-shared",
      // Modules depend on this name: so the loader finds the library that is loaded, by whatever path.
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
    ...architectureFlags(architecture),
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
      // A .cu file is C++ here, whatever the compiler makes of its name.
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
