/**
 * Matrix products beside products in registers, which are the limit of the processor, and beside
 * NumPy in the same run, where Python has it. On a GPU beside PyTorch and our own kernel.
 */

import { full, matmul, uniform } from "../src/device/tensor.ts";
import { device, ON_GPU } from "./support/bench_device.ts";
import { measure, scaled } from "./support/measure.ts";
import { startPeer } from "./support/peer_process.ts";
import { measureProducts, peakOf } from "./support/processor_limits.ts";

const { stream } = device;

/** Rows, columns, inner extent, whether the right operand is transposed, element type. */
type Shape = readonly [number, number, number, boolean, "float16" | "float32" | "float64"];

const EDGES = ON_GPU ? [1024, 4096, 8192] : [64, 128, 256, 512, 1024, 2048];

const SHAPES: readonly Shape[] = [
  ...EDGES.map((edge): Shape => [edge, edge, edge, false, "float32"]),
  ...(ON_GPU ? EDGES.map((edge): Shape => [edge, edge, edge, false, "float16"]) : []),
  [1024, 1024, 1024, true, "float32"],
  [1024, 1024, 1024, false, "float64"],
  [16, 2048, 2048, false, "float32"],
  [1, 4096, 4096, false, "float32"],
  [1, 4096, 4096, true, "float32"],
].map((
  [m, n, k, ...rest],
) => [m, scaled(n as number, 32), scaled(k as number, 32), ...rest]) as never;

const NAME = ON_GPU ? "PyTorch" : "NumPy";
const runPeer = await startPeer("matmul.py", SHAPES);

for (const [index, [m, n, k, isTransposed, dtype]] of SHAPES.entries()) {
  const options = { device, dtype, low: -1, high: 1 } as const;
  const x = uniform([m, k], options);
  const y = isTransposed ? uniform([n, k], options).transpose() : uniform([k, n], options);
  using warm = matmul(x, y);
  await warm.ready();
  const group = `product of ${m} x ${k} and ${k} x ${n}${
    isTransposed ? " transposed" : ""
  } ${dtype}`;
  // A request to the other process takes some tens of microseconds.
  const calls = Math.max(1, Math.round(scaled(2 ** (ON_GPU ? 36 : 28), 1) / (m * n * k)));
  const work = { operations: 2 * m * n * k, ...peakOf(dtype) };
  const baseline = dtype === "float16" || !measureProducts(group, dtype);
  measure("matmul()", { group, baseline, calls, ...work }, () => {
    for (let i = 0; i < calls; i++) matmul(x, y).dispose();
    stream.doneSync();
  });
  if (dtype === "float16") {
    measure("own kernel", { group, calls, ...work }, () => {
      for (let i = 0; i < calls; i++) matmul(x, y, { variant: "mma" }).dispose();
      stream.doneSync();
    });
  }
  if (runPeer !== undefined) {
    measure(NAME, { group, calls, ...work }, async () => {
      await runPeer(index, calls);
    });
  }
}

const INT8_EDGES = (ON_GPU ? EDGES : [512, 1024, 2048]).map((edge) => scaled(edge, 32));
const runPyTorch = await startPeer(
  "matmul.py",
  INT8_EDGES.map((edge) => [edge, edge, edge, false, "torch.int8"]),
);

for (const [index, edge] of [...new Set(INT8_EDGES)].entries()) {
  const [x, y] = [3, 5].map((value) => full([edge, edge], value, { device, dtype: "int8" }));
  const options = { dtype: "int32" } as const;
  using warm = matmul(x!, y!, options);
  await warm.ready();
  const group = `product of ${edge} x ${edge} and ${edge} x ${edge} int8`;
  const calls = Math.max(1, Math.round(scaled(2 ** (ON_GPU ? 36 : 30), 1) / edge ** 3));
  const work = { bytes: 6 * edge ** 2, operations: 2 * edge ** 3, ...peakOf("int8") };
  const baseline = !measureProducts(group, "int8");
  measure("matmul()", { group, baseline, calls, ...work }, () => {
    for (let i = 0; i < calls; i++) matmul(x!, y!, options).dispose();
    stream.doneSync();
  });
  if (runPyTorch === undefined) continue;
  measure("PyTorch", { group, calls, ...work }, async () => {
    await runPyTorch(index, calls);
  });
}
