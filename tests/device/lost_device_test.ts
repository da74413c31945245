// A device that is lost takes along what it had: giving that back throws the loss once, whoever
// hears of it first, and leaves nothing that the library goes on to count.

import { assertEquals } from "@std/assert";
import { runFile } from "../support/subprocess.ts";

const environment = { GRIDSTRIDE_FAKE: "2x64MiB@8.9", GRIDSTRIDE_DEVICE: undefined };

for (const first of ["wait", "dispose"]) {
  Deno.test(`A lost device releases its counts when a ${first} detects the loss`, async () => {
    const { code, stdout, stderr } = await runFile("tests/device/lost_device_program.ts", {
      args: [first],
      environment,
    });
    assertEquals([code, stderr], [0, ""]);
    const { before, after, thrown } = JSON.parse(stdout);
    assertEquals(thrown, ["cudaErrorIllegalAddress", "host:1"]);
    assertEquals(after, before);
  });
}
