import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { CudaError, OutOfMemoryError } from "../../../src/ffi/cuda_error.ts";
import { injectFault } from "../../support/fault_injection.ts";
import { FREED_PATTERN, FRESH_PATTERN } from "../../../src/memory/pool/guarded_blocks.ts";
import { bufferFromPool, DeviceBuffer } from "../../../src/memory/device_buffer.ts";
import { MemoryCorruptionError } from "../../../src/memory/pool/memory_corruption.ts";
import type { MemoryStream } from "../../../src/memory/pool/memory_upstream.ts";
import { observeCaptures } from "../../../src/stream/running_captures.ts";
import { device } from "../../support/device.ts";
import { modelPool, type WatchedPool, watchedPools } from "./model/watched_pool.ts";

const DEBUG = { debug: true, enableMemoryTracking: true, maxCachedBuffers: 2 };

function testAll(name: string, body: (subject: WatchedPool) => void): void {
  for (const subject of watchedPools(DEBUG)) {
    Deno.test(`${subject.name}: ${name}`, () => body(subject));
  }
}

/** What a call threw, which must be what debug mode finds. */
function found(act: () => unknown): MemoryCorruptionError {
  return assertThrows(act, MemoryCorruptionError);
}

function allocateHere(subject: WatchedPool, bytes: number, stream: MemoryStream): number {
  return subject.pool.allocate(bytes, stream);
}

function freeHere(subject: WatchedPool, block: number): void {
  subject.pool.free(block);
}

function bytesAt({ upstream }: WatchedPool, address: number, bytes: number, stream: MemoryStream) {
  const target = new Uint8Array(bytes);
  upstream.read(address, target, stream);
  return target;
}

testAll("`allocate()` fills memory with a pattern", (subject) => {
  using stream = subject.createStream();
  for (const bytes of [1, 511, 512, 1000, 3 * 2 ** 20 + 1]) {
    const block = allocateHere(subject, bytes, stream);
    const content = bytesAt(subject, subject.pool.addressOf(block), bytes, stream);
    assert(content.every((byte) => byte === FRESH_PATTERN));
    freeHere(subject, block);
  }
  subject.pool.close();
});

testAll("`free()` finds overruns on either side", (subject) => {
  using stream = subject.createStream();
  for (
    const [offset, bytes, text] of [
      [100, [7, 8], "2 bytes from byte 100 on changed to 07 08"],
      [-1, [9], "1 byte before its begin: 1 byte from byte -1 on changed to 09"],
      [-512, [1], "512 bytes before its begin"],
      [104, [0xfd, 3], "5 bytes behind its end: 1 byte from byte 105 on changed to 03"],
    ] as const
  ) {
    const block = allocateHere(subject, 100, stream);
    const address = subject.pool.addressOf(block);
    subject.scribble(address + offset, bytes);
    const error = found(() => freeHere(subject, block));
    const [violation, ...others] = error.violations;
    assertEquals(others, []);
    assertEquals([violation!.kind, violation!.address, violation!.bytes], [
      "overrun",
      address,
      100,
    ]);
    assert(error.message.includes(text), error.message);
    assert(error.message.startsWith(`Cannot free a buffer on ${subject.upstream.label} `));
    assert(violation!.allocatedAt.startsWith("allocateHere (file:"), violation!.allocatedAt);
    assert(violation!.freedAt!.startsWith("freeHere (file:"), violation!.freedAt!);
    assert(!subject.pool.isLive(block), "it is freed all the same");
  }
  assertEquals(subject.pool.stats().currentUsage, 0);
  subject.pool.close();
});

testAll("`checkMemory()` reports an overrun once", (subject) => {
  using stream = subject.createStream();
  const { pool } = subject;
  const blocks = [10, 2000, 2 ** 21].map((bytes) => allocateHere(subject, bytes, stream));
  assertEquals(pool.checkMemory(), 3);
  subject.scribble(pool.addressOf(blocks[1]!) + 2000, [1, 2, 3]);
  subject.scribble(pool.addressOf(blocks[2]!) - 4, [1, 2, 3, 4]);
  const { violations } = found(() => pool.checkMemory());
  assertEquals(
    violations.map((
      { kind, bytes, offset, damaged, found, freedAt },
    ) => [kind, bytes, offset, damaged, found.slice(0, 8), freedAt]),
    [
      ["overrun", 2000, 2000, 3, "01 02 03", null],
      ["overrun", 2 ** 21, -4, 4, "01 02 03", null],
    ],
  );
  assertEquals(pool.checkMemory(), 3, "what is found is told once");
  for (const block of blocks) pool.free(block);
  pool.close();
});

testAll(
  "`checkMemory()`, `trim()` and `close()` find writes after freeing",
  (subject) => {
    using stream = subject.createStream();
    const { pool } = subject;
    for (const look of [() => pool.checkMemory(), () => pool.trim(), () => pool.close()]) {
      const block = allocateHere(subject, 5000, stream);
      const address = pool.addressOf(block);
      freeHere(subject, block);
      subject.scribble(address + 4000, [1, 2]);
      const { violations: [violation] } = found(look);
      assertEquals(
        [violation!.kind, violation!.offset, violation!.damaged, violation!.bytes],
        ["use after free", 4000, 2, 5000],
      );
      assert(violation!.allocatedAt.includes("allocateHere"));
      assert(violation!.freedAt!.includes("freeHere"));
    }
    assert(pool.closed);
    assertEquals(pool.stats().reserved, 0, "the pool has ended all the same");
  },
);

testAll("`free()` finds writes to blocks that leave the quarantine", (subject) => {
  using stream = subject.createStream();
  const { pool } = subject;
  const block = allocateHere(subject, 300, stream);
  const address = pool.addressOf(block);
  freeHere(subject, block);
  subject.scribble(address, [0]);
  let seen: MemoryCorruptionError | undefined;
  for (let count = 0; count < 300 && seen === undefined; count++) {
    const other = pool.allocate(300, stream);
    assert(pool.addressOf(other) !== address, "a block in quarantine is nobody's");
    try {
      pool.free(other);
    } catch (error) {
      assert(error instanceof MemoryCorruptionError);
      seen = error;
    }
  }
  assertEquals(seen?.violations.map(({ kind, offset }) => [kind, offset]), [["use after free", 0]]);
  pool.close();
});

testAll("`free()` reports a double free with both sites", (subject) => {
  using stream = subject.createStream();
  const { pool } = subject;
  const [block, other] = [allocateHere(subject, 64, stream), pool.allocate(64, stream)];
  freeHere(subject, block);
  const before = pool.stats();
  for (let again = 0; again < 2; again++) {
    const { violations: [violation], message } = found(() => freeHere(subject, block));
    assertEquals([violation!.kind, violation!.bytes], ["double free", 64]);
    assert(violation!.allocatedAt.includes("allocateHere"), violation!.allocatedAt);
    assert(violation!.freedAt!.includes("freeHere"));
    assert(message.includes("was freed already"));
  }
  assertEquals(pool.stats(), before);
  assertThrows(() => pool.free(12345), TypeError, "block 12345");
  pool.free(other);
  pool.trim();
  found(() => pool.free(block));
  pool.close();
});

testAll(
  "`stats()` counts requested bytes without guards",
  (subject) => {
    using stream = subject.createStream();
    const { pool } = subject;
    const blocks = [1, 1000, 2 ** 20, 2 ** 22].map((bytes) => pool.allocate(bytes, stream));
    const sum = 1 + 1000 + 2 ** 20 + 2 ** 22;
    assertEquals([pool.stats().currentUsage, pool.stats().peakUsage], [sum, sum]);
    pool.free(blocks.pop()!);
    pool.counters.reset();
    const last = pool.allocate(500, stream);
    const { currentUsage, peakUsage, totalAllocated } = pool.stats();
    assertEquals([currentUsage, peakUsage, totalAllocated], [
      sum - 2 ** 22 + 500,
      currentUsage,
      500,
    ]);
    for (const block of [...blocks, last]) pool.free(block);
    const after = pool.stats();
    assertEquals([after.currentUsage, after.allocated, after.active.all.current > 0], [0, 0, true]);
    assertEquals(pool.trim() > 0, true);
    const empty = pool.stats();
    assertEquals([empty.reserved, empty.pending, empty.free], [0, 0, 0]);
    pool.close();
  },
);

testAll(
  "guarded buffers are aligned, and correct programs find no corruption",
  (subject) => {
    const { pool } = subject;
    using stream = subject.createStream();
    using other = subject.createStream();
    const live = new Map<number, number>();
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 1, max: 50_000 }), fc.nat(14), fc.nat(3)), {
          minLength: 5,
          maxLength: 25,
        }),
        (steps) => {
          for (const [bytes, shift, choice] of steps) {
            const [first] = live.keys();
            if (choice === 0 && first !== undefined) {
              pool.free(first);
              live.delete(first);
              continue;
            }
            const block = pool.allocate(bytes, stream, 2 ** shift);
            const address = pool.addressOf(block);
            assertEquals(address % Math.max(512, 2 ** shift), 0);
            subject.upstream.fill(address, bytes, choice, stream);
            if (choice === 1) pool.use(block, other);
            live.set(block, bytes);
          }
          pool.checkMemory();
        },
      ),
      { numRuns: 12, seed: 7 },
    );
    for (const block of live.keys()) pool.free(block);
    pool.close();
  },
);

testAll("`checkMemory()` reads buffers of disposed streams on another stream", (subject) => {
  const { pool } = subject;
  using stream = subject.createStream();
  const keep = pool.allocate(8, stream);
  const gone = subject.createStream();
  const [block, freed] = [pool.allocate(100, gone), pool.allocate(100, gone)];
  pool.free(freed);
  gone[Symbol.dispose]();
  assertEquals(pool.checkMemory(), 3);
  subject.scribble(pool.addressOf(block) + 100, [1]);
  found(() => pool.free(block));
  pool.free(keep);
  pool.close();
});

Deno.test("`allocate()` releases the quarantine when memory runs out", () => {
  const { pool, upstream } = modelPool({ ...DEBUG, limitBytes: 2 ** 26 });
  const stream = upstream.createStream();
  const blocks = [1, 2, 3].map(() => pool.allocate(2 ** 20, stream));
  for (const block of blocks) pool.free(block);
  assertEquals(pool.stats().pending > 3 * 2 ** 20, true);
  const whole = pool.allocate(2 ** 26 - 2 ** 21, stream);
  const error = assertThrows(() => pool.allocate(2 ** 22, stream), OutOfMemoryError);
  assertEquals(error.topSites.length, 1);
  assertEquals(error.topSites[0]!.bytes, 2 ** 26 - 2 ** 21 + 1024);
  pool.free(whole);
  pool.close();
});

Deno.test("`allocateAsync()` guards buffers", async () => {
  const { pool, upstream } = modelPool(DEBUG);
  const stream = upstream.createStream();
  const block = await pool.allocateAsync(100, stream);
  upstream.write(pool.addressOf(block) - 1, new Uint8Array(1));
  found(() => pool.free(block));
  pool.close();
});

Deno.test("`checkMemory()` throws without debug mode", () => {
  const { pool } = modelPool({});
  assertThrows(() => pool.checkMemory(), TypeError, "debug: true");
});

Deno.test("the device refuses a copy past a guarded buffer", () => {
  for (const { pool, upstream } of watchedPools(DEBUG)) {
    if (upstream.label !== device.label) continue;
    const block = pool.allocate(1000, device.stream);
    const address = pool.addressOf(block);
    const copy = (from: number, bytes: number) => {
      using raw = DeviceBuffer.fromAddress(from, bytes, { device });
      raw.copyFrom(new Uint8Array(bytes));
    };
    copy(address, 1000);
    copy(address + 999, 1);
    assertThrows(() => copy(address, 1001), CudaError, "cudaErrorInvalidValue");
    assertThrows(() => copy(address - 1, 2), CudaError);
    pool.free(block);
    assertThrows(() => copy(address, 1), CudaError);
    pool.close();
  }
});

Deno.test("`free()` and `checkMemory()` wait for kernels", () => {
  const [, { pool }] = watchedPools(DEBUG) as [WatchedPool, WatchedPool];
  using stream = device.createStream();
  for (let round = 0; round < 20; round++) {
    const x = bufferFromPool(pool, device.context, "float32", 50_000, {});
    device.kernels.fill(x, round);
    using filled = device.stream.record();
    stream.wait(filled);
    device.kernels.scale(x, 2, x, { stream });
    if (round % 3 === 0) pool.checkMemory();
    if (round % 3 === 1) assertEquals(x.toArraySync({ stream })[49_999], round * 2);
    x.free();
  }
  device.doneSync();
  pool.close();
});

Deno.test("another stream does not overtake the fill of a new buffer", () => {
  const [, { pool }] = watchedPools(DEBUG) as [WatchedPool, WatchedPool];
  using stream = device.createStream();
  for (let round = 0; round < 10; round++) {
    using busy = device.allocate("float32", 1 << 20);
    for (let again = 0; again < 5; again++) device.kernels.fill(busy, again);
    const x = bufferFromPool(pool, device.context, "uint8", 4096, {});
    x.copyFrom(new Uint8Array(4096).fill(round), { stream });
    assertEquals(x.toArraySync({ stream })[4095], round);
    device.stream.doneSync();
    assertEquals(x.toArraySync({ stream })[0], round);
    x.free();
  }
  pool.close();
});

Deno.test("buffers of a captured stream have no guards", () => {
  const [, { pool }] = watchedPools(DEBUG) as [WatchedPool, WatchedPool];
  using stream = device.createStream();
  const stop = observeCaptures({
    captureBegun: () => {},
    captureEnded: (token, graph) => pool.streams.endCapture(token, graph),
  });
  const before = bufferFromPool(pool, device.context, "float32", 100, {});
  let inside: DeviceBuffer<"float32"> | undefined;
  const graph = stream.capture(() => {
    inside = bufferFromPool(pool, device.context, "float32", 100, { stream });
    device.kernels.fill(inside, 3, { stream });
    before.free();
    assertThrows(() => pool.checkMemory(), TypeError, "captured");
    const scratch = bufferFromPool(pool, device.context, "float32", 100, { stream });
    device.kernels.fill(scratch, 4, { stream });
    scratch.free();
  });
  graph.launch(stream);
  stream.doneSync();
  assertEquals(inside!.toArraySync({ stream })[99], 3);
  inside!.free();
  assertEquals(pool.checkMemory(), 1);
  assertEquals(pool.stats().currentUsage, 0);
  graph[Symbol.dispose]();
  pool.close();
  assertEquals(pool.stats().reserved, 0);
  stop();
});

Deno.test("`allocate()` leaves nothing behind when a fill fails", () => {
  for (const { pool, upstream } of watchedPools(DEBUG)) {
    if (upstream.label !== device.label) continue;
    pool.free(pool.allocate(100, device.stream));
    const before = pool.stats();
    {
      using _fault = injectFault(device.context.library, "cudaMemsetAsync", 2, 999);
      assertThrows(() => pool.allocate(100, device.stream), CudaError);
    }
    assertEquals(pool.stats().currentUsage, 0);
    assertEquals(pool.stats().allocation.all.current, before.allocation.all.current);
    const block = pool.allocate(100, device.stream);
    {
      using _fault = injectFault(device.context.library, "cudaEventRecord", 1, 999);
      assertThrows(() => pool.free(block), CudaError);
    }
    assertEquals(pool.stats().currentUsage, 0);
    pool.close();
  }
});

Deno.test("`free()` fills memory with a pattern on its stream", () => {
  const { pool, upstream } = modelPool(DEBUG);
  const stream = upstream.createStream();
  const block = pool.allocate(700, stream);
  const address = pool.addressOf(block);
  pool.free(block);
  const content = new Uint8Array(700);
  upstream.read(address, content, stream);
  assert(content.every((byte) => byte === FREED_PATTERN));
  pool.close();
  assertEquals(upstream.tally.declared, 0);
  assertEquals([upstream.tally.mappedBytes, upstream.tally.events], [0, 0]);
});
