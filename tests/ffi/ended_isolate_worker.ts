/**
 * An isolate of `ended_isolate_test.ts` that owns a resource of each kind and never releases it.
 *
 * @module
 */

import "../support/cache_directory.ts";
import { openDevice } from "../../mod.ts";

const scope = self as unknown as {
  onmessage: (event: MessageEvent<{ selector: string }>) => void;
  postMessage(message: string): void;
};

scope.onmessage = async ({ data: { selector } }) => {
  const device = openDevice(selector);
  const stream = device.createStream();
  const x = device.allocate("float32", 3 << 20, { fill: 1 });
  device.allocatePinned("float32", 1000);
  await device.compile("__global__ void nothing() {}");
  device.createEvent();
  stream.capture(() => device.kernels.scale(x, 2, x, { stream }));
  await x.toArray();
  const spin = device.kernels.load(
    "spin_float32(float* out, unsigned long long nanoseconds, float value)",
  );
  // Work of a live stream, and of one that is destroyed.
  const other = device.createStream();
  for (const each of [stream, other]) {
    spin.launch({ grid: 1, block: 1, stream: each }, x, 100_000_000, 1);
  }
  void stream.done();
  other[Symbol.dispose]();
  scope.postMessage("ready");
};
