/**
 * The cost of TypeScript on top of native calls: public operations over a library with empty hot
 * functions. The goal for `kernel.launch()` is 60 ns over the call itself.
 */

import { DeviceKernels } from "../src/device/device_kernels.ts";
import { DeviceBuffer } from "../src/memory/device_buffer.ts";
import { PinnedBuffer } from "../src/memory/pinned_buffer.ts";
import { Event } from "../src/stream/event.ts";
import { Stream } from "../src/stream/stream.ts";
import { moduleLaunches } from "./support/bench_module.ts";
import { nothing } from "./support/call_loop.ts";
import { measure } from "./support/measure.ts";
import { standInContext } from "./support/stand_in_library.ts";

const CALLS = 1000;
const GROUP = "own time over a native call that does nothing";

function measureOwnTime(title: string, call: () => void): void {
  measure(title, { group: GROUP, calls: CALLS }, () => {
    for (let i = 0; i < CALLS; i++) call();
  });
}

const context = standInContext();
const kernels = new DeviceKernels(context);
const [x, y, z] = [0, 1, 2].map(() => DeviceBuffer.allocate(context, "float32", 1024));
const one = DeviceBuffer.allocate(context, "float32", 1);
const [xView, yView] = [x!.view(1), y!.view(1)];
const pinned = new PinnedBuffer(context, "float32", 1024);
const stream = new Stream(context);
const event = new Event(context);

const empty = kernels.load("empty()");
const axpy = kernels.load("axpy_float32(float a, const float* x, float* y, unsigned long long n)");
const config = { grid: 4, block: 256 };
const launches = await moduleLaunches(context, config, x!, y!);

measure("the native call", { group: GROUP, calls: CALLS, baseline: true }, () => {
  for (let i = 0; i < CALLS; i++) nothing();
});
measureOwnTime("kernel.launch() without arguments", () => empty.launch(config));
measureOwnTime("kernel.launch() with four arguments", () => axpy.launch(config, 2, x!, y!, 1024));
measureOwnTime("a module's kernel.launch() with four arguments", launches.fourArguments);
measureOwnTime("a module's kernel.launch(), cooperative", launches.cooperative);
measureOwnTime("a module's kernel.launch() with a vector", launches.vector);
measureOwnTime("a module's kernel.launch() with a struct", launches.struct);
measureOwnTime(
  "kernel.launch() with four arguments, two of them views",
  () => axpy.launch(config, 2, xView, yView, 1023),
);
measureOwnTime("kernels.axpy()", () => kernels.axpy(2, x!, y!));
measureOwnTime("kernels.add()", () => kernels.add(x!, y!, z!));
measureOwnTime("kernels.sum(), two launches", () => kernels.sum(x!, one));
measureOwnTime("allocate() and free(), two calls", () => {
  DeviceBuffer.allocate(context, "float32", 1024).free();
});
measureOwnTime("event.record()", () => event.record(stream));
measureOwnTime("event.query()", () => event.query());
measureOwnTime("copy between buffers", () => x!.copyFrom(y!));
measureOwnTime("copy from pinned memory", () => pinned.copyTo(x!));
