/**
 * Memory without a device: traces of what programs allocate, ways of managing memory to replay them
 * against, and snapshots.
 *
 * Nothing here opens a library or needs a permission.
 *
 * @example
 * ```ts
 * import { parseTrace, replayPolicy, replayTrace } from "@gridstride/cuda/memory";
 *
 * const text = "gridstride memory trace 1\na 0 3000000 0\nf 0\na 1 2000000 0\nend 3\n";
 * const { peakReserved, ratio } = replayTrace(parseTrace(text, "small"), replayPolicy("pytorch"));
 * console.log(peakReserved, ratio.toFixed(3)); // 20971520 6.991
 * ```
 *
 * @module
 */

export { parseByteSize } from "../../hardware/byte_size.ts";

export { type PoolHistory, recordHistory } from "./pool_history.ts";
export { type PoolRecording, recordTrace } from "./pool_recording.ts";
export { snapshotPool } from "./pool_snapshot.ts";

export { REPLAY_POLICIES, replayPolicy } from "./replay/policies.ts";
export {
  DEFAULT_REPLAY_CAPACITY,
  MAXIMUM_REPLAY_CAPACITY,
  type ReplayOptions,
  replayTrace,
} from "./replay/replay.ts";
export {
  paddedForAlignment,
  type ReplayAllocator,
  type ReplayBlock,
  type ReplayBlockState,
  type ReplayPolicy,
  type ReplayPolicyOptions,
  type ReplaySegment,
} from "./replay/replay_policy.ts";
export {
  type DetailedReplayResult,
  replayFigures,
  type ReplayResult,
  type ReplayStep,
} from "./replay/replay_result.ts";

export { PickleError } from "./snapshot/pickle_error.ts";
export {
  type BlockState,
  type MemorySnapshot,
  SNAPSHOT_FORMAT,
  SNAPSHOT_VERSION,
  type SnapshotBlock,
  type SnapshotSegment,
  type SnapshotTimeline,
  TIMELINE_ACTIONS,
  type TimelineAction,
} from "./snapshot/memory_snapshot.ts";
export type { PytorchSnapshotOptions } from "./snapshot/pytorch_snapshot.ts";
export { readSnapshot } from "./snapshot/read_snapshot.ts";
export { SnapshotError } from "./snapshot/snapshot_error.ts";
export { validateSnapshot } from "./snapshot/validate_snapshot.ts";

export { BUILT_IN_TRACES, type BuiltInTrace } from "./trace/built_in_traces.ts";
export { type MemoryTrace, TRACE_HEADER, type TraceEvent } from "./trace/memory_trace.ts";
export { readTrace, type ReadTraceOptions } from "./trace/read_trace.ts";
export { traceOfSnapshot } from "./trace/snapshot_trace.ts";
export { TraceError } from "./trace/trace_error.ts";
export { formatTrace, parseTrace } from "./trace/trace_text.ts";

export {
  type BlockFigures,
  memoryReport,
  type MemoryReportFigures,
  memoryReportFigures,
  memoryReportText,
  type PlacedBlock,
  type SegmentGroup,
  type SiteFigures,
  type SiteTotal,
  type SnapshotSummary,
  type SnapshotTotals,
} from "./report/memory_report.ts";
