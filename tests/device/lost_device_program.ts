/**
 * Loses a device with resources of every kind to a kernel that faults. Prints as JSON the error of
 * the end of its scope and the counts of resources. `several_devices_test.ts` starts it with two
 * fake devices and with the first call after the fault.
 *
 * @module
 */

import { CudaError, type Device, openDevice } from "../../mod.ts";
import { resourceTally } from "../../src/ffi/native_device.ts";
import { createPool } from "../../src/memory/pool/device_pools.ts";
import { bufferFromPool } from "../../src/memory/device_buffer.ts";

/** The first call after the fault: a wait, or the disposal of a resource. */
const firstCall: "wait" | "dispose" = Deno.args[0] === "wait" ? "wait" : "dispose";

/** Makes resources of every kind, which end before their device. */
function furnish(device: Device, stack: DisposableStack): void {
  const side = stack.use(device.createStream());
  stack.use(device.allocate("float32", 1_000_000));
  const x = stack.use(device.allocate("float32", 100, { stream: side, fill: 1 }));
  // Freed, and still in use on another stream: its free is deferred.
  const pending = device.allocate("float32", 100, { stream: side, fill: 1 });
  pending.recordStream(device.stream);
  device.stream.doneSync();
  pending.free();
  stack.use(device.allocatePinned("float32", 100)).copyTo(x, { stream: side });
  stack.use(device.createEvent());
  stack.use(device.stream.capture(() => {
    using inside = device.allocate("float32", 500_000, { fill: 2 });
    using sum = device.allocate("float32", 1);
    device.kernels.sum(inside, sum);
  })).launch(device.stream);
  for (const virtualMemory of [true, false]) {
    const { context } = device;
    const pool = createPool(context, { virtualMemory }, context);
    stack.defer(() => pool.close());
    stack.use(bufferFromPool(pool, context, "float32", 1000, {}));
    bufferFromPool(pool, context, "float32", 1_000_000, { stream: side }).free();
  }
  device.doneSync();
}

async function loseDevice(): Promise<void> {
  using device = openDevice("host:1");
  using stack = new DisposableStack();
  furnish(device, stack);
  using nowhere = device.allocate("float32", 0);
  device.kernels.load("fault_null_write(float* address)")
    .launch({ grid: 1, block: 1 }, nowhere);
  if (firstCall === "wait") await device.done();
}

const { library } = openDevice("host:0").context;
const before = resourceTally(library);
const thrown: unknown = await loseDevice().then(() => undefined, (error: unknown) => error);
console.log(JSON.stringify({
  before,
  after: resourceTally(library),
  thrown: thrown instanceof CudaError ? [thrown.codeName, thrown.device] : Deno.inspect(thrown),
}));
