// Downloads that are larger than a piece of pinned memory.

import { Buffer } from "node:buffer";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { CudaError, openDevice } from "../../mod.ts";
import { PIECE_BYTES, RING_BYTES } from "../../src/memory/download_ring.ts";
import { poolOf } from "../../src/memory/pool/device_pools.ts";
import { device } from "../support/device.ts";
import { injectFault } from "../support/fault_injection.ts";
import { replaceFunction } from "../support/replaced_function.ts";

const { library } = device.context;

// Words that tell apart pieces and places within them.
const words = new Uint32Array(6 * PIECE_BYTES / 4 + 1);
for (let i = 0; i < words.length; i++) words[i] = Math.imul(i, 2654435761);

/** The first of these bytes. */
function pattern(bytes: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(words.buffer, 0, bytes);
}

function isSame(one: Uint8Array, other: Uint8Array): boolean {
  const compared = [one, other].map(({ buffer, byteOffset, length }) =>
    Buffer.from(buffer, byteOffset, length)
  );
  return compared[0]!.equals(compared[1]!);
}

/** Counts the bytes that are pinned from now on. */
function countPinned(): { bytes: number } & Disposable {
  const counted = { bytes: 0 };
  const replaced = replaceFunction(
    library,
    "gs_pinned_register",
    (original) => (...inputs) => {
      counted.bytes += inputs.find((input) => ArrayBuffer.isView(input))!.byteLength;
      return original(...inputs);
    },
  );
  return Object.assign(counted, { [Symbol.dispose]: () => replaced[Symbol.dispose]() });
}

Deno.test("`copyTo()` gives every byte on both sides of the sizes of pieces and the ring", async () => {
  const all = pattern(5 * PIECE_BYTES + 5);
  using buffer = device.upload(all);
  for (
    const bytes of [
      0,
      1,
      RING_BYTES - 1,
      RING_BYTES,
      RING_BYTES + 1,
      5 * PIECE_BYTES - 1,
      5 * PIECE_BYTES,
      5 * PIECE_BYTES + 1,
    ]
  ) {
    const target = new Uint8Array(bytes);
    await buffer.copyTo(target, { offset: 3 });
    assert(isSame(target, all.subarray(3, 3 + bytes)), `${bytes} bytes`);
  }
  const view = buffer.view(7, all.length - 1);
  assert(isSame(await view.toArray(), all.subarray(7, all.length - 1)));
});

Deno.test("`copyTo()` reads what was there when later work overwrites the source", async () => {
  const all = pattern(6 * PIECE_BYTES + 1);
  using stream = device.createStream();
  using buffer = device.upload(all, { stream });
  const copied = buffer.toArray({ stream });
  device.kernels.fill(buffer, 0, { stream });
  const cleared = buffer.toArray({ stream });
  // Both share the pieces, and neither can hold all that it needs.
  assert(isSame(await copied, all));
  assert(isSame(await cleared, new Uint8Array(all.length)));
});

Deno.test("`copyTo()` of large buffers pins no more than the ring", async () => {
  using own = openDevice(device.label);
  using pinned = countPinned();
  for (const mebibytes of [64, 256]) {
    using buffer = own.allocate("uint8", mebibytes * 2 ** 20, { fill: mebibytes & 63 });
    const array = await buffer.toArray();
    assertEquals(array.at(-1), mebibytes & 63);
  }
  assert(pinned.bytes <= 32 * 2 ** 20, `${pinned.bytes} bytes`);
});

Deno.test("`copyTo()` needs no device memory when there is none", async () => {
  const all = pattern(RING_BYTES + 1);
  let asked = 0;
  using own = openDevice(device.label, {
    memory: { maxPoolSize: 6 * PIECE_BYTES, onMemoryPressure: () => (asked++, false) },
  });
  using buffer = own.upload(all);
  using pinned = countPinned();
  assert(isSame(await buffer.toArray(), all));
  assert(pinned.bytes >= all.length, "it passed through the ring");
  const { outOfMemory, retries } = own.pool.stats();
  assertEquals([outOfMemory, retries, asked], [0, 0, 0]);
});

Deno.test("`copyTo()` completes when its buffer, stream and device are disposed", async () => {
  const all = pattern(5 * PIECE_BYTES + 1);
  const own = openDevice(device.label);
  const stream = own.createStream();
  const buffer = own.upload(all, { stream });
  const copied = buffer.toArray({ stream });
  buffer.free();
  stream[Symbol.dispose]();
  own[Symbol.dispose]();
  assert(isSame(await copied, all));
  assert(own.context.closed);
});

Deno.test("`copyTo()` frees its copy when one of two copies fails", async () => {
  using own = openDevice(device.label);
  const all = pattern(6 * PIECE_BYTES);
  using buffer = own.upload(all);
  const pool = poolOf(own.context);
  const live = pool.counters.liveBlocks;
  await buffer.toArray();
  const shortened = new Uint8Array(all.length);
  const [failed, whole] = [buffer.copyTo(shortened), buffer.toArray()];
  structuredClone(shortened.buffer, { transfer: [shortened.buffer] });
  await assertRejects(() => failed, TypeError, "it has 0");
  assert(isSame(await whole, all));
  {
    using _fault = injectFault(library, "cudaMemcpyAsync", 4, 46);
    await assertRejects(() => buffer.toArray(), CudaError);
  }
  assert(isSame(await buffer.toArray(), all));
  assertEquals(pool.counters.liveBlocks, live);
});
