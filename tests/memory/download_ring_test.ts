// Downloads that are larger than a piece of pinned memory.

import { Buffer } from "node:buffer";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { CudaError, type Device, openDevice, type OpenDeviceOptions } from "../../mod.ts";
import { PIECE_BYTES, RING_BYTES } from "../../src/memory/download_ring.ts";
import { poolOf } from "../../src/memory/pool/device_pools.ts";
import { listen } from "../../src/stream/activity.ts";
import { device, onHostDevice } from "../support/device.ts";
import { asDiscrete } from "../support/discrete_device.ts";
import { injectFault } from "../support/fault_injection.ts";
import { replaceFunction } from "../support/replaced_function.ts";

const { library } = device.context;
const discrete = openDiscrete();

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

function openDiscrete(options?: OpenDeviceOptions): Device {
  const opened = openDevice(device.label, options);
  asDiscrete(opened);
  return opened;
}

/** The bytes of each copy to arrays that an action enqueues, and of those within the device. */
async function copiesOf({ context }: Device, action: () => Promise<unknown>) {
  const sizes = { toHost: [] as number[], within: [] as number[] };
  const stop = listen({
    context,
    work(work, _stream, enqueue) {
      if (work.kind === "copy" && work.direction === "deviceToHost") sizes.toHost.push(work.bytes);
      if (work.kind === "copy" && work.direction === "deviceToDevice") {
        sizes.within.push(work.bytes);
      }
      enqueue();
    },
    compiled() {},
  });
  try {
    await action();
  } finally {
    stop();
  }
  return sizes;
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
  using buffer = discrete.upload(all);
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
  using stream = discrete.createStream();
  using buffer = discrete.upload(all, { stream });
  const copied = buffer.toArray({ stream });
  discrete.kernels.fill(buffer, 0, { stream });
  const cleared = buffer.toArray({ stream });
  // Both share the pieces, and neither can hold all that it needs.
  assert(isSame(await copied, all));
  assert(isSame(await cleared, new Uint8Array(all.length)));
});

Deno.test("`copyTo()` takes a snapshot only of what the ring has no pieces for", async () => {
  using own = openDiscrete();
  using buffer = own.upload(pattern(5 * PIECE_BYTES + 1));
  const ring = Array<number>(4).fill(PIECE_BYTES);
  const copied = async (bytes: number) =>
    await copiesOf(own, () => buffer.copyTo(new Uint8Array(bytes)));
  assertEquals(await copied(PIECE_BYTES), { toHost: [PIECE_BYTES], within: [] });
  assertEquals(await copied(RING_BYTES), { toHost: ring, within: [] });
  const rest = PIECE_BYTES + 1;
  assertEquals(await copied(RING_BYTES + rest), {
    toHost: [...ring, PIECE_BYTES, 1],
    within: [rest],
  });
  using stream = own.createStream();
  // The first copy takes all pieces.
  const both = () => Promise.all([buffer.toArray({ stream }), buffer.toArray({ stream })]);
  const { within } = await copiesOf(own, both);
  assertEquals(within, [rest, RING_BYTES + rest]);
});

Deno.test(
  "`copyTo()` of an integrated device takes no snapshot while pinned memory is kept",
  onHostDevice,
  async () => {
    using own = openDevice(device.label);
    using buffer = own.upload(pattern(5 * PIECE_BYTES));
    const copied = await copiesOf(own, async () => {
      assert(isSame(await buffer.toArray(), pattern(5 * PIECE_BYTES)));
    });
    assertEquals(copied, { toHost: [5 * PIECE_BYTES], within: [] });
  },
);

Deno.test("`copyTo()` of a pitched buffer divides pieces at rows, also rows longer than a piece", async () => {
  for (const [rows, columns] of [[5, PIECE_BYTES / 4 + 1], [41, 250_001]] as const) {
    const array = words.subarray(0, rows * columns);
    using matrix = discrete.allocate2d("uint32", rows, columns);
    matrix.copyFrom(array);
    const back = new Uint8Array((await matrix.toArray()).buffer);
    assert(isSame(back, pattern(array.byteLength)), `${rows} rows`);
  }
});

Deno.test("`copyTo()` of large buffers pins no more than the ring", async () => {
  using own = openDiscrete();
  using pinned = countPinned();
  for (const mebibytes of [64, 256]) {
    using buffer = own.allocate("uint8", mebibytes * 2 ** 20, { fill: mebibytes & 63 });
    const array = await buffer.toArray();
    assertEquals(array.at(-1), mebibytes & 63);
  }
  assert(pinned.bytes <= 32 * 2 ** 20, `${pinned.bytes} bytes`);
});

Deno.test("`copyTo()` needs no device memory when there is none", async () => {
  const all = pattern(6 * PIECE_BYTES);
  let asked = 0;
  using own = openDiscrete({
    memory: { maxPoolSize: 7 * PIECE_BYTES, onMemoryPressure: () => (asked++, false) },
  });
  using buffer = own.upload(all);
  const { within } = await copiesOf(own, async () => assert(isSame(await buffer.toArray(), all)));
  assertEquals(within, []);
  const { outOfMemory, retries } = own.pool.stats();
  assertEquals([outOfMemory, retries, asked], [0, 0, 0]);
});

Deno.test("`copyTo()` completes when its buffer, stream and device are disposed", async () => {
  const all = pattern(5 * PIECE_BYTES + 1);
  const own = openDiscrete();
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
  using own = openDiscrete();
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
