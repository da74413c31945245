// Uploads that wait for device memory.

import { assertEquals } from "@std/assert";
import { runProgram } from "../../support/subprocess.ts";

/** Another stream keeps 22 of 24 MiB busy after their release; all uploads need more. */
const PROGRAM = `
import { openDevice } from "@gridstride/cuda";

const MIB = 2 ** 20;
const path = await Deno.makeTempFile();
await Deno.writeFile(path, new Uint8Array(6 * MIB));
using device = openDevice(undefined, { memory: { maxPoolSize: "24MiB" } });
using number = device.allocate("float32", 1);
using stream = device.createStream();
await using ring = device.createUploadRing({ slotBytes: MIB });
const spin = device.kernels.load(
  "spin_float32(float* out, unsigned long long nanoseconds, float value)",
);
const uploads = {
  file: () => device.uploadFile(path, { ring }),
  sized: () => device.uploadStream([new Uint8Array(6 * MIB)], { bytes: 6 * MIB, ring }),
  growing: () => device.uploadStream([new Uint8Array(3 * MIB)], { ring }),
  async prefetched() {
    for await (const { buffer } of device.prefetchFiles([{ path }], { ring })) return buffer;
  },
};
for (const [name, upload] of Object.entries(uploads)) {
  const other = device.allocate("uint8", 22 * MIB, { stream });
  spin.launch({ grid: 1, block: 1, stream }, number, 0.25e9, 1);
  other.free();
  let turns = 0;
  const timer = setInterval(() => turns++, 5);
  const buffer = await upload();
  clearInterval(timer);
  buffer.free();
  console.log(name, turns >= 5 ? "leaves the event loop alone" : \`blocks it: \${turns} turns\`);
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
