/**
 * What happens on a device while batches are uploaded and worked on, first one after the other, then
 * with the next batch on its way while the present one is worked on: recorded, counted, and written
 * to a file that https://ui.perfetto.dev opens.
 *
 * Run it with `deno run -A examples/trace.ts [FILE.json]`.
 */

import { type Device, type DeviceBuffer, openDevice } from "jsr:@gridstride/cuda";
import { formatBytes } from "jsr:@gridstride/cuda/memory";
import {
  DeviceTrace,
  saveTrace,
  traceAdvisories,
  type TraceRecording,
} from "jsr:@gridstride/cuda/trace";

/** Numbers of a batch. */
const BATCH = 1 << 20;

/** How batches get to the device: on the stream that works on them, or on one of their own. */
export type Order = "in turn" | "overlapped";

/** Works on a batch: a few passes over it. */
function work(device: Device, batch: DeviceBuffer<"float32">): void {
  for (let pass = 0; pass < 8; pass++) device.kernels.scale(batch, 1.0001, batch);
}

/** Uploads batches and works on them, with two buffers that take turns. */
export async function processBatches(
  device: Device,
  trace: DeviceTrace,
  batches: number,
  order: Order,
): Promise<void> {
  using _all = trace.range(`${batches} batches ${order}`);
  using copying = device.createStream();
  using pinned = device.allocatePinned("float32", BATCH);
  using stack = new DisposableStack();
  const turns = [0, 1].map(() => ({
    batch: stack.use(device.allocate("float32", BATCH)),
    worked: stack.use(device.createEvent()),
  }));
  pinned.array.fill(1);
  const stream = order === "in turn" ? device.stream : copying;
  for (let index = 0; index < batches; index++) {
    using _batch = trace.range(`batch ${index + 1}`, { stream: device.stream });
    const { batch, worked } = turns[index % turns.length]!;
    // The copy waits until the previous batch of this buffer has been processed.
    stream.wait(worked);
    pinned.copyTo(batch, { stream });
    using arrived = stream.record();
    device.stream.wait(arrived);
    work(device, batch);
    worked.record(device.stream);
  }
  await device.stream.done();
}

/** Traces batches in one order. */
export async function traceBatches(
  device: Device,
  batches: number,
  order: Order,
): Promise<TraceRecording> {
  using trace = new DeviceTrace(device);
  await processBatches(device, trace, batches, order);
  return await trace.stop();
}

function print(recording: TraceRecording, order: Order): void {
  const { launches, hostToDevice, memory, kernels } = recording.statistics;
  console.log(`\n${order}: ${recording.duration.toFixed(1)} ms`);
  for (const { kernel, launches, mean, bytesPerSecond, occupancy } of kernels) {
    console.log(
      `  ${kernel}: ${launches} launches, ${mean.toFixed(3)} ms each, ` +
        `${(bytesPerSecond / 1e9).toFixed(1)} GB/s, occupancy ${(100 * occupancy).toFixed(0)} %`,
    );
  }
  console.log(
    `  ${hostToDevice.copies} copies of ${formatBytes(hostToDevice.bytes)} at ` +
      `${(hostToDevice.bytesPerSecond / 1e9).toFixed(1)} GB/s, ` +
      `${launches.time.toFixed(1)} ms of kernels and ${hostToDevice.time.toFixed(1)} of copies, ` +
      `${memory.allocations} buffers`,
  );
  for (const { code, message } of traceAdvisories(recording)) console.log(`  ${code}: ${message}`);
}

if (import.meta.main) {
  using device = openDevice();
  // What runs first loads kernels and pins memory.
  await traceBatches(device, 2, "in turn");
  const recordings: TraceRecording[] = [];
  for (const order of ["in turn", "overlapped"] as const) {
    const recording = await traceBatches(device, 20, order);
    print(recording, order);
    recordings.push(recording);
  }
  const path = Deno.args[0] ?? new URL("../build/trace.json", import.meta.url);
  await saveTrace(path, recordings);
  console.log(
    `\nThe trace is in ${Deno.args[0] ?? "build/trace.json"}, for https://ui.perfetto.dev`,
  );
}
