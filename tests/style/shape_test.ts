/// <reference lib="deno.unstable" />
// The shape of tensor code: parameters, assertions of types, instruction sets, constants, and walks
// over arrays.

import { assertEquals } from "@std/assert";
import { filesBelow, textOf } from "./repository.ts";

const MAX_PARAMETERS = 6;
const MAX_ASSERTIONS = 3;
const MAX_DOUBLE_ASSERTIONS = 5;

/** The only kernel header that names instruction sets. */
const VECTORS = "csrc/kernels/tensor/vectors.cuh";

function tensorModules(): string[] {
  return ["src/tensor/", "src/ternary/"]
    .flatMap((folder) => filesBelow(folder))
    .filter((file) => file.endsWith(".ts"));
}

function tensorKernels(): string[] {
  return ["csrc/kernels/tensor/", "csrc/kernels/ternary/"].flatMap((folder) => filesBelow(folder));
}

const FUNCTIONS = [
  "FunctionDeclaration",
  "FunctionExpression",
  "ArrowFunctionExpression",
  "TSDeclareFunction",
  "TSEmptyBodyFunctionExpression",
  "TSFunctionType",
  "TSMethodSignature",
].join();

/**
 * Finds functions with too many parameters, `as never`, and `as unknown as`, in the syntax tree of
 * `deno lint`.
 */
const SHAPE: Deno.lint.Plugin = {
  name: "shape",
  rules: {
    parameters: {
      create: (context) => ({
        [FUNCTIONS](node: Deno.lint.FunctionDeclaration) {
          const { length } = node.params;
          if (length > MAX_PARAMETERS) context.report({ node, message: `${length} parameters` });
        },
      }),
    },
    assertions: {
      create: (context) => ({
        TSAsExpression(node) {
          if (node.typeAnnotation.type !== "TSNeverKeyword") return;
          context.report({ node, message: "as never" });
        },
      }),
    },
    "double-assertions": {
      create: (context) => ({
        "TSAsExpression > TSAsExpression"(node: Deno.lint.TSAsExpression) {
          if (node.typeAnnotation.type !== "TSUnknownKeyword") return;
          context.report({ node, message: "as unknown as" });
        },
      }),
    },
  },
};

/** Findings of one rule, as `file:line: message`. */
function shapeProblems(
  rule: "parameters" | "assertions" | "double-assertions",
  file: string,
  text: string,
): string[] {
  return Deno.lint.runPlugin(SHAPE, file, text)
    .filter(({ id }) => id === `shape/${rule}`)
    .map(({ message, range }) =>
      `${file}:${text.slice(0, range[0]).split("\n").length}: ${message}`
    );
}

const MANY = "a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1";

Deno.test("shapeProblems() finds functions with too many parameters and assertions of any type", () => {
  const functions = [
    `function f(${MANY}) {}`,
    `export function f(${MANY}): void;\nexport function f() {}`,
    `const f = (${MANY}) => 1;`,
    `const f = function (${MANY}) {};`,
    `class C { constructor(${MANY}) {} }`,
    `class C { f(${MANY}) {} }`,
    `abstract class C { abstract f(${MANY}): void; }`,
    `interface I { f(${MANY}): void; }`,
    `type F = (${MANY}) => void;`,
  ];
  for (const text of functions) {
    assertEquals(shapeProblems("parameters", "a.ts", text), ["a.ts:1: 7 parameters"], text);
    const fewer = text.replace(", g: 1", "");
    assertEquals(shapeProblems("parameters", "a.ts", fewer), [], fewer);
  }
  const assertion = "\nconst x = f(y as never), z = w as number; // as never";
  assertEquals(shapeProblems("assertions", "a.ts", assertion), ["a.ts:2: as never"]);
  const double = "\nconst x = y as unknown as number, z = w as unknown; // as unknown as";
  assertEquals(shapeProblems("double-assertions", "a.ts", double), ["a.ts:2: as unknown as"]);
});

Deno.test(`No function of tensors has more than ${MAX_PARAMETERS} parameters`, () => {
  const found = tensorModules().flatMap((file) => shapeProblems("parameters", file, textOf(file)));
  assertEquals(found, []);
});

for (
  const [rule, text, most] of [
    ["assertions", "as never", MAX_ASSERTIONS],
    ["double-assertions", "as unknown as", MAX_DOUBLE_ASSERTIONS],
  ] as const
) {
  Deno.test(`src/tensor has at most ${most} assertions \`${text}\``, () => {
    const found = tensorModules()
      .filter((file) => file.startsWith("src/tensor/"))
      .flatMap((file) => shapeProblems(rule, file, textOf(file)));
    assertEquals(found.slice(most), [], found.join("; "));
  });
}

/** Predefined macros, built-in functions, intrinsics and symbols of processors, and their types. */
const INSTRUCTION_SETS =
  /\b__(?:AVX|SSE|FMA__|VNNI|AMX|ARM_|aarch64__|x86_64__|builtin_ia32_)\w*|\b_mm\d*_\w+|_ZGV\w*|\bvector_size\b/g;

function instructionSetsOf(text: string): string[] {
  return [...new Set(text.match(INSTRUCTION_SETS) ?? [])];
}

Deno.test("instructionSetsOf() finds the names of instruction sets", () => {
  const names = [
    "__AVX512VNNI__",
    "__SSE2__",
    "__FMA__",
    "__ARM_FEATURE_FMA",
    "__aarch64__",
    "__x86_64__",
    "__builtin_ia32_vpdpbusd512",
    "_mm256_add_ps",
    "_mm_add_ps",
    "_ZGVdN4v_exp",
    "vector_size",
  ];
  for (const name of names) assertEquals(instructionSetsOf(`#if (${name}`), [name]);
  const others = "matmul_mma __builtin_memcpy __mma_sync vector_sizes attention_mma.cuh";
  assertEquals(instructionSetsOf(others), []);
});

Deno.test("Only vectors.cuh names instruction sets among the headers of tensors", () => {
  const found = tensorKernels()
    .filter((file) => file !== VECTORS)
    .flatMap((file) => instructionSetsOf(textOf(file)).map((name) => `${file}: ${name}`));
  assertEquals(found, []);
});

/** A constant or list that another file defines too; numerics may be described by reference. */
const COPIED_CONSTANT = /(?<!Numerics: (?:exact, )?)\bas (?:`\w+` )?in `?[a-z_/]+\.(?:ts|cuh)\b/g;

Deno.test("No comment says that a constant is as in another file", () => {
  const comments = ["as in `map.cuh`", "as in rows.ts and sort.cuh", "as `tile` in `map.cuh`"];
  for (const comment of comments) {
    assertEquals(`/** The tile, ${comment}. */`.match(COPIED_CONSTANT)?.length, 1, comment);
  }
  const others = "as in `__align__(16)`, as in NumPy. Numerics: exact, as in map.cuh. As in Python";
  assertEquals(others.match(COPIED_CONSTANT), null);
  const sources = [...filesBelow("src/"), ...filesBelow("csrc/kernels/")];
  const found = sources.flatMap((file) =>
    (textOf(file).match(COPIED_CONSTANT) ?? []).map((it) => `${file}: ${it}`)
  );
  assertEquals(found, []);
});

/** The files that deal out work among the blocks of a grid: one for each way to walk. */
const WALKS = [
  "csrc/kernels/packet_walk.cuh",
  "csrc/kernels/tensor/map_loops.cuh",
  "csrc/kernels/tensor/map_threads.cuh",
  "csrc/kernels/tensor/reduce_threads.cuh",
  "csrc/kernels/tensor/sort_threads.cuh",
];

Deno.test("Kernels walk over arrays by the templates, none by a grid-stride loop of its own", () => {
  const found = filesBelow("csrc/kernels/").filter((file) => /\bgridDim\b/.test(textOf(file)));
  assertEquals(found, WALKS);
});
