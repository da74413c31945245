import { assertEquals } from "@std/assert";
import { runFile } from "../support/subprocess.ts";

Deno.test("`Tensor.to()` copies to another device, which functions take by name", async () => {
  const { code, stderr } = await runFile("tests/tensor/devices_program.ts", {
    environment: { GRIDSTRIDE_FAKE: "2x64MiB@8.9", GRIDSTRIDE_DEVICE: "host:0" },
  });
  assertEquals([code, stderr], [0, ""]);
});
