import { assert, assertEquals, assertThrows } from "@std/assert";
import { CudaError } from "../../../../src/ffi/cuda_error.ts";
import {
  StrictUpstream,
  type StrictUpstreamOptions,
  UpstreamMisuseError,
} from "./strict_upstream.ts";

const GRANULE = 65536;

function model(options: StrictUpstreamOptions = {}): StrictUpstream {
  return new StrictUpstream({ capacity: 64 * GRANULE, granularity: GRANULE, ...options });
}

/** Asserts that a call is misuse and changes nothing. */
function assertMisuse(upstream: StrictUpstream, call: () => unknown, says: string): void {
  const before = upstream.tally;
  assertThrows(call, UpstreamMisuseError, says);
  assertEquals(upstream.tally, before);
}

Deno.test("`StrictUpstream` refuses memory that another owner's work still uses", () => {
  const upstream = model({ completion: "explicit" });
  const [a, b] = [upstream.createStream(), upstream.createStream()];
  const address = upstream.reserve(2 * GRANULE);
  assert(upstream.map(address, 2 * GRANULE, GRANULE));
  upstream.use(address, 500, a, "first");
  upstream.use(address, 500, b, "first");
  upstream.use(address + 500, 500, b, "second");
  upstream.use(address + 500, 500, b, "third");
  assertMisuse(upstream, () => upstream.use(address + 499, 1, b, "second"), "another owner");
  assertMisuse(upstream, () => upstream.fill(address, 10, 0, b), "another owner");
  assertMisuse(upstream, () => upstream.unmap(address, GRANULE), "uses it");
  assertMisuse(
    upstream,
    () => upstream.use(address + 2 * GRANULE - 1, 2, a, 1),
    "there must be some",
  );
  upstream.completeAll();
  upstream.use(address + 499, 1, b, "second");
  upstream.completeAll();
  upstream.unmap(address, GRANULE);
  assertMisuse(upstream, () => upstream.use(address, 1, a, 1), "there must be some");
});

Deno.test("`free()` waits for work, or throws if the upstream is strict about it", () => {
  for (const strictFree of [false, true]) {
    const upstream = model({ completion: "explicit", strictFree });
    const stream = upstream.createStream();
    const address = upstream.allocate(10);
    upstream.use(address + 9, 1, stream, 1);
    if (strictFree) {
      assertMisuse(upstream, () => upstream.free(address), "uses it");
      upstream.complete(stream);
    }
    upstream.free(address);
    assertEquals([upstream.blockedFrees, stream.idle], [strictFree ? 0 : 1, true]);
  }
});

Deno.test("`calls.fail()` makes the nth call throw or find no memory, and has no other effect", () => {
  const upstream = model();
  upstream.calls.fail({ call: "allocate", nth: 2 });
  upstream.calls.fail({ call: "reserve", outcome: "none", times: 2 });
  assert(upstream.allocate(10) > 0);
  const error = assertThrows(() => upstream.allocate(10), CudaError, "make the call allocate");
  assertEquals([error.code, error.device, upstream.tally.plain], [999, "model:0", 1]);
  assertEquals([upstream.reserve(GRANULE), upstream.reserve(GRANULE)], [0, 0]);
  assert(upstream.reserve(GRANULE) > 0);
  assertEquals([upstream.calls.restore(), upstream.calls.counts.allocate], [0, 2]);
  upstream.calls.fail({ nth: 3, status: 700 });
  upstream.freeBytes();
  upstream.press();
  assertEquals(assertThrows(() => upstream.freeBytes(), CudaError).code, 700);
});
