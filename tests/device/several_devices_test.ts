import { assertEquals } from "@std/assert";
import { runFile } from "../support/subprocess.ts";

Deno.test("Operations refuse a buffer, stream or event of another device by name", async () => {
  const { code, stderr } = await runFile("tests/device/foreign_device_program.ts", {
    environment: { GRIDSTRIDE_FAKE: "2x1GiB@8.9" },
  });
  assertEquals([code, stderr], [0, ""]);
});

Deno.test("Kernels take the memory of peers, and others get copies through the host", async () => {
  const { code, stderr } = await runFile("tests/device/peer_program.ts", {
    environment: { GRIDSTRIDE_FAKE: "2x64MiB@8.9;64MiB@8.9" },
  });
  assertEquals([code, stderr], [0, ""]);
});

for (const first of ["wait", "dispose"]) {
  Deno.test(`A lost device releases its counts when a ${first} detects the loss`, async () => {
    const { code, stdout, stderr } = await runFile("tests/device/lost_device_program.ts", {
      args: [first],
      environment: { GRIDSTRIDE_FAKE: "2x64MiB@8.9" },
    });
    assertEquals([code, stderr], [0, ""]);
    const { before, after, thrown } = JSON.parse(stdout);
    assertEquals(thrown, ["cudaErrorIllegalAddress", "host:1"]);
    assertEquals(after, before);
  });
}
