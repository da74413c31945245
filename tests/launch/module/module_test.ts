/**
 * Modules: kernels and variables of a source, compiled for the device under test.
 */

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { defineStruct } from "../../../mod.ts";
import { resourceTally } from "../../../src/ffi/native_device.ts";
import { device } from "../../support/device.ts";

const Particle = defineStruct("Particle", { position: "float3", mass: "float", id: "int" });

// One source for all tests, as compiling takes longer than they do.
const SOURCE = `
  #include <cuda_fp16.h>
  #include <stdint.h>

  struct Particle { float3 position; float mass; int id; };

  __constant__ float factors[4] = {1, 2, 3, 4};
  __device__ int total;

  extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
  }

  namespace image {
  __global__ void invert(const uint8_t* in, uint8_t* out, size_t n) {
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
      out[i] = 255 - in[i];
    }
  }
  }  // namespace image

  template <typename T, int Factor>
  __global__ void scale(T* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= Factor;
  }

  __global__ void use_factors(float* out) { out[threadIdx.x] = factors[threadIdx.x]; }
  __global__ void count(int amount) { atomicAdd(&total, amount); }

  __global__ void every_type(bool b, signed char c, unsigned char uc, short s, unsigned short us,
                             int i, unsigned int u, long long l, unsigned long long ul, half h,
                             float f, double d, float4 v, Particle p, double* out) {
    double all[] = {double(b), double(c), double(uc), double(s), double(us), double(i), double(u),
                    double(l), double(ul), double(__half2float(h)), double(f), d, double(v.x),
                    double(v.y), double(v.z), double(v.w), double(p.position.x),
                    double(p.position.y), double(p.position.z), double(p.mass), double(p.id)};
    for (int at = 0; at < 21; at++) out[at] = all[at];
  }

  __global__ void move(Particle* particles, float3 by, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    particles[i].position.x += by.x;
    particles[i].position.y += by.y;
    particles[i].position.z += by.z;
    particles[i].id = -particles[i].id;
  }

  int main() {
    saxpy<<<1, 1>>>(0, nullptr, nullptr, 0);
    return 0;
  }
`;

const INSTANCES = ["scale<float, 3>", "scale<double,5>"];
const module = await device.compile(SOURCE, {
  name: "module.cu",
  instances: INSTANCES,
  structs: [Particle],
});
globalThis.addEventListener("unload", () => module[Symbol.dispose]());

Deno.test("kernel() finds kernels by signature and by name", async () => {
  const saxpy = module.kernel("saxpy(float a, const float* x, float* y, int n)");
  assert(saxpy === module.kernel("saxpy(float a, const float* x, float* y, int n)"));
  const named = module.kernel("saxpy");
  for (const n of [0, 1, 255, 256, 257, 1021]) {
    using x = device.upload(Float32Array.from({ length: n }, (_, i) => i));
    using y = device.allocate("float32", n, { fill: 1 });
    const config = { grid: Math.max(1, Math.ceil(n / 256)), block: 256 };
    saxpy.launch(config, 2, x, y, n);
    named.launch(config, 2, x, y, n);
    assertEquals(await y.toArray(), Float32Array.from({ length: n }, (_, i) => 1 + 4 * i));
  }
});

Deno.test("kernel() accepts namespaces and template instances in any spacing", async () => {
  using bytes = device.upload(new Uint8Array([0, 1, 254, 255]));
  using out = device.allocate("uint8", 4);
  const invert = module.kernel("image::invert(const uint8_t* in, uint8_t* out, size_t n)");
  invert.launch({ grid: 1, block: 32 }, bytes, out, 4);
  assertEquals(await out.toArray(), new Uint8Array([255, 254, 1, 0]));
  using x = device.upload(new Float64Array([1, 2]));
  module.kernel("scale< double , 5 >(double* x, int n)").launch({ grid: 1, block: 2 }, x, 2);
  assertEquals(await x.toArray(), new Float64Array([5, 10]));
});

Deno.test("kernelNames and variableNames hold the names of the source", () => {
  assertEquals(module.kernelNames, [
    "saxpy",
    "image::invert",
    "use_factors",
    "count",
    "every_type",
    "move",
    "scale<float,3>",
    "scale<double,5>",
  ]);
  assertEquals(module.variableNames, ["factors", "total"]);
  assertEquals([module.name, module.label], ["module.cu", "module module.cu"]);
});

Deno.test("launch() passes arguments of every type", async () => {
  using out = device.allocate("float64", 21);
  const kernel = module.kernel("every_type");
  kernel.launch(
    { grid: 1, block: 1 },
    true,
    -128,
    255,
    -32768,
    65535,
    -(2 ** 31),
    2 ** 32 - 1,
    -(2 ** 53) + 1,
    2n ** 63n,
    0.5,
    0.25,
    1 / 3,
    [1, 2, 3, 4],
    { position: [5, 6, 7], mass: 8, id: -9 },
    out,
  );
  assertEquals([...await out.toArray()], [
    ...[1, -128, 255, -32768, 65535, -(2 ** 31), 2 ** 32 - 1, -(2 ** 53) + 1, 2 ** 63],
    ...[0.5, 0.25, 1 / 3, 1, 2, 3, 4, 5, 6, 7, 8, -9],
  ]);
});

Deno.test("variable() returns memory that kernels share", async () => {
  using out = device.allocate("float32", 4);
  const factors = module.variable("factors", "float32");
  assertEquals(factors.length, 4);
  const use = module.kernel("use_factors(float* out)");
  use.launch({ grid: 1, block: 4 }, out);
  assertEquals(await out.toArray(), new Float32Array([1, 2, 3, 4]));
  factors.copyFrom(new Float32Array([8, 7, 6, 5]));
  use.launch({ grid: 1, block: 4 }, out);
  assertEquals(await out.toArray(), new Float32Array([8, 7, 6, 5]));
  const total = module.variable("total", "int32");
  total.copyFrom(new Int32Array([0]));
  module.kernel("count(int amount)").launch({ grid: 2, block: 64 }, 3);
  assertEquals(await total.toArray(), new Int32Array([384]));
});

Deno.test("kernel() names the missing kernel or the different parameter", () => {
  // Text that TypeScript does not know: it would refuse some of it itself.
  const find = (text: string) => module.kernel(text);
  const refused = [
    ["nothing(int n)", "as there is no kernel of this name: it has saxpy, image::invert"],
    ["invert(const uint8_t* in, uint8_t* out, size_t n)", "there is no kernel of this name"],
    ["scale<float, 4>(float* x, int n)", '{ instances: ["scale<float,4>"] }'],
    ["scale(float* x, int n)", "instance of a template that was not compiled"],
    ["saxpy(float a, const float* x, float* y)", "the kernel has 4 parameters"],
    ["saxpy(double a, const float* x, float* y, int n)", "parameter 1 of 4 must be float"],
    ["saxpy(float a, float* x, float* y, int n)", "parameter 2 of 4 must be const float*"],
    ["saxpy(float a, const float* x, const float* y, int n)", "parameter 3 of 4 must be float*"],
    ["saxpy(float a, const float* x, float* y, long long n)", "parameter 4 of 4 must be int"],
    ["scale<float, 3>(float* x, long long n)", "parameter 2 of 2 must be int: it is long long"],
    ["scale<float, 3>(float* x)", "has 2 parameters"],
  ] as const;
  for (const [text, message] of refused) assertThrows(() => find(text), TypeError, message);
  assertThrows(() => find("saxpy(float a"), SyntaxError);
  assertThrows(() => module.kernel(7 as never), TypeError, "signature must be a text: it is 7");
});

Deno.test("variable() refuses unknown names and wrong sizes", () => {
  assertThrows(() => module.variable("nothing"), TypeError, "it has factors, total");
  assertThrows(() => module.variable("total", "float64"), RangeError, "multiple of 8: they are 4");
  assertThrows(() => module.variable(7 as never), TypeError, "its name must be a text: it is 7");
});

/** A header that cannot be seen from here may define anything. */
const DOUBTFUL = `
  #if __has_include(<none.h>)
  #include <none.h>
  #endif
  __device__ int counter;
  template <typename T> __global__ void twice(T* x) { x[0] += x[0]; }
  template __global__ void twice<int>(int* x);
  __global__ void same(int* x) { x[0] = 1; }
  __global__ void same(float* x) { x[0] = 1; }
  #ifndef MACRO_OF_A_HEADER
  __global__ void perhaps(int* x) { x[0] = 5; }
  __global__ void chosen(int* x) { x[0] = 6; }
  #endif
`;

Deno.test("compile() compiles each instance once", async () => {
  using one = await device.compile(DOUBTFUL, {
    name: "doubtful.cu",
    instances: ["twice< int >", "twice<float>", "twice<float >", "chosen"],
  });
  const same = ["same(int* x)", "same(float* x)"];
  assertEquals(one.kernelNames, ["twice<int>", ...same, "twice<float>", "chosen"]);
  using x = device.upload(new Int32Array([4]));
  one.kernel("twice<int>(int* x)").launch({ grid: 1, block: 1 }, x);
  assertEquals(await x.toArray(), new Int32Array([8]));
  one.kernel("chosen(int* x)").launch({ grid: 1, block: 1 }, x);
  assertEquals(await x.toArray(), new Int32Array([6]));
  const find = (text: string) => one.kernel(text);
  assertThrows(() => find("twice"), TypeError, '{ instances: ["twice<…>"] }');
  assertThrows(() => find("same"), TypeError, `a signature chooses one: ${same.join(", ")}`);
  assertThrows(() => find("perhaps"), TypeError, '{ instances: ["perhaps"] }');
  // Those that are freed are forgotten at times, those that are not end with the module.
  const first = one.variable("counter", "int32");
  for (let step = 0; step < 1000; step++) one.variable("counter", "int32").free();
  const last = one.variable("counter", "int32");
  one[Symbol.dispose]();
  assert(first.disposed && last.disposed);
});

Deno.test("`compile()` refuses a source without kernels, with advice", async () => {
  const refusal = "must have a kernel: it has none. Kernels are functions with __global__";
  for (const source of ["", "int x;"]) {
    await assertRejects(() => device.compile(source), RangeError, refusal);
  }
});

Deno.test("dispose() ends kernels and variables", async () => {
  const other = await device.compile("__global__ void f(int* x) { *x = 1; } __device__ int v;");
  const f = other.kernel("f(int* x)");
  const v = other.variable("v", "int32");
  using x = device.allocate("int32", 1);
  f.launch({ grid: 1, block: 1 }, x);
  other[Symbol.dispose]();
  other[Symbol.dispose]();
  assertEquals((await x.toArray())[0], 1);
  assert(other.disposed && v.disposed);
  const gone = "as module kernel.cu is disposed";
  assertThrows(() => f.launch({ grid: 1, block: 1 }, x), TypeError, `Cannot launch f ${gone}`);
  assertThrows(() => other.kernel("f(int* x)"), TypeError, gone);
  assertThrows(() => other.variable("v"), TypeError, gone);
  assertThrows(() => v.toArraySync(), TypeError, "it is disposed");
});

Deno.test("dispose() unloads a module after a capture of its launch that throws", async () => {
  const modules = () => resourceTally(device.context.library).modules;
  const before = modules();
  const other = await device.compile("__global__ void g(int* x) { *x = 1; }");
  const g = other.kernel("g(int* x)");
  using stream = device.createStream();
  using x = device.allocate("int32", 1, { stream });
  assertEquals(modules(), before + 1);
  const fail = () => {
    g.launch({ grid: 1, block: 1, stream }, x);
    throw new RangeError("after the launch");
  };
  assertThrows(() => stream.capture(fail), RangeError, "after the launch");
  other[Symbol.dispose]();
  assertEquals(modules(), before);
});

Deno.test("compile() names a wrong option before compilation", async () => {
  const source = "__global__ void f() {}";
  const refused = [
    [{ name: "a/b.cu" }, RangeError, 'options.name must be a file name without a path: it is "a/b'],
    [{ name: 1 }, TypeError, "options.name must be a text: it is 1"],
    [{ defines: { "A B": 1 } }, RangeError, "options.defines must be an object whose keys"],
    [{ defines: { A: {} } }, TypeError, "options.defines.A must be"],
    [{ defines: { A: "1\n#error" } }, RangeError, "options.defines.A must be"],
    ...["", "..", "../", "a/../../b.h", "/etc/a.h", "a//b.h", "./a.h", "a\\b.h", "a\0"].map((
      name,
    ) =>
      [
        { headers: { [name]: "" } },
        RangeError,
        "options.headers must be an object whose keys",
      ] as const
    ),
    [{ headers: { "x.h": 1 } }, TypeError, 'options.headers["x.h"] must be a text'],
    [{ options: "-O3" }, RangeError, "options.options must be an array of texts"],
    [{ instances: [1] }, TypeError, "options.instances[0] must be a text"],
    [{ cache: "yes" }, RangeError, "options.cache must be a boolean"],
  ] as const;
  for (const [options, ErrorClass, message] of refused) {
    await assertRejects(() => device.compile(source, options as never), ErrorClass, message);
  }
  await assertRejects(() => device.compile(1 as never), TypeError, "source must be a text");
});
