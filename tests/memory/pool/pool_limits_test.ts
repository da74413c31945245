// Numbers that do not fit: units of blocks and epochs of streams are kept in 32 bits.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { OutOfMemoryError } from "../../../src/ffi/cuda_error.ts";
import { InMemoryUpstream } from "./in_memory_upstream.ts";
import { PoolCore } from "../../../src/memory/pool/pool_core.ts";
import { checkPool } from "./model/check_pool.ts";
import { poolSettings } from "./model/pool_settings.ts";

const MEBIBYTE = 2 ** 20;
const TEBIBYTE = 2 ** 40;

for (const granularity of [0, 2 * MEBIBYTE, 64 * MEBIBYTE]) {
  Deno.test(`a block is smaller than a tebibyte, a pool need not be: granules of ${granularity}`, () => {
    const limitBytes = 8 * TEBIBYTE;
    const upstream = new InMemoryUpstream({ capacity: limitBytes, granularity });
    const settings = poolSettings({ limitBytes, virtualMemory: granularity > 0 });
    const core = new PoolCore(upstream, settings);
    const stream = upstream.createStream();
    const largest = TEBIBYTE - Math.max(granularity, 2 * MEBIBYTE);
    const held = [0, 1].map(() => {
      const block = core.take(largest, stream);
      return { block, address: core.addressOf(block), bytes: largest, alignment: 512 };
    });
    for (const bytes of [largest + 1, TEBIBYTE, 2 * TEBIBYTE, 4 * TEBIBYTE, 2 ** 52, 2 ** 53 - 1]) {
      assertThrows(() => core.take(bytes, stream), OutOfMemoryError, `allocate ${bytes} bytes`);
    }
    assertThrows(() => core.take(MEBIBYTE, stream, 2 ** 52), OutOfMemoryError);
    assertThrows(() => core.preallocate(3 * TEBIBYTE), OutOfMemoryError);
    checkPool(core, upstream, held);
    for (const { block } of held) core.give(block);
    core.close();
    assertEquals([upstream.usedBytes, upstream.tally.reservations], [0, 0]);
  });
}

Deno.test("a stream may have more marks than 32 bits count", () => {
  const upstream = new InMemoryUpstream({ capacity: 64 * MEBIBYTE, completion: "explicit" });
  const core = new PoolCore(upstream, poolSettings({ limitBytes: 64 * MEBIBYTE }));
  const [one, other] = [upstream.createStream(), upstream.createStream()];
  const { streams } = core.engine;
  for (const boundary of [2 ** 31, 2 ** 32]) {
    const slot = streams.slotOf(one);
    slot.completed = boundary - 5;
    slot.epoch = boundary - 4;
    streams.epochs[slot.index] = slot.epoch;
    for (let round = 0; round < 8; round++) {
      const [small, large] = [core.take(1000, one), core.take(30 * MEBIBYTE, one)];
      for (const block of [small, large]) upstream.use(core.addressOf(block), 1000, one, block);
      core.engine.use(small, other);
      core.give(small);
      core.give(large);
      // The model throws where the other stream gets memory that this one may still use.
      const elsewhere = core.take(20 * MEBIBYTE, other);
      upstream.use(core.addressOf(elsewhere), 20 * MEBIBYTE, other, elsewhere);
      core.give(elsewhere);
      upstream.completeAll();
      const all = core.take(60 * MEBIBYTE, other);
      assert(core.addressOf(all) > 0);
      core.give(all);
      upstream.completeAll();
    }
    assert(slot.epoch > boundary, `only ${slot.epoch} epochs`);
  }
  checkPool(core, upstream, []);
  core.close();
});
