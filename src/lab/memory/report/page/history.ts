/**
 * The memory at earlier events: live bytes by call site, and the segments as they were.
 *
 * Both follow from the snapshot and the recorded events. The snapshot holds the state after the last
 * event, and each event changes it by one block or one range of memory.
 *
 * @module
 */

import type { SnapshotBlock, SnapshotSegment } from "../../snapshot/memory_snapshot.ts";
import { innermostFrame } from "../quantities.ts";
import type { PageData } from "./page_tools.ts";

/** The live bytes of a call site after each event. */
export interface SiteLayer {
  /** An index of the sites; −1 for unknown sites, −2 for all other sites together. */
  readonly site: number;
  readonly peak: number;
  readonly live: Float64Array;
}

/** Divides live memory by call site: the sites with the largest peaks, and the rest at the end. */
export function liveBySite(
  { timeline, segments, actions, sites }: PageData,
  count: number,
): SiteLayer[] {
  const { action, bytes, live } = timeline!;
  // Calls of one line through different callers are one site of the drawing.
  const firstOf = new Map<string, number>();
  const merged = sites.map((text, index) => {
    const frame = innermostFrame(text);
    if (!firstOf.has(frame)) firstOf.set(frame, index);
    return firstOf.get(frame)!;
  });
  const mergedSite = (index: number | null) => merged[index ?? -1] ?? -1;
  const site = timeline!.site.map(mergedSite);
  const [allocate, free] = [actions.indexOf("allocate"), actions.indexOf("free")];
  const signs = action.map((value) => Number(value === allocate) - Number(value === free));
  const layers = new Map<number, { now: number; peak: number }>();
  const layerOf = (index: number) => {
    const layer = layers.get(index) ?? { now: 0, peak: 0 };
    layers.set(index, layer);
    return layer;
  };
  for (const { state, requested, site } of segments.flatMap(({ blocks }) => blocks)) {
    if (state === "live") layerOf(mergedSite(site)).now += requested;
  }
  // Back from the snapshot to the first event.
  for (let index = site.length - 1; index >= 0; index--) {
    const layer = layerOf(site[index]!);
    layer.peak = Math.max(layer.peak, layer.now);
    layer.now -= signs[index]! * bytes[index]!;
  }
  for (const layer of layers.values()) layer.peak = Math.max(layer.peak, layer.now);
  const largest = [...layers].filter(([, { peak }]) => peak > 0)
    .sort(([, a], [, b]) => b.peak - a.peak).slice(0, count);
  const filled = largest.map(([site, { now, peak }]) => {
    return { site, now, peak, live: new Float64Array(live.length) };
  });
  const rest = { site: -2, peak: 0, live: new Float64Array(live.length) };
  for (let index = 0; index < live.length; index++) {
    let left = live[index]!;
    for (const layer of filled) {
      if (signs[index] !== 0 && layer.site === site[index]) {
        layer.now += signs[index]! * bytes[index]!;
      }
      layer.live[index] = Math.min(Math.max(layer.now, 0), left);
      left -= layer.live[index]!;
    }
    rest.live[index] = left;
    rest.peak = Math.max(rest.peak, left);
  }
  return rest.peak > 0 ? [...filled, rest] : filled;
}

/**
 * Returns the segments after an event. Free blocks are not divided into cached, pending and free
 * ones, and blocks freed since have their requested sizes, because no event records more.
 */
export function segmentsAt(
  { timeline, segments, actions }: PageData,
  index: number,
): SnapshotSegment[] {
  const { action, address, bytes, site, stream, time } = timeline!;
  if (index >= action.length - 1) return [...segments];
  const live = new Map<number, Omit<SnapshotBlock, "offset" | "state">>();
  const ranges: { start: number; end: number; isMapped: boolean }[] = [];
  for (const segment of segments) {
    for (const { offset, state, ...block } of segment.blocks) {
      const start = segment.address + offset;
      ranges.push({ start, end: start + block.bytes, isMapped: state !== "unmapped" });
      if (state === "live") live.set(start, block);
    }
  }
  for (let undone = action.length - 1; undone > index; undone--) {
    const start = address[undone]!;
    const size = bytes[undone]!;
    const name = actions[action[undone]!];
    if (name === "allocate") live.delete(start);
    if (name === "free" && size > 0) {
      const [of, by] = [stream[undone]!, site[undone]!];
      const owner = { stream: of < 0 ? null : of, site: by < 0 ? null : by };
      live.set(start, { bytes: size, requested: size, age: null, ...owner });
    }
    if (name === "reserve" || name === "unreserve") {
      ranges.push({ start, end: start + size, isMapped: name === "unreserve" });
    }
  }
  const began = new Map<number, number>();
  for (let event = 0; event <= index; event++) {
    if (actions[action[event]!] === "allocate") began.set(address[event]!, time[event]!);
  }
  // Between two neighbours of these addresses nothing changes.
  const borders = new Set(ranges.flatMap(({ start, end }) => [start, end]));
  for (const [start, { bytes }] of live) borders.add(start).add(start + bytes);
  const starts = [...borders].sort((a, b) => a - b);
  const placeOf = new Map(starts.map((start, place) => [start, place]));
  const owners: (number | boolean)[] = starts.map(() => false);
  for (const { start, end, isMapped } of ranges) {
    owners.fill(isMapped, placeOf.get(start)!, placeOf.get(end)!);
  }
  for (const [start, { bytes }] of live) {
    owners.fill(start, placeOf.get(start)!, placeOf.get(start + bytes)!);
  }
  const found: (Omit<SnapshotSegment, "bytes"> & { bytes: number; blocks: SnapshotBlock[] })[] = [];
  const nothing = { requested: 0, stream: null, age: null, site: null };
  let last: number | boolean = false;
  let next = 0;
  let wasUnknown = false;
  for (let place = 0; place < starts.length - 1; place++) {
    const [start, end, owner] = [starts[place]!, starts[place + 1]!, owners[place]!];
    while (next < segments.length && segments[next]!.address <= start) next++;
    const known = segments[next - 1];
    const isKnown = known !== undefined && start < known.address + known.bytes;
    if (!isKnown && owner === false) continue;
    const segment = found.at(-1);
    const isSame = isKnown
      ? segment?.address === known.address
      : wasUnknown && segment?.address! + segment?.bytes! === start;
    if (!isSame) {
      const { address, bytes, kind, pool } = isKnown
        ? known
        : { address: start, bytes: 0, kind: "plain", pool: "large" } as const;
      found.push({ address, bytes, kind, pool, blocks: [] });
    }
    wasUnknown = !isKnown;
    const { address, blocks } = found.at(-1)!;
    if (!isKnown) found.at(-1)!.bytes = end - address;
    const before = blocks.at(-1);
    if (before !== undefined && owner === last) {
      blocks[blocks.length - 1] = { ...before, bytes: end - address - before.offset };
    } else {
      const state = owner === false ? "unmapped" : owner === true ? "free" : "live";
      const block = typeof owner === "number" ? live.get(owner)! : nothing;
      const age = began.has(start) && state === "live" ? time[index]! - began.get(start)! : null;
      blocks.push({ ...block, offset: start - address, bytes: end - start, state, age });
    }
    last = owner;
  }
  return found;
}
