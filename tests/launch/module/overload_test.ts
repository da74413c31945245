import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { defineStruct, type Kernel } from "../../../mod.ts";
import { device } from "../../support/device.ts";
import { nvrtc, request, withoutNvrtc } from "../../support/nvrtc.ts";

const SOURCE = `
  namespace n {
  struct Pair { int a, b; };
  using real = double;
  __global__ void add(float* x, int n) { x[0] += n; }
  __global__ void add(real* x, int n = 3) { x[0] += 2 * n; }
  __global__ void add(int* x, const Pair by) { x[0] += by.a * by.b; }
  __global__ void add(long* x) { x[0] = 1; }
  __global__ void add(long long* x) { x[0] = 2; }
  template <typename T> __global__ void add(T* x, short n) { x[0] += 3 * n; }
  }
  template <int N> __global__ void set(float* x) { x[0] = N; }
  template <int N> __global__ void set(double* x) { x[0] = -N; }
  __global__ void alone(float* x) { x[0] = 5; }
`;

const Pair = defineStruct("n::Pair", { a: "int", b: "int" });
const module = await device.compile(SOURCE as string, {
  name: "overloads.cu",
  instances: ["set<7>(float*)", "set<7>(double* x)", "n::add<float>(float*, short)"],
});
const described = await device.compile(SOURCE as string, { name: "overloads.cu", structs: [Pair] });
globalThis.addEventListener("unload", () => {
  module[Symbol.dispose]();
  described[Symbol.dispose]();
});

const ONE = { grid: 1, block: 1 } as const;

async function launched(
  kernel: Kernel<string>,
  dtype: "float32" | "float64" | "int32" | "int64",
  ...rest: unknown[]
) {
  using x = device.allocate(dtype, 1, { fill: 0 as never });
  (kernel as unknown as Kernel).launch(ONE, ...([x, ...rest] as never[]));
  return Number((await x.toArray())[0]);
}

Deno.test("kernel() selects an overload by its parameters", async () => {
  assertEquals(await launched(module.kernel("n::add(float* y, int)"), "float32", 4), 4);
  assertEquals(await launched(module.kernel("n::add(double*, int n)"), "float64", 4), 8);
  const byPair = described.kernel("n::add(int* x, n::Pair by)" as string);
  assertEquals(await launched(byPair, "int32", { a: 3, b: 5 }), 15);
  assertEquals(await launched(module.kernel("set<7>(float* x)"), "float32"), 7);
  assertEquals(await launched(module.kernel("set<7>(double* x)"), "float64"), -7);
  assertEquals(await launched(module.kernel("n::add<float>(float*, short)"), "float32", 5), 15);
  assertEquals(await launched(module.kernel("alone"), "float32"), 5);
});

Deno.test("kernel() selects among overloads of one layout by their text", async () => {
  assertEquals(await launched(module.kernel("n::add(long* x)"), "int64"), 1);
  assertEquals(await launched(module.kernel("n::add( long long *x )"), "int64"), 2);
  const { message } = assertThrows(() => module.kernel("n::add(long* y)"), TypeError);
  assertMatch(message, /several fit its signature.*: n::add\(float\* x, int n\), /);
});

Deno.test("kernel() refuses an ambiguous name, and lists the overloads", () => {
  const { message } = assertThrows(() => module.kernel("n::add"), TypeError);
  assertEquals(
    message,
    "Cannot find kernel n::add of module overloads.cu by its name alone as several have it, of " +
      "which a signature chooses one: n::add(float* x, int n), n::add(double* x, int n), " +
      "n::add(int* x, const Pair by), n::add(long* x), n::add(long long* x)",
  );
  const other = assertThrows(() => module.kernel("n::add(const float* x, int n)"), TypeError);
  assertMatch(
    other.message,
    /must be \(const float\*, int\): there are: n::add\(float\* x, int n\)/,
  );
});

const LOWERED_NAMES = new Map([
  ["static_cast<void (*)(float*, int)>(n::add)", "_ZN1n3addEPfi"],
  ["static_cast<void (*)(n::real*, int)>(n::add)", "_ZN1n3addEPdi"],
  ["static_cast<void (*)(int*, const n::Pair)>(n::add)", "_ZN1n3addEPiNS_4PairE"],
  ["static_cast<void (*)(double* x)>(set<7>)", "_Z3setILi7EEvPd"],
]);

Deno.test({
  name: `NVRTC selects overloads by their types${withoutNvrtc}`,
  ignore: nvrtc === undefined,
}, async () => {
  const expressions = [...LOWERED_NAMES.keys()];
  const { loweredNames } = await nvrtc!.compile(request(SOURCE, { expressions }));
  assertEquals(loweredNames, LOWERED_NAMES);
});
