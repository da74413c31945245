/**
 * What the workers of `worker_test.ts` run: a loop of everything a program does with a device.
 *
 * @module
 */

import { openDevice } from "../../mod.ts";

const scope = self as unknown as {
  onmessage: (event: MessageEvent<{ selector: string; rounds: number; seed: number }>) => void;
  postMessage(message: unknown): void;
};

scope.onmessage = async ({ data: { selector, rounds, seed } }) => {
  using device = openDevice(selector);
  const spin = device.kernels.load(
    "spin_float32(float* out, unsigned long long nanoseconds, float value)",
  );
  scope.postMessage("running");
  let correct = 0;
  for (let round = 0; round < rounds; round++) {
    const n = 1 + (seed * 7919 + round * 104729) % 50_000;
    using x = device.upload(Float32Array.from({ length: n }, (_, i) => i % 100));
    using y = device.allocate("float32", n, { fill: seed });
    using pinned = device.allocatePinned("float32", n);
    using stream = device.createStream();
    using out = device.allocate("float32", 1);
    await device.stream.done();
    spin.launch({ grid: 1, block: 1, stream }, out, 200_000, round);
    device.kernels.axpy(2, x, y, { stream });
    pinned.copyFrom(y, { stream });
    const pending = y.toArray({ stream });
    await stream.done();
    const values = await pending;
    const right = values.every((value, i) => value === 2 * (i % 100) + seed) &&
      pinned.array[n - 1] === values[n - 1] && (await out.toArray())[0] === round;
    if (right) correct++;
  }
  scope.postMessage(correct);
};
