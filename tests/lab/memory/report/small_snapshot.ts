/**
 * A snapshot so small that what a report must say of it can be worked out by hand.
 *
 * @module
 */

import type { MemorySnapshot } from "../../../../src/lab/memory/snapshot/memory_snapshot.ts";

const KIB = 1024;

/**
 * 100 KiB reserved in two segments: 40 + 10 KiB live with 48 KiB requested, 16 KiB
 * cached, 24 + 6 KiB free and 4 KiB pending. Four events, the last of them out of memory.
 */
export const SMALL_SNAPSHOT: MemorySnapshot = {
  format: "gridstride memory snapshot",
  version: 1,
  source: "gridstride",
  takenAt: "2026-03-01T12:00:00.000Z",
  device: { label: "host:0", name: "Host", fake: false, totalBytes: 1024 * KIB },
  settings: { preset: "testing", limitBytes: null },
  statistics: { allocations: 1234567, peakBytes: 100 * KIB },
  streams: ["default", "copy"],
  sites: ["weights (load.ts:7:3)\nmain (run.ts:1:1)", "scratch (step.ts:9:5)\nmain (run.ts:2:1)"],
  segments: [
    {
      address: 0x10000,
      bytes: 112 * KIB,
      kind: "virtual",
      pool: "large",
      blocks: [
        block(0, 40, "live", { requested: 40 * KIB, site: 0, age: 70_000 }),
        block(40, 16, "cached", {}),
        block(56, 24, "free", { stream: null }),
        block(80, 32, "unmapped", { stream: null, age: null }),
      ],
    },
    {
      address: 0x40000,
      bytes: 20 * KIB,
      kind: "plain",
      pool: "small",
      blocks: [
        block(0, 10, "live", { requested: 8 * KIB, site: 1, age: 5 }),
        block(10, 6, "free", {}),
        block(16, 4, "pending", { stream: 1 }),
      ],
    },
  ],
  timeline: {
    dropped: 3,
    time: [0, 10, 20, 40],
    action: [2, 0, 0, 5],
    address: [0x10000, 0x10000, 0x40000, 0],
    bytes: [80 * KIB, 40 * KIB, 10 * KIB, 512 * KIB],
    stream: [-1, 0, 0, 1],
    site: [-1, 0, 1, 1],
    live: [0, 40 * KIB, 50 * KIB, 50 * KIB],
    reserved: [80 * KIB, 80 * KIB, 100 * KIB, 100 * KIB],
    largestFree: [80 * KIB, 40 * KIB, 25 * KIB, -1],
  },
};

type Block = MemorySnapshot["segments"][number]["blocks"][number];

function block(offset: number, size: number, state: Block["state"], rest: Partial<Block>): Block {
  return {
    offset: offset * KIB,
    bytes: size * KIB,
    state,
    requested: 0,
    stream: 0,
    age: 1,
    site: null,
    ...rest,
  };
}
