import { assertEquals } from "@std/assert";
import { repositoryPath, runFile } from "../../support/subprocess.ts";

Deno.test("pools share with peers, and give way to other pools of their device", async () => {
  const program = repositoryPath("tests/memory/pool/device_pools_program.ts");
  const { code, stderr } = await runFile(program, {
    environment: { GRIDSTRIDE_FAKE: "2x1GiB@8.9" },
  });
  assertEquals([code, stderr], [0, ""]);
});

Deno.test("a pool goes on when a device is lost that has used its memory", async () => {
  const program = repositoryPath("tests/memory/pool/foreign_loss_program.ts");
  const { code, stderr } = await runFile(program, {
    environment: { GRIDSTRIDE_FAKE: "2x1GiB@8.9" },
  });
  assertEquals([code, stderr], [0, ""]);
});
