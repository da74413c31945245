import { device } from "../support/device.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { VALIDATED_OPERATIONS, validateOperations } from "../../src/device/tensor.ts";
import { CREATION_OPERATIONS } from "../../src/device/validation/creation_operations.ts";
import { PRODUCT_OPERATIONS } from "../../src/device/validation/product_operations.ts";
import { QUANTIZATION_OPERATIONS } from "../../src/device/validation/quantization_operations.ts";

Deno.test("validateOperations() compares every variant of an operation with its reference", async () => {
  const names = Object.keys({ ...PRODUCT_OPERATIONS, ...QUANTIZATION_OPERATIONS });
  const operations = [...new Set(names.map((name) => name.split(" ")[0]!))];
  assertEquals(operations.filter((name) => !VALIDATED_OPERATIONS.includes(name)), []);
  const rows = await validateOperations(device, { operations });
  assertEquals(rows.filter(({ passed }) => !passed), []);
  const ran = rows.map(({ operation, variant }) => [operation, variant].join(" ").trim());
  // Some variants of products are for one form of kernels, or need tensor cores or a library.
  const missing = names.filter((name) => !ran.includes(name));
  const isOptional = (name: string) => name === "attention mma" || name.startsWith("matmul ");
  assertEquals(missing.filter((name) => !isOptional(name)), []);
  assert(ran.filter((name) => name.startsWith("matmul ")).length >= 2, String(ran));
});

Deno.test("validateOperations() compares tensors that are made or come from files", async () => {
  // The others have a kernel for each element type.
  const names = Object.keys(CREATION_OPERATIONS).filter((it) => !/^(eye|arange)/.test(it));
  const operations = [...new Set(names.map((name) => name.split(" ")[0]!))];
  const rows = await validateOperations(device, { operations });
  assertEquals(rows.filter(({ passed }) => !passed), []);
  const ran = rows.map(({ operation, variant }) => [operation, variant].join(" ").trim());
  assertEquals([...new Set(ran)], names);
});

Deno.test("validateOperations() refuses an unknown operation", async () => {
  await assertRejects(
    () => validateOperations(device, { operations: ["sine"] }),
    RangeError,
    'one is "sine"',
  );
});
