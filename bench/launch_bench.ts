/**
 * What enqueueing a launch costs on the host: through the public API, through the FFI symbol alone
 * with the command block as an earlier launch left it, and the same in a C loop. Bursts are short
 * enough for the device's queue, and the device catches up outside the timing.
 */

import { device } from "./support/bench_device.ts";
import { moduleLaunches } from "./support/bench_module.ts";
import { CallLoop } from "./support/call_loop.ts";
import { measureEnqueueing, type PeerWork, scaled } from "./support/measure.ts";

const LAUNCHES = scaled(500, 50);

const { symbols } = device.context.library;
const loop = new CallLoop(device.context.library);
const config = { grid: 1, block: 32 };

/** Measures one kernel's launches; each has to leave the same operands in the command block. */
function measureLaunches(
  group: string,
  launch: () => void,
  peer: { readonly peer?: PeerWork } = {},
): void {
  const options = { group, calls: LAUNCHES };
  const prepared = {
    ...options,
    before() {
      launch();
      device.doneSync();
    },
  };
  measureEnqueueing("C loop", { ...prepared, baseline: true }, () => {
    loop.call("gs_kernel_launch", LAUNCHES);
  });
  measureEnqueueing("JavaScript, the symbol", prepared, () => {
    for (let i = 0; i < LAUNCHES; i++) symbols.gs_kernel_launch();
  });
  measureEnqueueing("kernel.launch()", { ...prepared, ...peer }, () => {
    for (let i = 0; i < LAUNCHES; i++) launch();
  });
}

const peerLaunch = (kernel: string) => ({ peer: { kind: "launch", kernel } });

const empty = device.kernels.load("empty()");
measureLaunches("launch without arguments", () => empty.launch(config), peerLaunch("empty"));

const axpy = device.kernels.load(
  "axpy_float32(float a, const float* x, float* y, unsigned long long n)",
);
const x = device.allocate("float32", 32, { fill: 1 });
const y = device.allocate("float32", 32, { fill: 0 });
measureLaunches("launch with four arguments", () => axpy.launch(config, 2, x, y, 32));

measureEnqueueing(
  "kernels.axpy()",
  { group: "launch with four arguments", calls: LAUNCHES, ...peerLaunch("built-in axpy") },
  () => {
    for (let i = 0; i < LAUNCHES; i++) device.kernels.axpy(2, x, y);
  },
);

const launches = await moduleLaunches(device.context, config, x, y);
const group = "launch of a module's kernel with four arguments";
measureLaunches(group, launches.fourArguments, peerLaunch("axpy"));
measureEnqueueing("kernel.launch(), cooperative", { group, calls: LAUNCHES }, () => {
  for (let i = 0; i < LAUNCHES; i++) launches.cooperative();
});
measureLaunches("launch of a module's kernel with a vector", launches.vector);
measureLaunches("launch of a module's kernel with a struct", launches.struct);
