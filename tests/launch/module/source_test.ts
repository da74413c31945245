import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { CompileError, compileImage, CompilerUnavailableError } from "../../../mod.ts";
import { device } from "../../support/device.ts";

const MARK = "\uFEFF";
const headers = { "weights.h": `${MARK}#define WEIGHT 100` };
const SOURCE: string = `${MARK}__managed__ int total = 7;
#include "weights.h"
__device__ int offset = 1000;
__global__ void count(int* out, dim3 extent) {
  *out = extent.x + 10 * extent.y + WEIGHT * extent.z + offset + total;
}
`;

Deno.test("compile() accepts a byte order mark, dim3 and managed variables", async () => {
  using module = await device.compile(SOURCE, { headers });
  using out = device.allocate("int32", 1);
  const count = module.kernel("count(int* out, dim3 extent)");
  count.launch({ grid: 1, block: 1 }, out, [1, 2, 3]);
  assertEquals(await out.toArray(), new Int32Array([1 + 20 + 300 + 1000 + 7]));
  assertEquals(module.kernel("count").signature, count.signature);
  assertEquals(module.variableNames, ["offset"]);
  assertThrows(() => module.variable("total", "int32"), TypeError, "it has offset");
});

/** Compiles for an H100; undefined where there is no compiler for it. */
async function compileForCuda(source: string) {
  const target = { kind: "cuda", capability: "9.0" } as const;
  try {
    return await compileImage(source, { headers, target, cache: false });
  } catch (error) {
    if (error instanceof CompilerUnavailableError) return undefined;
    throw error;
  }
}

const hasCudaCompiler = await compileForCuda("") !== undefined;
const absent = hasCudaCompiler ? "" : " (skipped: neither NVRTC nor nvcc)";

Deno.test({
  name: `compile() accepts the same source for CUDA${absent}`,
  ignore: !hasCudaCompiler,
  async fn() {
    const { loweredNames } = (await compileForCuda(SOURCE))!;
    assertEquals([...loweredNames], [["count", "_Z5countPi4dim3"], ["&offset", "offset"]]);
  },
});

const REASON = "a __global__ function must have a void return type";

Deno.test("compile() refuses a kernel with a return value", async () => {
  const source = "\n__global__ int count(int* out) { return *out; }\n";
  const { message } = await assertRejects(() => device.compile(source), CompileError, REASON);
  if (device.info.kind === "host") {
    assertEquals(message.split("\n")[1], `kernel.cu:2:16: error: ${REASON}`);
  }
  if (!hasCudaCompiler) return;
  await assertRejects(() => compileForCuda(source), CompileError, REASON);
});
