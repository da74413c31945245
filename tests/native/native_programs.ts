/**
 * The sources of the C++ test programs of this folder. `native_build.ts` builds them,
 * `program_report.ts` runs them and reads their reports.
 *
 * @module
 */

import type { LibraryKind } from "../../src/ffi/library.ts";

/** A program, or a library that one opens. */
export interface NativeProgram {
  /** Its file name; unique. */
  readonly name: string;
  /** The package's library with the compiler, flags and objects of this program. */
  readonly kind: LibraryKind;
  /** Links a program, a library like the package's, or a plugin that uses its program's symbols. */
  readonly form: "program" | "library" | "plugin";
  /** The files to compile, by their paths in the repository. */
  readonly sources: RegExp;
  /** The sources of the package's library that it links as objects; none by default. */
  readonly objects?: RegExp;
  /** Links a plugin with the package's library. */
  readonly needsLibrary?: boolean;
  /** Flags after those of the package's library. */
  readonly flags?: readonly string[];
}

const EVERY_SOURCE = /^csrc\//;
const HOST_DEVICE = /^csrc\/host\//;

function define(
  name: string,
  form: NativeProgram["form"],
  sources: RegExp,
  objects?: RegExp,
): NativeProgram {
  return { name, kind: "host", form, sources, ...(objects === undefined ? {} : { objects }) };
}

/** The same program for another library or with other flags. */
function variant(program: NativeProgram, changes: Partial<NativeProgram>): NativeProgram {
  return { ...program, ...changes };
}

/** Kernels that a library adds while the worker pool runs. */
export const LATE_KERNELS = define(
  "execution_late_kernels",
  "plugin",
  /^tests\/native\/execution_late_kernels\.cpp$/,
);

/** The execution engine of the host device. */
export const EXECUTION = define(
  "execution_test",
  "program",
  /^tests\/native\/execution_(?!late_kernels)\w+\.cpp$/,
  HOST_DEVICE,
);

/** A library of kernels with the table that makes it a module. */
export const MODULE = define(
  "runtime_module",
  "plugin",
  /^tests\/native\/runtime_module\.cu$/,
);

/** The same as the compiler of kernels links it: it names the library that it needs. */
export const LINKED_MODULE = variant(MODULE, { name: "linked_module", needsLibrary: true });

/** The modules that `RUNTIME` loads, in the order of its arguments. */
export const MODULES: readonly NativeProgram[] = [
  MODULE,
  ...["other_contract", "unresolved", "ambiguous", "large"].map((kind) =>
    variant(MODULE, {
      name: `runtime_module_${kind}`,
      sources: new RegExp(`^tests/native/runtime_module_${kind}\\.cu$`),
    })
  ),
  LATE_KERNELS,
];

/** The CUDA runtime of the host device. */
export const RUNTIME = define(
  "runtime_test",
  "program",
  /^tests\/native\/runtime(?:_test|\/\w+)\.cpp$/,
  HOST_DEVICE,
);

/** The headers of the kernel language. */
export const LANGUAGE = define(
  "language_test",
  "program",
  /^tests\/native\/language(?:_test|\/\w+)\.cpp$/,
);

/** Every name of the kernel language with its type, for the host device. */
export const LANGUAGE_NAMES = define(
  "language_names",
  "library",
  /^tests\/native\/language_names\w*\.cu$/,
  HOST_DEVICE,
);

/** The same for nvcc: it only has to compile. */
export const LANGUAGE_NAMES_CUDA: NativeProgram = {
  name: "language_names_cuda",
  kind: "cuda",
  form: "library",
  sources: LANGUAGE_NAMES.sources,
};

/** The built-in kernels on the host device. */
export const KERNELS = define(
  "kernels_test",
  "program",
  /^tests\/native\/kernels_\w+\.cpp$/,
  EVERY_SOURCE,
);

/** The built-in kernels on a GPU. */
export const KERNELS_CUDA = variant(KERNELS, { name: "kernels_test_cuda", kind: "cuda" });

/** The handle table and the memory tables by themselves. */
export const TABLES = define(
  "tables_test",
  "program",
  /^tests\/native\/tables_test\.cpp$/,
  /^csrc\/shim\/(?:memory\/memory_tables|guard)\.cu$/,
);

/** Every function of the ABI, of the library that it is given. */
export const SHIM = define("shim_test", "program", /^tests\/native\/shim(?:_test|\/\w+)\.cpp$/);

/** A module for `SHIM` to load, as the compiler of the host device makes one. */
export const SHIM_MODULE = define("shim_module", "plugin", /^tests\/native\/module_kernels\.cu$/);

/** The host library with the kernels and functions that only `SHIM` needs. */
export const SHIM_LIBRARY = define(
  "libgridstride_host_shim_test",
  "library",
  /^tests\/native\/shim\/\w+\.cu$/,
  EVERY_SOURCE,
);

/** The CUDA library with the same. */
export const SHIM_LIBRARY_CUDA = variant(SHIM_LIBRARY, {
  name: "libgridstride_cuda_shim_test",
  kind: "cuda",
});

/** All of them. */
export const NATIVE_PROGRAMS: readonly NativeProgram[] = [
  LATE_KERNELS,
  EXECUTION,
  ...MODULES,
  LINKED_MODULE,
  RUNTIME,
  LANGUAGE,
  LANGUAGE_NAMES,
  LANGUAGE_NAMES_CUDA,
  KERNELS,
  KERNELS_CUDA,
  TABLES,
  SHIM,
  SHIM_MODULE,
  SHIM_LIBRARY,
  SHIM_LIBRARY_CUDA,
];
