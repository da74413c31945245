/**
 * Mixes objects of two devices. `several_devices_test.ts` starts it with two fake devices.
 *
 * @module
 */

import { assert, assertEquals, assertThrows } from "@std/assert";
import { CudaError, openDevice } from "../../mod.ts";
import * as tensors from "../../src/device/tensor.ts";
import { injectFault } from "../support/fault_injection.ts";
import { resourceTally } from "../../src/ffi/native_device.ts";
import { assertAllRefused, assertRefused, type BadCall, makeFixture } from "./bad_input.ts";

using first = openDevice("host:0");
using second = openDevice("host:1");
using here = makeFixture(first);
using there = makeFixture(second);

const axpy = first.kernels.load(
  "axpy_float32(float a, const float* x, float* y, unsigned long long n)",
);
const ONE = { grid: 1, block: 1 };

const refused: Readonly<Record<string, BadCall>> = {
  "argument x (2 of 4)": ({ x }) => axpy.launch(ONE, 1, there.x, x, 1),
  "argument y (3 of 4)": ({ x }) => axpy.launch(ONE, 1, x, there.y, 1),
  "the stream": ({ x, y }) => axpy.launch({ ...ONE, stream: there.stream }, 1, x, y, 1),
  "add … y must be on host:0": ({ x }) => first.kernels.add(x, there.x, x),
  "add … out must be on host:0": ({ x }) => first.kernels.add(x, x, there.x),
  "multiply … y must be on host:0": ({ x }) => first.kernels.multiply(x, there.x, x),
  "scale … out must be on host:0": ({ x }) => first.kernels.scale(x, 2, there.x),
  "axpy … y must be on host:0": ({ x }) => first.kernels.axpy(2, x, there.x),
  "sum … out must be on host:0": ({ x }) => first.kernels.sum(x, there.x.view(0, 1)),
  "moments … out must be on": ({ x }) => first.kernels.moments(x, there.x.view(0, 2)),
  "counts must be on host:0": ({ x }) =>
    first.kernels.histogram(x, there.bins, { low: 0, high: 1 }),
  "add … x must be on host:0": () => first.kernels.add(there.x, there.x, there.x),
  "multiply … x must be on host:0": () => first.kernels.multiply(there.x, there.x, there.x),
  "fill … out must be on host:0": () => first.kernels.fill(there.x, 1),
  "scale … x must be on host:0": () => first.kernels.scale(there.x, 2, there.x),
  "axpy … x must be on host:0": () => first.kernels.axpy(2, there.x, there.x),
  "sum … x must be on host:0": () => first.kernels.sum(there.x, there.x.view(0, 1)),
  "min … x must be on host:0": () => first.kernels.min(there.x, there.x.view(0, 1)),
  "max … x must be on host:0": () => first.kernels.max(there.x, there.x.view(0, 1)),
  "mean … x must be on host:0": () => first.kernels.mean(there.x, there.x.view(0, 1)),
  "compute moments … x must be on": () => first.kernels.moments(there.x, there.x.view(0, 2)),
  "x must be on host:0": () => first.kernels.histogram(there.x, there.bins, { low: 0, high: 1 }),
  "start": ({ stream }) => {
    using start = there.stream.record({ timing: true });
    using end = stream.record({ timing: true });
    end.elapsedSince(start);
  },
};
const onForeignStream: readonly BadCall[] = [
  ({ x }) => first.kernels.fill(x, 1, { stream: there.stream }),
  ({ x }) => first.kernels.sum(x, x.view(0, 1), { stream: there.stream }),
  ({ x }) => x.copyFrom(new Float32Array(1), { stream: there.stream }),
  ({ x }) => x.toArray({ stream: there.stream }),
  ({ x }) => x.toArraySync({ stream: there.stream }),
  ({ x, pinned }) => pinned.copyTo(x, { stream: there.stream }),
  ({ x, pinned }) => pinned.copyFrom(x, { stream: there.stream }),
  ({ device }) => {
    using event = device.createEvent();
    event.record(there.stream);
  },
];

// Each error names both devices.
await assertRefused(
  here,
  TypeError,
  Object.fromEntries(
    Object.entries(refused).map(([texts, call]) => [`${texts} … host:0 … host:1`, call]),
  ),
);
await assertAllRefused(here, TypeError, "stream … host:0 … host:1", onForeignStream);
there.assertIntact("calls of the other device");

// Work that two devices share.
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

/** CUDA calls between devices, which fail one after the other. */
const between: Readonly<Record<string, () => unknown>> = {
  cudaDeviceCanAccessPeer: () => first.canAccessPeer(second),
  cudaDeviceEnablePeerAccess: () => second.enablePeerAccess(first),
  cudaMemcpyPeerAsync: () => here.x.copyFrom(there.x),
  cudaStreamWaitEvent: () => here.stream.wait(event),
};
for (const [call, act] of Object.entries(between)) {
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

{
  const near = tensors.tensor([[1, 2], [3, 4]], { device: first });
  const far = tensors.tensor([[1, 2], [3, 4]], { device: second });
  const at = tensors.tensor([0, 1], { device: second, dtype: "int32" });
  const mixes: readonly (() => unknown)[] = [
    () => near.add(far),
    () => tensors.exp(near, { out: far }),
    () => tensors.where(near.greater(1), far, 0),
    () => tensors.fuse((x: typeof near) => x.add(far).sum())(near),
    () => tensors.concat([near, far]),
    () => tensors.take(near, at, { axis: 0 }),
    () => tensors.scatterAdd(near, at, near),
    () => tensors.searchsorted(near.at(0), far),
    () => tensors.matmul(near, far),
    () => tensors.softmaxBackward(near, far),
    () => tensors.layerNorm(near, { residual: far }),
    () => tensors.crossEntropy(near, at),
  ];
  for (const mix of mixes) {
    assertThrows(mix, TypeError, "must be on one device: they are on host:0 and host:1");
  }
  assertThrows(() => tensors.sum(near, { stream: there.stream }), TypeError, "it is of host:1");
}
