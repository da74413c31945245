import { assert, assertEquals } from "@std/assert";
import { runFile } from "../support/subprocess.ts";

Deno.test("Operations refuse a buffer, stream or event of another device by name", async () => {
  const { code, stdout, stderr } = await runFile("tests/device/foreign_device_program.ts", {
    environment: { GRIDSTRIDE_FAKE: "2x1GiB@8.9", GRIDSTRIDE_DEVICE: undefined },
  });
  assertEquals([code, stderr], [0, ""]);
  const { mixtures, between } = JSON.parse(stdout);
  assert(mixtures >= 20 && between === 4, stdout);
});
