/**
 * What the pool's own requests to the device take: mapping and unmapping memory behind reserved
 * addresses, beside plain allocations of the same size, and what a pool's growth costs in all.
 */

import { MemoryPool } from "../mod.ts";
import { NativeUpstream } from "../src/memory/pool/native_upstream.ts";
import { device } from "./support/bench_device.ts";
import { measure, scaled } from "./support/measure.ts";

const MIB = 2 ** 20;
const LARGEST = scaled(1024, 16) * MIB;

const upstream = new NativeUpstream(device.context);
const { granularity } = upstream;

const SIZES = [
  ["2 MiB", 2 * MIB],
  ["16 MiB", 16 * MIB],
  ["128 MiB", 128 * MIB],
  ["1 GiB", 1024 * MIB],
] as const;

for (const [size, bytes] of SIZES.filter(([, bytes]) => bytes <= LARGEST)) {
  const request = { group: `take ${size} from the device and give it back` };
  measure("plain allocation", { ...request, baseline: true }, () => {
    const address = upstream.allocate(bytes);
    if (address === 0) throw new Error(`Cannot measure as the device has no ${size}`);
    upstream.free(address);
  });
  // Devices without virtual memory management have plain memory only.
  if (granularity === 0 || bytes % granularity !== 0) continue;
  const address = upstream.reserve(bytes);
  globalThis.addEventListener("unload", () => upstream.release(address));
  const pieces = [["2 MiB", 2 * MIB], ["64 MiB", 64 * MIB]] as const;
  for (const [name, pieceBytes] of pieces.filter(([, piece]) => piece <= bytes)) {
    measure(`mapping in pieces of ${name}`, request, () => {
      if (!upstream.map(address, bytes, pieceBytes)) {
        throw new Error(`Cannot measure as the device has no ${size}`);
      }
      upstream.unmap(address, bytes);
    });
  }
}

const STEP = scaled(64, 2) * MIB;
const STEPS = Math.floor(LARGEST / STEP);
const growth = { group: `growth of a new pool by ${LARGEST / MIB} MiB, and its end` };
for (const virtualMemory of [true, false]) {
  const title = virtualMemory ? "mapped memory" : "plain segments";
  measure(`${title}, ${STEPS} buffers`, { ...growth, baseline: virtualMemory }, () => {
    using pool = new MemoryPool(device, { virtualMemory });
    const buffers = Array.from({ length: STEPS }, () => pool.allocate("uint8", STEP));
    for (const buffer of buffers) buffer.free();
  });
}
