/**
 * Matrix products beside products in registers, which are the limit of the processor, and beside
 * NumPy. On a GPU beside PyTorch and our own kernel. All multiply the same random numbers.
 */

import { matmul, type MatmulOptions, type Tensor } from "../src/device/tensor.ts";
import type { DType } from "../src/memory/dtype.ts";
import { device, ON_GPU } from "./support/bench_device.ts";
import { type Arithmetic, measureOnDevice, QUICK, scaled } from "./support/measure.ts";
import { measureProducts } from "./support/processor_limits.ts";
import { randomOperand } from "./support/random_values.ts";

type Operand = "float64" | "float32" | "float16" | "bfloat16" | "int8" | "float8_e4m3";

/** A product; a batch of several has as many matrices on both sides. */
interface Product {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly dtype: Operand;
  /** The right operand by columns. */
  readonly transposed?: boolean;
  readonly batch?: number;
  /** With a bias and an activation. */
  readonly activation?: "gelu";
}

const EDGES = ON_GPU ? [1024, 4096, 8192] : [64, 128, 256, 512, 1024, 2048];
const INT8_EDGES = ON_GPU ? EDGES : [512, 1024, 2048];
const HAS_FLOAT8 = ON_GPU && Number(device.info.computeCapability) >= 8.9;

const square = (edge: number, dtype: Operand, transposed = false): Product => ({
  ...{ m: edge, n: edge, k: edge, dtype, transposed },
});

/** First come those with goals on a GPU. */
const PRODUCTS: readonly Product[] = [
  { m: 1, n: 4096, k: 4096, dtype: "float32" },
  { m: 1, n: 4096, k: 4096, dtype: "float32", transposed: true },
  { m: 16, n: 2048, k: 2048, dtype: "float32" },
  ...(ON_GPU ? EDGES.map((edge) => square(edge, "float16")) : []),
  ...INT8_EDGES.map((edge) => square(edge, "int8")),
  ...EDGES.map((edge) => square(edge, "float32")),
  ...(ON_GPU ? EDGES.map((edge) => square(edge, "bfloat16")) : []),
  ...INT8_EDGES.map((edge) => square(edge, "int8", true)),
  ...(HAS_FLOAT8 ? EDGES.map((edge) => square(edge, "float8_e4m3", true)) : []),
  square(1024, "float32", true),
  square(1024, "float64"),
  { m: 128, n: 128, k: 128, dtype: "float32", batch: 64 },
  { m: 512, n: 512, k: 512, dtype: "float32", activation: "gelu" },
  ...(ON_GPU
    ? [{ m: 4096, n: 4096, k: 4096, dtype: "bfloat16", activation: "gelu" } as const]
    : []),
];

/** Results of types that hold the sums. */
const RESULTS: Partial<Record<Operand, DType>> = { int8: "int32", float8_e4m3: "bfloat16" };
const ARITHMETIC = (dtype: Operand): Arithmetic => dtype === "float8_e4m3" ? "float8" : dtype;
/** The edge of products that are only to show that they run. */
const SHORT = 32;

function nameOf({ m, n, k, dtype, transposed, batch, activation }: Product): string {
  const many = batch === undefined ? "product" : `${batch} products`;
  const right = transposed ? " transposed" : "";
  const then = activation === undefined ? "" : ` with a bias and ${activation}`;
  return `${many} of ${m} x ${k} and ${k} x ${n}${right} ${dtype}${then}`;
}

function measureProduct({ m, n, k, ...rest }: Product): void {
  const { dtype, transposed = false, batch, activation } = rest;
  const [columns, depth] = [scaled(n, SHORT), scaled(k, SHORT)];
  const rows = Math.min(m, scaled(m, SHORT));
  const matrices = batch === undefined ? [] : [batch];
  const operand = (shape: readonly number[], index: number) =>
    randomOperand(device, shape, index, dtype, QUICK) as Tensor;
  const x = operand([...matrices, rows, depth], 0);
  const right = transposed ? [columns, depth] : [depth, columns];
  const stored = operand([...matrices, ...right], 1);
  const y = transposed ? stored.transpose() : stored;
  const result = RESULTS[dtype];
  const options: MatmulOptions = {
    ...(result === undefined ? {} : { dtype: result }),
    ...(activation === undefined ? {} : { activation, bias: operand([columns], 9) }),
  };
  const group = nameOf({ m: rows, n: columns, k: depth, ...rest });
  const operations = 2 * rows * columns * depth * (batch ?? 1);
  const bytes = { float64: 8, float32: 4, float16: 2, bfloat16: 2, int8: 1, float8_e4m3: 1 }[dtype];
  const resultBytes = { int8: 4, float8_e4m3: 2 }[dtype as string] ?? bytes;
  const work = {
    operations,
    arithmetic: ARITHMETIC(dtype),
    bytes: (batch ?? 1) *
      (bytes * (rows * depth + columns * depth) + resultBytes * rows * columns),
  };
  const peer = { kind: "product", m: rows, n: columns, k: depth, ...rest, transposed };
  const limited = dtype === "float32" || dtype === "float64" || dtype === "int8";
  const baseline = !(limited && measureProducts(group, dtype));
  measureOnDevice("matmul()", { group, baseline, peer, ...work }, () => {
    matmul(x, y, options).dispose();
  });
  if (dtype !== "float16" || activation !== undefined) return;
  measureOnDevice("own kernel", { group, ...work }, () => {
    matmul(x, y, { variant: "mma" }).dispose();
  });
}

const wanted = QUICK
  ? PRODUCTS.filter((product, index) => {
    const kind = ({ m, n: _n, k: _k, ...rest }: Product) => JSON.stringify([m === 1, rest]);
    return PRODUCTS.findIndex((other) => kind(other) === kind(product)) === index;
  })
  : PRODUCTS;
for (const product of wanted) measureProduct(product);
