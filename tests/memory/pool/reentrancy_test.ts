import { assert, assertEquals, assertThrows } from "@std/assert";
import { OutOfMemoryError } from "../../../src/ffi/cuda_error.ts";
import { StrictUpstream } from "./strict_upstream.ts";
import { BlockPool } from "../../../src/memory/pool/block_pool.ts";
import { checkPool } from "./model/check_pool.ts";
import { poolSettings } from "./model/pool_settings.ts";

const MEBIBYTE = 2 ** 20;
const CAPACITY = 64 * MEBIBYTE;

function setUp(granularity: number, onMemoryPressure: () => boolean) {
  const upstream = new StrictUpstream({ capacity: CAPACITY, granularity });
  const virtualMemory = granularity > 0;
  const settings = poolSettings({ limitBytes: CAPACITY, virtualMemory, onMemoryPressure });
  return { upstream, core: new BlockPool(upstream, settings) };
}

for (const granularity of [0, 2 * MEBIBYTE]) {
  const kind = granularity === 0 ? "plain segments" : "mapped memory";

  Deno.test(`\`allocate()\` throws when its stream is disposed meanwhile: ${kind}`, () => {
    const { upstream, core } = setUp(granularity, () => {
      stream[Symbol.dispose]();
      core.free(block);
      return true;
    });
    const other = upstream.createStream();
    const stream = upstream.createStream();
    const block = core.allocate(60 * MEBIBYTE, other);
    core.free(core.allocate(1000, stream));
    assertThrows(() => core.allocate(50 * MEBIBYTE, stream), TypeError, "disposed");
    checkPool(core, upstream, []);
    core.free(core.allocate(60 * MEBIBYTE, other));
    core.close();
    assertEquals(upstream.usedBytes, 0);
  });

  Deno.test(`\`allocate()\` throws when the pool is closed meanwhile: ${kind}`, () => {
    const { upstream, core } = setUp(granularity, () => {
      core.free(block);
      core.close();
      return true;
    });
    const stream = upstream.createStream();
    const block = core.allocate(60 * MEBIBYTE, stream);
    assertThrows(() => core.allocate(50 * MEBIBYTE, stream), TypeError, "is disposed");
    const { reservations, events } = upstream.tally;
    assertEquals([upstream.usedBytes, reservations, events], [0, 0, 0]);
  });

  Deno.test(`\`onMemoryPressure()\` is not called for its own allocations: ${kind}`, () => {
    let asked = 0;
    const { upstream, core } = setUp(granularity, () => {
      asked++;
      assertThrows(() => core.allocate(CAPACITY, stream), OutOfMemoryError);
      core.free(block);
      small.push(core.allocate(1000, stream));
      return true;
    });
    const small: number[] = [];
    const stream = upstream.createStream();
    const block = core.allocate(60 * MEBIBYTE, stream);
    const large = core.allocate(50 * MEBIBYTE, stream);
    assertEquals(asked, 1);
    assert(core.addressOf(large) > 0);
    for (const each of [large, ...small]) core.free(each);
    checkPool(core, upstream, []);
    core.close();
  });
}
