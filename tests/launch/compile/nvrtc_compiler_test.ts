import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { openNvrtc } from "../../../src/ffi/native_nvrtc.ts";
import { CompileError } from "../../../src/launch/compile/compile_error.ts";
import { CompilerUnavailableError } from "../../../src/launch/compile/compile_error.ts";
import type { CompiledImage, CompileRequest } from "../../../src/launch/compile/compiler.ts";
import { NvrtcCompiler } from "../../../src/launch/compile/nvrtc_compiler.ts";
import { searchToolkitHeaders } from "../../../src/launch/compile/nvrtc_search.ts";
import { toolkitHeader } from "../../support/cuda_toolkit.ts";
import { installation, library, nvrtc, request, withoutNvrtc } from "../../support/nvrtc.ts";

const toolkitVersion = installation?.version.join(".");
const runtimeVersion = /#define CUDART_VERSION\s+(\d+)/
  .exec(toolkitHeader("cuda_runtime_api.h") ?? "")?.[1];
const [major = 0, minor = 0] = installation?.version ?? [];
const hasToolkit = runtimeVersion === String(major * 1000 + minor * 10);

function nvrtcTest(name: string, fn: () => Promise<void>, needsToolkit = false): void {
  const absent = needsToolkit && !hasToolkit ? " (skipped: no toolkit of NVRTC's version)" : "";
  const ignore = nvrtc === undefined || absent !== "";
  Deno.test({ name: `${name}${withoutNvrtc || absent}`, ignore, fn });
}

function compile(source: string, rest: Partial<CompileRequest> = {}): Promise<CompiledImage> {
  return nvrtc!.compile(request(source, rest));
}

function source(name: string): string {
  return Deno.readTextFileSync(new URL(`sources/${name}`, import.meta.url));
}

const text = ({ image }: CompiledImage) => new TextDecoder().decode(image);

nvrtcTest("compile() returns lowered names and resources of kernels and variables", async () => {
  const { format, image, loweredNames, resources, log } = await compile(
    `template <class T, int N> __global__ void tile(T* x, int n) {
       __shared__ T s[N];
       s[threadIdx.x] = x[threadIdx.x];
       __syncthreads();
       x[n] = s[N - 1 - threadIdx.x];
     }
     __constant__ float table[4];
     namespace n { __device__ int count; }
     extern "C" __global__ void plain(float* x) { x[0] = table[1] + n::count; }
     __global__ void hungry(float* x, int i) {
       float local[64];
       for (int k = 0; k < 64; k++) local[k] = x[k];
       for (int k = 0; k < i; k++) local[k * i % 64] += local[(k + i) % 64];
       for (int k = 0; k < 64; k++) x[k] = local[k];
     }`,
    { expressions: ["tile<float, 32>", "plain", "hungry", "&table", "&n::count"] },
  );
  assertEquals(format, "cubin");
  assertEquals([...image.subarray(0, 4)], [0x7f, 0x45, 0x4c, 0x46]);
  assertEquals(
    loweredNames,
    new Map([
      ["tile<float, 32>", "_Z4tileIfLi32EEvPT_i"],
      ["plain", "plain"],
      ["hungry", "_Z6hungryPfi"],
      ["&table", "table"],
      ["&n::count", "_ZN1n5countE"],
    ]),
  );
  assertEquals([...resources.keys()].sort(), ["_Z4tileIfLi32EEvPT_i", "_Z6hungryPfi", "plain"]);
  assertEquals(resources.get("_Z4tileIfLi32EEvPT_i")!.sharedMemory, 128);
  assert(resources.get("_Z6hungryPfi")!.localMemory >= 256);
  assert(resources.get("plain")!.registers > 0);
  assertEquals(log, "");
});

nvrtcTest("compile() returns PTX for a device newer than NVRTC", async () => {
  const target = { kind: "cuda", capability: "99.0" } as const;
  const image = await compile("__global__ void k(int* x) { *x = 1; }", { target });
  assertEquals(image.format, "ptx");
  assertMatch(text(image), /\.target sm_\d+/);
  assertEquals(image.resources.size, 0);
  const chosen = await compile("__global__ void k(int* x) { *x = 1; }", {
    options: ["-arch=compute_80"],
  });
  assertMatch(text(chosen), /\.target sm_80\b/);
});

nvrtcTest("compile() finds the standard headers of device code", async () => {
  const { log } = await compile(source("standard_headers.cu"), {
    expressions: ["standard_functions"],
  });
  assertEquals(log, "");
});

nvrtcTest("compile() needs no header for printf, assert and mathematical functions", async () => {
  const virtual = { options: ["-arch=compute_80"] };
  const image = await compile(
    `float helper(float x) { return x * x; }  // The device's, as there is no other code.
     extern "C" __global__ void k(float* x, double* y, uint n) {
       assert(n > 0);
       printf("%f %u\\n", x[0], n);
       x[0] = helper(__expf(x[0])) + rsqrtf(x[1]) + fmaf(x[0], x[1], INFINITY);
       y[0] = fma(y[0], y[1], erf(y[2])) + __dadd_rn(y[0], M_PI) + sqrt(2) + pow(2, 3);
       x[1] = atomicAdd(x, 1.0f) + __shfl_xor_sync(~0u, x[0], 1) + clock64() + UINT_MAX;
     }`,
    virtual,
  );
  for (
    const name of ["vprintf", "__assertfail", "fma.rn.f64", "ex2.approx", "shfl.sync", "clock64"]
  ) {
    assert(text(image).includes(name), name);
  }
});

nvrtcTest("compile() needs no header for the limits of integers and placement new", async () => {
  await compile(
    `struct Pair { int x, y; };
     extern "C" __global__ void k(unsigned* out, Pair* pair) {
       out[0] = UINT_MAX - INT_MAX;
       out[1] = std::numeric_limits<int>::max() == INT_MAX;
       out[2] = std::numeric_limits<double>::infinity() > std::numeric_limits<float>::max();
       new (pair) Pair{1, 2};
     }`,
    { options: ["-arch=compute_80"] },
  );
});

nvrtcTest("compile() finds half and bfloat16 in the toolkit", async () => {
  const image = await compile(
    `#include <cuda_fp16.h>
     #include <cuda_bf16.h>
     #include <math_constants.h>
     #include <stdint.h>
     __global__ void k(__half* x, __nv_bfloat16* y, __half2* z, int64_t n) {
       x[0] = hexp(x[1] * x[2]) + __float2half(CUDART_PI_F);
       y[0] = __hfma(y[1], y[2], y[3]);
       z[0] = __hmul2(z[1], z[2]);
     }`,
    { options: ["-arch=compute_80"], expressions: ["k"] },
  );
  assertMatch(text(image), /mul.*f16/);
  assertEquals(image.log, "");
}, true);

nvrtcTest(
  "compile() names the package with the headers of narrow floats without a toolkit",
  async () => {
    // The NVRTC that is open, in a folder of its own.
    const root = await Deno.makeTempDir();
    try {
      await Deno.mkdir(`${root}/cu/lib`, { recursive: true });
      const opened = openNvrtc(library, "libnvrtc.so", "");
      assert("path" in opened);
      await Deno.symlink(await Deno.realPath(opened.path), `${root}/cu/lib/libnvrtc.so.${major}`);
      const environment = (name: string) =>
        name === "GRIDSTRIDE_NVRTC" ? `${root}/cu/lib` : undefined;
      const alone = new NvrtcCompiler(library, environment, root);
      const options = ["-arch=compute_90"];
      await alone.compile(request("__global__ void k(float* x) { x[0] = 1; }", { options }));
      const sources = ["cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h"].map((header) =>
        [header, request(`#include <${header}>\n__global__ void k() {}`, { options })] as const
      );
      const name = `nvidia-cuda-runtime${major < 13 ? `-cu${major}` : ""}==${toolkitVersion}.*`;
      for (const [header, source] of sources) {
        const error = await assertRejects(() => alone.compile(source), CompileError);
        const { message } = error.diagnostics[0]!;
        assert(message.startsWith(`cannot open source file "${header}": `), message);
        assert(message.endsWith(`. \`pip install ${name}\` installs those of CUDA`), message);
      }
      // As pip unpacks the headers.
      const headers = searchToolkitHeaders(installation!, (it) => Deno.env.get(it)).fitting[0];
      if (headers === undefined) return;
      await Deno.symlink(headers, `${root}/cu/include`);
      const complete = new NvrtcCompiler(library, environment, root);
      for (const [, source] of sources) await complete.compile(source);
    } finally {
      await Deno.remove(root, { recursive: true });
    }
  },
);

nvrtcTest("compile() passes defines, headers and options to NVRTC", async () => {
  const image = await compile(
    `#include "d/scale.h"
     __global__ void k(float* x) { x[0] = scale(x[0] / 3.0f) + N; }`,
    {
      headers: new Map([
        ["d/scale.h", '#include "factor.h"\ninline float scale(float x) { return x * FACTOR; }'],
        ["d/factor.h", "#define FACTOR 1024.0f"],
      ]),
      defines: new Map([["N", "256"]]),
      options: ["-arch=compute_80", "-use_fast_math"],
    },
  );
  assertMatch(text(image), /0f44800000/); // 1024
  assertMatch(text(image), /0f43800000/); // 256
  assertMatch(text(image), /\.ftz/);
  assertMatch(text(image), /\.loc/);
});

nvrtcTest(
  "compile() reports errors and warnings in the program's own lines",
  async () => {
    const error = await assertRejects(
      () =>
        compile('#include "h.h"\n__global__ void k(float* x) {\n\tyy[0] = foo(1);\n}\n', {
          headers: new Map([["h.h", "inline int foo(int a) {\n  return b;\n}\n"]]),
        }),
      CompileError,
    );
    const places = error.diagnostics.map(({ file, line, text }) => [file, line, text]);
    assertEquals(places, [["h.h", 2, "  return b;"], ["kernel.cu", 3, "\tyy[0] = foo(1);"]]);
    const { log } = await compile("__global__ void k(int* x) {\n  int unused;\n  *x = 1;\n}");
    assertMatch(log, /kernel\.cu:2.*: warning: variable "unused" was declared but never refer/);
    // NVRTC 11 says in which line, but not where in it.
    if (major < 12) return;
    assertEquals(
      error.message,
      `Cannot compile kernel.cu with ${nvrtc!.label}:
h.h:2:10: error: identifier "b" is undefined
    2 |   return b;
      |          ^
kernel.cu:3:2: error: identifier "yy" is undefined
    3 | \tyy[0] = foo(1);
      | \t^`,
    );
  },
);

nvrtcTest("compile() throws a distinct error for each kind of mistake", async () => {
  const kernel = "__global__ void k(int* x) { *x = 1; }";
  await assertRejects(
    () => compile(kernel, { expressions: ["k", "nothere<int>"] }),
    CompileError,
    'in the expression nothere<int>: identifier "nothere" is undefined',
  );
  await assertRejects(
    () => compile(kernel, { options: ["-arch=sm_10"] }),
    TypeError,
    `Cannot compile kernel.cu with ${nvrtc!.label} as it refuses an option: nvrtc: error: `,
  );
  await assertRejects(() => compile(kernel, { options: ["-dc"] }), TypeError, "not allowed");
  await assertRejects(
    () => compile("__global__ void k(int* x) { __shared__ int big[20000]; x[0] = big[x[1]]; }"),
    CompileError,
    "error: Entry function '_Z1kPi' uses too much shared data (80000 bytes, 49152 max)",
  );
  await assertRejects(
    () => compile(kernel, { target: { kind: "cuda", capability: "2.0" } }),
    RangeError,
    "as the device's compute capability must be",
  );
  await assertRejects(
    () => compile('#include "absent.h"\n'),
    CompileError,
    'error: cannot open source file "absent.h": it is not in the headers of the request',
  );
});

nvrtcTest("compile() reads no files beside the program unless an option names them", async () => {
  const directory = await Deno.makeTempDir();
  const before = Deno.cwd();
  try {
    await Deno.writeTextFile(`${directory}/beside.h`, "#define BESIDE 1\n");
    Deno.chdir(directory);
    const kernel = '#include "beside.h"\n__global__ void k(int* x) { *x = BESIDE; }';
    await assertRejects(() => compile(kernel), CompileError, "beside.h");
    const image = await compile(kernel, { options: [`-I${directory}`, "-arch=compute_80"] });
    assertMatch(text(image), /\.entry/);
  } finally {
    Deno.chdir(before);
    await Deno.remove(directory, { recursive: true });
  }
});

nvrtcTest(
  "identity() changes with NVRTC and headers, not with the request",
  async () => {
    const plain = await nvrtc!.identity(request("int x;"));
    assertEquals(await nvrtc!.identity(request("int y;", { name: "other.cu" })), plain);
    assertEquals(plain[0], toolkitVersion);
    const environment = (name: string) =>
      name === "NVRTC_APPEND_FLAGS" ? "-use_fast_math" : Deno.env.get(name);
    const appended = await new NvrtcCompiler(library, environment).identity(request("int x;"));
    assert(JSON.stringify(appended) !== JSON.stringify(plain));
    assertEquals(plain.filter((part) => /libnvrtc[^ ]* \d+ \d+$/.test(part)).length, 2);
    const directory = await Deno.makeTempDir();
    try {
      const asked = request('#include "a.h"\n', { options: [`-I${directory}`] });
      await Deno.writeTextFile(`${directory}/a.h`, '#include "b.h"\n');
      await Deno.writeTextFile(`${directory}/b.h`, "1");
      const one = await nvrtc!.identity(asked);
      await Deno.writeTextFile(`${directory}/b.h`, "2");
      const other = await nvrtc!.identity(asked);
      assert(JSON.stringify(one) !== JSON.stringify(other), "a header that a header includes");
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  },
);

Deno.test("NvrtcCompiler() lists the attempts and the remedy when there is no NVRTC", async () => {
  const directory = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${directory}/libnvrtc.so.13`, "no library");
    const environment = (name: string) => name === "GRIDSTRIDE_NVRTC" ? directory : undefined;
    const error = assertThrows(
      () => new NvrtcCompiler(library, environment),
      CompilerUnavailableError,
      "Cannot compile for CUDA with NVRTC as there is none that can be used:",
    );
    assertMatch(error.message, /libnvrtc\.so\.13 \(GRIDSTRIDE_NVRTC\): \S/);
    assertMatch(error.message, /pip install nvidia-cuda-nvrtc nvidia-cuda-runtime/);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});
