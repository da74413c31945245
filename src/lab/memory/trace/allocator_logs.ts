/**
 * Reads the logs of other allocators as traces: comma-separated values below a line of column names.
 *
 * RMM's `logging_resource_adaptor` (rapidsai/rmm at 5d50a37,
 * `cpp/src/mr/detail/logging_resource_adaptor_impl.cpp`) writes one row per call:
 *
 * | column    | meaning                                                          |
 * | --------- | ---------------------------------------------------------------- |
 * | `Action`  | `allocate`, `free` or `allocate failure`; failures are left out  |
 * | `Pointer` | hexadecimal; `(nil)` for allocations of 0 bytes                  |
 * | `Size`    | bytes                                                            |
 * | `Stream`  | a handle in hexadecimal; streams are numbered by first use       |
 * | others    | ignored: the rows of all threads are in the order of the calls   |
 *
 * minimalloc (google/minimalloc, Apache-2.0; Moffitt, "MiniMalloc", ASPLOS 2023) describes one
 * buffer per row. A buffer lives from `lower` until just before `upper`. The older names `begin`,
 * `start`, `buffer` and `buffer_id` are read too, and `end`, the last time at which the buffer
 * lives. `gaps`, `hint` and `offset` are ignored.
 *
 * @module
 */

import { describeValue } from "../../../ffi/describe_value.ts";
import {
  isAlignment,
  MAX_ALIGNMENT,
  type MemoryTrace,
  TraceBuilder,
  TraceError,
} from "./memory_trace.ts";

const MAX_COLUMNS = 100;

interface Row {
  /** The line in the file, counted from 1. */
  readonly line: number;
  readonly fields: readonly string[];
}

/** Reads comma-separated values without quotes. Every error names the line and the column. */
class CsvReader {
  readonly columns: readonly string[];
  readonly #lines: readonly string[];
  readonly #action: string;

  constructor(text: string, action: string) {
    this.#action = action;
    this.#lines = text.split(/\r?\n/);
    this.columns = this.#lines[0]!.split(",", MAX_COLUMNS + 1).map((column) => column.trim());
    if (this.columns.length > MAX_COLUMNS) {
      this.refuse(1, `it must have at most ${MAX_COLUMNS} columns: it has more`);
    }
    this.columns.forEach((column, index) => {
      if (column === "") this.refuse(1, `column ${index + 1} must have a name`);
      if (this.columns.indexOf(column) < index) {
        this.refuse(1, `column ${describeValue(column)} comes twice`);
      }
    });
  }

  /** The position of a required column, by any of its names. */
  require(...names: readonly string[]): number {
    const position = this.columns.findIndex((column) => names.includes(column));
    if (position >= 0) return position;
    const line = describeValue(this.#lines[0]);
    return this.refuse(1, `column ${names.join(" or ")} is missing: the line is ${line}`);
  }

  *rows(): Generator<Row> {
    let empty: number | undefined;
    for (let line = 2; line <= this.#lines.length; line++) {
      const text = this.#lines[line - 1]!;
      if (text.trim() === "") {
        empty ??= line;
        continue;
      }
      if (empty !== undefined) this.refuse(empty, "it must not be empty as rows follow");
      const fields = text.split(",").map((field) => field.trim());
      if (fields.length !== this.columns.length) {
        this.refuse(
          line,
          `it must have ${this.columns.length} fields (${this.columns.join(", ")}): ` +
            `it has ${fields.length}`,
        );
      }
      yield { line, fields };
    }
  }

  integer(row: Row, position: number, minimum: number, maximum: number): number {
    const field = row.fields[position]!;
    const value = /^-?(?:0|[1-9]\d*)$/.test(field) ? Number(field) : NaN;
    // The sum turns -0 into 0.
    if (value >= minimum && value <= maximum) return value + 0;
    return this.refuseField(row, position, `must be an integer in ${minimum}..${maximum}`);
  }

  /** A hexadecimal address in lower case, without `0x` and leading zeros. */
  pointer(row: Row, position: number): string {
    const field = row.fields[position]!;
    // glibc writes a null pointer as (nil).
    if (field === "(nil)") return "0";
    const match = /^(?:0x)?0*([\da-f]{1,16})$/i.exec(field);
    if (match === null) this.refuseField(row, position, "must be a hexadecimal pointer or (nil)");
    return match[1]!.toLowerCase();
  }

  refuseField(row: Row, position: number, requirement: string): never {
    const field = describeValue(row.fields[position]!);
    return this.refuse(row.line, `${this.columns[position]} ${requirement}: it is ${field}`);
  }

  refuse(line: number, offence: string): never {
    throw new TraceError(this.#action, line, offence);
  }
}

function columnsOf(firstLine: string): string[] {
  return firstLine.split(",").map((column) => column.trim());
}

/** Recognizes an RMM log by its first line. */
export function isRmmLog(firstLine: string): boolean {
  const columns = columnsOf(firstLine);
  return ["Action", "Pointer", "Size", "Stream"].every((column) => columns.includes(column));
}

/** Reads an RMM log. A free on another stream becomes a use by that stream and a free. */
export function readRmmLog(text: string, name: string): MemoryTrace {
  const csv = new CsvReader(text, `read the RMM log ${name}`);
  const [action, pointer, size, stream] = ["Action", "Pointer", "Size", "Stream"]
    .map((column) => csv.require(column)) as [number, number, number, number];
  const builder = new TraceBuilder();
  const live = new Map<string, { block: number; bytes: number; stream: number }[]>();
  const streams = new Map<string, number>();
  let failures = 0;
  for (const row of csv.rows()) {
    const address = csv.pointer(row, pointer);
    const bytes = csv.integer(row, size, 0, Number.MAX_SAFE_INTEGER);
    const handle = csv.pointer(row, stream);
    if (!streams.has(handle)) streams.set(handle, streams.size);
    const on = streams.get(handle)!;
    // All blocks of 0 bytes have the null pointer.
    const blocks = live.get(address) ?? [];
    live.set(address, blocks);
    switch (row.fields[action]) {
      case "allocate":
        if (address === "0" && bytes > 0) {
          csv.refuseField(row, pointer, `must not be null with a Size of ${bytes}`);
        }
        if (address !== "0" && blocks.length > 0) {
          csv.refuseField(row, pointer, "must be free when it is allocated");
        }
        blocks.push({ block: builder.allocate(bytes, on), bytes, stream: on });
        break;
      case "free": {
        const freed = blocks.pop() ??
          csv.refuseField(row, pointer, "must be allocated when it is freed");
        if (freed.bytes !== bytes) {
          csv.refuseField(row, size, `must be ${freed.bytes}, as it was allocated`);
        }
        if (freed.stream !== on) builder.use(freed.block, on);
        builder.free(freed.block);
        break;
      }
      case "allocate failure":
        failures++;
        break;
      default:
        csv.refuseField(row, action, "must be allocate, free or allocate failure");
    }
  }
  const left = failures === 0 ? "" : `; ${failures} failed allocations left out`;
  return builder.build(name, `A log of RMM, the RAPIDS memory manager${left}.`);
}

export interface LifetimeBuffer {
  readonly lower: number;
  readonly upper: number;
  readonly size: number;
  /** A power of two; absent for the alignment of the pool. */
  readonly alignment?: number;
}

const ID = ["id", "buffer", "buffer_id"];
const LOWER = ["lower", "begin", "start"];
const UPPER = ["upper", "end"];
const OTHERS = ["size", "alignment", "hint", "gaps", "offset"];

/** Recognizes a minimalloc instance by its first line. */
export function isMinimallocInstance(firstLine: string): boolean {
  const columns = columnsOf(firstLine);
  return [ID, LOWER, UPPER, ["size"]].every((names) =>
    names.some((name) => columns.includes(name))
  );
}

/** Reads a minimalloc instance. At each time, releases come before allocations. */
export function readMinimallocInstance(text: string, name: string, multiplier = 1): MemoryTrace {
  if (!Number.isSafeInteger(multiplier) || multiplier < 1) {
    throw new RangeError(
      "Cannot read a minimalloc instance as multiplier must be an integer of at least 1: it is " +
        describeValue(multiplier),
    );
  }
  const csv = new CsvReader(text, `read the minimalloc instance ${name}`);
  const id = csv.require(...ID);
  const lower = csv.require(...LOWER);
  const upper = csv.require(...UPPER);
  const size = csv.require("size");
  const alignment = csv.columns.indexOf("alignment");
  const known = [ID, LOWER, UPPER, OTHERS].flat();
  const unknown = csv.columns.find((column) => !known.includes(column));
  if (unknown !== undefined) {
    csv.refuse(1, `column must be one of ${known.join(", ")}: it is "${unknown}"`);
  }
  const ids = new Set<string>();
  const limit = Number.MAX_SAFE_INTEGER - 1;
  const buffers = Array.from(csv.rows(), (row): LifetimeBuffer => {
    const key = row.fields[id]!;
    if (key === "" || ids.has(key)) csv.refuseField(row, id, "must name one row only");
    ids.add(key);
    const begin = csv.integer(row, lower, -limit, limit);
    const last = csv.integer(row, upper, -limit, limit);
    const end = csv.columns[upper] === "end" ? last + 1 : last;
    if (end <= begin) csv.refuseField(row, upper, `must leave time to live after ${begin}`);
    const largest = Math.floor(Number.MAX_SAFE_INTEGER / multiplier);
    const bytes = csv.integer(row, size, 0, largest) * multiplier;
    const buffer = { lower: begin, upper: end, size: bytes };
    if (alignment < 0) return buffer;
    const unit = csv.integer(row, alignment, 1, MAX_ALIGNMENT);
    if (!isAlignment(unit)) csv.refuseField(row, alignment, "must be a power of two");
    return unit === 1 ? buffer : { ...buffer, alignment: unit };
  });
  const builder = new TraceBuilder();
  addLifetimes(builder, buffers);
  const times = multiplier === 1 ? "" : `, sizes × ${multiplier}`;
  return builder.build(name, `An instance of minimalloc of ${buffers.length} buffers${times}.`);
}

/** Adds the events of a program with buffers of the given lifetimes. */
export function addLifetimes(builder: TraceBuilder, buffers: readonly LifetimeBuffer[]): void {
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
