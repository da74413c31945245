// A fault that a test asks of the model device comes at the call that was asked for, without an
// effect.

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { CudaError } from "../../../src/ffi/cuda_error.ts";
import { InMemoryUpstream, UPSTREAM_CALLS } from "./in_memory_upstream.ts";

const GRANULE = 65536;

function model(keepBytes = false): InMemoryUpstream {
  return new InMemoryUpstream({ capacity: 64 * GRANULE, granularity: GRANULE, keepBytes });
}

Deno.test("a fault comes at the call that was asked for, once, and has no effect", () => {
  const upstream = model();
  upstream.calls.fail({ call: "allocate", nth: 2 });
  upstream.calls.fail({ call: "reserve", outcome: "none", times: 2 });
  assert(upstream.allocate(10) > 0);
  const error = assertThrows(() => upstream.allocate(10), CudaError, "make the call allocate");
  assertEquals([error.code, error.device], [999, "model:0"]);
  assertEquals(upstream.tally.allocations, 1);
  assertEquals([upstream.reserve(GRANULE), upstream.reserve(GRANULE)], [0, 0]);
  assert(upstream.allocate(10) > 0 && upstream.reserve(GRANULE) > 0);
  assertEquals(upstream.calls.restore(), 0);
});

Deno.test("a fault of any call counts all calls, so that each can be made to fail in turn", async () => {
  const work = async (upstream: InMemoryUpstream) => {
    const stream = upstream.createStream();
    const address = upstream.reserve(GRANULE);
    upstream.map(address, GRANULE, GRANULE);
    upstream.declare(address, GRANULE, true);
    upstream.fill(address, GRANULE, 1, stream);
    upstream.read(address, new Uint8Array(1), stream);
    const event = upstream.createEvent();
    upstream.recordEvent(event, stream);
    upstream.queryEvent(event);
    upstream.waitSync(event);
    await upstream.wait(event);
    upstream.destroyEvent(event);
    upstream.unmap(address, GRANULE);
    upstream.release(address);
    upstream.free(upstream.allocate(1));
    upstream.freeBytes();
    upstream.press();
  };
  const clean = model(true);
  await work(clean);
  assertEquals(Object.values(clean.calls.counts), UPSTREAM_CALLS.map(() => 1));
  for (let nth = 1; nth <= UPSTREAM_CALLS.length; nth++) {
    const upstream = model(true);
    upstream.calls.fail({ nth, status: 700 });
    const error = await assertRejects(() => work(upstream), CudaError);
    assertEquals([error.code, error.sticky], [700, true]);
    const made = Object.values(upstream.calls.counts).reduce((sum, count) => sum + count);
    assertEquals(made, nth);
  }
  clean.calls.fail({ nth: 100 });
  await work(clean);
  assertEquals(clean.calls.restore(), 1);
  clean.calls.reset();
  assertEquals(clean.calls.counts.map, 0);
});

Deno.test("faults that make no sense are refused", () => {
  const { calls } = model();
  assertThrows(() => calls.fail({ call: "free", outcome: "none" }), TypeError, "find no memory");
  assertThrows(() => calls.fail({ outcome: "none" }), TypeError, "the call is any");
  for (const nth of [0, -1, 1.5, NaN]) assertThrows(() => calls.fail({ nth }), RangeError, "nth");
});
