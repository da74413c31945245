import { assertEquals } from "@std/assert";
import { runFile } from "../../support/subprocess.ts";

Deno.test("MultiDeviceMemory places, binds, overflows, copies and counts", async () => {
  const { code, stdout, stderr } = await runFile("tests/memory/manager/multi_device_program.ts", {
    environment: {
      GRIDSTRIDE_FAKE: "3x1GiB@8.9",
    },
  });
  assertEquals([code, stderr], [0, ""]);
  assertEquals(stdout, "passed\n");
});
