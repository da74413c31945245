/**
 * Bandwidth of copies between JavaScript, pinned and device memory, against C's memcpy of as many
 * bytes. Bytes are counted once for copies between host and device, and twice, as read and as
 * written, for copies within the device and within the host.
 */

import { device, ON_GPU } from "./support/bench_device.ts";
import { copyMemory } from "./support/call_loop.ts";
import { measure, measureOnDevice, scaled } from "./support/measure.ts";

const SIZES = [
  ["64 KiB", 2 ** 16],
  ["1 MiB", 2 ** 20],
  ["16 MiB", 2 ** 24],
  ["256 MiB", 2 ** 28],
] as const;

const smallest = scaled(2 ** 16, 2 ** 20);
const largest = scaled(ON_GPU ? 2 ** 28 : 2 ** 24, 2 ** 20);
const sizes = SIZES.filter(([, bytes]) => bytes >= smallest && bytes <= largest);

for (const [size, bytes] of sizes) {
  const source = new Uint8Array(bytes).fill(1);
  const target = new Uint8Array(bytes).fill(2);
  const pinned = device.allocatePinned("uint8", bytes);
  const x = device.allocate("uint8", bytes, { fill: 3 });
  const y = device.allocate("uint8", bytes, { fill: 4 });

  const up = { group: `host to device, ${size}`, bytes };
  measure("memcpy in C", { ...up, baseline: true }, () => copyMemory(target, source));
  const copied = (direction: string) => ({ peer: { kind: "copy", direction, bytes } });
  measure("from an array", { ...up, ...copied("from array") }, () => {
    x.copyFrom(source);
    device.stream.doneSync();
  });
  measure("from pinned memory", { ...up, ...copied("from pinned") }, () => {
    pinned.copyTo(x);
    device.stream.doneSync();
  });

  const down = { group: `device to host, ${size}`, bytes };
  measure("memcpy in C", { ...down, baseline: true }, () => copyMemory(target, source));
  measure("copyToSync() an array", { ...down, ...copied("to array") }, () => x.copyToSync(target));
  measure("await copyTo() an array", down, async () => await x.copyTo(target));
  measure("to pinned memory", { ...down, ...copied("to pinned") }, () => {
    pinned.copyFrom(x);
    device.stream.doneSync();
  });

  const within = { group: `device to device, ${size}`, bytes: 2 * bytes };
  measure("memcpy in C", { ...within, baseline: true }, () => copyMemory(target, source));
  measureOnDevice("buffer to buffer", within, () => y.copyFrom(x));
}
