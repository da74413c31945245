import { assertStrictEquals } from "@std/assert";
import { rewriteDynamicShared } from "../../../src/launch/source/dynamic_shared.ts";
import { readSource } from "../../../src/launch/source/source_context.ts";

function rewritten(source: string): string {
  return rewriteDynamicShared(readSource(source, {})).get("")!;
}

const MEMORY = "GS_HOST_DYNAMIC_SHARED;";

Deno.test("rewriteDynamicShared() makes references of declarations in functions", () => {
  const cases: [string, string][] = [
    ["extern __shared__ float s[];", `float (&s)[] = ${MEMORY}`],
    ["extern __shared__ __align__(16) unsigned char s[];", `unsigned char (&s)[] = ${MEMORY}`],
    ["extern __shared__ alignas(T) volatile T s[][N + 1];", `volatile T (&s)[][N + 1] = ${MEMORY}`],
    ["extern __shared__ float s[][(N >> 1) + 1];", `float (&s)[][(N >> 1) + 1] = ${MEMORY}`],
    [
      "extern __shared__ P<int, 3> a[], *b[2];",
      `P < int , 3 > (&a)[] = ${MEMORY} P < int , 3 > *(&b)[2] = ${MEMORY}`,
    ],
  ];
  for (const [before, after] of cases) {
    assertStrictEquals(
      rewritten(`__global__ void k() {\n  ${before}\n}`),
      `__global__ void k() {\n  ${after}\n}`,
    );
  }
});

Deno.test("rewriteDynamicShared() keeps the line and column of the text behind", () => {
  assertStrictEquals(
    rewritten(
      "__global__ void k() { extern __shared__\n  float s[]; s[0] = 1; }\n__device__ int x;",
    ),
    `__global__ void k() { float (&s)[] = ${MEMORY}\n#line 2\n             s[0] = 1; }\n` +
      "__device__ int x;",
  );
  assertStrictEquals(
    rewritten("__global__ void k() {\nextern\n__shared__ float\ns[];\n}"),
    `__global__ void k() {\nfloat (&s)[] = ${MEMORY}\n\n\n}`,
  );
});

Deno.test("rewriteDynamicShared() moves a global declaration into the functions that use it", () => {
  const source = "extern __shared__ float s[];\n" +
    "__global__ void k(float* x) {\n  s[0] = x[0];\n}\n" +
    "__global__ void j(P p) { p.s = 1; }\n" +
    "__global__ void h() { __shared__ int s[3]; s[0] = 1; }\n" +
    "struct V { __device__ void f() { s[1] = 2; } };\n" +
    "__device__ void g();\n";
  assertStrictEquals(
    rewritten(source),
    " ".repeat("extern __shared__ float s[];".length) + "\n" +
      `__global__ void k(float* x) { float (&s)[] = ${MEMORY}\n  s[0] = x[0];\n}\n` +
      "__global__ void j(P p) { p.s = 1; }\n" +
      "__global__ void h() { __shared__ int s[3]; s[0] = 1; }\n" +
      `struct V { __device__ void f() { float (&s)[] = ${MEMORY}\n#line 7\n` +
      " ".repeat("struct V { __device__ void f() {".length) + " s[1] = 2; } };\n" +
      "__device__ void g();\n",
  );
});

Deno.test("rewriteDynamicShared() changes nothing else", () => {
  const sources = [
    "",
    "__global__ void k() { __shared__ float s[3]; extern int x; }",
    'const char* t = "extern __shared__ float s[];"; // extern __shared__ float s[];',
    "#define S extern __shared__ float s[];\n",
    'extern "C" __global__ void k() { __shared__ int s; }',
    "extern __shared__ float s[]",
    "extern __shared__",
  ];
  for (const source of sources) assertStrictEquals(rewritten(source), source);
});
