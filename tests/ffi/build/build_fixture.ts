/**
 * A small package with native sources of the same shape as the real ones, which build in a
 * fraction of a second, and compilers that are shell scripts.
 *
 * @module
 */

import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { buildPackage } from "../../../src/ffi/build/build_libraries.ts";
import type { BuildOptions, BuildReport } from "../../../src/ffi/build/build_options.ts";

const SOURCES: Readonly<Record<string, string>> = {
  "csrc/gridstride.h": '#pragma once\n#define EXPORTED __attribute__((visibility("default")))\n',
  "csrc/shim/abi.cu": `#include "gridstride.h"
#include <cuda_runtime.h>
extern "C" EXPORTED int gs_abi_version() { return 1; }
extern "C" EXPORTED const char* gs_build_record() {
  return GS_BUILD_COMPILER "|" GS_BUILD_ARCHITECTURES "|" GS_BUILD_SOURCE_HASH "|" GS_BUILD_FLAGS;
}
extern "C" EXPORTED int not_of_the_seam() { return 2; }
`,
  "csrc/kernels/scale.cu": `#include <cuda_runtime.h>
template <class T> __global__ void scale(T* x) { *x = 2 * *x; }
template __global__ void scale<float>(float*);
`,
  "csrc/host/pool.cpp": "int pool_size() { return 4; }\n",
  "csrc/exports.map": "{ global: gs_*; local: *; };\n",
  "csrc/host/include/cuda_runtime.h": "#pragma once\n#define __global__\n",
};

/** A package in a temporary directory, which is removed at the end of its scope. */
export class BuildFixture implements Disposable {
  /** The directory. */
  readonly directory: string = Deno.makeTempDirSync({ prefix: "gridstride build " });
  /** Its native sources. */
  readonly files: readonly string[] = Object.keys(SOURCES);
  /** Environment variables in place of the process's; only `PATH` is set. */
  readonly variables: Record<string, string> = { PATH: Deno.env.get("PATH") ?? "" };
  /** What compilers and decisions had to say in the builds so far. */
  readonly warnings: string[] = [];
  /** The lines of progress in the builds so far. */
  readonly progress: string[] = [];

  /** Writes the sources. */
  constructor() {
    for (const [file, text] of Object.entries(SOURCES)) this.write(file, text);
  }

  /** The root of the package. */
  get root(): URL {
    return pathToFileURL(this.directory + "/");
  }

  /** The path of a file of the package. */
  path(file: string): string {
    return join(this.directory, file);
  }

  /** Writes a file of the package, with the permission bits given. */
  write(file: string, text: string, mode = 0o644): string {
    const path = this.path(file);
    Deno.mkdirSync(dirname(path), { recursive: true });
    Deno.writeTextFileSync(path, text, { mode });
    return path;
  }

  /** Appends to a file of the package. */
  append(file: string, text: string): void {
    Deno.writeTextFileSync(this.path(file), text, { append: true });
  }

  /** Builds the package; the host library alone by default. */
  build(options: BuildOptions = {}, root: URL = this.root): Promise<BuildReport> {
    return buildPackage(root, this.files, {
      target: "host",
      environment: (name) => this.variables[name],
      progress: (line) => this.progress.push(line),
      warnings: (line) => this.warnings.push(line),
      ...options,
    });
  }

  /**
   * Puts an nvcc into a toolkit directory that compiles with g++ and writes the arguments of each
   * call as a line of `nvcc.log`; returns the toolkit directory.
   */
  fakeToolkit(): string {
    this.write("csrc/cuda_runtime.h", "#pragma once\n#define __global__\n");
    const script = `#!/bin/sh
case "$1" in
  --version) echo "Cuda compilation tools, release 13.0, V13.0.88"; exit 0;;
  --list-gpu-code) printf 'sm_75\\nsm_80\\nsm_90\\nsm_120\\n'; exit 0;;
esac
echo "$*" >> "${this.path("nvcc.log")}"
source= object= mode=-c prefix=
while [ $# -gt 0 ]; do
  case "$1" in
    -c) source=$2; shift;;
    -o) object=$2; shift;;
    -include) prefix=$2; shift;;
    -shared) mode=-shared;;
    -gencode|-ccbin) shift;;
    *.o) source="$source $1";;
  esac
  shift
done
if [ $mode = -c ]; then
  exec g++ -fPIC -fvisibility=hidden -Icsrc \${prefix:+-include "$prefix"} -x c++ -c "$source" -o "$object"
fi
: > "$object"
`;
    this.write("toolkit/bin/nvcc", script, 0o755);
    return this.path("toolkit");
  }

  /** Removes the directory. */
  [Symbol.dispose](): void {
    Deno.removeSync(this.directory, { recursive: true });
  }
}
