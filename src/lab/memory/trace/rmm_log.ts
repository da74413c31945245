/**
 * The logs of RMM, the RAPIDS memory manager.
 *
 * RMM's `logging_resource_adaptor` writes one row per call, below a line of column names:
 * `Thread,Time,Action,Pointer,Size,Stream`, without `Thread` in old versions (rapidsai/rmm at
 * 5d50a37, `cpp/src/mr/detail/logging_resource_adaptor_impl.cpp`). Columns are found by name.
 *
 * | column    | meaning                                                                         |
 * | --------- | ------------------------------------------------------------------------------- |
 * | `Action`  | `allocate`, `free` or `allocate failure`; failures are left out                 |
 * | `Pointer` | hexadecimal; `(nil)` for allocations of 0 bytes                                 |
 * | `Size`    | bytes                                                                           |
 * | `Stream`  | a handle in hexadecimal; streams are numbered in the order in which they appear |
 * | others    | ignored: the rows of all threads are in the order of the calls                  |
 *
 * A block that is freed on another stream than its own becomes a use of that stream and a free.
 *
 * @module
 */

import { CsvReader, type CsvRow } from "./csv_reader.ts";
import type { MemoryTrace } from "./memory_trace.ts";
import { TraceBuilder } from "./trace_builder.ts";

/** A block that somebody has. */
interface LoggedBlock {
  readonly block: number;
  readonly bytes: number;
  readonly stream: number;
}

/** Whether a file's first line is that of a log of RMM. */
export function isRmmLog(firstLine: string): boolean {
  const columns = firstLine.split(",").map((column) => column.trim());
  return ["Action", "Pointer", "Size", "Stream"].every((column) => columns.includes(column));
}

/**
 * Reads a log of RMM.
 *
 * @param text The whole file.
 * @param name What the trace is called.
 * @throws {TraceError} If a column is missing, a field is none of what it must be, or a row frees
 *   what was not allocated or allocates what was not freed; the message names line and column.
 *
 * @example
 * ```ts
 * import { readRmmLog } from "./rmm_log.ts";
 *
 * const trace = readRmmLog(
 *   "Thread,Time,Action,Pointer,Size,Stream\n" +
 *     "11,10:00:00.000001,allocate,0x7f0000000000,1024,0\n" +
 *     "11,10:00:00.000002,free,0x7f0000000000,1024,0\n",
 *   "log",
 * );
 * console.log(trace.events.length); // 2
 * ```
 */
export function readRmmLog(text: string, name: string): MemoryTrace {
  return new RmmLogReader(text, name).read();
}

class RmmLogReader {
  readonly #csv: CsvReader;
  readonly #name: string;
  readonly #action: number;
  readonly #pointer: number;
  readonly #size: number;
  readonly #stream: number;
  readonly #builder = new TraceBuilder();
  readonly #live = new Map<string, LoggedBlock>();
  /** Blocks of 0 bytes, which all have the null pointer. */
  readonly #empty: LoggedBlock[] = [];
  readonly #streams = new Map<string, number>();
  #failures = 0;

  constructor(text: string, name: string) {
    this.#name = name;
    this.#csv = new CsvReader(text, `read the RMM log ${name}`);
    this.#action = this.#csv.require("Action");
    this.#pointer = this.#csv.require("Pointer");
    this.#size = this.#csv.require("Size");
    this.#stream = this.#csv.require("Stream");
  }

  read(): MemoryTrace {
    for (const row of this.#csv.rows()) this.#readRow(row);
    const left = this.#failures === 0 ? "" : `; ${this.#failures} failed allocations left out`;
    return this.#builder.build(this.#name, `A log of RMM, the RAPIDS memory manager${left}.`);
  }

  #readRow(row: CsvRow): void {
    const pointer = this.#csv.pointer(row, this.#pointer);
    const bytes = this.#csv.integer(row, this.#size, 0, Number.MAX_SAFE_INTEGER);
    const stream = this.#streamNumber(this.#csv.pointer(row, this.#stream));
    switch (row.fields[this.#action]) {
      case "allocate":
        return this.#allocate(row, pointer, bytes, stream);
      case "free":
        return this.#free(row, pointer, bytes, stream);
      case "allocate failure":
        this.#failures++;
        return;
      default:
        this.#csv.refuseField(row, this.#action, "must be allocate, free or allocate failure");
    }
  }

  #streamNumber(handle: string): number {
    let number = this.#streams.get(handle);
    if (number === undefined) {
      number = this.#streams.size;
      this.#streams.set(handle, number);
    }
    return number;
  }

  #allocate(row: CsvRow, pointer: string, bytes: number, stream: number): void {
    if (pointer === "0" && bytes > 0) {
      this.#csv.refuseField(row, this.#pointer, `must not be null with a Size of ${bytes}`);
    }
    if (this.#live.has(pointer)) {
      this.#csv.refuseField(row, this.#pointer, "must be free when it is allocated");
    }
    const logged = { block: this.#builder.allocate(bytes, stream), bytes, stream };
    if (pointer === "0") this.#empty.push(logged);
    else this.#live.set(pointer, logged);
  }

  #free(row: CsvRow, pointer: string, bytes: number, stream: number): void {
    const logged = pointer === "0" ? this.#empty.pop() : this.#live.get(pointer);
    if (logged === undefined) {
      this.#csv.refuseField(row, this.#pointer, "must be allocated when it is freed");
    }
    if (logged.bytes !== bytes) {
      this.#csv.refuseField(row, this.#size, `must be ${logged.bytes}, as it was allocated`);
    }
    this.#live.delete(pointer);
    if (logged.stream !== stream) this.#builder.use(logged.block, stream);
    this.#builder.free(logged.block);
  }
}
