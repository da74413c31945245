// What CUDA refuses: the host device refuses it too, or csrc/host/DIFFERENCES.md lists it.

import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { compileImage } from "../../../mod.ts";
import { CompileError } from "../../../src/launch/compile/compile_error.ts";
import { device } from "../../support/device.ts";
import { installation, withoutNvrtc } from "../../support/nvrtc.ts";

const isHost = device.context.info.kind === "host";
const head =
  "#include <cuda_fp16.h>\n#include <cstdlib>\n#include <cstring>\n#include <stdint.h>\n" +
  "struct Pair { int x, y; }; struct Base { __device__ virtual ~Base() {} };\n" +
  "struct Derived : Base {};\n";
const parameters = "int* i, float* f, Pair* p, char* c, unsigned long long* w, int n";

/** Statements that no device compiles, and the host device's reasons. */
const REFUSED: readonly (readonly [statement: string, reason: string])[] = [
  ['asm("mov.u32 %[to], 1;" : [to] "=r"(i[0]));', "refers to its operands by number only"],
  ['asm("mov.u32 %0, 1;" : "=r"(i[0]) :: "cc");', 'can only clobber "memory"'],
  ['asm("mov.u32 %0, 1;" : "=r"(c[0]));', "the type of an asm operand"],
  ['asm("mov.b32 %0, 1;" : "=r"(f[0]));', "the type of an asm operand"],
  ['asm("mov.b32 %0, 0f3F800000;" : "=f"(i[0]));', "the type of an asm operand"],
  ['asm("mov.u64 %0, %1;" : "=l"(w[0]) : "l"(0));', "the type of an asm operand"],
  ['asm("mov.u32 %0, %1;" : "=r"(i[0]) : "r"(c[0]));', "the type of an asm operand"],
  ["__shared__ int a = 1; i[0] = a;", "__shared__ variables have no initialisers"],
  ["__shared__ int a[2] = {1, 2}; i[0] = a[n];", "__shared__ variables have no initialisers"],
  ["int a[n]; a[0] = 1; i[0] = a[0];", "variable length array"],
  ["p[0] = __shfl_sync(~0u, p[0], 1);", "CUDA exchanges numbers between lanes"],
  ["int* q = __shfl_down_sync(~0u, i, 1); i[0] = *q;", "CUDA exchanges numbers between lanes"],
];

/** Statements that the host device compiles and CUDA does not, by their rows of the list. */
const LISTED: Readonly<Record<string, readonly string[]>> = {
  "functions of the C library": ["i[0] = rand();", "i[0] = int(strlen(c));"],
  "exceptions and type information": [
    "try { i[0] = 1; } catch (...) {}",
    "if (n < 0) throw 1;",
    "i[0] = dynamic_cast<Derived*>(reinterpret_cast<Base*>(w)) != nullptr;",
  ],
  "extensions of the C++ compiler": [
    "i[0] = ({ int a = n; a + 1; });",
    "i[0] = __builtin_popcount(n);",
    "__builtin_memcpy(i, i + 4, 16);",
    "void* q = &&end; goto *q; end: i[0] = 1;",
  ],
  "spellings of asm": ['__asm__ volatile("mov.u32 %0, 1;" : "=r"(i[0]));'],
  "types of registers": ['asm("add.u32 %0, %1, 1;" : "=f"(f[0]) : "r"(n));'],
  "structs in intrinsics": ["p[0] = __ldg(p);", "i[0] = __match_any_sync(~0u, p[0]);"],
  "addresses of built-in variables": ["const uint3* q = &threadIdx; i[0] = q->x;"],
};

function kernels(statements: readonly string[]): string {
  return head +
    statements.map((statement, index) =>
      `__global__ void k${index}(${parameters}) { ${statement} }\n`
    ).join("");
}

Deno.test("compile() refuses what CUDA refuses, each at its line", async () => {
  const statements = REFUSED.map(([statement]) => statement);
  const error = await assertRejects(() => device.compile(kernels(statements)), CompileError);
  const first = head.split("\n").length;
  for (const [index, [statement, reason]] of REFUSED.entries()) {
    const { diagnostics } = error;
    const own = diagnostics.filter(({ line, severity }) =>
      severity === "error" && line === first + index
    );
    // NVRTC stops at some errors before it comes to the others.
    if (isHost) assertStringIncludes(own.map(({ message }) => message).join(), reason, statement);
  }
});

Deno.test({
  name: "compile() accepts only what DIFFERENCES.md lists where CUDA refuses it",
  ignore: !isHost,
  fn: async () => {
    using module = await device.compile(kernels(Object.values(LISTED).flat()));
    assert(module !== undefined);
  },
});

Deno.test({
  name: `compileImage() refuses each of these statements for CUDA${withoutNvrtc}`,
  ignore: installation === undefined,
  fn: async () => {
    const target = { kind: "cuda", capability: "9.0" } as const;
    await compileImage(kernels(["i[0] = n;"]), { target });
    const statements = [
      ...REFUSED.map(([statement]) => statement),
      ...Object.values(LISTED).flat(),
    ];
    for (const statement of statements) {
      await assertRejects(
        () => compileImage(kernels([statement]), { target }),
        CompileError,
        undefined,
        statement,
      );
    }
  },
});

Deno.test("DIFFERENCES.md lists the statements that only the host device compiles", async () => {
  const url = new URL("../../../csrc/host/DIFFERENCES.md", import.meta.url);
  const [, section = ""] = (await Deno.readTextFile(url)).split(
    "## What only the host device compiles\n",
  );
  const rows = [...section.split("\n## ")[0]!.matchAll(/^\| .* \| ([^|]+?) +\|$/gm)];
  const names = rows.map(([, name]) => name!).filter((name) => !/^(?:check|-+)$/.test(name));
  assertEquals(names.toSorted(), Object.keys(LISTED).toSorted());
});
