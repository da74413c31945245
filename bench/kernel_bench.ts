/**
 * Bandwidth of the built-in kernels: the bytes that an operation has to read and write at least,
 * against a copy on the same device in the same run. The buffers are larger than the device's
 * caches together.
 */

import type { DeviceBuffer, DType, TypedArrayOf } from "../mod.ts";
import { exactBytes } from "./report/formats.ts";
import { device, ON_GPU } from "./support/bench_device.ts";
import { measureOnDevice, type MeasureOptions, scaled } from "./support/measure.ts";

/** Bytes of a buffer: 256 MiB on a GPU. */
const BYTES = scaled(ON_GPU ? 2 ** 28 : 2 ** 25, 2 ** 16);

const { kernels } = device;
const GROUP = `kernels on buffers of ${exactBytes(BYTES)}`;

/** Declares the benchmark of an operation that touches so many buffers. */
function measureOperation(
  title: string,
  buffers: number,
  enqueue: () => void,
  options: Partial<MeasureOptions> = {},
): void {
  const [operation, dtype = "float32"] = title.split(" ");
  const peer = { kind: "kernel", operation, dtype, bytes: BYTES };
  measureOnDevice(title, { peer, ...options, group: GROUP, bytes: buffers * BYTES }, enqueue);
}

/** A buffer of the same few thousand numbers again and again. */
function buffer<D extends "float64" | "float32" | "float16">(
  dtype: D,
  numbers: TypedArrayOf<D>,
): DeviceBuffer<D> {
  const filled = device.allocate(dtype, BYTES / numbers.BYTES_PER_ELEMENT);
  filled.view(0, numbers.length).copyFrom(numbers);
  for (let done = numbers.length; done < filled.length; done *= 2) {
    filled.view(done, 2 * done).copyFrom(filled.view(0, done));
  }
  return filled;
}

type Operands<D extends DType> = [DeviceBuffer<D>, DeviceBuffer<D>, DeviceBuffer<D>];

const pattern = Float64Array.from({ length: 4096 }, (_, i) => Math.sin(i));

const x = buffer("float32", new Float32Array(pattern));
const y = buffer("float32", new Float32Array(pattern));
const z = buffer("float32", new Float32Array(pattern));
const one = device.allocate("float32", 1);
const two = device.allocate("float32", 2);
const counts = device.allocate("uint32", 64);

measureOperation("copy", 2, () => z.copyFrom(x), { baseline: true });
measureOperation("fill float32", 1, () => kernels.fill(z, 1));
measureOperation("scale float32", 2, () => kernels.scale(x, 0.5, z));
measureOperation("add float32", 3, () => kernels.add(x, y, z));
measureOperation("multiply float32", 3, () => kernels.multiply(x, y, z));
measureOperation("axpy float32", 3, () => kernels.axpy(1e-6, x, z));
measureOperation("sum float32", 1, () => kernels.sum(x, one));
measureOperation("max float32", 1, () => kernels.max(x, one));
measureOperation("moments float32", 1, () => kernels.moments(x, two));
measureOperation("histogram float32", 1, () => {
  kernels.histogram(x, counts, { low: -1, high: 1 });
});

const wide = [1, 2, 3].map(() => buffer("float64", pattern)) as Operands<"float64">;
measureOperation("add float64", 3, () => kernels.add(...wide));
measureOperation("sum float64", 1, () => kernels.sum(wide[0], one));

const halves = new Float16Array(pattern);
const narrow = [1, 2, 3].map(() => buffer("float16", halves)) as Operands<"float16">;
measureOperation("add float16", 3, () => kernels.add(...narrow));
measureOperation("sum float16", 1, () => kernels.sum(narrow[0], one));
