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
  ternaryMmaStagedTemplate,
  ternaryMmaTemplate,
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

/** Columns of a chunk of `ternary_mma.cuh`, which four lanes load. */
const CHUNK = 4 * GROUP;
/** Warps of a block of CUDA threads, and rows of weights that one of them multiplies at once by dp4a. */
const WARPS = 8;
const WARP_WEIGHTS = 4;
const BLOCK = 32 * WARPS;
/** Blocks that share a multiprocessor. */
const BLOCKS = 2;

/** Constants of `csrc/kernels/ternary/ternary_matmul.cuh` and the headers that it includes. */
export const TERNARY_CONSTANTS = {
  GS_TERNARY_GROUP: GROUP,
  GS_TERNARY_CHUNK: CHUNK,
  GS_TERNARY_WARPS: WARPS,
  GS_TERNARY_WARP_WEIGHTS: WARP_WEIGHTS,
} as const;

const PRODUCT = "TernaryProduct{q, codes, m, n, depth}";
const MULTIPLY = multiplyText(["int8", "int8"]);

/** Shared memory of a block that leaves room for others on its multiprocessor. */
function sharedMemoryFor({ info }: DeviceContext): number {
  // CUDA takes 1 KiB of each block.
  const share = Math.floor(info.sharedMemoryPerMultiprocessor / BLOCKS) - 1024;
  return Math.min(info.sharedMemoryPerBlockOptIn, share);
}

// ---- dp4a --------------------------------------------------------------------------------------

/** CUDA threads: blocks loop over the rows of weights, so each reads its rows of activations once. */
export function planDp4a({ context, m, n, depth }: ProductShape): ProductPlan {
  const rows = m > 2 ? 4 : m;
  const columns = WARPS * WARP_WEIGHTS;
  const down = Math.ceil(m / rows);
  const groups = depth / GROUP;
  const bytes = rows * GROUP;
  const most = Math.floor(sharedMemoryFor(context) / bytes);
  const partGroups = Math.max(1, Math.min(groups, most));
  const useful = Math.ceil(context.info.multiprocessorCount * BLOCKS / down);
  return {
    size: {
      grid: down * Math.min(Math.ceil(n / columns), useful),
      block: BLOCK,
      sharedMemory: partGroups * bytes,
    },
    call: `rows_dp4a<${rows}>`,
    numbers: { down, part_groups: partGroups },
    code: {
      template: ternaryMatmulTemplate,
      launchBounds: [BLOCK, BLOCKS],
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
/** Instructions of 16 rows of few rows, for which weights take most of the time. */
const FEW_HIGH = 2;
/** Rows of weights of a warp are 8 times as many. */
const FEW_WIDE = 2;

/** A tile of a block of few rows, which are 16 · high. */
interface FewRowsTile {
  /** Warps that share the depth. */
  readonly kWarps: number;
  readonly columns: number;
  readonly grid: number;
}

/** The tiles of a number of rows, widest first. */
function tilesOf({ m, n, depth }: ProductShape, high: number, chunks: number): FewRowsTile[] {
  const all = [1, 2, 4, 8].filter((kWarps) => kWarps <= Math.min(chunks, Math.ceil(depth / CHUNK)));
  return (all.length === 0 ? [1] : all).map((kWarps) => {
    const columns = 8 * FEW_WIDE * WARPS / kWarps;
    return { kWarps, columns, grid: Math.ceil(m / (16 * high)) * Math.ceil(n / columns) };
  });
}

/** Chunks of rows that fit in a block's shared memory. */
const chunksFor = (context: DeviceContext, high: number) =>
  Math.floor(sharedMemoryFor(context) / (16 * high * CHUNK));

/** Tensor cores, for few rows: enough blocks read weights from most multiprocessors. */
function planFewRows(shape: ProductShape): ProductPlan {
  const { multiprocessorCount } = shape.context.info;
  const high = Math.max(1, Math.ceil(shape.m / 16));
  const rows = 16 * high;
  const most = chunksFor(shape.context, high);
  const tiles = tilesOf(shape, high, most);
  const { kWarps, columns, grid } =
    tiles.find((tile) => tile.grid >= multiprocessorCount * 3 / 4) ?? tiles.at(-1)!;
  const chunks = Math.ceil(shape.depth / CHUNK);
  // Warps that share the depth have equal numbers of chunks.
  const part = chunks <= most ? chunks : Math.max(1, most - most % kWarps);
  const sums = kWarps * rows * columns * Int32Array.BYTES_PER_ELEMENT;
  const call = `ternary_mma<Multiply, ${high}, ${FEW_WIDE}, ${kWarps}>`;
  return {
    size: {
      grid,
      block: BLOCK,
      sharedMemory: Math.max(part * rows * CHUNK, sums),
    },
    call,
    numbers: { part: part * CHUNK },
    code: {
      template: ternaryMmaTemplate,
      launchBounds: [BLOCK, BLOCKS],
      definitions: MULTIPLY,
      body: `  ${call}(${PRODUCT}, static_cast<int>(part), finish);`,
    },
  };
}

/** A tile of `ternary_mma_staged.cuh`: a warp has 16 · high rows and 8 · wide columns. */
interface StagedTile {
  readonly high: number;
  readonly wide: number;
  /** Warps above each other. */
  readonly down: number;
  /** Warps that share the depth. */
  readonly kWarps: number;
  readonly stages: number;
}

/** Tiles of many rows. */
const STAGED_TILES: readonly StagedTile[] = [
  ...[1, 2, 3, 4].map((wide) => ({ high: 4, wide, down: 1, kWarps: 2, stages: 5 })),
  { high: 2, wide: 5, down: 1, kWarps: 2, stages: 5 },
  { high: 4, wide: 5, down: 1, kWarps: 2, stages: 3 },
  { high: 4, wide: 5, down: 2, kWarps: 1, stages: 4 },
  { high: 4, wide: 8, down: 2, kWarps: 1, stages: 4 },
];

/**
 * What takes a multiprocessor time, measured on an H200: products in a cycle, bytes of shared memory in
 * a cycle, cycles for the start of a tile, and those for each of its results.
 */
const TIMES = { products: 1700, sharedBytes: 128, start: 5200, result: 0.09 } as const;

/** Rows, columns and blocks of a tile, and its shared memory. */
function extentsOf({ m, n }: ProductShape, { high, wide, down, kWarps, stages }: StagedTile) {
  const rows = 16 * high * down;
  const across = WARPS / down / kWarps;
  const columns = 8 * wide * across;
  const sums = kWarps * rows * (columns + 8) * Int32Array.BYTES_PER_ELEMENT;
  return {
    rows,
    columns,
    across,
    grid: Math.ceil(m / rows) * Math.ceil(n / columns),
    sharedMemory: Math.max(stages * (rows + columns / 4) * 2 * GROUP, sums),
  };
}

/** Predicted cycles of a product. */
function cyclesOf(shape: ProductShape, tile: StagedTile): number {
  const { rows, columns, across, grid } = extentsOf(shape, tile);
  const shared = (across * rows + tile.down * columns / 4) / TIMES.sharedBytes;
  const ofColumn = Math.max(rows * columns / TIMES.products, shared);
  const ofTile = TIMES.start + TIMES.result * rows * columns + shape.depth * ofColumn;
  return Math.ceil(grid / shape.context.info.multiprocessorCount) * ofTile;
}

/** The tile of the least time that fits. */
function stagedTileOf(shape: ProductShape): StagedTile {
  const { sharedMemoryPerBlock, sharedMemoryPerBlockOptIn } = shape.context.info;
  // CUDA takes 1 KiB of each block.
  const room = Math.max(sharedMemoryPerBlock, sharedMemoryPerBlockOptIn) - 1024;
  return STAGED_TILES.filter((tile) => extentsOf(shape, tile).sharedMemory <= room)
    .reduce((best, tile) => cyclesOf(shape, tile) < cyclesOf(shape, best) ? tile : best);
}

/** Tensor cores, for many rows. */
function planStaged(shape: ProductShape): ProductPlan {
  const tile = stagedTileOf(shape);
  const { high, wide, down, kWarps, stages } = tile;
  const { grid, sharedMemory } = extentsOf(shape, tile);
  const call = `ternary_mma_staged<Multiply, ${high}, ${wide}, ${down}, ${kWarps}, ${stages}>`;
  return {
    size: { grid, block: BLOCK, sharedMemory },
    call,
    numbers: {},
    code: {
      template: ternaryMmaStagedTemplate,
      launchBounds: [BLOCK, 1],
      definitions: MULTIPLY,
      body: `  ${call}(${PRODUCT}, finish);`,
    },
  };
}

/** Tensor cores. */
export const planMma = (shape: ProductShape): ProductPlan =>
  shape.m > 16 * FEW_HIGH ? planStaged(shape) : planFewRows(shape);

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
  // Loads of scales need not wait for stores of results.
  const factors = scale === undefined ? ["dot"] : [
    "static_cast<float>(dot)",
    ...(rowScale === undefined ? [] : ["__ldg(row_scale + row)"]),
    scale.size === 1 ? "__ldg(scale)" : "__ldg(scale + column)",
  ];
  const value = factors.join(" * ") + (bias === undefined ? "" : " + __ldg(bias + column)");
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
      constants: { ...code.constants, ...TERNARY_CONSTANTS },
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
