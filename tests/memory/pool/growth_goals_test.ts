import { assert, assertEquals } from "@std/assert";
import { policyNamed } from "../../../bench/memory_models/policies.ts";
import { BUILT_IN_TRACES, builtInTrace } from "../../../bench/traces/built_in_traces.ts";
import { type ReplayResult, replayTrace } from "../../../src/lab/memory/mod.ts";

const PAGE = 2 * 2 ** 20;
const PEERS = ["pytorch", "pytorch-expandable", "cupy"];

function replay(trace: string, policy: string): ReplayResult {
  return replayTrace(builtInTrace(trace).create(), policyNamed(policy));
}

/** The peer that reserves least. */
function bestPeer(trace: string): ReplayResult {
  const results = PEERS.map((peer) => replay(trace, peer));
  return results.reduce((best, each) => each.peakReserved < best.peakReserved ? each : best);
}

const results = new Map(BUILT_IN_TRACES.map(({ name }) => [name, replay(name, "gridstride")]));

Deno.test("mapped memory peaks at most 3 % above the use", () => {
  for (const trace of ["training", "serving", "load", "minimalloc"]) {
    const { ratio } = results.get(trace)!;
    assert(ratio <= 1.03, `${trace}: ${ratio}`);
  }
});

Deno.test("plain segments peak at most 10 % above the use", () => {
  for (const trace of ["training", "serving", "load"]) {
    const { ratio } = replay(trace, "gridstride-plain");
    assert(ratio <= 1.1, `${trace}: ${ratio}`);
  }
});

Deno.test("the pool reserves at most a page more than the best peer", () => {
  for (const trace of ["training", "serving", "load", "minimalloc", "sawtooth"]) {
    const { peakReserved } = bestPeer(trace);
    const over = (results.get(trace)!.peakReserved - peakReserved) / PAGE;
    assert(over <= 1, `${trace}: ${over} pages`);
  }
  assert(results.get("multi-stream")!.peakReserved < bestPeer("multi-stream").peakReserved / 2);
});

Deno.test("the pool makes no more device calls than the best peer", () => {
  // Not so for load and minimalloc, where holes have to be moved to stay within 3 %.
  for (const trace of ["training", "serving", "multi-stream", "sawtooth"]) {
    const { upstreamCalls } = results.get(trace)!;
    assert(upstreamCalls <= bestPeer(trace).upstreamCalls, `${trace}: ${upstreamCalls}`);
  }
});

Deno.test("repeated steps make no device calls from the third on", () => {
  const later = (trace: string) =>
    results.get(trace)!.steps.slice(2).reduce((sum, { upstreamCalls }) => sum + upstreamCalls, 0);
  assertEquals(later("serving"), 0);
  assertEquals(later("training"), 0);
  // The third and the sixth step replace the streams.
  assert(later("multi-stream") <= 4);
});
