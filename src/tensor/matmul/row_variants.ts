/**
 * The variants of products of one row or column, or of few, which read the matrix once.
 *
 * @module
 */

import { bytesPerElement } from "../../memory/dtype.ts";
import { newTensor } from "../kit/kernel_call.ts";
import { denseStrides } from "../kit/layout.ts";
import { templates } from "../kit/expression/kernel_template.ts";
import type { Tensor } from "../tensor.ts";
import { layoutOf, type OwnPlan, planOf, run, transposed } from "./own_variants.ts";
import type { MatmulProblem } from "./problem.ts";
import type { MatmulVariant } from "./variants.ts";

/** Elements that a block of the block form reads. */
const READ_PER_BLOCK = 2 ** 15;
/** Columns of a block of the block form whose sums stay in a first-level cache. */
const MAX_COLUMNS = 2048;

/** The threads of a block, and the warps. */
const [THREADS, WARPS] = [256, 8] as const;
/** Rows that are fewer than a tile of other variants has. */
const MAX_ROWS = 16;
/** Elements of a part along k, whose sum has a block of its own. */
const DEPTH = 4096;
/** Bytes that are loaded at once. */
const PACKET_BYTES = 16;
/** The sums of a thread, which are in registers. */
const MAX_SUMS = 32;
/** Blocks for about all multiprocessors of a large GPU, of which each then reads whole lines of the cache. */
const MANY_BLOCKS = 128;
/** Shared memory for the left operand, of which a multiprocessor has some for several blocks. */
const LEFT_BYTES = 2 ** 15;

const ceil = (value: number, divisor: number) => Math.ceil(value / divisor);

/** The launch of the CUDA form, and the call of its function. */
interface RowPlan extends OwnPlan {
  readonly call: string;
  /** Parts along k. */
  readonly parts: number;
  readonly launchBounds: readonly [threads: number, blocks: number];
  /** Whether blocks read whole lines of the cache. */
  readonly isWide: boolean;
}

/** The product whose rows are few: the given one, or the transposed one. */
const withFewRows = (problem: MatmulProblem): MatmulProblem =>
  problem.m <= problem.n ? problem : transposed(problem);

function planThreads({ m, n, k, b, sums, batch, work }: MatmulProblem): RowPlan {
  const size = bytesPerElement(b.dtype);
  const layout = layoutOf(b, [b.row, k], [b.column, n], b.dtype);
  const isAlong = layout === "any" ? b.row === 1 : layout === "along";
  const whole = PACKET_BYTES / size;
  const width = layout !== "any" && (isAlong ? k : n) % whole === 0 ? whole : 1;
  const loads = width === 1 ? 16 : 8;
  const left = 32 * width * loads * bytesPerElement(sums);
  const most = Math.min(8, MAX_SUMS / width, isAlong ? LEFT_BYTES / left : 8);
  const rows = [1, 2, 4, 8].find((it) => it >= Math.min(m, most))!;
  // Half a line of the cache, so that the columns of small matrices suffice for all multiprocessors.
  const fewLanes = width === 1 ? 16 : Math.min(4, 2 * size);
  const isWide = b.dtype === "float32" && !isAlong && width > 1 &&
    ceil(n, 2 * fewLanes * width) * ceil(m, rows) >= MANY_BLOCKS;
  const lanes = isWide ? 2 * fewLanes : fewLanes;
  // A multiprocessor has one block then, whose threads load as much as those of two.
  const inFlight = isWide && rows === 1 ? 2 * loads : loads;
  const columns = isAlong ? WARPS : lanes * width;
  const parts = Math.max(1, ceil(k, DEPTH));
  const plan = planOf({ batch, work }, [m, n], [rows, columns], THREADS);
  const name = isAlong ? "along" : "across";
  const parameters = [rows, width, ...(isAlong ? [] : [lanes]), inFlight, DEPTH];
  return {
    ...plan,
    tiles: plan.tiles * parts,
    grid: plan.grid * parts,
    call: `matmul_rows_${name}<${parameters.join(", ")}>(product, finish, tile, down);`,
    parts,
    isWide,
    // With fewer registers, loads would wait for products.
    launchBounds: [THREADS, rows === 1 && size > 1 && !isWide ? 3 : 2],
  };
}

/** Rows of float32 that cuBLASLt multiplies no faster on an H200, whatever the matrix is. */
const FASTER_ROWS = 4;

/** Whether `rows` was measured to be faster than cuBLASLt: few rows of float32, or a wide result. */
export function isFasterByRows(problem: MatmulProblem): boolean {
  const few = withFewRows(problem);
  const { m, a, b, sums, mode, work } = few;
  const isFloat32 = [a.dtype, b.dtype, sums].every((it) => it === "float32") &&
    (mode === "auto" || mode === "fp32");
  if (work.form === "block" || !isFloat32 || m > MAX_ROWS) return false;
  return m <= FASTER_ROWS || (m > MAX_ROWS / 2 && planThreads(few).isWide);
}

function launchThreads(problem: MatmulProblem, result: Tensor): void {
  const { m, n, batch, sums, context, stream } = problem;
  const { call, parts, launchBounds, isWide: _wide, ...plan } = planThreads(problem);
  const own = { template: templates.matmul, launchBounds };
  if (parts === 1) return run(problem, result, call, plan, own);
  // The sums of each part, which are finished as they are added up.
  const shape = [...batch, parts, m, n];
  using partial = newTensor(context, sums, shape, stream);
  const layout = {
    dtype: sums,
    offset: 0,
    row: n,
    column: 1,
    batch: denseStrides(shape).slice(0, batch.length),
  };
  const { bias: _, residual: _none, ...product } = problem;
  const sum = {
    ...product,
    ...{ bias: undefined, residual: undefined, scale: undefined, activation: undefined },
    result: layout,
  };
  run(sum, partial, call, plan, own);
  run(
    { ...problem, a: { ...layout, tensor: partial }, b: undefined, k: parts },
    result,
    "add_parts<Sum>(a, k, m, n, finish, tile);",
    planOf(problem, [1, m * n], [1, THREADS], THREADS),
  );
}

const planLoops = (problem: MatmulProblem): OwnPlan => {
  const { m, n, k, batch, context } = problem;
  const extent = Math.max(m, n);
  const products = batch.reduce((product, size) => product * size, 1);
  const wanted = Math.min(2 * context.info.multiprocessorCount, extent * k / READ_PER_BLOCK);
  const columns = Math.ceil(extent / Math.max(1, Math.ceil(wanted / products)) / 16) * 16;
  return planOf(problem, [1, extent], [1, Math.min(columns, MAX_COLUMNS)]);
};

const planRows = (problem: MatmulProblem): OwnPlan =>
  problem.work.form === "block" ? planLoops(problem) : planThreads(withFewRows(problem));

function launchRows(problem: MatmulProblem, result: Tensor): void {
  const own = withFewRows(problem);
  if (problem.work.form === "threads") return launchThreads(own, result);
  const call = `matmul_vector<${MAX_COLUMNS}>(product, finish, tile, tile_n);`;
  run(own, result, call, planLoops(problem));
}

/** One row or one column: the matrix is read once. */
export const VECTOR: MatmulVariant = {
  name: "vector",
  supports: ({ m, n }) => ({
    supported: m === 1 || n === 1,
    reason: m === 1 || n === 1
      ? "with one row or column, the matrix is read once"
      : `it needs one row or column, and the result has ${m} and ${n}`,
  }),
  plan: planRows,
  launch: launchRows,
};

/** Few rows or columns: the matrix is read once for some of them. */
export const ROWS: MatmulVariant = {
  name: "rows",
  supports({ m, n, work }) {
    if (work.form === "block") {
      return { supported: false, reason: "it has CUDA threads" };
    }
    const supported = Math.min(m, n) <= MAX_ROWS;
    return {
      supported,
      reason: supported
        ? `with at most ${MAX_ROWS} rows or columns, memory is read as for one`
        : `it needs at most ${MAX_ROWS} rows or columns, and the result has ${m} and ${n}`,
    };
  },
  plan: planRows,
  launch: launchRows,
};
