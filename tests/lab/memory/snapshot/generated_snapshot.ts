/**
 * Snapshots made at random, all of which are valid.
 *
 * @module
 */

import fc from "fast-check";
import {
  type MemorySnapshot,
  SNAPSHOT_FORMAT,
  SNAPSHOT_VERSION,
  type SnapshotBlock,
  type SnapshotSegment,
  type SnapshotTimeline,
  TIMELINE_ACTIONS,
} from "../../../../src/lab/memory/snapshot/memory_snapshot.ts";

const MAXIMUM = Number.MAX_SAFE_INTEGER;

const SETTING = fc.oneof(
  fc.string(),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.boolean(),
  fc.constant(null),
);

function indexOf(length: number, none: null | -1): fc.Arbitrary<number | null> {
  if (length === 0) return fc.constant(none);
  return fc.oneof(fc.constant(none), fc.nat(length - 1));
}

function blockArbitrary(streams: number, sites: number): fc.Arbitrary<SnapshotBlock> {
  return fc.record({
    bytes: fc.integer({ min: 1, max: 2 ** 40 }),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
    state: fc.constantFrom("live", "cached", "free", "pending", "unmapped"),
    stream: indexOf(streams, null),
    age: fc.oneof(fc.constant(null), fc.double({ min: 0, max: 1e12, noNaN: true })),
    site: indexOf(sites, null),
  }).map(({ share, ...block }) => ({
    offset: 0,
    ...block,
    requested: block.state === "live" ? Math.floor(block.bytes * share) : 0,
  }));
}

/** Puts blocks and segments behind each other. */
function arrange(
  segments: readonly (Pick<SnapshotSegment, "kind" | "pool" | "blocks"> & { gap: number })[],
): SnapshotSegment[] {
  let address = 4096;
  return segments.map(({ kind, pool, blocks, gap }) => {
    let bytes = 0;
    const arranged = blocks.map((block) => {
      const offset = bytes;
      bytes += block.bytes;
      return { ...block, offset };
    });
    const segment = { address: address + gap, bytes, kind, pool, blocks: arranged };
    address = segment.address + bytes;
    return segment;
  });
}

function timelineArbitrary(streams: number, sites: number): fc.Arbitrary<SnapshotTimeline> {
  const size = fc.nat({ max: MAXIMUM });
  const event = fc.record({
    time: fc.double({ min: 0, max: 1e12, noNaN: true }),
    action: fc.nat(TIMELINE_ACTIONS.length - 1),
    ...{ address: size, bytes: size, live: size, reserved: size },
    stream: indexOf(streams, -1).map((index) => index ?? -1),
    site: indexOf(sites, -1).map((index) => index ?? -1),
    largestFree: fc.oneof(fc.constant(-1), size),
  });
  return fc.tuple(fc.array(event, { maxLength: 8 }), fc.nat()).map(([events, dropped]) => {
    events.sort((a, b) => a.time - b.time);
    const column = <K extends keyof typeof events[number]>(name: K) =>
      events.map((each) => each[name]);
    return {
      dropped,
      time: column("time"),
      action: column("action"),
      address: column("address"),
      bytes: column("bytes"),
      stream: column("stream"),
      site: column("site"),
      live: column("live"),
      reserved: column("reserved"),
      largestFree: column("largestFree"),
    };
  });
}

function bodyArbitrary(streams: readonly string[], sites: readonly string[]) {
  const block = blockArbitrary(streams.length, sites.length);
  const segment = fc.record({
    kind: fc.constantFrom("plain" as const, "virtual" as const),
    pool: fc.constantFrom("small" as const, "large" as const, "graph" as const),
    blocks: fc.array(block, { minLength: 1, maxLength: 4 }),
    gap: fc.nat(),
  });
  return fc.record({
    streams: fc.constant(streams),
    sites: fc.constant(sites),
    segments: fc.array(segment, { maxLength: 4 }).map(arrange),
    timeline: fc.option(timelineArbitrary(streams.length, sites.length)),
  });
}

/** Any snapshot. */
export const SNAPSHOTS: fc.Arbitrary<MemorySnapshot> = fc.tuple(
  fc.array(fc.string(), { maxLength: 3 }),
  fc.array(fc.string(), { maxLength: 3 }),
).chain(([streams, sites]) =>
  fc.record({
    source: fc.constantFrom("gridstride" as const, "pytorch" as const),
    takenAt: fc.option(
      fc.date({ noInvalidDate: true, min: new Date(0), max: new Date("9999-12-31") })
        .map((date) => date.toISOString()),
    ),
    device: fc.record({
      label: fc.string(),
      name: fc.string(),
      fake: fc.boolean(),
      totalBytes: fc.option(fc.nat({ max: MAXIMUM })),
    }),
    settings: fc.dictionary(fc.string(), SETTING),
    statistics: fc.dictionary(fc.string(), fc.double({ noNaN: true, noDefaultInfinity: true })),
    body: bodyArbitrary(streams, sites),
  })
).map(({ body, source, takenAt, device, settings, statistics }) => ({
  ...{ format: SNAPSHOT_FORMAT, version: SNAPSHOT_VERSION, source, takenAt, device },
  ...{ settings, statistics },
  ...body,
} as MemorySnapshot));
