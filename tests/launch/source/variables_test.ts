import { assertEquals } from "@std/assert";
import { readDeviceSource } from "../../../src/launch/source/device_source.ts";

/** The variables of a source, each as memory, type, name and extents. */
function variablesOf(source: string): string[] {
  const { variables } = readDeviceSource(source, { name: "test.cu" });
  return variables.map(({ memory, type, expression, extents, line }) =>
    `${line}: ${memory} ${type} ${expression}${extents.map((extent) => `[${extent}]`).join("")}`
  );
}

const DECLARATIONS: readonly (readonly [string, readonly string[]])[] = [
  ["__device__ int count;", ["1: device int count"]],
  ["__constant__ float table[2 * N][3] = {{1, 2}, {3}};", ["1: constant float table[2 * N][3]"]],
  ["__device__ __managed__ double total{0};", ["1: managed double total"]],
  ["static __device__ unsigned long long a = 1, *b[2], c;", [
    "1: device unsigned long long a",
    "1: device unsigned long long* b[2]",
    "1: device unsigned long long c",
  ]],
  ["__constant__ const __align__(16) float4 v;", ["1: constant float4 v"]],
  ["namespace a { namespace {\n__device__ int x; } }", ["2: device int a::x"]],
  ["__device__ Pair<int, 3> p, q;", [
    "1: device Pair < int , 3 > p",
    "1: device Pair < int , 3 > q",
  ]],
  ["using real = float;\n#define M __constant__\nM real r[4];", ["3: constant float r[4]"]],
  ["__constant__ float3 origin(0, 0, 0);", ["1: constant float3 origin"]],
  ["struct S { int a; };\n__device__ struct S s;", ["2: device struct S s"]],
  ["__device__ auto f = [](int a, int b) { return a; };", ["1: device auto f"]],
  // A constant has no address; what is only declared, or a template's, is nowhere.
  ["__device__ constexpr int n = 3;", []],
  ["extern __device__ int x;", []],
  ["template <class T> __device__ T x;", []],
  // Not variables of the device.
  ["__device__ int f(int a);\n__device__ int g() { __shared__ int x; return x; }", []],
  ["extern __shared__ int s[];", []],
  ["const int n = 3; int m;", []],
  ["#ifdef __UNSEEN__\n__device__ int x;\n#endif", []],
];

Deno.test("variables are found with their memory, types, names, extents and lines", () => {
  for (const [source, expected] of DECLARATIONS) {
    assertEquals(variablesOf(source), expected, source);
  }
});
