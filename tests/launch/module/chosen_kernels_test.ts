// Some kernels of a source, and instances of templates by their names alone.

import { assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { CompileError, compileImage, CompilerUnavailableError } from "../../../mod.ts";
import { device } from "../../support/device.ts";

const SOURCE: string = `
#define HALF(x) halved(x)
__device__ int halved(int x) { return x / 2; }
__device__ int broken(int x) { return x + missing; }
struct Pair { int a; };
__device__ Pair operator+(Pair a, Pair b) { return {a.a + b.a}; }
__global__ void good(int* out) { *out = HALF(*out); }
__global__ void bad(int* out) { *out = broken(*out); }
namespace n { __global__ void worse(int* out) { *out = absent; } }
template <class T, int N = 3> __global__ void tile(T* out, T value) { *out = value * N; }
template __global__ void tile<double, 4>(double*, double);
`;

Deno.test("compile() compiles the kernels of its options without those that fail", async () => {
  using module = await device.compile(SOURCE, { kernels: ["good"], instances: ["tile<int>"] });
  assertEquals(module.kernelNames, ["good", "tile<int>"]);
  using out = device.upload(new Int32Array([8]));
  module.kernel("good").launch({ grid: 1, block: 1 }, out);
  assertEquals([...await out.toArray()], [4]);
  assertThrows(() => module.kernel("bad"), TypeError, "it is left out: name it in the options of");
});

Deno.test("compile() names the kernels that errors concern, if there are others", async () => {
  const error = await assertRejects(() => device.compile(SOURCE), CompileError);
  assertStringIncludes(
    error.message,
    "Only bad, worse need this code: the option kernels compiles others without it, such as good",
  );
  // An error outside of functions concerns all.
  const wrong = await assertRejects(
    () => device.compile(`${SOURCE}\n__device__ wrong x;`),
    CompileError,
  );
  assertEquals(wrong.remark, "");
});

Deno.test("compile() refuses kernels that the source does not have, or templates", async () => {
  const refused = [["nothing", "nothing is none of them"], ["tile<float>", "is a template"]];
  for (const [name, message] of refused) {
    await assertRejects(() => device.compile(SOURCE, { kernels: [name!] }), TypeError, message);
  }
});

Deno.test("compile() refuses a source of templates without an instance", async () => {
  const source: string = "template <class T> __global__ void set(T* x) { *x = 1; }";
  const message = 'such as "set<…>" (it has set)';
  await assertRejects(() => device.compile(source), CompileError, message);
});

Deno.test("kernel() takes an instance and a kernel of a header by their names", async () => {
  const headers = { "a.h": "__global__ void add(int* out, int value) { *out += value; }" };
  const options = { headers, kernels: ["add"], instances: ["tile<int, 7>", "tile<float>"] };
  using module = await device.compile(`#include "a.h"\n${SOURCE}`, options);
  assertEquals(module.kernel("tile<float>").signature.parameters.length, 2);
  using out = device.upload(new Int32Array([0]));
  module.kernel("tile<int, 7>").launch({ grid: 1, block: 1 }, out, 6);
  module.kernel("add").launch({ grid: 1, block: 1 }, out, 3);
  assertEquals([...await out.toArray()], [45]);
});

/** The names for an H100; undefined without a compiler for it. */
async function namesForCuda(source: string, kernels: string[]) {
  const target = { kind: "cuda", capability: "9.0" } as const;
  try {
    const { loweredNames } = await compileImage(source, { kernels, target, cache: false });
    return [...loweredNames.keys()];
  } catch (error) {
    if (error instanceof CompilerUnavailableError) return undefined;
    throw error;
  }
}

const absent = await namesForCuda("", []) === undefined;

Deno.test({
  name: `compileImage() compiles some kernels for CUDA${absent ? " (skipped: no NVRTC)" : ""}`,
  ignore: absent,
  fn: async () => assertEquals(await namesForCuda(SOURCE, ["good"]), ["good"]),
});
