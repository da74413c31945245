// Uploads that wait for device memory.

import { assertEquals } from "@std/assert";
import { openDevice } from "../../../mod.ts";
import { device } from "../../support/device.ts";
import { patternBytes } from "../../support/temporary_file.ts";
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

Deno.test("Device.uploadStream() copies after the work on the memory that it has waited for", async () => {
  const mebibyte = 2 ** 20;
  // To make them may take longer than the other stream is busy.
  const bytes = patternBytes(10 * mebibyte);
  using own = openDevice(device.label, { memory: { maxPoolSize: "24MiB" } });
  using side = own.createStream();
  using number = own.allocate("float32", 1);
  const spin = own.kernels.load(
    "spin_float32(float* out, unsigned long long nanoseconds, float value)",
  );
  const taken = own.allocate("float32", 4 * mebibyte);
  const busy = own.allocate("uint8", 6 * mebibyte, { stream: side });
  spin.launch({ grid: 1, block: 1, stream: side }, number, 0.05e9, 1);
  busy.free();
  const upload = own.uploadStream([bytes], { bytes: bytes.length });
  // The upload waits for the other stream, and is then served with this memory.
  const { address } = taken;
  spin.launch({ grid: 1, block: 1 }, taken, 0.3e9, 1);
  taken.free();
  using buffer = await upload;
  await own.done();
  assertEquals(buffer.address, address);
  assertEquals(await buffer.view(0, 8).toArray(), bytes.slice(0, 8));
});
