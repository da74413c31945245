// GRIDSTRIDE_LOG for tensor operations and for memory, in programs of their own.

import { assertEquals, assertMatch } from "@std/assert";
import { runProgram } from "../support/subprocess.ts";

const PROGRAM = `
import { openDevice } from "@gridstride/cuda";
import { full, matmul, softmax } from "@gridstride/cuda/tensor";
using device = openDevice();
{
  using x = full([64, 32], 1, { device });
  using y = x.add(1);
  using z = softmax(y);
  using product = matmul(z.transpose(), y);
  console.log((await product.toArray())[0]);
}
await device.done();
`;

/** The records of a category, by the program with this setting. */
async function recordsOf(category: string, setting: string | undefined): Promise<string[]> {
  const environment = { GRIDSTRIDE_LOG: setting };
  const { code, stderr } = await runProgram(PROGRAM, { environment });
  assertEquals(code, 0, stderr);
  return stderr.split("\n").filter((line) => line.includes(`gridstride.${category}: `));
}

Deno.test("GRIDSTRIDE_LOG=tensor=debug prints each operation, its result and its device time", async () => {
  const records = await recordsOf("tensor", "tensor=debug");
  // Where cuBLASLt is found, a record of another level says so.
  const operations = records.filter((line) => line.startsWith("[debug]")).map((line) => {
    const [, operation, result, time] =
      /^\[debug\] gridstride\.tensor: \S+(?: \(fake\))?: (.+): (\w+\[[\d, ]*\]) in ([\d.e-]+) ms$/
        .exec(line) ?? [line];
    assertEquals(Number(time) >= 0, true, line);
    return [operation, result];
  });
  assertEquals(operations, [
    ["full", "float32[64, 32]"],
    ["add", "float32[64, 32]"],
    ["softmax", "float32[64, 32]"],
    ["matmul", "float32[32, 32]"],
  ]);
});

Deno.test("GRIDSTRIDE_LOG=memory=trace prints each allocation and free of a pool", async () => {
  const records = await recordsOf("memory", "memory=trace");
  const place = "at '?0x[0-9a-f]+'?";
  for (
    const record of [
      `: allocated 8192 bytes on stream \\d+ ${place}$`,
      `: freed 8192 bytes ${place}$`,
      `: allocated 4096 bytes on stream \\d+ ${place}$`,
    ]
  ) assertMatch(records.join("\n"), new RegExp(record, "m"));
  assertEquals(records.every((line) => line.startsWith("[trace]")), true);
});

Deno.test("Operations and allocations are not logged by default", async () => {
  assertEquals(await recordsOf("tensor", undefined), []);
});
