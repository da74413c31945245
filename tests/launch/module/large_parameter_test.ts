import { assertEquals, assertThrows } from "@std/assert";
import { defineStruct } from "../../../mod.ts";
import { requireParameterSize } from "../../../src/launch/module/module_kernel.ts";
import { parseSignature } from "../../../src/launch/signature/signature.ts";
import { device } from "../../support/device.ts";

const COUNT = 8189;
/** With a pointer and an integer, as many bytes as CUDA allows: 32764. */
const Table = defineStruct("Table", { values: `int[${COUNT - 1}]` });
const SIGNATURE = "pick(int* out, Table table, int n)";

Deno.test("launch() passes 32764 bytes of parameters", async () => {
  using module = await device.compile(
    `struct Table { int values[${COUNT - 1}]; };
     extern "C" __global__ void pick(int* out, const Table table, int n) {
       for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = 3 * table.values[i];
     }`,
    { structs: [Table] },
  );
  const kernel = module.kernel(SIGNATURE);
  const values = Int32Array.from({ length: COUNT - 1 }, (_, i) => 7919 * i - 4_000_000);
  using out = device.allocate("int32", COUNT - 1, { fill: 0 });
  kernel.launch({ grid: 1, block: 64 }, out, { values }, COUNT - 1);
  assertEquals(await out.toArray(), values.map((value) => 3 * value));
  // A second launch must not share the bytes of the first.
  values.reverse();
  kernel.launch({ grid: 1, block: 64 }, out, { values }, COUNT - 1);
  assertEquals(await out.toArray(), values.map((value) => 3 * value));
});

Deno.test("parseSignature() refuses more than 32764 bytes of parameters, padding included", () => {
  parseSignature("f(int* out, Table table, int n)", [Table]);
  for (
    const tooLarge of ["f(int* p, Table t, int n, char c)", "f(char c, int* p, Table t, int n)"]
  ) {
    assertThrows(() => parseSignature(tooLarge, [Table]), SyntaxError, "at most 32764 bytes");
  }
  const ints = Array.from({ length: 63 }, () => "char").join(", ");
  const Wide = defineStruct("Wide", { bytes: "unsigned char[32701]" });
  assertEquals(parseSignature(`f(Wide wide, ${ints})`, [Wide]).parameters.length, 64);
});

Deno.test("kernel() allows 4096 bytes before compute capability 7.0 and drivers of CUDA 12.1", () => {
  const large = parseSignature(SIGNATURE, [Table]);
  const small = parseSignature("f(Small s, int* p)", [
    defineStruct("Small", { values: "double[511]" }),
  ]);
  for (
    const [computeCapability, driverVersion, reason] of [
      ["6.1", "12.4", "they have 32764, and the compute capability is 6.1: 7.0 allows 32764"],
      ["9.0", "12.0", "they have 32764, and the driver is of CUDA 12.0: 12.1 allows 32764"],
      ["9.0", "11.8", "the driver is of CUDA 11.8"],
      ["7.0", "12.1", undefined],
      ["10.0", "13.0", undefined],
      ["8.9", null, undefined],
    ] as const
  ) {
    const info = { computeCapability, driverVersion };
    requireParameterSize(info, "m.cu", small);
    const check = () => requireParameterSize(info, "m.cu", large);
    if (reason === undefined) check();
    else assertThrows(check, TypeError, reason);
  }
});
