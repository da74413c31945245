// Who gives what back, and when: nothing is lost, nothing blocks, and the first error is the one
// that is told.

import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { CudaError, openDevice } from "../../mod.ts";
import { injectFault } from "../support/fault_injection.ts";
import { resourceTally } from "../../src/ffi/native_device.ts";
import { RING_BYTES } from "../../src/memory/download_ring.ts";
import { device } from "../support/device.ts";
import { asDiscrete } from "../support/discrete_device.ts";
import { runProgram } from "../support/subprocess.ts";

const { library } = device.context;

const SPIN = "spin_float32(float* out, unsigned long long nanoseconds, float value)";
const ONE_THREAD = { grid: 1, block: 1 };

Deno.test("disposing the default stream leaves it: later work still waits for earlier", async () => {
  const spin = device.kernels.load(SPIN);
  using out = device.allocate("float32", 1, { fill: 0 });
  {
    using stream = device.stream;
    spin.launch({ ...ONE_THREAD, stream }, out, 0.1e9, 7);
  }
  assertEquals([...await out.toArray()], [7]);
});

Deno.test("a device that is disposed before its buffers ends with the last of them", async () => {
  const before = resourceTally(library);
  const other = openDevice(device.label);
  const buffer = other.upload(Float32Array.of(1, 2));
  const arrived = buffer.toArray();
  other[Symbol.dispose]();
  assertEquals([...await arrived], [1, 2]);
  const again = buffer.toArray();
  buffer.free();
  assertEquals([...await again], [1, 2]);
  assertEquals(resourceTally(library), before);
});

Deno.test("giving back the memory of a long copy never blocks the event loop", async () => {
  // More than its ring keeps, and no device memory for a snapshot.
  const bytes = RING_BYTES + 2 ** 22;
  using own = openDevice(device.label, { memory: { maxPoolSize: bytes + 2 ** 21 } });
  using _discrete = asDiscrete(own);
  using x = own.allocate("uint8", bytes, { fill: 5 });
  await x.view(0, RING_BYTES).toArray();
  const before = resourceTally(library).pinnedSlabs;
  // Unpinning waits for all work of the device, so it must not be the blocking function that does.
  let blockingCalls = 0;
  const symbols = library.symbols as { gs_pinned_release: (pinned: number) => number };
  const release = symbols.gs_pinned_release;
  symbols.gs_pinned_release = (pinned) => {
    blockingCalls++;
    return release(pinned);
  };
  try {
    const array = await x.toArray();
    assert(array[0] === 5 && array[bytes - 1] === 5);
    assertEquals(resourceTally(library).pinnedSlabs, before);
  } finally {
    symbols.gs_pinned_release = release;
  }
  assertEquals(blockingCalls, 0);
});

Deno.test("a download that fails half-way gives everything back", async () => {
  using x = device.upload(Float32Array.of(1, 2, 3));
  await x.toArray();
  const before = resourceTally(library);
  {
    using _fault = injectFault(library, "cudaEventRecord", 1, 999);
    await assertRejects(() => x.toArray(), CudaError, "record an event");
  }
  // Nobody can tell when its copy is done, so its staging memory is not used again.
  const { pinnedSlabs, events, allocations } = resourceTally(library);
  assertEquals(pinnedSlabs, before.pinnedSlabs - 1);
  assertEquals(events, before.events - 1);
  assertEquals(allocations, before.allocations);
  assertEquals([...await x.toArray()], [1, 2, 3]);
});

Deno.test("Event.done() of a disposed event rejects, as promises do", async () => {
  const event = device.createEvent();
  event[Symbol.dispose]();
  const done = event.done();
  await assertRejects(() => done, TypeError, "disposed");
});

Deno.test("a program that a kernel's fault ends says so, not that errors were suppressed", async () => {
  const { code, stderr } = await runProgram(`
    import { openDevice } from "@gridstride/cuda";
    using device = openDevice(${JSON.stringify(device.label)});
    using stream = device.createStream();
    using nothing = device.allocate("float32", 0); // its address is 0
    using y = device.allocate("float32", 1000);
    using event = stream.record();
    using pinned = device.allocatePinned("uint8", 1);
    device.kernels.load("fault_null_write(float* out)").launch({ grid: 1, block: 1, stream }, nothing);
    await stream.done();
    await y.toArray();
  `);
  assertEquals(code, 1);
  assertStringIncludes(stderr, "cudaErrorIllegalAddress (700)");
  assert(!stderr.includes("SuppressedError"), stderr);
});

Deno.test("a lost device that nobody asked is told of by the first thing given back", async () => {
  const { code, stdout } = await runProgram(`
    import { CudaError, openDevice } from "@gridstride/cuda";
    try {
      using device = openDevice(${JSON.stringify(device.label)});
      using x = device.allocate("float32", 1000);
      using nothing = device.allocate("float32", 0); // its address is 0
      using y = device.allocate("float32", 1000);
      device.kernels.load("fault_null_write(float* out)").launch({ grid: 1, block: 1 }, nothing);
    } catch (error) {
      console.log(error instanceof CudaError, error.sticky, error.codeName);
    }
  `);
  assertEquals(code, 0);
  assertEquals(stdout, "true true cudaErrorIllegalAddress\n");
});
