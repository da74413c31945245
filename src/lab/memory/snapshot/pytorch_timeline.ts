/**
 * The `device_traces` of a snapshot of PyTorch as a timeline.
 *
 * @module
 */

import { type SnapshotTimeline, TIMELINE_ACTIONS, type TimelineAction } from "./memory_snapshot.ts";
import { PickleRecord } from "./pickle_record.ts";
import type { PickleValue } from "./pickle_value.ts";
import type { PytorchSites, PytorchStreams } from "./pytorch_tables.ts";
import { refuseField } from "./snapshot_error.ts";

/** PyTorch's actions, and what they are in a timeline; `null` for those that are none. */
const ACTIONS: Readonly<Record<string, TimelineAction | null>> = {
  alloc: "allocate",
  free_requested: "free",
  free_completed: null,
  segment_alloc: "reserve",
  segment_map: "reserve",
  segment_free: "unreserve",
  segment_unmap: "unreserve",
  oom: "out of memory",
  snapshot: null,
  annotate: null,
};

const CODES: ReadonlyMap<string, number> = new Map(
  TIMELINE_ACTIONS.map((action, index) => [action, index]),
);

/** What the end of the timeline must come out at. */
export interface PytorchEnd {
  /** Live blocks: sizes as requested, by address. */
  readonly live: ReadonlyMap<number, number>;
  /** Bytes of all segments. */
  readonly reserved: number;
}

interface Event {
  readonly action: TimelineAction;
  readonly address: number;
  readonly bytes: number;
  readonly stream: number;
  readonly site: number | null;
  readonly time: number;
}

type Columns = { -readonly [K in keyof Omit<SnapshotTimeline, "dropped">]: number[] };

/** Reads one device's trace. */
export class PytorchTimeline {
  readonly #streams: PytorchStreams;
  readonly #sites: PytorchSites;
  readonly #events: Event[] = [];
  /** Blocks that are live: sizes by address. */
  readonly #live = new Map<number, number>();
  /** Addresses of blocks that the trace allocates or frees. */
  readonly #seen = new Set<number>();
  /** Bytes that were live before the first event. */
  #before = 0;
  #first: number | undefined;
  #time = 0;
  #taken: number | undefined;

  /** Streams and stacks go into the tables of the snapshot. */
  constructor(streams: PytorchStreams, sites: PytorchSites) {
    this.#streams = streams;
    this.#sites = sites;
  }

  /** When the last snapshot was taken, in microseconds since 1970; `undefined` if not told. */
  get taken(): number | undefined {
    return this.#taken;
  }

  /**
   * Reads the entries, oldest first.
   *
   * @throws {SnapshotError} If one is wrong.
   */
  read(entries: readonly PickleValue[], path: string): void {
    entries.forEach((entry, index) =>
      this.#readEntry(new PickleRecord(entry, `${path}[${index}]`))
    );
  }

  #readEntry(entry: PickleRecord): void {
    const name = entry.choice("action", Object.keys(ACTIONS));
    this.#readTime(entry);
    if (name === "snapshot") this.#taken = entry.sizeOr("time_us", 0) || undefined;
    if (name === "free_completed") this.#complete(entry);
    const action = ACTIONS[name] ?? null;
    if (action === null) return;
    const address = action === "out of memory" ? 0 : entry.size("addr");
    const bytes = entry.size("size");
    if (action === "allocate") this.#allocate(entry, address, bytes);
    if (action === "free") this.#free(entry, address, bytes);
    this.#add(entry, action, address, bytes);
  }

  /** Milliseconds since the first event. Clocks of several processors are not quite in step. */
  #readTime(entry: PickleRecord): void {
    if (entry.value("time_us") === undefined) return;
    const time = entry.size("time_us");
    this.#first ??= time;
    this.#time = Math.max(this.#time, (time - this.#first) / 1000);
  }

  #allocate(entry: PickleRecord, address: number, bytes: number): void {
    // What was there ended without a word: PyTorch can be told to leave frees out.
    const former = this.#live.get(address);
    if (former !== undefined) this.#add(entry, "free", address, former);
    this.#live.set(address, bytes);
    this.#seen.add(address);
  }

  #free(entry: PickleRecord, address: number, bytes: number): void {
    if (!this.#live.delete(address)) {
      if (this.#seen.has(address)) {
        refuseField(entry.pathOf("addr"), "the address of a live block", address);
      }
      this.#before += bytes;
    }
    this.#seen.add(address);
  }

  /** The end of a free, or all that there is of it where the request was left out. */
  #complete(entry: PickleRecord): void {
    const address = entry.size("addr");
    const bytes = this.#live.get(address);
    if (bytes === undefined) return;
    this.#live.delete(address);
    this.#add(entry, "free", address, bytes);
  }

  #add(entry: PickleRecord, action: TimelineAction, address: number, bytes: number): void {
    const stream = this.#streams.index(entry.sizeOr("stream", 0));
    const site = this.#sites.index(entry);
    this.#events.push({ action, address, bytes, stream, site, time: this.#time });
  }

  /**
   * The timeline, or `null` where nothing was recorded. Blocks that are live at the end and that it
   * does not know were there before it began; the same holds for reserved memory.
   */
  build(end: PytorchEnd): SnapshotTimeline | null {
    if (this.#events.length === 0) return null;
    let live = this.#before;
    for (const [address, bytes] of end.live) if (!this.#live.has(address)) live += bytes;
    let reserved = Math.max(0, end.reserved - this.#netReserved());
    const columns: Columns = {
      ...{ time: [], action: [], address: [], bytes: [], stream: [], site: [] },
      ...{ live: [], reserved: [], largestFree: [] },
    };
    for (const event of this.#events) {
      if (event.action === "allocate") live += event.bytes;
      if (event.action === "free") live = Math.max(0, live - event.bytes);
      if (event.action === "reserve") reserved += event.bytes;
      if (event.action === "unreserve") reserved = Math.max(0, reserved - event.bytes);
      addRow(columns, event, live, reserved);
    }
    return { dropped: 0, ...columns };
  }

  #netReserved(): number {
    return this.#events.reduce(
      (sum, { action, bytes }) =>
        sum + (action === "reserve" ? bytes : action === "unreserve" ? -bytes : 0),
      0,
    );
  }
}

function addRow(columns: Columns, event: Event, live: number, reserved: number): void {
  columns.time.push(event.time);
  columns.action.push(CODES.get(event.action)!);
  columns.address.push(event.address);
  columns.bytes.push(event.bytes);
  columns.stream.push(event.stream);
  columns.site.push(event.site ?? -1);
  columns.live.push(live);
  columns.reserved.push(reserved);
  columns.largestFree.push(-1);
}
