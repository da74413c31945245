import { assert, assertEquals } from "@std/assert";
import { traceBatches } from "../../examples/trace.ts";
import { SCALE } from "../../src/kernels/elementwise.ts";
import { traceFile } from "../../src/lab/trace/mod.ts";
import { problemsOf } from "../lab/trace/trace_file_rules.ts";
import { device } from "../support/device.ts";

Deno.test("examples/trace.ts records every batch in both orders", async () => {
  for (const order of ["in turn", "overlapped"] as const) {
    const recording = await traceBatches(device, 3, order);
    const { kernels, hostToDevice } = recording.statistics;
    assertEquals(kernels.map(({ kernel, launches }) => [kernel, launches]), [[
      SCALE.of(device.context, "float32").name,
      24,
    ]]);
    assertEquals([hostToDevice.copies, hostToDevice.bytes], [3, 3 * 2 ** 22]);
    const ranges = recording.ranges.map(({ name, stream }) => [name, stream !== undefined]);
    assert(
      ranges.length === 4 && ranges.every(([name, marked]) => marked === /^batch/.test(`${name}`)),
    );
    assertEquals(
      new Set(recording.work.map(({ stream }) => stream)).size,
      order === "in turn" ? 1 : 2,
    );
    assertEquals(problemsOf(JSON.parse([...traceFile([recording])].join(""))), []);
  }
});
