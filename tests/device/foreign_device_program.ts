/**
 * Mixes objects of two devices, and prints as JSON how many mixtures were refused. Started by
 * `foreign_device_test.ts` with two fake devices; throws at the first that goes wrong.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import { CudaError, openDevice } from "../../mod.ts";
import { injectFault } from "../support/fault_injection.ts";
import { resourceTally } from "../../src/ffi/native_device.ts";
import { assertRefused, type BadCall, makeFixture } from "./bad_input.ts";

using first = openDevice("host:0");
using second = openDevice("host:1");
using here = makeFixture(first);
using there = makeFixture(second);

const axpy = first.kernels.load(
  "axpy_float32(float a, const float* x, float* y, unsigned long long n)",
);
const ONE = { grid: 1, block: 1 };

/** Both devices named, the expected one before the one that came. */
const BOTH = [/host:0[^]*host:1/] as const;

const MIXTURES: readonly BadCall[] = [
  [({ x }) => axpy.launch(ONE, 1, there.x, x, 1), TypeError, "argument x (2 of 4)", ...BOTH],
  [({ x }) => axpy.launch(ONE, 1, x, there.y, 1), TypeError, "argument y (3 of 4)", ...BOTH],
  [
    ({ x, y }) => axpy.launch({ ...ONE, stream: there.stream }, 1, x, y, 1),
    TypeError,
    "stream",
    ...BOTH,
  ],
  [({ x }) => first.kernels.add(x, there.x, x), TypeError, "y must be on host:0", ...BOTH],
  [({ x }) => first.kernels.add(x, x, there.x), TypeError, "out must be on host:0", ...BOTH],
  [({ x }) => first.kernels.multiply(x, there.x, x), TypeError, "y must be on host:0", ...BOTH],
  [({ x }) => first.kernels.scale(x, 2, there.x), TypeError, "out must be on host:0", ...BOTH],
  [({ x }) => first.kernels.axpy(2, x, there.x), TypeError, "y must be on host:0", ...BOTH],
  [
    ({ x }) => first.kernels.sum(x, there.x.view(0, 1)),
    TypeError,
    "out must be on host:0",
    ...BOTH,
  ],
  [({ x }) => first.kernels.moments(x, there.x.view(0, 2)), TypeError, "out must be on", ...BOTH],
  [
    ({ x }) => first.kernels.histogram(x, there.bins, { low: 0, high: 1 }),
    TypeError,
    "counts must be on host:0",
    ...BOTH,
  ],
  [({ x }) => first.kernels.fill(x, 1, { stream: there.stream }), TypeError, "stream", ...BOTH],
  [
    ({ x }) => first.kernels.sum(x, x.view(0, 1), { stream: there.stream }),
    TypeError,
    "stream",
    ...BOTH,
  ],
  [
    ({ x }) => x.copyFrom(new Float32Array(1), { stream: there.stream }),
    TypeError,
    "stream",
    ...BOTH,
  ],
  [({ x }) => x.toArray({ stream: there.stream }), TypeError, "stream", ...BOTH],
  [({ x }) => x.toArraySync({ stream: there.stream }), TypeError, "stream", ...BOTH],
  [({ x, pinned }) => pinned.copyTo(x, { stream: there.stream }), TypeError, "stream", ...BOTH],
  [({ x, pinned }) => pinned.copyFrom(x, { stream: there.stream }), TypeError, "stream", ...BOTH],
  [
    ({ device }) => {
      using event = device.createEvent();
      event.record(there.stream);
    },
    TypeError,
    "stream",
    ...BOTH,
  ],
  [
    ({ stream }) => {
      using start = there.stream.record({ timing: true });
      using end = stream.record({ timing: true });
      end.elapsedSince(start);
    },
    TypeError,
    "start",
    ...BOTH,
  ],
];

for (const mixture of MIXTURES) {
  await assertRefused(here, mixture);
  there.assertIntact(mixture[0].toString());
}

// What two devices may do together.
here.x.copyFrom(there.y);
await first.done();
assertEquals([...await here.x.toArray()], [...await there.y.toArray()]);
using event = there.stream.record();
here.stream.wait(event);
await here.stream.done();
there.pinned.copyTo(here.x);
await first.done();
assertEquals(new Set(await here.x.toArray()), new Set([5]));
assertEquals(first.canAccessPeer(second), true);
assertEquals(first.canAccessPeer(first), false);
first.enablePeerAccess(second);
first.enablePeerAccess(second);

/** Whichever call between devices fails, the error says so. */
const BETWEEN: Readonly<Record<string, () => unknown>> = {
  cudaDeviceCanAccessPeer: () => first.canAccessPeer(second),
  cudaDeviceEnablePeerAccess: () => second.enablePeerAccess(first),
  cudaMemcpyPeerAsync: () => here.x.copyFrom(there.x),
  cudaStreamWaitEvent: () => here.stream.wait(event),
};
for (const [call, act] of Object.entries(BETWEEN)) {
  const before = resourceTally(first.context.library);
  let thrown: unknown;
  {
    using _fault = injectFault(first.context.library, call, 1, 46);
    try {
      act();
    } catch (error) {
      thrown = error;
    }
  }
  assert(thrown instanceof CudaError, `${call}: ${thrown}`);
  assertEquals([thrown.code, thrown.call], [46, call]);
  act();
  await first.done();
  assertEquals(resourceTally(first.context.library), before);
}

console.log(JSON.stringify({ mixtures: MIXTURES.length, between: Object.keys(BETWEEN).length }));
