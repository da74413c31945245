/**
 * What a launch costs on a device, measured there.
 *
 * @module
 */

import { findKernel, launchError } from "../../ffi/native_kernel.ts";
import { launchKernel, LaunchRecord } from "../../ffi/native_kernel_launch.ts";
import type { DeviceContext } from "../../hardware/device_context.ts";
import type { LaunchCost } from "./trace_recording.ts";
import type { Stream } from "../../stream/stream.ts";

const WARM_UP = 8;
const LAUNCHES = 31;

const known = new WeakMap<DeviceContext, LaunchCost>();

/**
 * What a launch costs: measured once, by launches of a kernel that does nothing, which blocks for a
 * fraction of a millisecond. Nobody who listens to the device hears of them.
 *
 * @param stream One that has nothing to do.
 */
export function launchCost(context: DeviceContext, stream: Stream): LaunchCost {
  let cost = known.get(context);
  if (cost === undefined) known.set(context, cost = measure(context, stream));
  return cost;
}

function measure(context: DeviceContext, stream: Stream): LaunchCost {
  const { library, ordinal } = context;
  // Every library has it.
  const kernel = findKernel(library, "empty")!;
  const record = new LaunchRecord(library, ordinal, kernel, 0, 0);
  record.setStream(stream.id);
  const launch = () => {
    const status = launchKernel(record);
    if (status !== 0) throw launchError(library, ordinal, "empty", status);
  };
  for (let count = 0; count < WARM_UP; count++) launch();
  stream.doneSync();
  const calls: number[] = [];
  const times: number[] = [];
  for (let count = 0; count < LAUNCHES; count++) {
    using start = stream.record({ timing: true });
    const before = performance.now();
    launch();
    calls.push(performance.now() - before);
    using end = stream.record({ timing: true });
    end.doneSync();
    times.push(end.elapsedSince(start));
  }
  return { call: median(calls), empty: median(times) };
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[values.length >> 1]!;
}
