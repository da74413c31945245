import { assert, assertEquals, assertRejects } from "@std/assert";
import { Device, DeviceKernels, validate, VALIDATED_KERNELS } from "../../mod.ts";
import { BREAKING_SIZES, device } from "../support/device.ts";

/** Kernels that no operation launches: they serve tests and benches. */
const NOT_OPERATIONS = /^(fault_|spin_|empty$)/;

/** The operation that a built-in kernel belongs to. */
function operationOf(kernel: string): string {
  return kernel
    .replace(/_(float64|float32|float16|bfloat16|u?int(?:64|32|16|8))$/, "")
    .replace(/_(partial|final)$/, "");
}

Deno.test("validation covers every built-in kernel", () => {
  const operations = device.kernels.names
    .filter((name) => !NOT_OPERATIONS.test(name))
    .map(operationOf);
  assertEquals([...new Set(operations)].sort(), [...VALIDATED_KERNELS].sort());
});

for (const kernel of VALIDATED_KERNELS) {
  Deno.test(`${kernel} is within its bound for every element type on every breaking size`, async () => {
    const rows = await validate(device, { kernels: [kernel], sizes: BREAKING_SIZES });
    assert(rows.length >= 4 * (BREAKING_SIZES.length - 1), `there are only ${rows.length} rows`);
    assertEquals(rows.filter(({ passed }) => !passed), []);
  });
}

Deno.test("validation fails when a result is out of its bound", async () => {
  // A device with a wrong sum: the harness must notice.
  const broken = new Device(device.context);
  const kernels = new DeviceKernels(device.context);
  kernels.sum = (_x, out) => kernels.fill(out, 0 as never);
  Object.defineProperty(broken, "kernels", { value: kernels });
  const rows = await validate(broken, { kernels: ["sum"], sizes: [1000] });
  assert(rows.every(({ passed, maxError }) => !passed && maxError > 0));
});

Deno.test("validation refuses an unknown kernel", async () => {
  await assertRejects(() => validate(device, { kernels: ["sine"] }), RangeError, '"sine"');
});
