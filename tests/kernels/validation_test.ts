import { assert, assertEquals } from "@std/assert";
import { Device, DeviceKernels } from "../../mod.ts";
import { validate } from "../../src/device/tensor.ts";
import {
  KERNEL_CASES,
  KERNEL_OPERATIONS,
  runSizedCases,
  sizedCases,
} from "../../src/device/validation/kernel_cases.ts";
import { BREAKING_SIZES, device } from "../support/device.ts";

/** Kernels that no operation launches: they serve tests and benches. */
const NOT_OPERATIONS = /^(fault_|spin_|empty$)/;

/** The method that a built-in kernel belongs to, with the memory if there are several kernels. */
function methodOf(kernel: string): string {
  return kernel
    .replace(/_(float64|float32|float16|bfloat16|u?int(?:64|32|16|8))$/, "")
    .replace(/_loops$/, "")
    .replace(/_(partial|final)$/, "")
    .replace(/^(\w+)_row$/, (_, name) => name === "real_sum" ? "mean" : name)
    .replace("_", " ");
}

Deno.test("validation covers every built-in kernel", () => {
  const methods = device.kernels.names.filter((name) => !NOT_OPERATIONS.test(name)).map(methodOf);
  const validated = KERNEL_CASES.map(({ operation, variant = "" }) =>
    `${operation} ${variant}`.trim()
  );
  assertEquals(new Set(validated), new Set(methods));
});

for (const kernel of KERNEL_OPERATIONS) {
  Deno.test(`${kernel} is within its bound for every element type on every breaking size`, async () => {
    const rows = await runSizedCases(device, sizedCases([kernel], BREAKING_SIZES), 1);
    assert(rows.length >= 4 * (BREAKING_SIZES.length - 1), `there are only ${rows.length} rows`);
    assertEquals(rows.filter(({ passed }) => !passed), []);
  });
}

Deno.test("validate() fails rows of device.kernels whose result is out of its bound", async () => {
  // A device with wrong moments: the harness must notice.
  const broken = new Device(device.context);
  const kernels = new DeviceKernels(device.context);
  kernels.moments = (_x, out) => kernels.fill(out, 0 as never);
  Object.defineProperty(broken, "kernels", { value: kernels });
  const rows = await validate(broken, { operations: ["moments"], sizes: [1000] });
  assert(rows.length > 0 && rows.every(({ passed, maxError }) => !passed && maxError > 0));
});
