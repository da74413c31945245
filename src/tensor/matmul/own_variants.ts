/**
 * The variants of matrix products that `matmul.cuh` implements, for all element types and strides.
 *
 * @module
 */

import { type KernelTemplate, templates } from "../kit/expression/kernel_template.ts";
import { bytesPerElement, cTypeOf, type DType, isFloatDType } from "../../memory/dtype.ts";
import {
  castNode,
  dtypesIn,
  type ExpressionNode,
  ExpressionWriter,
  storeText,
} from "../kit/expression/node.ts";
import { valueType } from "../kit/expression/operations.ts";
import { callKernel, type KernelCode, type LaunchSize } from "../kit/kernel_call.ts";
import { strideClass } from "../kit/layout.ts";
import { roundedNode } from "../kit/precision.ts";
import { storageOf, type Tensor } from "../tensor.ts";
import {
  epilogueOf,
  type MatmulProblem,
  type MatrixLayout,
  type MatrixOperand,
  scaleType,
} from "./problem.ts";
import type { MatmulVariant } from "./variants.ts";

/** The largest tile of a block in the block form, and that of 8-bit integers. */
const TILE = { rows: 336, columns: 256 } as const;
const BYTE_TILE = { rows: TILE.rows, columns: 512 } as const;
/** Constants of `byte_panels.cuh`. */
export const BYTE_TILE_CONSTANTS = {
  GS_BYTE_TILE_ROWS: BYTE_TILE.rows,
  GS_BYTE_TILE_COLUMNS: BYTE_TILE.columns,
} as const;
/** A multiple of the rows of a panel with all vectors, and of its columns. */
const STEP = { rows: 14, columns: 32 } as const;
/** A tile of CUDA threads without tensor cores. */
const SIMT_TILE = { rows: 64, columns: 64 } as const;
const THREADS = 256;
/** Multiplications that are worth another block. */
const PER_BLOCK = 2 ** 19;
const INT8_PER_BLOCK = 2 ** 22;
/** The time to pack an element, in that of a vector of products. */
const PACKING = 6;

/** A problem, or sums that are only finished: they are the left operand of none. */
type OwnProblem = Omit<MatmulProblem, "b"> & { readonly b: MatrixOperand | undefined };

/** The layouts in the order of the kernel's parameters, by their names in the kernel. */
function matricesOf(problem: OwnProblem): [string, MatrixLayout][] {
  const { a, b, bias, residual, result } = problem;
  return Object.entries({ a, b, bias, residual, out: result })
    .filter((entry): entry is [string, MatrixLayout] => entry[1] !== undefined);
}

/**
 * Rows and columns of the blocks' tiles, balanced between the processor's cores.
 *
 * @param perBlock Multiplications that are worth another block.
 * @param maxColumns Columns of the largest tile.
 */
export function tileOf(
  { m, n, k, context, batch }: Pick<MatmulProblem, "m" | "n" | "k" | "context" | "batch">,
  perBlock: number = PER_BLOCK,
  maxColumns: number = TILE.columns,
): { readonly rows: number; readonly columns: number } {
  const cores = context.info.multiprocessorCount;
  const products = batch.reduce((product, extent) => product * extent, 1);
  const most = Math.max(1, Math.ceil(m * n * k * products / perBlock));
  const split = (extent: number, parts: number, step: number) =>
    Math.ceil(Math.ceil(extent / parts) / step) * step;
  // Some tens of candidates on every processor.
  const stride = Math.ceil(cores / 8);
  let best = { cost: Infinity, rows: 0, columns: 0 };
  const least = { down: Math.ceil(m / TILE.rows), across: Math.ceil(n / maxColumns) };
  for (let down = least.down; down <= least.down + cores; down += stride) {
    for (let across = least.across; across <= least.across + cores; across += stride) {
      const rows = split(m, down, STEP.rows);
      const columns = split(n, across, STEP.columns);
      if (rows > TILE.rows || columns > maxColumns) continue;
      const blocks = Math.ceil(m / rows) * Math.ceil(n / columns) * products;
      const isFine = blocks <= most || (down === least.down && across === least.across);
      if (!isFine) continue;
      // Vectors of 16 products, and elements to pack.
      const cost = Math.ceil(blocks / cores) *
        (rows * columns / 16 + PACKING * (rows + columns) / 4);
      if (cost < best.cost) best = { cost, rows, columns };
    }
  }
  return best;
}

/** How the elements of an operand lie: `row` is the stride across k, `column` that along k. */
export function layoutOf(
  { dtype, offset, batch, tensor }: MatrixOperand,
  [along, extent]: readonly [number, number],
  [across, rows]: readonly [number, number],
  stored: DType,
): "along" | "across" | "any" {
  const size = bytesPerElement(dtype);
  const isAligned = (stride: number) => stride * size % 16 === 0;
  const isPlaced = isAligned(storageOf(tensor).buffer.address / size + offset) &&
    batch.every(isAligned);
  if (dtype !== stored || !isPlaced) return "any";
  if (along === 1 && (rows === 1 || isAligned(across))) return "along";
  return across === 1 && (extent === 1 || isAligned(along)) ? "across" : "any";
}

/** The C++ of a conversion of an operand's elements to the type of the sums. */
function convertText(name: string, dtype: DType, problem: OwnProblem): string {
  const { mode, sums } = problem;
  const input: ExpressionNode = { kind: "input", index: 0, dtype };
  const isRounded = sums === "float32" && !dtype.startsWith("float8");
  const node = isRounded ? roundedNode(input, mode) : castNode(input, sums);
  const writer = new ExpressionWriter(() => "element");
  const value = writer.value(node);
  const type = sumsType(sums);
  return [
    `struct ${name} {`,
    `  using Element = ${cTypeOf(dtype)};`,
    `  __device__ __forceinline__ ${type} operator()(Element element) const {`,
    ...writer.lines.map((line) => `    ${line}`),
    `    return static_cast<${type}>(${value});`,
    "  }",
    "};",
  ].join("\n");
}

/** Integers wrap, so they are added up without a sign. */
function sumsType(sums: DType): string {
  if (isFloatDType(sums)) return valueType(sums);
  return bytesPerElement(sums) === 8 ? "unsigned long long" : "unsigned int";
}

/** The matrices that the product reads. */
const OPERANDS: readonly string[] = ["a", "b"];

/** The matrices that the epilogue reads and writes, and the C++ of it. */
function finishText(problem: OwnProblem): { text: string; names: string[] } {
  const { sums, scale } = problem;
  const own = matricesOf(problem).filter(([name]) => !OPERANDS.includes(name));
  const place = (name: string, layout: MatrixLayout) => {
    const kind = strideClass(layout.column);
    const inner = kind === "0" ? "" : kind === "1" ? " + n" : ` + n * ${name}_n`;
    return `${name}[m * ${name}_m${inner}]`;
  };
  const texts = new Map(own.map(([name, layout]) => [name, place(name, layout)]));
  const writer = new ExpressionWriter((index) => texts.get(index === 0 ? "bias" : "residual")!);
  const value = writer.value(epilogueOf(problem));
  const members = [
    ...own.map(([name, { dtype }]) =>
      `${name === "out" ? "" : "const "}${cTypeOf(dtype)}* ${name}`
    ),
    ...own.flatMap(([name]) => [`long long ${name}_m`, `long long ${name}_n`]),
    ...(scale === undefined ? [] : [`${valueType(scaleType(problem))} c0`]),
  ];
  return {
    text: [
      "struct Finish {",
      ...members.map((member) => `  ${member};`),
      `  __device__ __forceinline__ void operator()(i64 m, i64 n, ${sumsType(sums)} total) const {`,
      `    const auto sum = static_cast<${valueType(sums)}>(total);`,
      ...writer.lines.map((line) => `    ${line}`),
      `    ${storeText(texts.get("out")!, value, problem.result.dtype)}`,
      "  }",
      "};",
    ].join("\n"),
    names: members.map((member) => member.split(" ").at(-1)!),
  };
}

/** A template with a function for products, and what it needs besides the operands' conversions. */
interface OwnTemplate
  extends Pick<KernelCode, "template" | "constants" | "launchBounds" | "definitions"> {
  readonly template: KernelTemplate;
}

/** The C++ of the kernel of a problem. */
function codeOf(problem: OwnProblem, call: string, own: OwnTemplate): KernelCode {
  const { sums, batch, a, b } = problem;
  const matrices = matricesOf(problem);
  const { text, names } = finishText(problem);
  const type = sumsType(sums);
  return {
    template: own.template,
    constants: own.constants ?? {},
    ...(own.launchBounds === undefined ? {} : { launchBounds: own.launchBounds }),
    dtypes: [
      ...dtypesIn(epilogueOf(problem)),
      ...(problem.mode === "fp8" ? ["float8_e4m3" as const] : []),
      ...(problem.mode === "fp16" ? ["float16" as const] : []),
      ...(problem.mode === "bf16" ? ["bfloat16" as const] : []),
    ],
    definitions: [
      ...(b === undefined
        ? []
        : [convertText("Left", a.dtype, problem), convertText("Right", b.dtype, problem)]),
      own.definitions ?? "",
      text,
    ].join("\n"),
    body: [
      "  using namespace matmul;",
      ...(batch.length === 0
        ? ["  const i64 tile = blockIdx.x;"]
        : ["  const i64 tile = blockIdx.x % tiles;", "  i64 rest = blockIdx.x / tiles;"]),
      ...matrices.map(([name]) => `  ${name} += ${name}_offset;`),
      ...batch.map((_, axis) => axis).reverse().flatMap((axis) => [
        ...matrices.map(([name]) => `  ${name} += rest % d${axis} * ${name}_${axis};`),
        `  rest /= d${axis};`,
      ]),
      ...(b === undefined ? [`  using Sum = ${type};`] : [
        `  const Product<${type}, Left, Right> product{a, b, m, n, k, a_m, a_n, b_m, b_n};`,
      ]),
      `  const Finish finish{${names.join(", ")}};`,
      `  ${call}`,
    ].join("\n"),
  };
}

/** The launch of a kernel of `matmul.cuh` or `matmul_mma.cuh`. */
export interface OwnPlan extends LaunchSize {
  readonly tileRows: number;
  readonly tileColumns: number;
  readonly down: number;
  readonly tiles: number;
}

/** The launch for tiles of m rows and n columns. */
export function planOf(
  { batch, work }: Pick<MatmulProblem, "batch" | "work">,
  [m, n]: readonly [number, number],
  [tileRows, tileColumns]: readonly [number, number],
  block: number = work.form === "block" ? 1 : THREADS,
): OwnPlan {
  const down = Math.ceil(m / tileRows);
  const tiles = down * Math.ceil(n / tileColumns);
  const grid = batch.reduce((product, extent) => product * extent, tiles);
  return { grid, block, tileRows, tileColumns, down, tiles };
}

/** What tells the code of a problem from that of others with the same parameters. */
function keyOf(problem: OwnProblem, call: string): string {
  const { sums, mode, activation, batch } = problem;
  // The operands of the product have any strides.
  const epilogue = matricesOf(problem).filter(([name]) => !OPERANDS.includes(name))
    .map(([name, { column }]) => `${name} ${strideClass(column)}`);
  return `${call} ${epilogue} ${sums} ${mode} ${activation} ${batch.length}`;
}

/** Enqueues the kernel that calls a function of a template. */
export function run(
  problem: OwnProblem,
  result: Tensor,
  call: string,
  plan: OwnPlan,
  own: OwnTemplate = { template: templates.matmul },
): void {
  const { a, b, bias, residual, stream, m, n, k, batch, scale } = problem;
  const numbers: Record<string, number> = {};
  const matrices = matricesOf(problem);
  for (const [name, { offset, row, column }] of matrices) {
    numbers[`${name}_offset`] = offset;
    numbers[`${name}_m`] = row;
    numbers[`${name}_n`] = column;
  }
  Object.assign(numbers, { m, n, k, tile_m: plan.tileRows, tile_n: plan.tileColumns });
  Object.assign(numbers, { down: plan.down, tiles: plan.tiles });
  batch.forEach((extent, axis) => {
    numbers[`d${axis}`] = extent;
    for (const [name, layout] of matrices) numbers[`${name}_${axis}`] = layout.batch[axis]!;
  });
  callKernel({
    action: "matmul",
    key: keyOf(problem, call),
    inputs: {
      a: a.tensor,
      ...(b === undefined ? {} : { b: b.tensor }),
      ...(bias === undefined ? {} : { bias: bias.tensor }),
      ...(residual === undefined ? {} : { residual: residual.tensor }),
    },
    results: { out: result },
    scalars: scale === undefined ? {} : { c0: { dtype: scaleType(problem), value: scale } },
    numbers,
    code: () => codeOf(problem, call, own),
    size: plan,
  }, stream);
}

/** The call of a function for tiles of at most the given rows and columns. */
const tilesCall = ({ rows, columns }: { readonly rows: number; readonly columns: number }) =>
  `matmul_tile<${rows}, ${columns}>(product, finish, tile, down, tile_m, tile_n);`;

const planPacked = (problem: MatmulProblem, perBlock?: number, maxColumns?: number): OwnPlan => {
  const { rows, columns } = tileOf(problem, perBlock, maxColumns);
  return planOf(problem, [problem.m, problem.n], [rows, columns]);
};

/** Packed panels in registers, in the block form. */
export const PACKED: MatmulVariant = {
  name: "packed",
  supports: ({ work }) => ({
    supported: work.form === "block",
    reason: work.form === "block"
      ? "panels of both matrices are packed and multiplied in registers"
      : "it runs on a host device",
  }),
  plan: (problem) => planPacked(problem),
  launch: (problem, result) => run(problem, result, tilesCall(TILE), planPacked(problem)),
};

const planInt8 = (problem: MatmulProblem): OwnPlan =>
  planPacked(problem, INT8_PER_BLOCK, BYTE_TILE.columns);

/** Packed panels of 8-bit integers, in the block form. */
export const INT8: MatmulVariant = {
  name: "int8",
  supports({ work, a, b, sums }) {
    const supported = work.form === "block" && a.dtype === "int8" && b.dtype === "int8" &&
      sums === "int32";
    return {
      supported,
      reason: supported
        ? "panels of 8-bit integers are multiplied in registers"
        : "it multiplies int8 by int8 on a host device, with 32-bit sums",
    };
  },
  plan: planInt8,
  launch: (problem, result) =>
    run(
      problem,
      result,
      "matmul_int8(product, finish, tile, down, tile_m, tile_n);",
      planInt8(problem),
      { template: templates.matmulInt8, constants: BYTE_TILE_CONSTANTS },
    ),
};

const planSimt = (problem: MatmulProblem): OwnPlan =>
  planOf(problem, [problem.m, problem.n], [SIMT_TILE.rows, SIMT_TILE.columns]);

/** CUDA threads without tensor cores. */
export const SIMT: MatmulVariant = {
  name: "simt",
  supports: ({ work }) => ({
    supported: work.form === "threads",
    reason: work.form === "threads"
      ? "CUDA threads multiply tiles in shared memory"
      : "it has CUDA threads, and the host device runs vectorised loops",
  }),
  plan: planSimt,
  launch: (problem, result) => run(problem, result, tilesCall(SIMT_TILE), planSimt(problem)),
};

/** The same product of transposed matrices. */
export function transposed(problem: MatmulProblem): MatmulProblem {
  const { m, n, a, b, bias, residual, result } = problem;
  const flip = <Layout extends MatrixLayout>(it: Layout): Layout => ({
    ...it,
    row: it.column,
    column: it.row,
  });
  return {
    ...problem,
    ...{ m: n, n: m, a: flip(b), b: flip(a), result: flip(result) },
    bias: bias && flip(bias),
    residual: residual && flip(residual),
  };
}
