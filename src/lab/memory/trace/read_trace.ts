/**
 * Reads traces from files of any supported format.
 *
 * @module
 */

import { decodeFile, readSnapshot } from "../snapshot/read_snapshot.ts";
import {
  isMinimallocInstance,
  isRmmLog,
  readMinimallocInstance,
  readRmmLog,
} from "./allocator_logs.ts";
import { type MemoryTrace, TRACE_HEADER } from "./memory_trace.ts";
import { traceOfSnapshot } from "./snapshot_trace.ts";
import { TraceError } from "./trace_error.ts";
import { parseTrace } from "./trace_text.ts";

/**
 * Reads a trace. The first line determines the format:
 *
 * | file                     | begins with                         |
 * | ------------------------ | ----------------------------------- |
 * | a trace as text          | `gridstride memory trace 1`         |
 * | an RMM log               | a line with the column `Action`     |
 * | a minimalloc instance    | a line with `lower` and `upper`     |
 * | a snapshot with timeline | `{`                                 |
 *
 * @param file The whole file.
 * @param name The name of the trace.
 * @param options `multiplier` scales the sizes of a minimalloc instance; the default is 1.
 * @throws {TraceError} If the format is unknown or a line is invalid; the message names the line.
 * @throws {SnapshotError} If a field of a snapshot is invalid; the message names the field.
 * @throws {RangeError} If the multiplier is out of range.
 *
 * @example
 * ```ts
 * import { readTrace } from "@gridstride/cuda/memory";
 *
 * const trace = readTrace("id,lower,upper,size\nb1,0,3,4\n", "example", { multiplier: 1024 });
 * console.log(trace.events[0]); // { kind: "allocate", block: 0, bytes: 4096, stream: 0 }
 * ```
 */
export function readTrace(
  file: string | Uint8Array,
  name: string,
  options: { readonly multiplier?: number } = {},
): MemoryTrace {
  const text = decodeFile(file, (offence) => {
    throw new TraceError(`read trace ${name}`, undefined, `the file ${offence}`);
  });
  const firstLine = /^[^\r\n]{0,4096}/.exec(text)![0];
  if (isRmmLog(firstLine)) return readRmmLog(text, name);
  if (isMinimallocInstance(firstLine)) {
    return readMinimallocInstance(text, name, options.multiplier);
  }
  if (/^\s*\{/.test(text)) return traceOfSnapshot(readSnapshot(text), name);
  // Traces of other versions get the error of the trace reader.
  if (firstLine.startsWith("gridstride")) return parseTrace(text, name);
  throw new TraceError(
    `read trace ${name}`,
    1,
    `the file must be a trace (it begins with ${JSON.stringify(TRACE_HEADER)}), a log of RMM ` +
      "(Thread,Time,Action,Pointer,Size,Stream), an instance of minimalloc " +
      "(id,lower,upper,size) or a snapshot (JSON): it is none of them",
  );
}
