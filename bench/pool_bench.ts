/**
 * Allocating from the pool and freeing, through the public call that returns a `DeviceBuffer`, with
 * statistics on as always, beside the same requests to C's `malloc` and `free` and to the device
 * itself. The goals are in `bench/report/pool_goals.ts`.
 */

import { DEVICE, OPERAND, RESULT } from "../src/ffi/command_block.ts";
import { type DeviceBuffer, MemoryPool } from "../mod.ts";
import { device, ON_GPU } from "./support/bench_device.ts";
import { CallLoop } from "./support/call_loop.ts";
import { MallocBlocks, mallocPairs } from "./support/malloc_loop.ts";
import { measure, scaled } from "./support/measure.ts";
import { Replacements } from "./support/replacements.ts";

const CALLS = scaled(1024, 64);
const MIB = 2 ** 20;

const SIZES = [
  ["256 B", 256],
  ["4 KiB", 4096],
  ["64 KiB", 2 ** 16],
  ["1 MiB", MIB],
  ["4 MiB", 4 * MIB],
] as const;

// As in a program that runs, the pool is in use all the time.
const held = device.allocate("uint8", 1);
globalThis.addEventListener("unload", () => held.free());

for (const [size, bytes] of SIZES) {
  const pair = { group: `allocate and free ${size}`, calls: CALLS };
  measure("malloc() and free() in C", { ...pair, baseline: true }, () => mallocPairs(bytes, CALLS));
  const peer = { kind: "allocate", bytes };
  measure("allocate() and free()", { ...pair, peer }, () => {
    for (let i = 0; i < CALLS; i++) device.allocate("uint8", bytes).free();
  });
}

const variants = { group: "allocate and free 4 KiB, other ways", calls: CALLS };
measure("allocate() and free()", { ...variants, baseline: true }, () => {
  for (let i = 0; i < CALLS; i++) device.allocate("float32", 1024).free();
});
measure("using buffer = allocate()", variants, () => {
  for (let i = 0; i < CALLS; i++) {
    using _buffer = device.allocate("float32", 1024);
  }
});
const stream = device.createStream();
const onStream = { stream };
measure("on a stream of one's own", variants, () => {
  for (let i = 0; i < CALLS; i++) device.allocate("float32", 1024, onStream).free();
});
const aligned = { alignment: 65536 };
measure("aligned to 64 KiB", variants, () => {
  for (let i = 0; i < CALLS; i++) device.allocate("float32", 1024, aligned).free();
});
const tracking = new MemoryPool(device, { enableMemoryTracking: true });
tracking.allocate("float32", 1024).free();
measure("with tracking", variants, () => {
  for (let i = 0; i < CALLS; i++) tracking.allocate("float32", 1024).free();
});

/** Buffers of random sizes that replace each other. */
class Buffers {
  readonly #work: Replacements;
  readonly #buffers: DeviceBuffer<"uint8">[] = [];

  constructor(work: Replacements) {
    this.#work = work;
    for (let index = 0; index < work.live; index++) {
      this.#buffers.push(device.allocate("uint8", work.firstSize(index)));
    }
  }

  replace(count: number): void {
    const buffers = this.#buffers;
    const { sizes, order } = this.#work.next(count);
    for (let i = 0; i < count; i++) {
      const place = order[i]!;
      buffers[place]!.free();
      buffers[place] = device.allocate("uint8", sizes[i]!);
    }
  }
}

const RANDOM = [
  ["1 000 live blocks of 512 B to 1 MiB", 1000, 512, MIB],
  ["1 000 live blocks of 512 B to 8 MiB", 1000, 512, 8 * MIB],
  ["100 000 live blocks of 512 B to 16 KiB", scaled(1e5, 2000), 512, 2 ** 14],
] as const;

/** So many replacements pass before anything is measured, as after some time in a program. */
const SETTLED = scaled(2 ** 19, 2 ** 7);

for (const [blocks, live, least, most] of RANDOM) {
  const random = { group: `free one of ${blocks} and allocate another`, calls: CALLS };
  let chunks: MallocBlocks | undefined;
  measure("malloc() and free() in C", { ...random, baseline: true }, () => {
    (chunks ??= settled(new MallocBlocks(new Replacements(live, least, most)))).replace(CALLS);
  });
  let buffers: Buffers | undefined;
  // 100 000 blocks of Python objects would take longer than all else.
  const peer = live === 1000 ? { peer: { kind: "replace", largest: most } } : {};
  measure("allocate() and free()", { ...random, ...peer }, () => {
    (buffers ??= settled(new Buffers(new Replacements(live, least, most)))).replace(CALLS);
  });
}

function settled<T extends { replace(count: number): void }>(blocks: T): T {
  for (let done = 0; done < SETTLED; done += CALLS) blocks.replace(CALLS);
  return blocks;
}

const { library, ordinal } = device.context;
const { block, symbols } = library;
const loop = new CallLoop(library);
const PAIRS = scaled(100, 5);
const ALLOCATOR = ON_GPU ? "cudaMalloc and cudaFree" : "the host device's allocator";

for (const [size, bytes] of SIZES.filter(([, bytes]) => bytes >= 4096)) {
  const direct = { group: `against ${ALLOCATOR}, ${size}`, calls: PAIRS };
  measure("gs_memory_allocate and gs_memory_free in C", { ...direct, baseline: true }, () => {
    block[DEVICE] = ordinal;
    loop.allocateAndFree(bytes, PAIRS);
  });
  measure("gs_memory_allocate and gs_memory_free", direct, () => {
    for (let i = 0; i < PAIRS; i++) {
      block[DEVICE] = ordinal;
      block[OPERAND] = bytes;
      requireSuccess(symbols.gs_memory_allocate());
      block[OPERAND] = block[RESULT]!;
      requireSuccess(symbols.gs_memory_free());
    }
  });
  measure("allocate() and free()", direct, () => {
    for (let i = 0; i < PAIRS; i++) device.allocate("uint8", bytes).free();
  });
}

function requireSuccess(status: number): void {
  if (status !== 0) throw new Error(`Cannot measure the device's allocator: it returned ${status}`);
}
