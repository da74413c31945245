/**
 * Tensor operations beside a copy on the same device, and what an operation on a few elements costs
 * over the launch of its kernel. `bench/peers/tensor.py` does the same in NumPy and PyTorch.
 */

import {
  add,
  astype,
  exp,
  fromTypedArray,
  fuse,
  layerNorm,
  maximum,
  mean,
  multiply,
  softmax,
  subtract,
  sum,
  tanh,
  type Tensor,
  zeros,
} from "../src/device/tensor.ts";
import { DeviceWork } from "../src/tensor/device_work.ts";
import { storageOf } from "../src/tensor/tensor.ts";
import { GPU_TENSOR_POWER, ROW_LENGTH, TENSOR_POWERS } from "./report/peers.ts";
import { device, ON_GPU } from "./support/bench_device.ts";
import { measure, measureEnqueueing, scaled } from "./support/measure.ts";

const { stream } = device;

/** A measured operation. */
interface TensorWork {
  /** Its name. */
  readonly title: string;
  /** Tensors that it reads and writes at least. */
  readonly passes: number;
  /** Enqueues it. */
  readonly enqueue: () => void;
}

/** Five operations. */
const chain = fuse((x: Tensor<"float32">, y: Tensor<"float32">) =>
  subtract(multiply(tanh(maximum(add(multiply(x, y), 1), 0)), 2), x)
);

/**
 * Operations on tensors of 2^power elements, whose kernels are compiled. Results go to memory that
 * is there already; those of "new" operations to memory that the pool keeps.
 */
async function tensorWork(power: number): Promise<TensorWork[]> {
  const [n, rows] = [2 ** power, 2 ** Math.floor(power / 2)];
  const numbers = (f: (i: number) => number) => {
    const array = new Float32Array(n);
    const period = Math.min(n, 2 ** 16);
    for (let i = 0; i < period; i++) array[i] = 2 * f(i);
    for (let done = period; done < n; done *= 2) array.copyWithin(done, 0, done);
    return fromTypedArray(array, [n], { device });
  };
  const [x, y] = [numbers((i) => Math.sin(i * 1.7)), numbers((i) => Math.cos(i * 0.3))];
  const out = zeros([n], { device });
  const columns = x.reshape([rows, n / rows]).transpose();
  const square = out.reshape(columns.shape);
  const matrix = x.reshape([n / ROW_LENGTH, ROW_LENGTH]);
  const work: TensorWork[] = [
    { title: "add", passes: 3, enqueue: () => void add(x, y, { out }) },
    { title: "multiply", passes: 3, enqueue: () => void multiply(x, y, { out }) },
    { title: "exp", passes: 2, enqueue: () => void exp(x, { out }) },
    { title: "tanh", passes: 2, enqueue: () => void tanh(x, { out }) },
    { title: "sum", passes: 1, enqueue: () => sum(x).dispose() },
    { title: "mean", passes: 1, enqueue: () => mean(x).dispose() },
    {
      title: "transpose",
      passes: 2,
      enqueue: () => void astype(columns, "float32", { out: square }),
    },
    { title: "softmax", passes: 2, enqueue: () => softmax(matrix).dispose() },
    { title: "layerNorm", passes: 2, enqueue: () => layerNorm(matrix).dispose() },
    { title: "new add", passes: 3, enqueue: () => add(x, y).dispose() },
    { title: "new transpose", passes: 2, enqueue: () => astype(columns, "float32").dispose() },
    { title: "fused chain", passes: 3, enqueue: () => chain(x, y).dispose() },
  ];
  for (const { enqueue } of work) enqueue();
  await out.ready();
  return work;
}

for (const power of ON_GPU ? [GPU_TENSOR_POWER] : TENSOR_POWERS) {
  const group = `tensors of 2^${power} float32`;
  const bytes = 2 ** (power + 2);
  // With fewer, an operation on few elements would be less than the wait for it.
  const calls = scaled(ON_GPU ? 10 : Math.max(1, 2 ** (22 - power)), 1);
  const [from, to] = [1, 2].map(() => device.allocate("uint8", bytes, { fill: 1 }));
  const work = [
    { title: "copy", passes: 2, enqueue: () => to!.copyFrom(from!) },
    ...await tensorWork(power),
  ];
  for (const { title, passes, enqueue } of work) {
    const baseline = title === "copy";
    measure(title, { group, baseline, calls, bytes: passes * bytes }, () => {
      for (let i = 0; i < calls; i++) enqueue();
      stream.doneSync();
    });
  }
}

const CALLS = scaled(200, 20);
const SMALL = 1000;
const [x, y, out] = [1, 2, 3].map(() => zeros([SMALL], { device }));
add(x!, y!, { out: out! });
await out!.ready();
const { kernel } = DeviceWork.of(device.context).lastKernel!;
const fused = chain(x!, y!);
await fused.ready();
const buffers = [x!, y!, out!].map((tensor) => storageOf(tensor).buffer);
const config = { grid: 1, block: ON_GPU ? 256 : 1 };
const kernelArguments = [...buffers, 0, 0, 0, SMALL, SMALL] as never[];

function measureOverhead(title: string, enqueue: () => void, baseline = false): void {
  const group = "tensors of 1 000 float32, enqueueing";
  measureEnqueueing(title, { group, baseline, calls: CALLS }, () => {
    for (let i = 0; i < CALLS; i++) enqueue();
  });
}

measureOverhead("kernel.launch()", () => kernel!.launch(config, ...kernelArguments), true);
measureOverhead("add", () => add(x!, y!, { out: out! }));
measureOverhead("new add", () => add(x!, y!).dispose());
measureOverhead("fused chain", () => chain(x!, y!).dispose());
