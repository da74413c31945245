/**
 * The first thousand launches of a process, before V8 has optimised anything and with a device
 * that has just been opened: prints nanoseconds as JSON. With the argument `C` the launches come
 * from a C loop.
 */

import { openDevice } from "../../mod.ts";
import { CallLoop } from "../support/call_loop.ts";

/** Half of the launches: they fit the device's queue. */
const BURST = 500;

using device = openDevice();
const loop = new CallLoop(device.context.library);
const kernel = device.kernels.load("empty()");
const config = { grid: 1, block: 32 };

const begin = performance.now();
kernel.launch(config);
const first = performance.now() - begin;
device.doneSync();

let milliseconds = 0;
for (let burst = 0; burst < 2; burst++) {
  const start = performance.now();
  if (Deno.args[0] === "C") loop.call("gs_kernel_launch", BURST);
  else for (let i = 0; i < BURST; i++) kernel.launch(config);
  milliseconds += performance.now() - start;
  device.doneSync();
}
console.log(JSON.stringify({
  first: first * 1e6,
  following: milliseconds * 1e6 / (2 * BURST),
}));
