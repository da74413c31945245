/**
 * PyTorch's snapshots, as `torch.cuda.memory._dump_snapshot()` pickles them.
 *
 * What they hold was read in `torch/csrc/cuda/Module.cpp` and `torch/csrc/cuda/memory_snapshot.cpp`
 * and in the documentation of `torch.cuda.memory._snapshot()` of PyTorch 2.14.
 *
 * | field of PyTorch                              | here                                         |
 * | --------------------------------------------- | -------------------------------------------- |
 * | `segments[]` of one `device`                  | `segments`                                   |
 * | … `address`, `total_size`                     | `address`, `bytes`                           |
 * | … `is_expandable`                             | `kind`: `virtual`                            |
 * | … `segment_pool_id` other than (0, 0)         | `pool`: `graph`                              |
 * | … `segment_type`                              | `pool` otherwise                             |
 * | … `stream`                                    | the `stream` of its blocks                   |
 * | … `total_size`, `allocated_size`,             | `statistics`, summed                         |
 * | `active_size`, `requested_size`               |                                              |
 * | `blocks[].size`, `address`                    | `bytes`, `offset`                            |
 * | … `state`: `active_allocated`                 | `live`, with `requested_size`                |
 * | … `active_pending_free`,                      | `pending`                                    |
 * | `active_awaiting_free`                        |                                              |
 * | … `inactive`                                  | `free`                                       |
 * | … `frames`, or `history[0].frames`            | `site`: name, file and line of each          |
 * | `device_traces[device][]`                     | `timeline`                                   |
 * | … `alloc`                                     | `allocate`                                   |
 * | … `free_requested`                            | `free`; `free_completed` where that is       |
 * |                                               | missing, ignored otherwise                   |
 * | … `segment_alloc`, `segment_map`              | `reserve`                                    |
 * | … `segment_free`, `segment_unmap`             | `unreserve`                                  |
 * | … `oom`                                       | `out of memory`                              |
 * | … `snapshot`                                  | `takenAt`, by its `time_us`                  |
 * | … `addr`, `size`, `stream`, `frames`          | `address`, `bytes`, `stream`, `site`         |
 * | … `time_us`                                   | `time`, from the first; 0 where it is absent |
 * | `allocator_settings`                          | `settings`, nested ones joined by a dot      |
 *
 * Ignored are `external_annotations`, host memory, the trace's `annotate`, `device_free`,
 * `pool_id`, `compile_context`, `user_metadata`, the segments' own `frames`, what FX adds to
 * frames, and every field that is not named here. What blocks were used on other streams is not in
 * such a file. Live and reserved bytes over time are computed from the end, where they are known.
 *
 * @module
 */

import {
  type BlockState,
  type MemorySnapshot,
  SNAPSHOT_FORMAT,
  SNAPSHOT_VERSION,
  type SnapshotBlock,
  type SnapshotSegment,
} from "./memory_snapshot.ts";
import { PickleRecord } from "./pickle_record.ts";
import type { PickleValue } from "./pickle_value.ts";
import { describeSetting, PytorchSites, PytorchStreams } from "./pytorch_tables.ts";
import { PytorchTimeline } from "./pytorch_timeline.ts";
import { refuseField } from "./snapshot_error.ts";
import { validateSnapshot } from "./validate_snapshot.ts";

/** Which part of a file of PyTorch is read. */
export interface PytorchSnapshotOptions {
  /** The device's ordinal; the first one that has anything by default. */
  readonly device?: number;
}

const STATES: Readonly<Record<string, BlockState>> = {
  active_allocated: "live",
  active_pending_free: "pending",
  active_awaiting_free: "pending",
  inactive: "free",
};

const STATISTICS = ["total_size", "allocated_size", "active_size", "requested_size"];

/**
 * Blocks that are read at most. Every block of a real file is a dictionary of its own; a made-up
 * one can share a list of blocks among its segments, and so name far more than it holds.
 */
const MOST_BLOCKS = 2 ** 20;

/** The latest moment that a date can tell, in milliseconds. */
const LATEST = 8.64e15;

/**
 * Makes a snapshot of what `readPickle()` read.
 *
 * @param value The dictionary with `segments` and `device_traces`, or a list of segments as
 *   `torch.cuda.memory_snapshot()` of older versions gives it.
 * @throws {SnapshotError} If a field is none of what PyTorch writes; the message names it.
 * @throws {RangeError} If the file has nothing of the device.
 *
 * @example
 * ```ts
 * import { convertPytorchSnapshot } from "./pytorch_snapshot.ts";
 *
 * const snapshot = convertPytorchSnapshot(new Map([["segments", []], ["device_traces", []]]));
 * console.log(snapshot.source); // pytorch
 * ```
 */
export function convertPytorchSnapshot(
  value: PickleValue,
  options: PytorchSnapshotOptions = {},
): MemorySnapshot {
  const root = Array.isArray(value)
    ? new PickleRecord(new Map([["segments", value]]), "")
    : new PickleRecord(value, "");
  return new PytorchConverter(root, options).convert();
}

class PytorchConverter {
  readonly #root: PickleRecord;
  readonly #segments: readonly PickleRecord[];
  readonly #traces: readonly PickleValue[];
  readonly #device: number;
  readonly #streams = new PytorchStreams();
  readonly #sites = new PytorchSites();
  readonly #live = new Map<number, number>();
  #blocks = 0;

  constructor(root: PickleRecord, options: PytorchSnapshotOptions) {
    this.#root = root;
    const all = root.list("segments").map((segment, index) =>
      new PickleRecord(segment, `segments[${index}]`)
    );
    this.#traces = root.list("device_traces", { optional: true });
    this.#device = this.#chooseDevice(all, options.device);
    this.#segments = all.filter((segment) => segment.sizeOr("device", 0) === this.#device);
  }

  convert(): MemorySnapshot {
    const segments = this.#segments.map((segment) => this.#segment(segment));
    const timeline = new PytorchTimeline(this.#streams, this.#sites);
    const trace = this.#traces[this.#device] ?? [];
    const path = `device_traces[${this.#device}]`;
    if (!Array.isArray(trace)) refuseField(path, "a list", trace);
    timeline.read(trace, path);
    const reserved = segments.reduce((sum, { bytes }) => sum + bytes, 0);
    return validateSnapshot({
      format: SNAPSHOT_FORMAT,
      version: SNAPSHOT_VERSION,
      source: "pytorch",
      takenAt: instant(timeline.taken),
      device: { label: `cuda:${this.#device}`, name: "", fake: false, totalBytes: null },
      settings: this.#settings(),
      statistics: this.#statistics(),
      streams: this.#streams.names,
      sites: this.#sites.texts,
      segments,
      timeline: timeline.build({ live: this.#live, reserved }),
    });
  }

  #chooseDevice(segments: readonly PickleRecord[], wanted: number | undefined): number {
    const devices = new Set(segments.map((segment) => segment.sizeOr("device", 0)));
    this.#traces.forEach((trace, index) => {
      if (!Array.isArray(trace)) refuseField(`device_traces[${index}]`, "a list", trace);
      if (trace.length > 0) devices.add(index);
    });
    const sorted = [...devices].sort((a, b) => a - b);
    if (wanted === undefined) return sorted[0] ?? 0;
    if (devices.has(wanted)) return wanted;
    const allowed = sorted.length === 0 ? "none, as the file is empty" : sorted.join(", ");
    throw new RangeError(
      `Cannot read the snapshot as device must be one that it has (${allowed}): it is ${wanted}`,
    );
  }

  #segment(segment: PickleRecord): SnapshotSegment {
    const address = segment.size("address");
    const stream = this.#streams.index(segment.sizeOr("stream", 0));
    const blocks: SnapshotBlock[] = [];
    let offset = 0;
    this.#blocks += segment.list("blocks").length;
    if (this.#blocks > MOST_BLOCKS) segment.refuse(`has the block after the ${MOST_BLOCKS}th`);
    segment.list("blocks").forEach((value, index) => {
      const block = new PickleRecord(value, `${segment.pathOf("blocks")}[${index}]`);
      if (block.sizeOr("address", address + offset) !== address + offset) {
        refuseField(
          block.pathOf("address"),
          `${address + offset}, where the block before ends`,
          block.value("address"),
        );
      }
      blocks.push(this.#block(block, address, offset, stream));
      offset += blocks.at(-1)!.bytes;
    });
    const bytes = segment.size("total_size");
    if (offset !== bytes) {
      refuseField(segment.pathOf("total_size"), `${offset}, the size of its blocks`, bytes);
    }
    const kind = segment.flag("is_expandable") ? "virtual" : "plain";
    return { address, bytes, kind, pool: poolOf(segment), blocks };
  }

  #block(block: PickleRecord, address: number, offset: number, stream: number): SnapshotBlock {
    const bytes = block.size("size");
    if (bytes === 0) refuseField(block.pathOf("size"), "at least 1", bytes);
    const state = STATES[block.choice("state", Object.keys(STATES))]!;
    const isLive = state === "live";
    const requested = isLive ? block.sizeOr("requested_size", bytes) : 0;
    if (requested > bytes) {
      refuseField(block.pathOf("requested_size"), `at most size, which is ${bytes}`, requested);
    }
    if (isLive) this.#live.set(address + offset, requested);
    return {
      offset,
      bytes,
      requested,
      state,
      stream,
      age: null,
      site: isLive || state === "pending" ? this.#sites.index(block) : null,
    };
  }

  #statistics(): Record<string, number> {
    const sums: Record<string, number> = {};
    for (const name of STATISTICS) {
      if (this.#segments.some((segment) => segment.value(name) === undefined)) continue;
      sums[name] = this.#segments.reduce((sum, segment) => sum + segment.size(name), 0);
    }
    return sums;
  }

  #settings(): Record<string, string | number | boolean | null> {
    const value = this.#root.value("allocator_settings");
    const settings = new Map<string, string | number | boolean | null>();
    if (value !== undefined) {
      const path = "allocator_settings";
      for (const [name, setting] of new PickleRecord(value, path).entries()) {
        if (!(setting instanceof Map)) settings.set(name, describeSetting(setting));
        else {
          for (const [inner, element] of new PickleRecord(setting, `${path}.${name}`).entries()) {
            settings.set(`${name}.${inner}`, describeSetting(element));
          }
        }
      }
    }
    // Unlike an assignment this makes a field of "__proto__" too.
    return Object.fromEntries(settings);
  }
}

function poolOf(segment: PickleRecord): SnapshotSegment["pool"] {
  const id = segment.value("segment_pool_id");
  if (Array.isArray(id) && id.some((part) => part !== 0)) return "graph";
  return segment.choice("segment_type", ["small", "large"]) as "small" | "large";
}

function instant(microseconds: number | undefined): string | null {
  if (microseconds === undefined || microseconds / 1000 > LATEST) return null;
  // A year above 9999 has another spelling, and no snapshot is from then.
  const text = new Date(Math.floor(microseconds / 1000)).toISOString();
  return /^\d{4}-/.test(text) ? text : null;
}
