import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { BlockRecording } from "../../../src/lab/memory/pool_recording.ts";
import { PYTORCH } from "../../../bench/memory_models/pytorch.ts";
import * as lab from "../../../src/lab/memory/mod.ts";
import type { StrictStream } from "../../memory/pool/model/strict_upstream.ts";
import { formatTrace, parseTrace } from "../../../src/lab/memory/trace/memory_trace.ts";
import { modelPool, settingsWith } from "../../memory/pool/model/watched_pool.ts";

const CAPACITY = 2 ** 30;

Deno.test("`recordTrace()` records requests in the format of traces", () => {
  const { pool, upstream } = modelPool();
  const stream = upstream.createStream();
  const early = pool.allocate(100, stream);
  const recording = new BlockRecording(pool, "steps");
  const other = upstream.createStream();
  const block = pool.allocate(5000, stream, 8192);
  pool.use(block, other);
  recording.point("forward");
  pool.free(early);
  const last = pool.allocate(2 ** 21, other);
  pool.free(block);
  pool.free(last);
  other[Symbol.dispose]();
  const trace = recording.stop();
  pool.free(pool.allocate(1, stream));
  assertEquals(trace.name, "steps");
  assertEquals(
    trace.description,
    "Recorded as steps from the pool of model:0. The first 1 blocks were there before.",
  );
  assertEquals(trace.events, [
    { kind: "allocate", block: 0, bytes: 100, stream: 0 },
    { kind: "allocate", block: 1, bytes: 5000, stream: 0, alignment: 8192 },
    { kind: "use", block: 1, stream: 1 },
    { kind: "point", name: "forward" },
    { kind: "free", block: 0 },
    { kind: "allocate", block: 2, bytes: 2 ** 21, stream: 1 },
    { kind: "free", block: 1 },
    { kind: "free", block: 2 },
    { kind: "dispose", stream: 1 },
  ]);
  assertEquals(parseTrace(formatTrace(trace), "steps"), trace);
});

Deno.test("`recordTrace()` refuses odd names, and a recording that has ended records nothing", () => {
  const { pool } = modelPool();
  for (const take of [lab.recordTrace, lab.recordHistory, lab.snapshotPool]) {
    assertThrows(() => take({} as never), TypeError, "pool must be a MemoryPool");
  }
  assertThrows(() => new BlockRecording(pool, 5 as never), TypeError, "name must be a string");
  const recording = new BlockRecording(pool, "recording");
  const odd = (name: string) =>
    assertThrows(() => recording.point(name), TypeError, "name must be");
  ["", " x", "a\nb"].forEach(odd);
  assertEquals(recording.stop(), {
    name: "recording",
    description: "Recorded as recording from the pool of model:0.",
    events: [],
  });
  assertThrows(() => recording.stop(), TypeError, "the recording has ended");
  assertThrows(() => recording.point("x"), TypeError, "the recording has ended");
});

Deno.test("`replayTrace()` of a recording takes the same memory and calls", () => {
  const { maxCachedBuffers } = settingsWith();
  fc.assert(
    fc.property(
      fc.array(
        fc.record({
          bytes: fc.oneof(
            fc.integer({ min: 1, max: 2 ** 20 }),
            fc.integer({ min: 1, max: 2 ** 24 }),
          ),
          stream: fc.nat(2),
          align: fc.nat(20),
          frees: fc.nat(3),
          use: fc.boolean(),
        }),
        { minLength: 10, maxLength: 60 },
      ),
      (steps) => {
        const { pool, upstream } = modelPool({ maxCachedBuffers, limitBytes: CAPACITY });
        const streams: StrictStream[] = [];
        const streamOf = (index: number) => streams[index] ??= upstream.createStream();
        const recording = new BlockRecording(pool, "random");
        const live: number[] = [];
        for (const { bytes, stream, align, frees, use } of steps) {
          const block = align > 15
            ? pool.allocate(bytes, streamOf(stream), 2 ** align)
            : pool.allocate(bytes, streamOf(stream));
          if (use) pool.use(block, streamOf((stream + 1) % 3));
          live.push(block);
          for (let count = 0; count < frees && live.length > 0; count++) {
            pool.free(live.splice((bytes + count) % live.length, 1)[0]!);
          }
        }
        const trace = recording.stop();
        const result = lab.replayTrace(trace, lab.REPLAY_POLICIES[0], { capacityBytes: CAPACITY });
        assertEquals(result.peakReserved, upstream.peakBytes);
        assertEquals(result.peakLive, pool.stats().peakUsage);
        assertEquals(result.upstreamCalls, pool.stats().upstreamCalls);
        assert(lab.replayTrace(trace, PYTORCH).peakLive === result.peakLive);
      },
    ),
    { numRuns: 25, seed: 11 },
  );
});

Deno.test("`recordTrace()` records sizes without guards", () => {
  const { pool, upstream } = modelPool({ debug: true, enableMemoryTracking: true });
  const stream = upstream.createStream();
  const recording = new BlockRecording(pool, "recording");
  pool.free(pool.allocate(1234, stream));
  assertEquals(recording.stop().events, [
    { kind: "allocate", block: 0, bytes: 1234, stream: 0 },
    { kind: "free", block: 0 },
  ]);
});
