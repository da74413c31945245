import { assertEquals } from "@std/assert";
import { repositoryPath, runFile } from "../../support/subprocess.ts";

Deno.test("pools share mapped memory with peers and return memory to other pools", async () => {
  const program = repositoryPath("tests/memory/pool/programs/device_pools_program.ts");
  const { code, stderr } = await runFile(program, {
    environment: { GRIDSTRIDE_FAKE: "2x1GiB@8.9" },
  });
  assertEquals([code, stderr], [0, ""]);
});

Deno.test("a pool survives the loss of another device", async () => {
  const program = repositoryPath("tests/memory/pool/programs/foreign_loss_program.ts");
  const { code, stderr } = await runFile(program, {
    environment: { GRIDSTRIDE_FAKE: "2x1GiB@8.9" },
  });
  assertEquals([code, stderr], [0, ""]);
});
