/**
 * The kernels of products with ternary weights: the launch for a shape, and the C++.
 *
 * @module
 */

import type { VectorSet } from "../ffi/build/vector_sets.ts";
import type { DeviceContext } from "../hardware/device_context.ts";
import { cTypeOf } from "../memory/dtype.ts";
import type { Stream } from "../stream/stream.ts";
import { callKernel, type KernelCode, type LaunchSize } from "../tensor/kit/kernel_call.ts";
import { multiplyText } from "../tensor/matmul/mma_variant.ts";
import { BYTE_TILE_CONSTANTS, tileOf } from "../tensor/matmul/own_variants.ts";
import type { Tensor } from "../tensor/tensor.ts";
import {
  ternaryMatmulTemplate,
  ternaryMmaTemplate,
  ternaryRowsTemplate,
} from "./kernel_templates.ts";

/** Weights of a group, to whose multiple columns are padded. */
export const GROUP = 64;

/** The extents of a product, and where it runs. */
export interface ProductShape {
  readonly context: DeviceContext;
  /** Rows of activations. */
  readonly m: number;
  /** Rows of weights. */
  readonly n: number;
  /** Columns of both, padded to whole groups. */
  readonly depth: number;
}

/** The launch of a kernel. */
export interface ProductPlan {
  readonly size: LaunchSize;
  /** The function that the kernel calls, with its template's arguments. */
  readonly call: string;
  /** The arguments that depend on the shape, by the names in the body. */
  readonly numbers: Readonly<Record<string, number>>;
  /** The rest of the code. */
  readonly code: KernelCode;
}

const PRODUCT = "TernaryProduct{q, codes, m, n, depth}";
const MULTIPLY = multiplyText(["int8", "int8"]);

/** Shared memory of a block that leaves room for others on its multiprocessor. */
function sharedMemoryFor(
  { info: { sharedMemoryPerBlockOptIn, sharedMemoryPerMultiprocessor } }: DeviceContext,
  blocks: number,
): number {
  // CUDA takes 1 KiB of each block.
  const share = Math.floor(sharedMemoryPerMultiprocessor / blocks) - 1024;
  return Math.min(sharedMemoryPerBlockOptIn, share);
}

// ---- dp4a --------------------------------------------------------------------------------------

/** Threads of a block of `rows_dp4a()`, the rows of weights it takes at once, and blocks that share a multiprocessor. */
const DP4A = { threads: 256, columns: 32, blocks: 2 } as const;

/** CUDA threads: blocks loop over the rows of weights, so each reads its rows of activations once. */
export function planDp4a({ context, m, n, depth }: ProductShape): ProductPlan {
  const rows = m > 2 ? 4 : m;
  const { blocks } = DP4A;
  const down = Math.ceil(m / rows);
  const groups = depth / GROUP;
  const bytes = rows * GROUP;
  const most = Math.floor(sharedMemoryFor(context, blocks) / bytes);
  const partGroups = Math.max(1, Math.min(groups, most));
  const useful = Math.ceil(context.info.multiprocessorCount * blocks / down);
  return {
    size: {
      grid: down * Math.min(Math.ceil(n / DP4A.columns), useful),
      block: DP4A.threads,
      sharedMemory: partGroups * bytes,
    },
    call: `rows_dp4a<${rows}>`,
    numbers: { down, part_groups: partGroups },
    code: {
      template: ternaryMatmulTemplate,
      launchBounds: [DP4A.threads, blocks],
      body: `
  const int rows_down = static_cast<int>(down);
  const int block = static_cast<int>(blockIdx.x);
  rows_dp4a<${rows}>(${PRODUCT}, block % rows_down * ${rows}, block / rows_down,
                     static_cast<int>(gridDim.x) / rows_down, static_cast<int>(part_groups), finish);`,
    },
  };
}

// ---- tensor cores ------------------------------------------------------------------------------

/** Columns of rows whose sums on tensor cores fit in 32 bits: fewer than this. */
export const MAX_MMA_COLUMNS = 2 ** 18;
/** Rows of activations that do not pay for a tile. */
const SOME_ROWS = 64;
/** Columns of a chunk of `ternary_rows_mma.cuh`, warps of a block, and rows of weights of a warp. */
const CHUNK = 256;
const WARPS = 8;
const WARP_COLUMNS = 16;
/** Blocks that share a multiprocessor. */
const BLOCKS = 2;

/** Few rows of activations: warps share the depth if there are too few rows of weights. */
function planSomeRows({ context, m, n, depth }: ProductShape): ProductPlan {
  const rows = m <= 16 ? 16 : 32;
  const chunks = Math.ceil(depth / CHUNK);
  const bytes = rows * CHUNK;
  const most = Math.floor(sharedMemoryFor(context, BLOCKS) / bytes);
  const down = Math.ceil(m / rows);
  const gridOf = (kWarps: number) => down * Math.ceil(n / (WARP_COLUMNS * WARPS / kWarps));
  let kWarps = 1;
  const limit = Math.min(WARPS, most, chunks);
  while (2 * kWarps <= limit && gridOf(kWarps) < context.info.multiprocessorCount) kWarps *= 2;
  const part = chunks <= most ? chunks : most - most % kWarps;
  const call = `rows_mma<Multiply, ${rows / 16}, ${kWarps}>`;
  const sums = WARPS * WARP_COLUMNS * rows * Int32Array.BYTES_PER_ELEMENT;
  return {
    size: {
      grid: gridOf(kWarps),
      block: 32 * WARPS,
      sharedMemory: Math.max(part * bytes, sums),
    },
    call,
    numbers: { part: part * CHUNK },
    code: {
      template: ternaryRowsTemplate,
      launchBounds: [32 * WARPS, BLOCKS],
      definitions: MULTIPLY,
      body: `  ${call}(${PRODUCT}, static_cast<int>(part), finish);`,
    },
  };
}

/**
 * Tiles of many rows, with the instructions that a scheduler issues for 64 columns: large tiles take
 * fewer for each product, if there are enough of them.
 */
const TILES = [
  { rows: 128, columns: 128, cost: 350 },
  { rows: 128, columns: 64, cost: 175 },
  { rows: 64, columns: 64, cost: 204 },
] as const;

function planTiles({ context, m, n }: ProductShape): ProductPlan {
  let best: { grid: number; rows: number; columns: number; cost: number } | undefined;
  for (const { rows, columns, cost } of TILES) {
    const grid = Math.ceil(m / rows) * Math.ceil(n / columns);
    const whole = Math.ceil(grid / context.info.multiprocessorCount) * cost;
    if (best === undefined || whole < best.cost) best = { grid, rows, columns, cost: whole };
  }
  const { grid, rows, columns } = best!;
  const call = `tiles_mma<Multiply, ${rows}, ${columns}>`;
  return {
    size: { grid, block: 2 * columns },
    call,
    numbers: {},
    code: {
      template: ternaryMmaTemplate,
      definitions: MULTIPLY,
      body: `  ${call}(${PRODUCT}, finish);`,
    },
  };
}

/** Tensor cores. */
export function planMma(shape: ProductShape): ProductPlan {
  return shape.m <= SOME_ROWS ? planSomeRows(shape) : planTiles(shape);
}

// ---- the host device ---------------------------------------------------------------------------

/** Rows of activations from which panels are worth it. */
const MANY_ROWS = 8;
/** Rows of weights that are multiplied together by fewer. */
const WEIGHT_ROWS = 4;
/** Products that are worth a block. */
const PER_BLOCK = 2 ** 22;

/** Loops over vectors. */
export function planLoops({ context, m, n, depth }: ProductShape, vectors: VectorSet): ProductPlan {
  let [rows, columns] = [m, 0];
  if (m < MANY_ROWS) {
    const wanted = PER_BLOCK / Math.max(1, depth * m);
    const shared = Math.ceil(n / (4 * context.info.multiprocessorCount));
    columns = Math.ceil(Math.max(1, Math.min(wanted, shared)) / WEIGHT_ROWS) * WEIGHT_ROWS;
  } else {
    ({ rows, columns } = tileOf({ m, n, k: depth, context, batch: [] }, PER_BLOCK));
  }
  return {
    size: { grid: Math.ceil(m / rows) * Math.ceil(n / columns), block: 1 },
    call: vectors,
    numbers: { columns, rows },
    code: {
      template: ternaryMatmulTemplate,
      vectors,
      constants: BYTE_TILE_CONSTANTS,
      body: `
  const i64 down = (m + rows - 1) / rows;
  const i64 top = blockIdx.x % down * rows;
  const i64 begin = blockIdx.x / down * columns;
  const i64 end = begin + columns < n ? begin + columns : n;
  ternary_tile<${MANY_ROWS}, ${WEIGHT_ROWS}>(${PRODUCT}, top, rows, begin, end, finish);`,
    },
  };
}

// ---- the call ----------------------------------------------------------------------------------

/** The operands of a product. */
export interface ProductOperands {
  readonly q: Tensor;
  readonly codes: Tensor;
  /** The scale of the weights, or one for each row; without it the result has the exact sums. */
  readonly scale: Tensor | undefined;
  /** The scales of the rows of activations. */
  readonly rowScale: Tensor | undefined;
  readonly bias: Tensor | undefined;
  readonly out: Tensor;
}

/** The C++ that scales a sum and stores it. */
function finishText({ scale, rowScale, bias, out }: ProductOperands): string {
  const factors = scale === undefined ? ["dot"] : [
    "static_cast<float>(dot)",
    ...(rowScale === undefined ? [] : ["row_scale[row]"]),
    scale.size === 1 ? "scale[0]" : "scale[column]",
  ];
  const value = factors.join(" * ") + (bias === undefined ? "" : " + bias[column]");
  return `out[row * n + column] = store<${cTypeOf(out.dtype)}>(${value});`;
}

/** The tensors that are there, by the names of pointers to their memory. */
function inputsOf({ q, codes, scale, rowScale, bias }: ProductOperands): Record<string, Tensor> {
  const inputs: Record<string, Tensor> = { q, codes };
  if (scale !== undefined) inputs.scale = scale;
  if (rowScale !== undefined) inputs.row_scale = rowScale;
  if (bias !== undefined) inputs.bias = bias;
  return inputs;
}

/** Runs the kernel of a plan on a stream. */
export function multiplyTernary(
  operands: ProductOperands,
  { m, n, depth }: ProductShape,
  { size, call, numbers, code }: ProductPlan,
  stream: Stream,
): void {
  const { q, codes, scale, rowScale, bias, out } = operands;
  const isPerRow = scale !== undefined && scale.size > 1;
  callKernel({
    action: "ternaryMatmul",
    // The types of the operands are added to it.
    key: `ternaryMatmul ${call} ${scale !== undefined} ${isPerRow} ${rowScale !== undefined} ${
      bias !== undefined
    }`,
    inputs: inputsOf(operands),
    results: { out },
    numbers: {
      q_offset: q.offset,
      codes_offset: codes.offset,
      scale_offset: scale?.offset ?? 0,
      row_scale_offset: rowScale?.offset ?? 0,
      bias_offset: bias?.offset ?? 0,
      ...{ m, n, depth },
      ...numbers,
    },
    code: () => ({
      ...code,
      body: [
        "  using namespace ternary_matmul;",
        ...Object.keys(inputsOf(operands)).map((name) => `  ${name} += ${name}_offset;`),
        "  const auto finish = [=](i64 row, i64 column, int dot) {",
        `    ${finishText(operands)}`,
        "  };",
        code.body,
      ].join("\n"),
    }),
    size,
  }, stream);
}
