import { assert, assertEquals, assertThrows } from "@std/assert";
import { CUPY } from "../../../../bench/memory_models/cupy.ts";
import { ALL_POLICIES, MODELS } from "../../../../bench/memory_models/policies.ts";
import { PYTORCH } from "../../../../bench/memory_models/pytorch.ts";
import { RMM } from "../../../../bench/memory_models/rmm.ts";
import {
  type MemoryTrace,
  parseTrace,
  type ReplayAllocator,
  type ReplayPolicy,
  replayTrace,
  TraceError,
} from "../../../../src/lab/memory/mod.ts";

const MiB = 2 ** 20;

function trace(...lines: string[]): MemoryTrace {
  const text = ["gridstride memory trace 1", ...lines, `end ${lines.length}`].join("\n");
  return parseTrace(text, "mine");
}

Deno.test("replayTrace() computes the peaks of live and reserved bytes", () => {
  const result = replayTrace(trace("a 0 1000 0", "a 1 3000 0", "f 0", "a 2 500 0"), CUPY);
  // 1024, 3072; the third fits into the freed block.
  assertEquals(
    [result.trace, result.policy, result.peakLive, result.peakReserved, result.upstreamCalls],
    ["mine", "cupy", 4000, 4096, 2],
  );
  assertEquals(result.ratio, 4096 / 4000);
  assertEquals([result.retries, result.outOfMemory, result.nanosecondsPerOperation], [0, 0, null]);
  assertEquals([...result.liveOverTime], [1000, 4000, 3000, 3500]);
  assertEquals([...result.reservedOverTime], [1024, 4096, 4096, 4096]);
});

Deno.test("replayTrace() skips later events of a refused block", () => {
  const events = ["a 0 1024 0", "a 1 2048 0", "u 1 1", "f 1", "f 0", "a 2 2048 0"];
  const result = replayTrace(trace(...events), CUPY, { capacityBytes: 2048 });
  // The second is refused three times; the last once, before the first block went back.
  assertEquals([result.outOfMemory, result.retries, result.peakLive], [1, 3, 2048]);
  assertEquals([...result.liveOverTime], [1024, 1024, 1024, 1024, 0, 2048]);
  assertEquals(result.upstreamCalls, 1 + 3 + 3);
});

Deno.test("replayTrace() includes memory reserved before the first event", () => {
  const { peakReserved, upstreamCalls, steps, ratio } = replayTrace(trace(), RMM, {
    capacityBytes: 4096,
  });
  assertEquals([peakReserved, upstreamCalls, ratio], [2048, 1, Infinity]);
  assertEquals(steps, [
    { name: null, events: 0, upstreamCalls: 1, peakLive: 0, peakReserved: 2048 },
  ]);
  assertEquals(replayTrace(trace(), CUPY).ratio, 1, "0 ÷ 0");
});

Deno.test("replayTrace() divides a trace into steps at its points", () => {
  const step = (block: number) => [`a ${block} ${2 * MiB} 0`, `f ${block}`, "p step"];
  const { steps } = replayTrace(
    trace(...step(0), ...step(1), `a 2 ${30 * MiB} 0`, "p grow", ...step(3), "f 2"),
    PYTORCH,
  );
  assertEquals(steps, [
    { name: "step", events: 2, upstreamCalls: 1, peakLive: 2 * MiB, peakReserved: 20 * MiB },
    { name: "step", events: 2, upstreamCalls: 0, peakLive: 2 * MiB, peakReserved: 20 * MiB },
    { name: "grow", events: 1, upstreamCalls: 1, peakLive: 30 * MiB, peakReserved: 50 * MiB },
    { name: "step", events: 2, upstreamCalls: 0, peakLive: 32 * MiB, peakReserved: 50 * MiB },
    { name: null, events: 1, upstreamCalls: 0, peakLive: 30 * MiB, peakReserved: 50 * MiB },
  ]);
});

Deno.test("replayTrace() refuses invalid traces and names the event", () => {
  const events = [...trace("a 0 1 0", "f 0").events, { kind: "free", block: 0 } as const];
  for (const policy of ALL_POLICIES) {
    const error = assertThrows(
      () => replayTrace({ name: "mine", description: "", events }, policy),
      TraceError,
    );
    assertEquals(
      error.message,
      "Cannot replay trace mine as event 3: block 0 is freed after it was freed",
    );
  }
  const unknown = [{ kind: "use", block: 7, stream: 0 } as const];
  assertThrows(
    () => replayTrace({ name: "mine", description: "", events: unknown }, CUPY),
    TraceError,
    "event 1: block 7 was never allocated",
  );
});

Deno.test("replayTrace() takes capacities from 1 to 2^47", () => {
  const one = trace("a 0 1 0");
  for (const capacityBytes of [0, -1, 1.5, NaN, Infinity, 2 ** 47 + 1]) {
    assertThrows(() => replayTrace(one, CUPY, { capacityBytes }), RangeError, "1..2^47");
  }
  // @ts-expect-error: not a number.
  assertThrows(() => replayTrace(one, CUPY, { capacityBytes: "80GiB" }), TypeError, "80GiB");
  for (const policy of MODELS) {
    assertEquals(replayTrace(one, policy, { capacityBytes: 1 }).outOfMemory, 1, policy.name);
    assertEquals(replayTrace(one, policy, { capacityBytes: 2 ** 47 }).outOfMemory, 0, policy.name);
  }
});

/** A policy of our own that counts what reaches it. */
function counting(log: string[], fails = false): ReplayPolicy {
  return {
    name: "counting",
    description: "",
    isModel: false,
    create: () => ({
      allocate: (block, bytes, stream, alignment) => {
        log.push(`a ${block} ${bytes} ${stream} ${alignment}`);
        if (fails) throw new Error("broken");
        return true;
      },
      free: (block) => void log.push(`f ${block}`),
      use: (block, stream) => void log.push(`u ${block} ${stream}`),
      synchronize: (stream) => void log.push(`s ${stream}`),
      dispose: (stream) => void log.push(`d ${stream}`),
      reservedBytes: 0,
      upstreamCalls: 0,
      retries: 0,
      [Symbol.dispose]: () => void log.push("disposed"),
    } satisfies ReplayAllocator),
  };
}

Deno.test("replayTrace() times policies other than models and disposes the allocators", () => {
  const log: string[] = [];
  const events = ["a 0 5 1 64", "u 0 2", "p step", "s 2", "d 2", "f 0"];
  const { nanosecondsPerOperation } = replayTrace(trace(...events), counting(log));
  assert(nanosecondsPerOperation !== null && nanosecondsPerOperation > 0);
  const pass = ["a 0 5 1 64", "u 0 2", "s 2", "d 2", "f 0"];
  assertEquals(log.slice(0, 5), pass, "one pass with accounts");
  assertEquals(log.slice(5, 11), [...pass, "disposed"], "others that are timed");
  assertEquals(log.at(-1), "disposed");
  assertEquals(replayTrace(trace("p only"), counting([])).nanosecondsPerOperation, null);
});

Deno.test("replayTrace() disposes the allocator when it throws", () => {
  const log: string[] = [];
  assertThrows(() => replayTrace(trace("a 0 1 0"), counting(log, true)), Error, "broken");
  assertEquals(log, ["a 0 1 0 undefined", "disposed"]);
});
