// Needs no GPU: it compiles for given architectures.

import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { explainMatmul, matmul, zeros } from "../../../src/device/tensor.ts";
import { recordingDevice } from "./recording_device.ts";

Deno.test("matmul() leaves float8 to CUDA threads when NVRTC is older than 12.4", () => {
  for (const [nvrtc, expected] of [[[12, 3], "simt"], [[12, 4], "mma"]] as const) {
    const { device } = recordingDevice("8.9", { nvrtc });
    const x = zeros([64, 64], { dtype: "float8_e4m3", device });
    const y = zeros([64, 64], { dtype: "float32", device });
    const float8 = explainMatmul(x, x, { dtype: "float32" });
    const rounded = explainMatmul(y, y, { precision: "fp8" });
    assertEquals([float8.variant, rounded.variant], [expected, expected]);
    // Other formats are older.
    assertEquals(explainMatmul(y, y, { precision: "tf32" }).variant, "mma");
    if (expected === "mma") continue;
    assertMatch(
      float8.reason,
      /not mma: products of float8 need NVRTC 12\.4 or newer: it is 12\.3/,
    );
    assertThrows(
      () => matmul(x, x, { dtype: "float32", variant: "mma" }),
      RangeError,
      "Cannot call matmul() with options.variant mma: products of float8 need NVRTC 12.4 or newer: it is 12.3",
    );
  }
});
