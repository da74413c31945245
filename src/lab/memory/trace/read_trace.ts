/**
 * Traces from files, whatever wrote them.
 *
 * @module
 */

import { decodeFile } from "../snapshot/file_text.ts";
import { isPickle } from "../snapshot/pickle.ts";
import { readSnapshot } from "../snapshot/read_snapshot.ts";
import { type MemoryTrace, TRACE_HEADER } from "./memory_trace.ts";
import { isMinimallocInstance, readMinimallocInstance } from "./minimalloc_instance.ts";
import { isRmmLog, readRmmLog } from "./rmm_log.ts";
import { traceOfSnapshot } from "./snapshot_trace.ts";
import { TraceError } from "./trace_error.ts";
import { parseTrace } from "./trace_text.ts";

/** How a file becomes a trace. */
export interface ReadTraceOptions {
  /** What the sizes of an instance of minimalloc are multiplied by; 1 by default. */
  readonly multiplier?: number;
  /** Which device of a snapshot is read; of PyTorch's the first that has anything by default. */
  readonly device?: number;
}

/**
 * Reads a trace, and tells by how it begins what it is:
 *
 * | file                                 | begins with                     |
 * | ------------------------------------ | ------------------------------- |
 * | our own text format                  | `gridstride memory trace 1`     |
 * | a log of RMM                         | a line with the column `Action` |
 * | an instance of minimalloc            | a line with `lower` and `upper` |
 * | our own snapshot with a timeline     | `{`                             |
 * | a snapshot of PyTorch with a history | the first bytes of a pickle     |
 *
 * @param file The whole file.
 * @param name What the trace is called.
 * @throws {TraceError} If it is none of these, or a line is wrong; the message names the line.
 * @throws {SnapshotError} If a field of a snapshot is wrong; the message names it.
 * @throws {PickleError} If a pickle is corrupt or holds more than plain values.
 * @throws {RangeError} If an option is out of range.
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
  options: ReadTraceOptions = {},
): MemoryTrace {
  const device = options.device === undefined ? {} : { device: options.device };
  if (typeof file !== "string" && isPickle(file)) {
    return traceOfSnapshot(readSnapshot(file, device), name);
  }
  const text = (typeof file === "string" ? file : decode(file, name)).replace(/^\uFEFF/, "");
  const firstLine = /^[^\r\n]{0,4096}/.exec(text)![0];
  if (isRmmLog(firstLine)) return readRmmLog(text, name);
  if (isMinimallocInstance(firstLine)) {
    const { multiplier } = options;
    return readMinimallocInstance(text, name, multiplier === undefined ? {} : { multiplier });
  }
  if (/^\s*\{/.test(text)) return traceOfSnapshot(readSnapshot(text, device), name);
  // What begins like a trace, of whatever version, is told what a trace must be.
  if (firstLine.startsWith("gridstride")) return parseTrace(text, name);
  throw new TraceError(
    `read trace ${name}`,
    1,
    `the file must be a trace (it begins with ${JSON.stringify(TRACE_HEADER)}), a log of RMM ` +
      "(Thread,Time,Action,Pointer,Size,Stream), an instance of minimalloc " +
      "(id,lower,upper,size) or a snapshot (JSON or PyTorch's pickle): it is none of them",
  );
}

function decode(file: Uint8Array, name: string): string {
  return decodeFile(file, (offence) => {
    throw new TraceError(`read trace ${name}`, undefined, `the file ${offence}`);
  });
}
