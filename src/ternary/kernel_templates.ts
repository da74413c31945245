/**
 * The kernel templates of `csrc/kernels/ternary/`.
 *
 * @module
 */

import INTEGER_ROWS from "../../csrc/kernels/ternary/integer_rows.cuh" with { type: "text" };
import TERNARY from "../../csrc/kernels/ternary/ternary.cuh" with { type: "text" };
import MATMUL from "../../csrc/kernels/ternary/ternary_matmul.cuh" with { type: "text" };
import MATMUL_LOOPS from "../../csrc/kernels/ternary/ternary_matmul_loops.cuh" with {
  type: "text",
};
import MATMUL_THREADS from "../../csrc/kernels/ternary/ternary_matmul_threads.cuh" with {
  type: "text",
};
import MMA from "../../csrc/kernels/ternary/ternary_mma.cuh" with { type: "text" };
import MMA_STAGED from "../../csrc/kernels/ternary/ternary_mma_staged.cuh" with { type: "text" };
import WEIGHTS from "../../csrc/kernels/ternary/ternary_weights.cuh" with { type: "text" };
import { KernelTemplate } from "../tensor/kit/expression/kernel_template.ts";
import { TENSOR_HEADERS } from "../tensor/kit/expression/tensor_headers.ts";

const HEADERS: Readonly<Record<string, string>> = {
  ...TENSOR_HEADERS,
  "kernels/ternary/integer_rows.cuh": INTEGER_ROWS,
  "kernels/ternary/ternary.cuh": TERNARY,
  "kernels/ternary/ternary_matmul.cuh": MATMUL,
  "kernels/ternary/ternary_matmul_loops.cuh": MATMUL_LOOPS,
  "kernels/ternary/ternary_matmul_threads.cuh": MATMUL_THREADS,
  "kernels/ternary/ternary_mma.cuh": MMA,
  "kernels/ternary/ternary_mma_staged.cuh": MMA_STAGED,
  "kernels/ternary/ternary_weights.cuh": WEIGHTS,
};

/** Formats: packing and unpacking. */
export const ternaryTemplate = new KernelTemplate(
  "ternary",
  ["kernels/ternary/ternary.cuh"],
  HEADERS,
);
/** Products without tensor cores. */
export const ternaryMatmulTemplate = new KernelTemplate(
  "ternaryMatmul",
  ["kernels/ternary/ternary_matmul.cuh"],
  HEADERS,
);
/** Products of few rows on tensor cores. */
export const ternaryMmaTemplate = new KernelTemplate(
  "ternaryMma",
  ["kernels/ternary/ternary_mma.cuh"],
  HEADERS,
);
/** Products of few rows of 8-bit integers and a large matrix of them. */
export const integerRowsTemplate = new KernelTemplate(
  "integerRows",
  ["kernels/ternary/integer_rows.cuh"],
  HEADERS,
);
/** Products of many rows on tensor cores. */
export const ternaryMmaStagedTemplate = new KernelTemplate(
  "ternaryMmaStaged",
  ["kernels/ternary/ternary_mma_staged.cuh"],
  HEADERS,
);
