/**
 * Memory analysis without a device: traces of allocations, their replay against the memory pool,
 * snapshots of a pool, and reports.
 *
 * Nothing here opens a library or needs a permission.
 *
 * @example
 * ```ts
 * import { parseTrace, replayTrace } from "@gridstride/cuda/memory";
 *
 * const text = "gridstride memory trace 1\na 0 3000000 0\nf 0\na 1 2000000 0\nend 3\n";
 * const { peakReserved, ratio } = replayTrace(parseTrace(text, "small"));
 * console.log(peakReserved, ratio.toFixed(3));
 * ```
 *
 * @module
 */

export { parseByteSize } from "../../hardware/byte_size.ts";
export { formatBytes } from "../../ffi/describe_value.ts";

export { type PoolHistory, recordHistory } from "./pool_snapshot.ts";
export { type PoolRecording, recordTrace } from "./pool_recording.ts";
export { snapshotPool } from "./pool_snapshot.ts";

export { REPLAY_POLICIES } from "./replay/replay.ts";
export {
  DEFAULT_REPLAY_CAPACITY,
  MAX_REPLAY_CAPACITY,
  replayFigures,
  type ReplayResult,
  type ReplayStep,
  replayTrace,
} from "./replay/replay.ts";
export type { ReplayAllocator, ReplayPolicy } from "./replay/replay.ts";

export {
  type BlockState,
  type MemorySnapshot,
  type SnapshotBlock,
  type SnapshotSegment,
  type SnapshotTimeline,
  TIMELINE_ACTIONS,
} from "./snapshot/memory_snapshot.ts";
export { readSnapshot } from "./snapshot/read_snapshot.ts";
export { SnapshotError } from "./snapshot/read_snapshot.ts";
export { validateSnapshot } from "./snapshot/read_snapshot.ts";

export type { MemoryTrace, TraceEvent } from "./trace/memory_trace.ts";
export { readTrace } from "./trace/read_trace.ts";
export { traceOfSnapshot } from "./trace/read_trace.ts";
export { TraceError } from "./trace/memory_trace.ts";
export { formatTrace, parseTrace } from "./trace/memory_trace.ts";

export { memoryReport } from "./report/memory_report.ts";
export { type MemoryReportFigures, memoryReportFigures } from "./report/report_text.ts";
export { memoryReportText } from "./report/report_text.ts";
