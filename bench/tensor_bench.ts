/**
 * Tensor operations beside a copy on the same device, and the cost of an operation on a few elements
 * over the launch of its kernel. Other libraries do the same with the same numbers.
 */

import {
  add,
  astype,
  exp,
  fromTypedArray,
  fuse,
  layerNorm,
  max,
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
import { DeviceWork } from "../src/tensor/kit/device_work.ts";
import { storageOf } from "../src/tensor/tensor.ts";
import {
  ROW_LENGTHS,
  ROW_LENGTHS_OF_HALVES,
  rowTitle,
  SMALL_TITLES,
  TENSOR_POWERS,
  TENSOR_POWERS_ON_GPU,
  tensorGroup,
} from "./report/tensor_goals.ts";
import { device, ON_GPU } from "./support/bench_device.ts";
import { measureEnqueueing, measureOnDevice, QUICK, scaled } from "./support/measure.ts";
import { repeated } from "./support/random_values.ts";

type Floats = "float32" | "float16" | "bfloat16";

/** A measured operation. */
interface TensorWork {
  /** Its name. */
  readonly title: string;
  /** Tensors that it reads and writes at least. */
  readonly passes: number;
  /** Elements of a row, if not those of the other work. */
  readonly columns?: number;
  /** Enqueues it. */
  readonly enqueue: () => void;
}

/** Elements after which the numbers repeat. */
const PERIOD = 2 ** 16;
/** Elements of a row of softmax and layerNorm. */
const ROW_LENGTH = 1024;
/** The operations on 16-bit types where these are only to show that they run. */
const SHORT_TITLES = ["add", "sum"];

/** Five operations. */
const chain = fuse((x: Tensor<Floats>, y: Tensor<Floats>) =>
  subtract(multiply(tanh(maximum(add(multiply(x, y), 1), 0)), 2), x)
);

/**
 * Operations on tensors of 2^power elements, those on rows also for other lengths of rows. Results go
 * to memory that is there already; those of "new" operations to memory that the pool keeps.
 */
function tensorWork(power: number, dtype: Floats, rowLengths: readonly number[]): TensorWork[] {
  const [n, rows] = [2 ** power, 2 ** Math.floor(power / 2)];
  const numbers = (f: (i: number) => number) => {
    const array = Float32Array.from({ length: Math.min(n, PERIOD) }, (_, i) => 2 * f(i));
    const floats = fromTypedArray(array, [array.length], { device }) as Tensor as Tensor<Floats>;
    const pattern = dtype === "float32" ? floats : floats.astype(dtype) as Tensor as Tensor<Floats>;
    return repeated(pattern, n);
  };
  const [x, y] = [numbers((i) => Math.sin(i * 1.7)), numbers((i) => Math.cos(i * 0.3))];
  const out = zeros([n], { device, dtype }) as Tensor as Tensor<Floats>;
  const wide = x.reshape([rows, n / rows]);
  const wideOut = out.reshape(wide.shape);
  const turned = wide.transpose();
  const square = out.reshape(turned.shape);
  const row = y.slice([{ start: 0, stop: n / rows }]);
  const matrixOf = (columns: number) => {
    const count = Math.floor(n / columns);
    return x.slice([{ start: 0, stop: count * columns }]).reshape([count, columns]);
  };
  const matrix = matrixOf(ROW_LENGTH);
  return [
    { title: "add", passes: 3, enqueue: () => void add(x, y, { out }) },
    { title: "multiply", passes: 3, enqueue: () => void multiply(x, y, { out }) },
    { title: "exp", passes: 2, enqueue: () => void exp(x, { out }) },
    { title: "tanh", passes: 2, enqueue: () => void tanh(x, { out }) },
    { title: "sum", passes: 1, enqueue: () => sum(x).dispose() },
    { title: "mean", passes: 1, enqueue: () => mean(x).dispose() },
    { title: "max", passes: 1, enqueue: () => max(x).dispose() },
    { title: "sum along axis 0", passes: 1, enqueue: () => sum(wide, { axis: 0 }).dispose() },
    { title: "add a row", passes: 2, enqueue: () => void add(wide, row, { out: wideOut }) },
    { title: "transpose", passes: 2, enqueue: () => void astype(turned, dtype, { out: square }) },
    { title: "softmax", passes: 2, enqueue: () => softmax(matrix).dispose() },
    { title: "layerNorm", passes: 2, enqueue: () => layerNorm(matrix).dispose() },
    ...rowLengths.flatMap((columns): TensorWork[] => {
      const own = matrixOf(columns);
      return [
        { title: "sum along axis 1", passes: 1, enqueue: () => sum(own, { axis: 1 }).dispose() },
        { title: "softmax", passes: 2, enqueue: () => softmax(own).dispose() },
        { title: "layerNorm", passes: 2, enqueue: () => layerNorm(own).dispose() },
      ].map((work) => ({ ...work, columns }));
    }),
    { title: "new add", passes: 3, enqueue: () => add(x, y).dispose() },
    { title: "new transpose", passes: 2, enqueue: () => astype(turned, dtype).dispose() },
    { title: "fused chain", passes: 3, enqueue: () => chain(x, y).dispose() },
  ];
}

/** Which work of a size and type is measured: titles, all by default, and further lengths of rows. */
interface Selection {
  readonly titles?: readonly string[];
  readonly rowLengths?: readonly number[];
}

function measureTensors(
  power: number,
  dtype: Floats,
  { titles, rowLengths = [] }: Selection,
): void {
  const group = tensorGroup(power, dtype);
  const bytes = 2 ** power * (dtype === "float32" ? 4 : 2);
  const [from, to] = [1, 2].map(() => device.allocate("uint8", bytes, { fill: 1 }));
  const copy = { group, baseline: true, bytes: 2 * bytes };
  measureOnDevice("copy", copy, () => to!.copyFrom(from!));
  for (const { title, passes, columns, enqueue } of tensorWork(power, dtype, rowLengths)) {
    if (titles !== undefined && !titles.includes(title)) continue;
    const peer = { kind: "tensor", title, power, dtype, ...(columns && { columns }) };
    const name = columns === undefined ? title : rowTitle(title, columns);
    measureOnDevice(name, { group, bytes: passes * bytes, peer }, enqueue);
  }
}

const all = ON_GPU ? TENSOR_POWERS_ON_GPU : TENSOR_POWERS;
const powers = QUICK ? all.slice(0, 1) : all;
for (const power of powers) {
  measureTensors(
    power,
    "float32",
    power === Math.max(...powers) ? { rowLengths: ROW_LENGTHS } : {},
  );
}
for (const dtype of ["float16", "bfloat16"] as const) {
  // On the host device each kernel of another type takes a C++ compiler a second.
  if (!ON_GPU || QUICK) measureTensors(16, dtype, QUICK ? { titles: SHORT_TITLES } : {});
  else {
    measureTensors(26, dtype, { rowLengths: ROW_LENGTHS_OF_HALVES });
    measureTensors(20, dtype, { titles: SMALL_TITLES });
  }
}

const CALLS = scaled(200, 20);
const SMALL = 1000;
const [x, y, out] = [1, 2, 3].map(() => zeros([SMALL], { device }));
add(x!, y!, { out: out! });
await out!.ready();
const { kernel } = DeviceWork.of(device.context).lastKernel!;
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
