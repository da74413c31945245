/**
 * Instances of the static allocation problem in the format of minimalloc (google/minimalloc,
 * Apache-2.0; Moffitt, "MiniMalloc", ASPLOS 2023): one row per buffer with the span of its life and
 * its size.
 *
 * ```text
 * id,lower,upper,size
 * b1,0,3,4
 * b2,3,9,4
 * ```
 *
 * A buffer lives from `lower` until just before `upper`; the older column names `begin`, `start`,
 * `buffer`, `buffer_id` are read too, and `end`, which is the last time at which the buffer lives.
 * `alignment` is kept. `gaps`, `hint` and `offset` are for solvers, who know the future; a pool
 * does not, and a buffer with gaps is held throughout.
 *
 * @module
 */

import { describeValue } from "../../../ffi/describe_value.ts";
import { CsvReader, type CsvRow } from "./csv_reader.ts";
import type { MemoryTrace } from "./memory_trace.ts";
import { TraceBuilder } from "./trace_builder.ts";
import { MAXIMUM_ALIGNMENT } from "./trace_checker.ts";

/** A buffer with the span of its life. */
export interface LifetimeBuffer {
  /** When it is allocated. */
  readonly lower: number;
  /** When it is freed: the first time at which it is not there any more. */
  readonly upper: number;
  /** Bytes. */
  readonly size: number;
  /** What its address is a multiple of; absent means the pool's own. */
  readonly alignment?: number;
}

/** How an instance becomes a trace. */
export interface MinimallocOptions {
  /**
   * What sizes are multiplied by, since those of published instances are of scratch memories of
   * 1 MiB: 1 024 makes a device's of them. An integer of at least 1; the default is 1.
   */
  readonly multiplier?: number;
}

const ID = ["id", "buffer", "buffer_id"];
const LOWER = ["lower", "begin", "start"];
const UPPER = ["upper", "end"];
const OTHERS = ["size", "alignment", "hint", "gaps", "offset"];

/** Whether a file's first line is that of an instance. */
export function isMinimallocInstance(firstLine: string): boolean {
  const columns = firstLine.split(",").map((column) => column.trim());
  return [ID, LOWER, UPPER, ["size"]].every((names) =>
    names.some((name) => columns.includes(name))
  );
}

/**
 * Reads an instance: the buffers in the order of time, what is freed at a time before what is
 * allocated then, and in the order of the rows otherwise.
 *
 * @param text The whole file.
 * @param name What the trace is called.
 * @throws {TraceError} If a column is missing or unknown, or a field is none of what it must be;
 *   the message names line and column.
 * @throws {RangeError} If the multiplier is no integer of at least 1.
 *
 * @example
 * ```ts
 * import { readMinimallocInstance } from "./minimalloc_instance.ts";
 *
 * const trace = readMinimallocInstance("id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\n", "example");
 * console.log(trace.events.length); // 4
 * ```
 */
export function readMinimallocInstance(
  text: string,
  name: string,
  { multiplier = 1 }: MinimallocOptions = {},
): MemoryTrace {
  if (!Number.isSafeInteger(multiplier) || multiplier < 1) {
    throw new RangeError(
      "Cannot read a minimalloc instance as multiplier must be an integer of at least 1: it is " +
        describeValue(multiplier),
    );
  }
  const buffers = new InstanceReader(text, name, multiplier).read();
  const builder = new TraceBuilder();
  playLifetimes(builder, buffers);
  const times = multiplier === 1 ? "" : `, sizes × ${multiplier}`;
  return builder.build(name, `An instance of minimalloc of ${buffers.length} buffers${times}.`);
}

/** Writes down what a program does whose buffers live as given. */
export function playLifetimes(builder: TraceBuilder, buffers: readonly LifetimeBuffer[]): void {
  const begins = [...buffers.keys()].sort((a, b) => buffers[a]!.lower - buffers[b]!.lower);
  const ends = [...buffers.keys()].sort((a, b) => buffers[a]!.upper - buffers[b]!.upper);
  const blocks: number[] = [];
  let ended = 0;
  const freeUntil = (time: number) => {
    while (ended < ends.length && buffers[ends[ended]!]!.upper <= time) {
      builder.free(blocks[ends[ended++]!]!);
    }
  };
  for (const index of begins) {
    const { lower, size, alignment } = buffers[index]!;
    freeUntil(lower);
    blocks[index] = builder.allocate(size, 0, alignment);
  }
  freeUntil(Infinity);
}

class InstanceReader {
  readonly #csv: CsvReader;
  readonly #multiplier: number;
  readonly #id: number;
  readonly #lower: number;
  readonly #upper: number;
  readonly #size: number;
  readonly #alignment: number;
  readonly #ids = new Set<string>();

  constructor(text: string, name: string, multiplier: number) {
    this.#multiplier = multiplier;
    this.#csv = new CsvReader(text, `read the minimalloc instance ${name}`);
    this.#id = this.#csv.require(...ID);
    this.#lower = this.#csv.require(...LOWER);
    this.#upper = this.#csv.require(...UPPER);
    this.#size = this.#csv.require("size");
    this.#alignment = this.#csv.find("alignment");
    const known = [ID, LOWER, UPPER, OTHERS].flat();
    const unknown = this.#csv.columns.find((column) => !known.includes(column));
    if (unknown !== undefined) {
      this.#csv.refuse(1, `column must be one of ${known.join(", ")}: it is "${unknown}"`);
    }
  }

  read(): LifetimeBuffer[] {
    return [...this.#csv.rows()].map((row) => this.#readRow(row));
  }

  #readRow(row: CsvRow): LifetimeBuffer {
    const id = row.fields[this.#id]!;
    if (id === "" || this.#ids.has(id)) {
      this.#csv.refuseField(row, this.#id, "must name one row only");
    }
    this.#ids.add(id);
    const limit = Number.MAX_SAFE_INTEGER - 1;
    const lower = this.#csv.integer(row, this.#lower, -limit, limit);
    const last = this.#csv.integer(row, this.#upper, -limit, limit);
    // A column called "end" holds the last time, not the first one after.
    const upper = this.#csv.columns[this.#upper] === "end" ? last + 1 : last;
    if (upper <= lower) {
      this.#csv.refuseField(row, this.#upper, `must leave time to live after ${lower}`);
    }
    const largest = Math.floor(Number.MAX_SAFE_INTEGER / this.#multiplier);
    const size = this.#csv.integer(row, this.#size, 0, largest) * this.#multiplier;
    const alignment = this.#readAlignment(row);
    return { lower, upper, size, ...(alignment === undefined ? {} : { alignment }) };
  }

  #readAlignment(row: CsvRow): number | undefined {
    if (this.#alignment < 0) return undefined;
    const alignment = this.#csv.integer(row, this.#alignment, 1, MAXIMUM_ALIGNMENT);
    if (2 ** Math.round(Math.log2(alignment)) !== alignment) {
      this.#csv.refuseField(row, this.#alignment, "must be a power of two");
    }
    return alignment > 1 ? alignment : undefined;
  }
}
