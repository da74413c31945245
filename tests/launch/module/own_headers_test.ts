// Headers of the program are treated as the source is.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { device } from "../../support/device.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";
import { compileImage, CompilerUnavailableError } from "../../../mod.ts";

/** A header with everything that only hosts have, and code for devices between it. */
const COMMON = `#pragma once
#include <string>
#include <cublas_v2.h>
#include <nvtx3/nvToolsExtCudaRt.h>
typedef unsigned int word;
__constant__ int offset;
extern __shared__ int scratch[];
struct Handles { cublasHandle_t blas; std::string name; };
inline std::string describe(cublasStatus_t status) { return std::to_string(status); }
template <class T> __global__ void fill(T* out, T value) { out[threadIdx.x] = value; }
__global__ void twice(word* out) { scratch[0] = 2; out[0] *= scratch[0]; }
inline void upload(int value) {
  cudaMemcpyToSymbol(offset, &value, sizeof value);
  twice<<<1, 1>>>(nullptr);
}
`;
const SOURCE = `#include "../common/common.h"
namespace inner {
#include "body.cuh"
}
__global__ void shift(unsigned int* out) { scratch[0] = 5; out[0] += scratch[0] + offset; }
int main() { upload(3); }
`;
const BODY = "__global__ void reset(word* out) { out[0] = 0; }\n";

Deno.test("Device.compileFile() leaves out host code of headers, and finds their kernels", async () => {
  using folder = TemporaryDirectory.of({
    "program/main.cu": SOURCE,
    "program/body.cuh": BODY,
    "common/common.h": COMMON,
  });
  using module = await device.compileFile(`${folder.path}/program/main.cu`);
  assertEquals(module.kernelNames, ["twice", "inner::reset", "shift"]);
  using out = device.upload(new Uint32Array([4]));
  const config = { grid: 1, block: 1, sharedMemory: 4 };
  module.variable("offset", "int32").copyFrom(new Int32Array([100]));
  module.kernel("twice").launch(config, out);
  module.kernel("shift").launch(config, out);
  assertEquals([...await out.toArray()], [8 + 5 + 100]);
  module.kernel("inner::reset").launch(config, out);
  assertEquals([...await out.toArray()], [0]);
});

Deno.test("compile() treats headers of an -I directory as those that it is given", async () => {
  using folder = TemporaryDirectory.of({ "common.h": COMMON, "body.cuh": BODY });
  const source = SOURCE.replace("../common/", "");
  const headers = { "common.h": COMMON, "body.cuh": BODY };
  const texts = [{ headers }, { options: [`-I${folder.path}`] }].map(async (options) => {
    using module = await device.compile(source as string, options);
    return module.kernelNames;
  });
  assertEquals(await Promise.all(texts), Array(2).fill(["twice", "inner::reset", "shift"]));
});

Deno.test("compile() shows errors in headers with their lines, behind shared memory too", async () => {
  const headers = {
    "a.h": "__device__ int f() {\n  extern __shared__ int s[]; return s[0] + wrong; }\n",
  };
  const error = await device.compile('#include "a.h"\n', { headers }).then(String, String);
  assertStringIncludes(error, "a.h:2:");
  assertStringIncludes(error, "wrong");
});

/** The lowered names for an H100; undefined without a compiler for it. */
async function namesForCuda(source: string, headers: Record<string, string>) {
  const target = { kind: "cuda", capability: "9.0" } as const;
  try {
    return [...(await compileImage(source, { headers, target, cache: false })).loweredNames.keys()];
  } catch (error) {
    if (error instanceof CompilerUnavailableError) return undefined;
    throw error;
  }
}

const absent = await namesForCuda("", {}) === undefined;

Deno.test({
  name: `compileImage() treats headers alike for CUDA${absent ? " (skipped: no NVRTC)" : ""}`,
  ignore: absent,
  async fn() {
    const names = await namesForCuda(SOURCE, { "../common/common.h": COMMON, "body.cuh": BODY });
    assertEquals(names, ["twice", "inner::reset", "shift", "&offset"]);
  },
});
