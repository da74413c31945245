import { assertEquals, assertThrows } from "@std/assert";
import { OutOfMemoryError } from "../../../src/ffi/cuda_error.ts";
import { TIMELINE_ACTIONS } from "../../../src/lab/memory/snapshot/memory_snapshot.ts";
import { BlockHistory, snapshotBlocks } from "../../../src/lab/memory/pool_snapshot.ts";
import { traceOfSnapshot } from "../../../src/lab/memory/trace/read_trace.ts";
import { modelPool } from "../../memory/pool/model/watched_pool.ts";

const DEVICE = { label: "model:0", name: "a model", fake: true, totalBytes: 2 ** 30 };

function historyPool(
  length: number,
  settings: Parameters<typeof modelPool>[0] = {},
  options: Parameters<typeof modelPool>[1] = {},
) {
  const { pool, upstream } = modelPool(settings, options);
  const history = new BlockHistory(pool, length);
  return { pool, upstream, history };
}

Deno.test("`timeline()` has every event with live and reserved bytes", () => {
  const { pool, upstream, history } = historyPool(100, { enableMemoryTracking: true });
  const [stream, other] = [upstream.createStream(), upstream.createStream()];
  const first = pool.allocate(3000, stream);
  const second = pool.allocate(2 ** 21, other);
  const addresses = [first, second].map((block) => pool.addressOf(block));
  pool.free(first);
  pool.free(second);
  pool.trim();
  assertThrows(() => pool.allocate(2 ** 40, stream), OutOfMemoryError);
  const line = history.timeline();
  const reserved = [2 ** 21, 2 ** 22];
  assertEquals(line.action.map((code) => TIMELINE_ACTIONS[code]), [
    "reserve",
    "allocate",
    "reserve",
    "allocate",
    "free",
    "free",
    "unreserve",
    "unreserve",
    "out of memory",
  ]);
  assertEquals(line.bytes.slice(0, 6), [2 ** 21, 3000, 2 ** 21, 2 ** 21, 3000, 2 ** 21]);
  assertEquals(line.live, [0, 3000, 3000, 3000 + 2 ** 21, 2 ** 21, 0, 0, 0, 0]);
  assertEquals(line.reserved.slice(0, 6), [
    reserved[0]!,
    reserved[0]!,
    ...Array(4).fill(reserved[1]),
  ]);
  assertEquals(line.reserved.slice(-2), [0, 0]);
  assertEquals([line.address[1], line.address[3]], addresses);
  assertEquals([line.address[4], line.address[5]], addresses);
  assertEquals(line.stream, [-1, 0, -1, 1, 0, 1, -1, -1, -1]);
  assertEquals(line.site.map((site) => site >= 0), [0, 1, 0, 1, 1, 1, 0, 0, 1].map(Boolean));
  assertEquals([line.site[1], line.site[3]], [line.site[4], line.site[5]]);
  assertEquals(line.largestFree[1], 2 ** 21 - 3072, "looked up after the pool has grown");
  assertEquals(line.largestFree[0], -1);
  assertEquals(line.bytes.at(-1), 2 ** 40);
  assertEquals(line.dropped, 0);
});

Deno.test("`timeline()` drops and counts the oldest events", () => {
  for (const length of [1, 2, 7, 64]) {
    const { pool, upstream, history } = historyPool(length, {});
    const stream = upstream.createStream();
    const expected: [string | undefined, number | undefined][] = [["reserve", 2 ** 21]];
    for (let count = 1; count <= 50; count++) {
      const block = pool.allocate(count, stream);
      pool.free(block);
      expected.push(["allocate", count], ["free", count]);
      const { action, bytes, dropped, time, site } = history.timeline();
      const kept = Math.min(length, expected.length);
      assertEquals(
        action.map((
          code,
          index,
        ): (typeof expected)[number] => [TIMELINE_ACTIONS[code], bytes[index]]),
        expected.slice(-kept),
      );
      assertEquals(dropped, expected.length - kept);
      assertEquals(time.toSorted((a, b) => a - b), time);
      assertEquals(new Set(site), new Set([-1]), "nobody tracks");
    }
  }
});

Deno.test("`timeline()` has waits for streams", () => {
  const { pool, upstream, history } = historyPool(10, { limitBytes: 2 ** 24 }, {
    completion: "explicit",
  });
  const [stream, other] = [upstream.createStream(), upstream.createStream()];
  const block = pool.allocate(2 ** 24, stream);
  upstream.use(pool.addressOf(block), 100, stream, block);
  pool.free(block);
  pool.allocate(2 ** 24, other);
  const { action } = history.timeline();
  assertEquals(action.filter((code) => TIMELINE_ACTIONS[code] === "wait").length, 1);
});

Deno.test("`traceOfSnapshot()` reads a timeline with dropped events", () => {
  const { pool, upstream, history } = historyPool(30, {});
  const stream = upstream.createStream();
  const blocks = Array.from({ length: 40 }, (_, index) => pool.allocate(1000 + index, stream));
  for (const block of blocks.slice(0, 20)) pool.free(block);
  const snapshot = snapshotBlocks(pool, DEVICE, history);
  const { events } = traceOfSnapshot(snapshot, "tail");
  assertEquals(events.filter(({ kind }) => kind === "allocate").length, 40);
  assertEquals(events.filter(({ kind }) => kind === "free").length, 20);
});
