/**
 * What is made of the recordings of traces: files, and advice.
 *
 * @module
 */

import { describeValue } from "../../ffi/describe_value.ts";
import { adviseOn, type Advisory } from "./advisories.ts";
import { traceText } from "./trace_file.ts";
import type { TraceRecording } from "./trace_recording.ts";
import { namedFile, openNamedFile } from "../../device/named_file.ts";
import { requireRecording } from "./recording_check.ts";

const SAVE = "save a trace";

/**
 * Writes recordings to a file for Perfetto (https://ui.perfetto.dev) and `chrome://tracing`.
 *
 * @param path Where to; a file that is there is replaced.
 * @param recordings What `trace.stop()` or `trace.report()` gave, of one device or of several.
 * @throws {TypeError} If the path is neither a text nor a file URL, or one is no recording.
 * @throws {RangeError} If there is none.
 * @throws {Deno.errors.NotFound | Deno.errors.NotCapable} If it cannot be written.
 */
export async function saveTrace(
  path: string | URL,
  recordings: readonly TraceRecording[],
): Promise<void> {
  const place = namedFile(path, SAVE);
  requireRecordings(recordings, SAVE);
  const file = await openNamedFile(place, SAVE);
  await ReadableStream.from(traceText(recordings)).pipeThrough(new TextEncoderStream())
    .pipeTo(file.writable);
}

/**
 * The text of a trace file, as {@linkcode saveTrace} writes it, in pieces: of a million events it is
 * more than one string can hold well.
 *
 * @param recordings Of one device or of several, also of several workers, on one time axis.
 * @throws {TypeError} If one is no recording.
 * @throws {RangeError} If there is none.
 *
 * @example
 * ```ts
 * import { DeviceTrace, openDevice, traceFile } from "@gridstride/cuda";
 *
 * using device = openDevice();
 * using trace = new DeviceTrace(device);
 * device.allocate("float32", 1000, { fill: 1 }).free();
 * const response = new Response(
 *   ReadableStream.from(traceFile([await trace.stop()])).pipeThrough(new TextEncoderStream()),
 *   { headers: { "content-type": "application/json" } },
 * );
 * console.log((await response.json()).traceEvents.length > 0); // true
 * ```
 */
export function traceFile(
  recordings: readonly TraceRecording[],
): Generator<string, void, void> {
  requireRecordings(recordings, "write a trace file");
  return traceText(recordings);
}

/**
 * What a recording says about what keeps the device from its work; empty where nothing does.
 *
 * - `short-kernels`: a kernel is done before the next one can be launched. Compared is the time that
 *   it takes beyond a kernel that does nothing with what a launch costs, both measured on the device.
 * - `transfer-bound`: for much of its busy time the device only copied to or from elsewhere. Copies
 *   that kernels run beside do not count.
 * - `low-occupancy`: a kernel that takes much of the time fills less than half of a multiprocessor.
 * - `small-copies`: there are many copies of up to 64 KiB, which take longer than their bytes.
 * - `allocation-churn`: pools give memory back to the device and take it again.
 *
 * @throws {TypeError | RangeError} If it is no recording.
 *
 * @example
 * ```ts
 * import { DeviceTrace, openDevice, traceAdvisories } from "@gridstride/cuda";
 *
 * using device = openDevice();
 * using x = device.allocate("float32", 100, { fill: 1 });
 * using trace = new DeviceTrace(device);
 * for (let i = 0; i < 1000; i++) device.kernels.scale(x, 1.01, x);
 * for (const { message } of traceAdvisories(await trace.stop())) console.log(message);
 * ```
 */
export function traceAdvisories(recording: TraceRecording): Advisory[] {
  requireRecording(recording, "recording", "advise on a trace");
  return adviseOn(recording);
}

function requireRecordings(recordings: unknown, action: string): void {
  if (!Array.isArray(recordings)) {
    throw new TypeError(
      `Cannot ${action} as recordings must be an array: it is ${describeValue(recordings)}`,
    );
  }
  if (recordings.length === 0) {
    throw new RangeError(`Cannot ${action} as recordings must have at least one: it has none`);
  }
  for (let index = 0; index < recordings.length; index++) {
    requireRecording(recordings[index], `recordings[${index}]`, action);
  }
}
