/**
 * What enqueueing a launch costs on the host: through the public API, through the FFI symbol alone
 * with the command block written before, and in a C loop. Bursts are short enough for the device's
 * queue, and the device catches up outside the timing.
 */

import { ARGUMENT, DEVICE, OPERAND, STREAM } from "../src/ffi/command_block.ts";
import { device } from "./support/bench_device.ts";
import { CallLoop } from "./support/call_loop.ts";
import { measureEnqueueing, scaled } from "./support/measure.ts";

const LAUNCHES = scaled(500, 50);

const { library, ordinal } = device.context;
const { block, symbols } = library;
const { stream } = device;
const loop = new CallLoop(library);

const empty = device.kernels.load("empty()");
const axpy = device.kernels.load(
  "axpy_float32(float a, const float* x, float* y, unsigned long long n)",
);
const x = device.allocate("float32", 32);
const y = device.allocate("float32", 32);
const config = { grid: 1, block: 32 };

/** Leaves the block as a launch has written it, whatever was done since. */
function prepare(launch: () => void): void {
  launch();
  device.doneSync();
}

const launchEmpty = () => empty.launch(config);
const withoutArguments = { group: "launch without arguments", calls: LAUNCHES };
measureEnqueueing("C loop", { ...withoutArguments, baseline: true }, () => {
  loop.call("gs_kernel_launch", LAUNCHES);
}, () => prepare(launchEmpty));
