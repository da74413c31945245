// Uploads that wait for device memory.

import { assertEquals } from "@std/assert";
import { openDevice } from "../../../mod.ts";
import { device } from "../../support/device.ts";
import { Gate } from "../../support/gate.ts";
import { patternBytes } from "../../support/temporary_file.ts";
import { runProgram } from "../../support/subprocess.ts";

/** Another stream keeps 22 of 24 MiB busy after their release; all uploads need more. */
const PROGRAM = `
import { openDevice } from "@gridstride/cuda";
const { Gate } = await import(${JSON.stringify(new URL("../../support/gate.ts", import.meta.url))});

const MIB = 2 ** 20;
const path = await Deno.makeTempFile();
await Deno.writeFile(path, new Uint8Array(6 * MIB));
using device = openDevice(${JSON.stringify(device.label)}, { memory: { maxPoolSize: "24MiB" } });
using stream = device.createStream();
await using ring = device.createUploadRing({ slotBytes: MIB });
const uploads = {
  file: () => device.uploadFile(path, { ring }),
  sized: () => device.uploadStream([new Uint8Array(6 * MIB)], { bytes: 6 * MIB, ring }),
  growing: () => device.uploadStream([new Uint8Array(3 * MIB)], { ring }),
  async prefetched() {
    for await (const { buffer } of device.prefetchFiles([{ path }], { ring })) return buffer;
  },
};
for (const [name, upload] of Object.entries(uploads)) {
  using gate = new Gate();
  const other = device.allocate("uint8", 22 * MIB, { stream });
  gate.close(stream);
  other.free();
  const uploaded = upload();
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setTimeout(resolve, 5));
  console.log(name, stream.query() ? "blocks the event loop" : "leaves the event loop alone");
  gate.open();
  (await uploaded).free();
}
await Deno.remove(path);
`;

Deno.test("Device.uploadFile() and its siblings leave the event loop free when they wait for memory", async () => {
  const { stdout, stderr } = await runProgram(PROGRAM);
  assertEquals(stderr, "");
  assertEquals(
    stdout,
    ["file", "sized", "growing", "prefetched"]
      .map((name) => `${name} leaves the event loop alone\n`).join(""),
  );
});

Deno.test("Device.uploadStream() copies after the work on the memory that it has waited for", async () => {
  const mebibyte = 2 ** 20;
  const bytes = patternBytes(10 * mebibyte);
  using own = openDevice(device.label, { memory: { maxPoolSize: "24MiB" } });
  using first = new Gate();
  using second = new Gate();
  using side = own.createStream();
  const taken = own.allocate("float32", 4 * mebibyte);
  const busy = own.allocate("uint8", 6 * mebibyte, { stream: side });
  first.close(side);
  using passed = side.record();
  busy.free();
  const upload = own.uploadStream([bytes], { bytes: bytes.length });
  // The upload waits for the other stream, and is then served with this memory.
  const { address } = taken;
  // The host device may have threads for only one gate and its opener.
  own.stream.wait(passed);
  second.close(own.stream);
  own.kernels.fill(taken, 1);
  taken.free();
  first.open();
  while (own.pool.memoryAllocated() < bytes.length) {
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  assertEquals(own.stream.query(), false);
  second.open();
  using buffer = await upload;
  await own.done();
  assertEquals(buffer.address, address);
  assertEquals(await buffer.view(0, 8).toArray(), bytes.slice(0, 8));
});
