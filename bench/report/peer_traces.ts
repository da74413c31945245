/**
 * Compares the models of allocators with the real libraries: both replay the generated traces, and
 * their peaks of reserved memory must be equal to the byte.
 *
 * @module
 */

import { formatTrace, replayTrace } from "../../src/lab/memory/mod.ts";
import { policyNamed } from "../memory_models/policies.ts";
import { BUILT_IN_TRACES, builtInTrace } from "../traces/built_in_traces.ts";

/** The policies with a real allocator in `replay_traces.py`. */
export const PEER_POLICIES = ["pytorch", "pytorch-expandable", "cupy"] as const;

/** The figures of a trace replayed through an allocator. */
export interface PeerTrace {
  /** The trace's name. */
  readonly trace: string;
  /** The peak of bytes taken from the device. */
  readonly peakReserved: number;
  /** Refused allocations. */
  readonly outOfMemory: number;
}

/** The output of `replay_traces.py`: results, or the reason for their absence. */
export type PeerReplay =
  | {
    /** The policy. */
    readonly policy: string;
    /** The library's version. */
    readonly version: string;
    /** The free memory of the GPU, in bytes. */
    readonly capacityBytes: number;
    /** The traces in order. */
    readonly traces: readonly PeerTrace[];
  }
  | {
    /** The policy. */
    readonly policy: string;
    /** The reason for the skipped replay. */
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
  /** The peak of reserved bytes of the library. */
  readonly real: number;
  /** The peak of reserved bytes of its model. */
  readonly model: number;
  /** `true` for equal peaks and equal numbers of refused requests. */
  readonly same: boolean;
}

/**
 * Writes the generated traces into a folder.
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
 * Parses the output of the script.
 *
 * @throws {Error} If it is invalid.
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

/** Replays the same traces through the model of a library and compares the peaks. */
export function compareTraces(replay: PeerReplay): TraceComparison[] {
  if ("skipped" in replay) return [];
  const { policy, version, capacityBytes } = replay;
  return replay.traces.map(({ trace, peakReserved, outOfMemory }) => {
    const model = replayTrace(builtInTrace(trace).create(), policyNamed(policy), { capacityBytes });
    const same = model.peakReserved === peakReserved && model.outOfMemory === outOfMemory;
    return { trace, policy, version, real: peakReserved, model: model.peakReserved, same };
  });
}
