// Kernels in extensions of PyTorch and beside other libraries of hosts.

import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { CompileError, compileImage } from "../../../mod.ts";
import { device } from "../../support/device.ts";
import { installation, withoutNvrtc } from "../../support/nvrtc.ts";

/** Bindings as such extensions write them, by hand and by macros. */
const SOURCE = `
#include <algorithm>
#include <torch/extension.h>
#include <torch/types.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <nvToolsExtCuda.h>
#include <nvtx3/nvToolsExt.h>
#include <cuComplex.h>

#define CHECK(x) TORCH_CHECK(x.is_cuda(), #x " must be on a GPU")
#define STRINGIFY(x) #x
#define BIND(name) m.def(STRINGIFY(name), &name, STRINGIFY(name));
#define SCALE(T, type)                                                  \\
  __global__ void scale_##T##_kernel(T* x, T by, int n) {               \\
    if (threadIdx.x < n) x[threadIdx.x] *= by;                          \\
  }                                                                     \\
  torch::Tensor scale_##T(torch::Tensor x, double by) {                 \\
    CHECK(x);                                                           \\
    const at::cuda::CUDAGuard guard(x.device());                        \\
    const int threads = std::min<int>(x.numel(), 1024);                 \\
    scale_##T##_kernel<<<1, threads>>>(x.data_ptr<T>(), by, x.numel()); \\
    return x;                                                           \\
  }
SCALE(float, torch::kFloat32)
SCALE(double, torch::kFloat64)

__global__ void complex(const cuFloatComplex* x, cuFloatComplex* y, cuDoubleComplex* z) {
  y[0] = cuCmulf(x[0], x[1]);
  y[1] = cuCdivf(x[0], x[1]);
  y[2] = make_cuComplex(cuCabsf(x[0]), cuCimagf(cuConjf(x[1])));
  y[3] = cuCfmaf(x[0], x[1], cuCsubf(x[1], x[0]));
  z[0] = cuCadd(cuComplexFloatToDouble(x[0]), make_cuDoubleComplex(0.5, cuCreal(z[0])));
  z[1] = cuCmul(z[0], z[0]);
}

__global__ void address(int* x, unsigned long long* out) {
  *out = reinterpret_cast<std::uintptr_t>(x) % 16;
}

#define LAUNCH(name) \\
  void name##_launch(cuFloatComplex* x) { nvtxRangePushA(#name); name<<<1, 1>>>(x, x, nullptr); }
LAUNCH(complex);

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  BIND(scale_float)
  BIND(scale_double)
}
`;
const instances = ["scale_float_kernel", "scale_double_kernel"];

Deno.test("compile() takes kernels of an extension of PyTorch as they are", async () => {
  using module = await device.compile(SOURCE, { instances });
  assertEquals(module.kernelNames, ["complex", "address", ...instances]);
  using x = device.upload(new Float32Array([3, 4, 1, -2]));
  using y = device.allocate("float32", 8);
  using z = device.upload(new Float64Array([0.25, 7, 0, 0]));
  module.kernel(
    "complex(const cuFloatComplex* x, cuFloatComplex* y, cuDoubleComplex* z)",
  ).launch({ grid: 1, block: 1 }, x, y, z);
  // (3+4i)(1-2i) = 11-2i; their quotient is -1+2i; |3+4i| = 5; 11-2i + (1-2i) - (3+4i) = 9-8i.
  const near = [...await y.toArray()].map((value) => Math.round(value * 2 ** 18) / 2 ** 18);
  assertEquals(near, [11, -2, -1, 2, 5, 2, 9, -8]);
  // 3.5+4.25i, and its square.
  assertEquals([...await z.toArray()], [3.5, 4.25, 3.5 ** 2 - 4.25 ** 2, 2 * 3.5 * 4.25]);
  using values = device.upload(new Float64Array([1, 2]));
  module.kernel("scale_double_kernel(double* x, double by, int n)")
    .launch({ grid: 1, block: 2 }, values, 3, 2);
  assertEquals([...await values.toArray()], [3, 6]);
});

const WITH_TENSORS = `#include <torch/extension.h>
__global__ void k(at::Half* x) { x[0] = x[1]; }
`;
const ADVICE = "Headers of PyTorch such as torch/extension.h are left out";

Deno.test("compile() gives advice about kernels that use types of PyTorch", async () => {
  const error = await assertRejects(() => device.compile(WITH_TENSORS), CompileError);
  assertStringIncludes(error.message, ADVICE);
  assertEquals(error.diagnostics[0]!.line, 2);
  // This one is refused before a compiler sees it.
  const held = "#define HELD(T) struct S { T x; __device__ float f() { return 0; } };\n";
  const source = WITH_TENSORS.replace("__global__", `${held}HELD(at::Half)\n__global__`);
  const refusal = await assertRejects(() => device.compile(source), CompileError, "cannot hold");
  assertStringIncludes(refusal.message, ADVICE);
  const headers = { "torch/extension.h": "namespace at { typedef float Half; }\n" };
  using module = await device.compile(WITH_TENSORS, { headers });
  assertEquals(module.kernelNames, ["k"]);
});

Deno.test({
  name: `compileImage() does the same for CUDA${withoutNvrtc}`,
  ignore: installation === undefined,
  fn: async () => {
    const target = { kind: "cuda", capability: "9.0" } as const;
    const { loweredNames } = await compileImage(SOURCE, { target, instances });
    assertEquals([...loweredNames.keys()], ["complex", "address", ...instances]);
    const error = await assertRejects(() => compileImage(WITH_TENSORS, { target }), CompileError);
    assertStringIncludes(error.message, ADVICE);
  },
});
