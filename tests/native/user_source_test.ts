// The contents of a user's file: the files of tests/launch/sources with nvcc, and errors of the host
// device's compilers for unsupported features.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findCudaCompiler } from "../../src/ffi/build/compilers.ts";
import { PACKAGE_ROOT } from "../../src/ffi/locate.ts";

const ROOT = fileURLToPath(PACKAGE_ROOT);
const INCLUDE = join(ROOT, "csrc", "host", "include");
const SOURCES = join(ROOT, "tests", "launch", "sources");

/** Runs a compiler. Returns its output, or nothing if it is not there. */
async function compile(
  compiler: string,
  args: readonly string[],
  source?: string,
): Promise<{ success: boolean; stdout: string; stderr: string } | undefined> {
  let process: Deno.ChildProcess;
  try {
    process = new Deno.Command(compiler, {
      args: [...args],
      stdin: source === undefined ? "null" : "piped",
      stdout: "piped",
      stderr: "piped",
      env: { LC_ALL: "C" },
    }).spawn();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
  if (source !== undefined) {
    const writer = process.stdin.getWriter();
    await writer.write(new TextEncoder().encode(source));
    await writer.close();
  }
  const { success, stdout, stderr } = await process.output();
  const decoder = new TextDecoder();
  return { success, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}

/** What both compilers of the host device say to a source; the standard includes come first. */
async function onEachCompiler(
  args: readonly string[],
  source: string,
  verify: (compiler: string, stdout: string, stderr: string, success: boolean) => void,
): Promise<void> {
  let found = 0;
  for (const compiler of ["g++", "clang++"]) {
    const flags = ["-std=c++17", `-I${INCLUDE}`, ...args, "-x", "c++", "-"];
    const text = `#include <gridstride/user_source.h>\n${source}`;
    const result = await compile(compiler, flags, text);
    if (result === undefined) continue;
    found++;
    verify(compiler, result.stdout, result.stderr, result.success);
  }
  assert(found > 0, "neither g++ nor clang++ is there");
}

Deno.test("user_source.h reports unsupported features by name", async () => {
  const source = `
    #include <cooperative_groups.h>
    __global__ void lane(int* out) { asm volatile("mov.u32 %0, %%laneid;" : "=r"(*out)); }
    __global__ void texture(float* out, cudaTextureObject_t from) {
      out[0] = tex2D<float>(from, 0.5f, 0.5f);
      tex1Dfetch(out, from, 0);
    }
    __global__ void surface(cudaSurfaceObject_t to) { surf2Dwrite(1.0f, to, 0, 0); }
  `;
  await onEachCompiler(["-fsyntax-only"], source, (compiler, _stdout, stderr, success) => {
    assert(!success, compiler);
    for (
      const message of [
        "the host device runs no PTX here: leave it to #if !defined(__CUDASIM__)",
        "the host device has no textures: tex2D() needs a GPU",
        "the host device has no textures: tex1Dfetch() needs a GPU",
        "the host device has no surfaces: surf2Dwrite() needs a GPU",
      ]
    ) assertStringIncludes(stderr, message, compiler);
  });
});

Deno.test("user_source.h compiles with the standard and CUDA headers", async () => {
  const headers = ["algorithm", "array", "atomic", "bitset", "cassert", "cfloat", "chrono"];
  headers.push("climits", "cmath", "complex", "condition_variable", "cstddef", "cstdint", "cstdio");
  headers.push("cstdlib", "cstring", "ctime", "filesystem", "fstream", "functional", "future");
  headers.push("initializer_list", "iomanip", "iostream", "iterator", "limits", "locale", "memory");
  headers.push("new", "numeric", "optional", "random", "regex", "sstream", "stdexcept", "string");
  headers.push("system_error", "tuple", "type_traits", "utility", "variant", "vector");
  const cuda = ["cooperative_groups/memcpy_async.h", "cooperative_groups/reduce.h"];
  cuda.push("cooperative_groups/scan.h", "cuComplex.h", "cuda.h", "cuda_bf16.h", "cuda_fp16.h");
  cuda.push("cuda_runtime_api.h", "device_launch_parameters.h", "math_constants.h");
  cuda.push("vector_functions.h", "vector_types.h");
  const source = [...cuda, ...headers].map((header) => `#include <${header}>\n`).join("");
  const flags = ["-fsyntax-only", "-Wall", "-Wextra", "-Werror"];
  await onEachCompiler(flags, source, (compiler, _stdout, stderr, success) => {
    assert(success, `${compiler}: ${stderr}`);
  });
});

Deno.test("`__noinline__` of user_source.h is CUDA's word and libstdc++'s", async () => {
  const source = `
    __device__ __noinline__ int twice(int x) { return 2 * x; }
    __attribute__((__noinline__)) int thrice(int x) { return 3 * x; }
  `;
  await onEachCompiler(
    ["-fsyntax-only", "-Werror"],
    source,
    (compiler, _stdout, stderr, success) => {
      assert(success, `${compiler}: ${stderr}`);
    },
  );
});

// Compiling these takes longer than everything else that such a file begins with.
Deno.test("user_source.h includes no slow header", async () => {
  await onEachCompiler(["-M"], "", (compiler, stdout) => {
    const files = stdout.split(/[\s\\]+/).filter((file) => file.startsWith("/"));
    assert(files.length > 50, `${compiler} names what it includes: ${files.length}`);
    const slow = /\/(?:specfun\.h|immintrin\.h|x86intrin\.h|algorithm|functional|string|tuple)$/;
    assertEquals(files.filter((file) => slow.test(file)), [], compiler);
  });
});

const { compiler: nvcc } = await findCudaCompiler((name) => Deno.env.get(name));
const withoutNvcc = nvcc === undefined ? " (skipped: no nvcc)" : "";

Deno.test({
  name: `the sources of tests/launch/sources compile with nvcc without warnings${withoutNvcc}`,
  ignore: withoutNvcc !== "",
  fn: async () => {
    const files = [...Deno.readDirSync(SOURCES)].map(({ name }) => join(SOURCES, name)).sort();
    assert(files.length >= 8, `${files.length} files`);
    const folder = await Deno.makeTempDir();
    try {
      const flags = ["-std=c++17", "-arch=sm_80", "-Xcompiler=-Wall,-Wextra", "--threads=2"];
      const args = [...flags, "-ptx", `--output-directory=${folder}`, ...files];
      const result = await compile(nvcc!.path, args);
      assertEquals(result?.stderr, "");
      assert(result?.success);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
