/**
 * The models of other libraries' allocators beside those libraries: the built-in traces are
 * replayed through both, and what was reserved at most has to be the same to the byte.
 *
 * @module
 */

import {
  BUILT_IN_TRACES,
  formatTrace,
  replayPolicy,
  replayTrace,
} from "../../src/lab/memory/mod.ts";

/** The policies that have a real allocator behind them; `replay_traces.py` knows them too. */
export const PEER_POLICIES = ["pytorch", "pytorch-expandable", "cupy"] as const;

/** What a trace took of an allocator. */
export interface PeerTrace {
  /** The trace's name. */
  readonly trace: string;
  /** The most bytes that it had taken from the device. */
  readonly peakReserved: number;
  /** Allocations that it refused. */
  readonly outOfMemory: number;
}

/** What `replay_traces.py` prints: results, or why there are none. */
export type PeerReplay =
  | {
    /** The policy. */
    readonly policy: string;
    /** The library's version. */
    readonly version: string;
    /** What was free of the GPU's memory, in bytes. */
    readonly capacityBytes: number;
    /** The traces in order. */
    readonly traces: readonly PeerTrace[];
  }
  | {
    /** The policy. */
    readonly policy: string;
    /** Why it was not replayed. */
    readonly skipped: string;
  };

/** A model beside the real allocator. */
export interface TraceComparison {
  /** The trace's name. */
  readonly trace: string;
  /** The policy's name. */
  readonly policy: string;
  /** The library's version. */
  readonly version: string;
  /** What the library reserved at most, in bytes. */
  readonly real: number;
  /** What its model reserved at most, in bytes. */
  readonly model: number;
  /** Whether both are the same, and as many requests were refused. */
  readonly same: boolean;
}

/**
 * Writes the built-in traces into a folder.
 *
 * @returns Their paths.
 */
export async function writeTraces(folder: string): Promise<string[]> {
  const paths: string[] = [];
  for (const { name, create } of BUILT_IN_TRACES) {
    const path = `${folder}/${name}.trace`;
    await Deno.writeTextFile(path, formatTrace(create()));
    paths.push(path);
  }
  return paths;
}

/**
 * Reads what the script prints.
 *
 * @throws {Error} If it is something else.
 */
export function readPeerReplay(json: string): PeerReplay {
  const replay: PeerReplay = JSON.parse(json);
  const isKnown = (PEER_POLICIES as readonly string[]).includes(replay.policy);
  if (isKnown && "skipped" in replay) return replay;
  const isRead = isKnown && "traces" in replay &&
    replay.capacityBytes > 0 &&
    replay.traces.every(({ peakReserved, outOfMemory }) => peakReserved > 0 && outOfMemory >= 0);
  if (!isRead) throw new Error(`Cannot compare traces with ${json.slice(0, 200)}`);
  return replay;
}

/** Replays the same traces through the model of a library, and sets both side by side. */
export function compareTraces(replay: PeerReplay): TraceComparison[] {
  if ("skipped" in replay) return [];
  const { policy, version, capacityBytes } = replay;
  return replay.traces.map(({ trace, peakReserved, outOfMemory }) => {
    const builtIn = BUILT_IN_TRACES.find(({ name }) => name === trace);
    if (builtIn === undefined) throw new Error(`Cannot compare as there is no trace ${trace}`);
    const model = replayTrace(builtIn.create(), replayPolicy(policy), { capacityBytes });
    const same = model.peakReserved === peakReserved && model.outOfMemory === outOfMemory;
    return { trace, policy, version, real: peakReserved, model: model.peakReserved, same };
  });
}
