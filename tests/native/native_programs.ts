/**
 * The C++ test programs of this folder: what each is made of. How they are built says
 * `native_build.ts`, how they are run and read `program_report.ts`.
 *
 * @module
 */

import type { LibraryKind } from "../../src/ffi/build_record.ts";

/** A program, or a library that one opens. */
export interface NativeProgram {
  /** Its file name; unique. */
  readonly name: string;
  /** The library of the package whose compiler, flags and objects it is made with. */
  readonly kind: LibraryKind;
  /**
   * How it is linked: into a program; like a library of the package; or into a library that takes
   * what it lacks from the program that opens it.
   */
  readonly form: "program" | "library" | "plugin";
  /** Which files are compiled for it, by their paths in the repository. */
  readonly sources: RegExp;
  /** Of which sources of the package's library it takes the objects; by default of none. */
  readonly objects?: RegExp;
  /** Whether a plugin is linked with the package's library, and so depends on it. */
  readonly needsLibrary?: boolean;
  /** Flags after those of the package's library. */
  readonly flags?: readonly string[];
}

const EVERY_SOURCE = /^csrc\//;
const HOST_DEVICE = /^csrc\/host\//;

/** Kernels that a library brings while the worker pool runs. */
export const LATE_KERNELS: NativeProgram = {
  name: "execution_late_kernels",
  kind: "host",
  form: "plugin",
  sources: /^tests\/native\/execution_late_kernels\.cpp$/,
};

/** The execution engine of the host device. */
export const EXECUTION: NativeProgram = {
  name: "execution_test",
  kind: "host",
  form: "program",
  sources: /^tests\/native\/execution_(?!late_kernels)\w+\.cpp$/,
  objects: HOST_DEVICE,
};

const PORTABLE_SWITCH = ["-DGS_HOST_PORTABLE_SWITCH"];

/** `LATE_KERNELS` for `EXECUTION_PORTABLE`. */
export const LATE_KERNELS_PORTABLE: NativeProgram = {
  ...LATE_KERNELS,
  name: "execution_late_kernels_portable",
  flags: PORTABLE_SWITCH,
};

/** The execution engine with the context switch for processors that have none of their own. */
export const EXECUTION_PORTABLE: NativeProgram = {
  name: "execution_test_portable",
  kind: "host",
  form: "program",
  sources: /^tests\/native\/execution_(?!late_kernels)\w+\.cpp$|^csrc\/host\/\w+\/\w+\.cpp$/,
  flags: PORTABLE_SWITCH,
};

/** A library of kernels with the table that makes it a module. */
export const MODULE: NativeProgram = {
  name: "runtime_module",
  kind: "host",
  form: "plugin",
  sources: /^tests\/native\/runtime_module\.cu$/,
};

/** The same as the compiler of kernels links it: it names the library that it needs. */
export const LINKED_MODULE: NativeProgram = {
  ...MODULE,
  name: "linked_module",
  needsLibrary: true,
};

/** What `RUNTIME` loads, in the order of its arguments. */
export const MODULES: readonly NativeProgram[] = [
  MODULE,
  { ...MODULE, name: "runtime_module_portable", flags: PORTABLE_SWITCH },
  ...["unresolved", "ambiguous", "large"].map((kind) => ({
    ...MODULE,
    name: `runtime_module_${kind}`,
    sources: new RegExp(`^tests/native/runtime_module_${kind}\\.cu$`),
  })),
  LATE_KERNELS,
];

/** The CUDA runtime of the host device. */
export const RUNTIME: NativeProgram = {
  name: "runtime_test",
  kind: "host",
  form: "program",
  sources: /^tests\/native\/runtime(?:_test|\/\w+)\.cpp$/,
  objects: HOST_DEVICE,
};

/** The kernel language of the host device; its headers alone. */
export const LANGUAGE: NativeProgram = {
  name: "language_test",
  kind: "host",
  form: "program",
  sources: /^tests\/native\/language(?:_test|\/\w+)\.cpp$/,
};

/** Every name of the kernel language with its type, for the host device. */
export const LANGUAGE_NAMES: NativeProgram = {
  name: "language_names",
  kind: "host",
  form: "library",
  sources: /^tests\/native\/language_names\w*\.cu$/,
  objects: HOST_DEVICE,
};

/** The same as nvcc knows them: it only has to compile. */
export const LANGUAGE_NAMES_CUDA: NativeProgram = {
  name: "language_names_cuda",
  kind: "cuda",
  form: "library",
  sources: LANGUAGE_NAMES.sources,
};

/** The built-in kernels on the host device. */
export const KERNELS: NativeProgram = {
  name: "kernels_test",
  kind: "host",
  form: "program",
  sources: /^tests\/native\/kernels_\w+\.cpp$/,
  objects: EVERY_SOURCE,
};

/** The built-in kernels on a GPU. */
export const KERNELS_CUDA: NativeProgram = {
  ...KERNELS,
  name: "kernels_test_cuda",
  kind: "cuda",
};

/** The handle table by itself. */
export const HANDLE_TABLE: NativeProgram = {
  name: "handle_table_test",
  kind: "host",
  form: "program",
  sources: /^tests\/native\/handle_table_test\.cpp$/,
  objects: /^csrc\/shim\/guard\.cu$/,
};

/** The table of mappings by itself. */
export const MAPPING_TABLE: NativeProgram = {
  name: "mapping_table_test",
  kind: "host",
  form: "program",
  sources: /^tests\/native\/mapping_table_test\.cpp$/,
  objects: /^csrc\/shim\/(?:memory\/memory_tables|guard)\.cu$/,
};

/** Every function of the ABI, of the library that it is given. */
export const SHIM: NativeProgram = {
  name: "shim_test",
  kind: "host",
  form: "program",
  sources: /^tests\/native\/shim(?:_test|\/\w+)\.cpp$/,
};

/** A module for `SHIM` to load, as the compiler of the host device makes one. */
export const SHIM_MODULE: NativeProgram = {
  name: "shim_module",
  kind: "host",
  form: "plugin",
  sources: /^tests\/native\/module_kernels\.cu$/,
};

/** The host library with the kernels and functions that only `SHIM` needs. */
export const SHIM_LIBRARY: NativeProgram = {
  name: "libgridstride_host_shim_test",
  kind: "host",
  form: "library",
  sources: /^tests\/native\/shim\/\w+\.cu$/,
  objects: EVERY_SOURCE,
};

/** The CUDA library with the same. */
export const SHIM_LIBRARY_CUDA: NativeProgram = {
  ...SHIM_LIBRARY,
  name: "libgridstride_cuda_shim_test",
  kind: "cuda",
};

/** All of them. */
export const NATIVE_PROGRAMS: readonly NativeProgram[] = [
  LATE_KERNELS,
  EXECUTION,
  LATE_KERNELS_PORTABLE,
  EXECUTION_PORTABLE,
  ...MODULES,
  LINKED_MODULE,
  RUNTIME,
  LANGUAGE,
  LANGUAGE_NAMES,
  LANGUAGE_NAMES_CUDA,
  KERNELS,
  KERNELS_CUDA,
  HANDLE_TABLE,
  MAPPING_TABLE,
  SHIM,
  SHIM_MODULE,
  SHIM_LIBRARY,
  SHIM_LIBRARY_CUDA,
];
