/**
 * Makes each kind of fault on a device of its own and prints the errors as JSON.
 * `sticky_error_test.ts` starts it with more fake devices than faults.
 *
 * @module
 */

import { CudaError, type Device, openDevice } from "../../mod.ts";

/** Launches that fault. */
const FAULTS: Readonly<Record<string, (device: Device) => void>> = {
  null_write(device) {
    using nowhere = device.allocate("float32", 0);
    device.kernels.load("fault_null_write(float* address)")
      .launch({ grid: [3, 2], block: [4, 2] }, nowhere);
  },
  out_of_bounds(device) {
    const x = device.allocate("float32", 10);
    device.kernels.load("fault_out_of_bounds(float* x, unsigned long long index)")
      .launch({ grid: 1, block: 1 }, x, 2 ** 40);
  },
  divide_by_zero(device) {
    const out = device.allocate("int32", 1);
    device.kernels.load("fault_divide_by_zero(int* out, int divisor)")
      .launch({ grid: 1, block: 1 }, out, 0);
  },
  trap(device) {
    device.kernels.load("fault_trap()").launch({ grid: 1, block: 32 });
  },
  assert(device) {
    device.kernels.load("fault_assert(int condition)").launch({ grid: 1, block: 1 }, 0);
  },
  stack_overflow(device) {
    const out = device.allocate("int32", 1);
    device.kernels.load("fault_stack_overflow(int* out, int depth)")
      .launch({ grid: 1, block: 1 }, out, 100_000_000);
  },
  deadlock(device) {
    device.kernels.load("fault_deadlock()").launch({ grid: 1, block: 64 });
  },
};

/** Fields of an error. */
function shown(error: unknown) {
  if (!(error instanceof CudaError)) return { class: (error as Error)?.name ?? typeof error };
  const { code, codeName, sticky, call, device, detail, message } = error;
  return { class: error.name, code, codeName, sticky, call, device, detail, message };
}

async function errorOf(run: () => unknown) {
  try {
    await run();
    return null;
  } catch (error) {
    return shown(error);
  }
}

/** Whether the device still computes. */
async function isHealthy(device: Device): Promise<boolean> {
  using x = device.allocate("float32", 1000, { fill: 2 });
  device.kernels.axpy(3, x, x);
  return (await x.toArray()).every((element) => element === 8);
}

const healthy = openDevice("host:0");
const before = healthy.upload(Int32Array.of(1, 2, 3));

const outcomes: Record<string, unknown> = {};
for (const [ordinal, [name, fault]] of Object.entries(FAULTS).entries()) {
  const device = openDevice(`host:${ordinal + 1}`);
  const { stream } = device;
  const buffer = device.allocate("float32", 16, { fill: 1 });
  const event = device.createEvent();
  await device.done();
  const launch = await errorOf(() => fault(device));
  const waits = Array.from({ length: 40 }, () => errorOf(() => device.stream.done()));
  const [first, ...others] = await Promise.all(waits);
  if (others.some((other) => other?.code !== first?.code)) throw new Error("a wait did not fail");
  const later = {
    "device.done": await errorOf(() => device.done()),
    "device.doneSync": await errorOf(() => device.doneSync()),
    "stream.query": await errorOf(() => stream.query()),
    "stream.doneSync": await errorOf(() => stream.doneSync()),
    "event.record": await errorOf(() => event.record(stream) ?? event.query()),
    "allocate": await errorOf(() => device.allocate("float32", 1)),
    "createStream": await errorOf(() => device.createStream()),
    "createEvent": await errorOf(() => device.createEvent()),
    "memoryInfo": await errorOf(() => device.memoryInfo()),
    "toArray": await errorOf(() => buffer.toArray()),
    "toArraySync": await errorOf(() => buffer.toArraySync()),
    "copyFrom": await errorOf(() => buffer.copyFrom(new Float32Array(16)) ?? device.doneSync()),
    "openDevice": await errorOf(() => openDevice(device.label)),
  };
  const scope = await errorOf(async () => {
    using _buffer = buffer;
    using _event = event;
    using _device = device;
    await device.done();
  });
  const isAloneLost = await isHealthy(healthy) && (await before.toArray()).join() === "1,2,3";
  outcomes[name] = { launch, first, later, scope, others: isAloneLost };
}
console.log(JSON.stringify(outcomes));
