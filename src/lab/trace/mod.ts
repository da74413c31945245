/**
 * Traces of a device: kernels, copies, memory, compilations and ranges over time, as a file for
 * Perfetto, as statistics, and as advice.
 *
 * @example
 * ```ts
 * import { openDevice } from "@gridstride/cuda";
 * import { DeviceTrace, saveTrace, traceAdvisories } from "@gridstride/cuda/trace";
 *
 * using device = openDevice();
 * using trace = new DeviceTrace(device);
 * device.allocate("float32", 1000, { fill: 1 }).free();
 * const recording = await trace.stop();
 * for (const { message } of traceAdvisories(recording)) console.log(message);
 * const path = await Deno.makeTempFile({ suffix: ".json" });
 * await saveTrace(path, [recording]);
 * await Deno.remove(path);
 * ```
 *
 * @module
 */

export { type Advisory, traceAdvisories } from "./advisories.ts";
export { DeviceTrace, type DeviceTraceOptions, type TraceRangeOptions } from "./device_trace.ts";
export type {
  CompilationRecord,
  CopyCount,
  CopyRecord,
  CopyStatistics,
  GraphRecord,
  KernelRecord,
  KernelStatistics,
  LaunchStatistics,
  MemorySample,
  RangeRecord,
  TracedWork,
  TraceRecording,
  TraceStatistics,
  WorkRecord,
} from "./recording.ts";
export { saveTrace, traceFile } from "./trace_file.ts";
export type { CopyDirection, CopyHostMemory } from "../../stream/activity.ts";
