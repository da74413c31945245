/**
 * Products of rows and a matrix, both as 8-bit integers with a scale for each row.
 *
 * @module
 */

import { streamFor } from "../memory/buffer_copy.ts";
import { DeviceWork } from "../tensor/kit/device_work.ts";
import { hostVectors } from "../tensor/kit/expression/vector_set.ts";
import { newTensor } from "../tensor/kit/kernel_call.ts";
import { runTemplate } from "../tensor/kit/templates.ts";
import { matmul, multiply, type Tensor } from "../tensor/mod.ts";
import { integerRowsTemplate } from "./kernel_templates.ts";

/** Integers, and a scale for each row of them. */
export interface ScaledRows {
  /** [rows, columns]. */
  readonly values: Tensor<"int8">;
  /** [rows]. */
  readonly scale: Tensor<"float32">;
}

/** Rows with which the matrix is multiplied as it is read; more of them have tiles. */
const FEW_ROWS = 8;
/** Bytes of the matrix that a block of the block form takes, and the rows that it multiplies at once. */
const BYTES = 2 ** 18;
const TOGETHER = 4;
/** Warps of a block, as `integer_rows.cuh` has them, and blocks of a multiprocessor. */
const BLOCK_WARPS = 8;
const BLOCKS = 4;
/** Bytes that CUDA threads read at once. */
const PACKET = 16;

/**
 * The products of rows x and the rows of a matrix w: [rows of x, rows of w] of `float32`. Sums are
 * exact.
 *
 * @param x Dense.
 * @param w Dense.
 * @param out Takes the result.
 */
export function multiplyScaledRows(
  x: ScaledRows,
  w: ScaledRows,
  out?: Tensor<"float32">,
): Tensor<"float32"> {
  const [m, depth] = x.values.shape as readonly [number, number];
  const n = w.values.shape[0]!;
  const { context } = w.values;
  const { form } = DeviceWork.of(context);
  const isLoop = form === "block";
  const rows = [1, 2, 4, FEW_ROWS].find((count) => m <= count);
  const isAligned = depth % PACKET === 0 && x.values.offset % PACKET === 0;
  if (rows === undefined || !(isLoop || isAligned)) return multiplyMany(x, w, out);
  const stream = streamFor(context, undefined);
  const result = out ?? newTensor(context, "float32", [m, n], stream);
  const step = Math.ceil(BYTES / Math.max(1, depth) / TOGETHER) * TOGETHER;
  const blocks = Math.ceil(n / 2 / BLOCK_WARPS);
  const product = "IntegerProduct{q, w, m, n, depth}";
  runTemplate({
    action: "multiply integer rows",
    template: integerRowsTemplate,
    ...isLoop ? { vectors: hostVectors() } : {},
    inputs: {
      ...{ q: x.values as Tensor, w: w.values as Tensor },
      ...{ row_scale: x.scale as Tensor, scale: w.scale as Tensor },
    },
    results: { out: result as Tensor },
    numbers: { m, n, depth, step },
    body: `  using namespace integer_rows;
  const auto finish = [=](i64 row, i64 column, int dot) {
    out[row * n + column] = static_cast<float>(dot) * row_scale[row] * scale[column];
  };
${
      isLoop
        ? `  const i64 begin = blockIdx.x * step;
  multiply_rows<${FEW_ROWS}>(${product}, begin, begin + step < n ? begin + step : n, finish);`
        : `  const int block = static_cast<int>(blockIdx.x);
  multiply_rows<${rows}>(${product}, block, static_cast<int>(gridDim.x), finish);`
    }`,
    size: m * n,
    grid: isLoop ? { grid: Math.ceil(n / step), block: 1 } : {
      grid: Math.min(BLOCKS * context.info.multiprocessorCount, blocks),
      block: 32 * BLOCK_WARPS,
    },
  }, stream);
  return result;
}

/** By tiles, whose sums are scaled afterwards. */
function multiplyMany(
  x: ScaledRows,
  w: ScaledRows,
  out: Tensor<"float32"> | undefined,
): Tensor<"float32"> {
  using columns = w.values.transpose();
  using sums = matmul(x.values, columns, { dtype: "int32" });
  using floats = sums.astype("float32");
  using scaled = multiply(floats, x.scale.reshape([-1, 1]));
  return multiply(scaled, w.scale, out === undefined ? {} : { out });
}
