// Sources with features of CUDA that the host device does not have: one error, which names the
// replacement, in place of all that follow from it.

import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { CompileError } from "../../../src/launch/compile/compile_error.ts";
import { explainMissingFeatures } from "../../../src/launch/compile/missing_features.ts";
import { device, onHostDevice } from "../../support/device.ts";

/** A source's first lines and body, and the beginning of its error. */
const SOURCES: readonly (readonly [head: string, body: string, line: number, error: string])[] = [
  ["#include <cub/cub.cuh>", "cub::BlockReduce<float, 128>::TempStorage t;", 1, "CUB: "],
  ["#include <thrust/sort.h>", "thrust::sort(thrust::seq, x, x + 4);", 3, "Thrust: "],
  [
    "#include <mma.h>",
    "nvcuda::wmma::experimental::precision::b1* y = 0;",
    3,
    "matrices of 1 and 4 bits: ",
  ],
  ["#include <cuda/pipeline>", "auto p = cuda::make_pipeline();", 1, "asynchronous pipelines: "],
  ["#include <cuda_pipeline.h>", "__pipeline_commit();", 1, "asynchronous pipelines: "],
  ["#include <cuda/std/array>", "cuda::std::array<float, 2> a{1, 2};", 1, "headers of libcu++: "],
  [
    "#include <curand_kernel.h>",
    "curandState s; curand_init(1, 2, 3, &s);",
    3,
    "generator but Philox: ",
  ],
  [
    "#include <curand_kernel.h>",
    "curandStatePhilox4_32_10_t s; curand_poisson(&s, 3.0);",
    3,
    "other distributions than uniform and normal: ",
  ],
  ["texture<float, 2> tex;", "x[0] = tex2D(tex, 1, 2);", 1, "textures: "],
  ["", "cudaDeviceSynchronize();", 3, "dynamic parallelism: "],
  ["", "cudaGraphSetConditional(0, 1);", 3, "conditional graph nodes: "],
  [
    "#include <cooperative_groups.h>",
    "cooperative_groups::this_cluster().sync();",
    3,
    "clusters: ",
  ],
  ["#include <cuda_fp4.h>", "__nv_fp4_e2m1 f;", 1, "floats of 4 and 6 bits: "],
];

for (const [head, body, line, sentence] of SOURCES) {
  Deno.test(
    `compile() says that the host device has no ${sentence.split(":")[0]} when a source has ${
      head || body
    }`,
    onHostDevice,
    async () => {
      // Another mistake, of the same kind as those that follow; the linker only sees calls without any.
      const other = sentence.startsWith("dynamic") ? "" : "unknown(x);";
      const source = `${head.padEnd(1, " ")}${head.includes("\n") ? "" : "\n"}\n` +
        `__global__ void k(float* x) { ${body} ${other} }`;
      const error = await assertRejects(() => device.compile(source), CompileError);
      assertEquals(error.diagnostics.length, 1, error.message);
      assertStringIncludes(error.message, `the host device has no ${sentence}`);
      assertEquals(error.diagnostics[0]!.line, line, error.message);
    },
  );
}

Deno.test("explainMissingFeatures() reads clang++'s words, and leaves other errors alone", () => {
  const explain = (...messages: string[]) =>
    explainMissingFeatures(messages.map((message) => ({ severity: "error", message })))
      .map(({ message }) => message.replace(/:.*\(/, " ("));
  assertEquals(explain("'cub/cub.cuh' file not found"), [
    "the host device has no CUB ('cub/cub.cuh' file not found)",
  ]);
  assertEquals(explain("use of undeclared identifier 'x'", "unknown type name 'curandState'"), [
    "the host device has no generator but Philox (unknown type name 'curandState')",
  ]);
  assertEquals(explain("use of undeclared identifier 'cudaBoundaryModeTrap'"), [
    "the host device has no surfaces (use of undeclared identifier 'cudaBoundaryModeTrap')",
  ]);
  const others = ["use of undeclared identifier 'clustered'", "invalid operands to 'texture'"];
  others.push("own/cuda/pipes.h: No such file or directory");
  assertEquals(explain(...others), others);
});
