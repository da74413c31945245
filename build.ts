/**
 * Builds the native libraries that the package runs on: `libgridstride_host`, the CUDA runtime for
 * the CPU, with a C++17 compiler, and `libgridstride_cuda` with nvcc where there is one. From a
 * checkout they go into `build/`; for an imported package the sources are fetched and the libraries
 * go into the user cache, where the same version of the package finds them.
 *
 * ```sh
 * deno run -A jsr:@gridstride/cuda/build            # for a program that imports the package
 * deno task build --target host --compiler clang++  # in a checkout
 * ```
 *
 * Or from a program, with {@linkcode build}. Importing this module does nothing.
 *
 * @module
 */

import { runBuildCommand } from "./src/ffi/build/command_line.ts";

export { BuildError } from "./src/ffi/build/build_error.ts";
export { build } from "./src/ffi/build/build_libraries.ts";
export type {
  BuildOptions,
  BuildReport,
  BuiltLibrary,
  SkippedLibrary,
} from "./src/ffi/build/build_options.ts";
export type { LineWriter } from "./src/ffi/build/build_options.ts";
export type { EnvironmentReader } from "./src/ffi/granted_environment.ts";

if (import.meta.main) Deno.exit(await runBuildCommand(Deno.args, (line) => console.error(line)));
