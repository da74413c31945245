/**
 * Programs over rows and columns: reductions, and operations that need reductions of the same row.
 *
 * @module
 */

import { BLOCK, ENOUGH_JOBS, MAX_PARTS, partsOf, segmentsOf } from "../kernels/row_plan.ts";
import { streamFor } from "../memory/buffer_copy.ts";
import { bytesPerElement, type DType } from "../memory/dtype.ts";
import { DeviceWork } from "./kit/device_work.ts";
import { withDense } from "./elementwise_kernel.ts";
import { commonContext, type TensorOptions } from "./kit/checks.ts";
import {
  callKernel,
  countParameters,
  MAX_PARAMETERS,
  newTensor,
  numbered,
  requireParameters,
  type Scalar,
} from "./kit/kernel_call.ts";
import {
  addSpace,
  broadcastStrides,
  mergeDimensions,
  type Shape,
  sizeOf,
  type Space,
  strideClass,
} from "./kit/layout.ts";
import { refuseCapture } from "./kit/operation/reports.ts";
import {
  columnLoopsCode,
  type ColumnShare,
  columnShareOf,
  columnThreadsCode,
} from "./column_kernel.ts";
import {
  type OperandLayout,
  partLength,
  rowLoopsCode,
  rowThreadsCode,
  shareOf,
  UNALIGNED,
} from "./row_kernel.ts";
import {
  isSplittable,
  keyOfProgram,
  mergedNode,
  mergedType,
  mergingProgram,
  partialProgram,
  type RowProgram,
  type RowStage,
} from "./row_program.ts";
import { operationStream } from "./kit/storage.ts";
import { storageOf, type Tensor } from "./tensor.ts";

/** Elements of a block of short rows, in the block form. */
const JOB = 32768;
/** Columns of a tile of the block form. */
const TILE = 512;
/** Parts that CUDA threads make of columns, and the steps of a thread in each. */
const MAX_COLUMN_PARTS = 256;
const MIN_COLUMN_STEPS = 4;

/** The strides of operands in a space of rows, with the last dimension along the row. */
function rowSpace(
  tensors: readonly Tensor[],
  shape: Shape,
  rowRank: number,
): { readonly outer: Space; readonly inner: Space } {
  const all = tensors.map((tensor) => broadcastStrides(tensor, shape));
  const split = shape.length - rowRank;
  return {
    outer: mergeDimensions(shape.slice(0, split), all.map((own) => own.slice(0, split))),
    inner: mergeDimensions(shape.slice(split), all.map((own) => own.slice(split))),
  };
}

/**
 * The classes of the operands' innermost strides for CUDA threads, which tell packets that do not
 * begin at multiples of their size.
 */
function classesOf(
  { kinds }: OperandLayout,
  tensors: readonly Tensor[],
  outerStrides: (operand: number) => readonly number[],
  size: number,
): string {
  const isAligned = (tensor: Tensor, strides: readonly number[]) => {
    const bytes = bytesPerElement(tensor.dtype);
    const word = Math.min(16, size * bytes);
    const { address } = storageOf(tensor).buffer;
    return [address / bytes, tensor.offset, ...strides].every((it) => it * bytes % word === 0);
  };
  return tensors.map((it, k) =>
    kinds[k] === "1" && !isAligned(it, outerStrides(k)) ? UNALIGNED : kinds[k]
  ).join("");
}

/** A program over rows, and what it runs on. */
export interface RowsCall {
  readonly action: string;
  readonly program: RowProgram;
  /** The expressions' inputs, in order. */
  readonly tensors: readonly Tensor[];
  /** The expressions' numbers, in order. */
  readonly scalars?: readonly Scalar[];
  /** The common shape of the operands. */
  readonly shape: Shape;
  /** The number of trailing dimensions that form a row. */
  readonly rowRank: number;
}

/**
 * Runs a program over the rows of broadcast operands.
 *
 * @returns The tensors of the program's elements, then those of its results.
 */
export function runRows(call: RowsCall, options: TensorOptions = {}): Tensor[] {
  const { action, program, tensors, scalars = [], shape, rowRank } = call;
  // Before the results take memory.
  if (program.pick !== undefined) refuseCapture(action);
  const context = commonContext(action, tensors);
  // A kernel that reports wrong values runs on the default stream, on which reports are read.
  const stream = program.pick === undefined
    ? operationStream(context, options.stream, tensors.map(storageOf))
    : streamFor(context, options.stream);
  const work = DeviceWork.of(context);
  const { outer, inner } = rowSpace(tensors, shape, rowRank);
  const outerShape = shape.slice(0, shape.length - rowRank);
  const width = sizeOf(shape.slice(shape.length - rowRank));
  const rows = sizeOf(outerShape);
  const kinds = inner.strides.map(([stride]) => strideClass(width === 1 ? 1 : stride!)).join("");
  const rank = outer.shape.length;
  const [only] = program.stages;
  const { segments, length } = isSplittable(program) && program.results.length === 1
    ? partsOf(rows, width, work.form)
    : { segments: 1, length: width };
  const partial: RowProgram = segments === 1 ? program : partialProgram(only!);
  const plain: OperandLayout = { dtypes: tensors.map(({ dtype }) => dtype), rank, kinds };
  // A small part of a GPU may have fewer multiprocessors than a cluster has blocks.
  const maxCluster = context.info.clusterLaunch ? context.info.multiprocessorCount : 1;
  const share = work.form === "block"
    ? undefined
    : shareOf(partial, plain, { rows, width, length, maxCluster });
  const parts = share === undefined ? 1 : share.parts;
  const layout = share === undefined
    ? plain
    : { ...plain, kinds: classesOf(plain, tensors, (k) => outer.strides[k]!, share.size) };
  const jobs = rows * segments;
  const block = share === undefined ? 1 : Math.max(BLOCK, share.threads);
  const perBlock = share !== undefined
    ? block / share.threads
    : Math.max(1, Math.min(Math.ceil(JOB / Math.max(1, length)), Math.ceil(jobs / 4)));
  const numbers: Record<string, number> = numbered("o", tensors.map(({ offset }) => offset));
  inner.strides.forEach(([stride], k) => {
    if (kinds[k] === "s") numbers[`t${k}`] = stride!;
  });
  const ofPart = parts === 1 ? length : partLength(length, parts, share!.size);
  Object.assign(numbers, { rows, width, length: ofPart, segments, per_block: perBlock });
  addSpace(numbers, outer);
  const parameters = {
    inputs: numbered("x", tensors),
    scalars: numbered("c", scalars),
    numbers,
    error: program.pick?.error,
  };
  const outputs = [...partial.elements, ...partial.results];
  const isReducible = rank > 1 || kinds.includes("s");
  const hasTooMany = countParameters(parameters) + outputs.length > MAX_PARAMETERS;
  // The operands' rows do not have a common stride, or need too many parameters.
  if (inner.shape.length > 1 || (hasTooMany && isReducible)) {
    const run = (copies: readonly Tensor[]) => runRows({ ...call, tensors: copies }, options);
    return withDense(action, tensors, shape, stream, run);
  }
  requireParameters(action, parameters, outputs.length);
  const resultShape = segments === 1 ? outerShape : [...outerShape, segments];
  const made = outputs.map(({ dtype }, k) =>
    newTensor(context, dtype, k < partial.elements.length ? shape : resultShape, stream)
  );
  if (rows === 0) return made;
  callKernel({
    ...parameters,
    results: numbered("y", made),
    action,
    key: `rows ${keyOfProgram(partial)} ${rank} ${layout.kinds} ${
      share === undefined ? "" : Object.values(share)
    }`,
    code: () =>
      share === undefined ? rowLoopsCode(partial, layout) : rowThreadsCode(partial, layout, share),
    size: share?.isCluster ? { grid: rows * parts, block, cluster: parts } : {
      grid: Math.min(Math.ceil(jobs / perBlock), work.form === "block" ? Infinity : 2 ** 20),
      block,
    },
  }, stream);
  if (segments === 1) return made;
  const [result] = program.results;
  const merging = mergingProgram(only!, result!, width);
  const [merged] = runRows({
    action,
    ...merging,
    tensors: made,
    shape: [...outerShape, segments],
    rowRank: 1,
  }, { stream });
  for (const output of made) output.dispose();
  return [merged!];
}

/** The tiles of columns, and the parts of their rows. */
function tilesOf(
  outer: number,
  width: number,
  columns: number,
  share: ColumnShare | undefined,
): { readonly tiles: number; readonly segments: number } {
  if (share === undefined) {
    const tiles = Math.ceil(columns / TILE);
    return { tiles, segments: segmentsOf(outer * tiles, width, Math.min(columns, TILE)) };
  }
  const { size, rows, lanes } = share;
  const tiles = Math.ceil(columns / (lanes * size));
  const jobs = outer * tiles;
  if (jobs >= ENOUGH_JOBS) return { tiles, segments: 1 };
  const step = rows * BLOCK / lanes;
  const most = Math.min(MAX_COLUMN_PARTS, MAX_PARTS / Math.max(1, jobs));
  const useful = Math.min(most, width / (MIN_COLUMN_STEPS * step));
  return { tiles, segments: Math.max(1, Math.floor(useful)) };
}

/** A reduction of columns, and what it runs on. */
export interface ColumnsCall {
  readonly action: string;
  readonly stage: RowStage;
  /** The element type of the result. */
  readonly dtype: DType;
  /** The expressions' inputs, in order. */
  readonly tensors: readonly Tensor[];
  /** The expressions' numbers, in order. */
  readonly scalars?: readonly Scalar[];
  /** The common shape of the operands. */
  readonly shape: Shape;
  /** The numbers of dimensions of the outer and the reduced part. */
  readonly split: readonly [number, number];
}

/** Reduces the middle of a shape in three parts, the last of which runs along memory. */
export function runColumns(call: ColumnsCall, options: TensorOptions = {}): Tensor {
  const { action, stage, dtype, tensors, scalars = [], shape, split } = call;
  const context = commonContext(action, tensors);
  const stream = operationStream(context, options.stream, tensors.map(storageOf));
  const work = DeviceWork.of(context);
  const bounds = [0, split[0], split[0] + split[1], shape.length];
  const all = tensors.map((tensor) => broadcastStrides(tensor, shape));
  const parts = [0, 1, 2].map((part) =>
    mergeDimensions(
      shape.slice(bounds[part], bounds[part + 1]),
      all.map((own) => own.slice(bounds[part], bounds[part + 1])),
    )
  );
  const rank = parts[0]!.shape.length;
  const [outer, width, columns] = [0, 1, 2].map((part) =>
    sizeOf(shape.slice(bounds[part], bounds[part + 1]))
  ) as [number, number, number];
  const kinds = parts[2]!.strides.map(([stride]) => strideClass(stride!)).join("");
  const layout: OperandLayout = { dtypes: tensors.map(({ dtype }) => dtype), rank, kinds };
  const share = work.form === "block" ? undefined : columnShareOf(stage, layout, width, columns);
  const { tiles, segments } = tilesOf(outer, width, columns, share);
  const numbers: Record<string, number> = numbered("o", tensors.map(({ offset }) => offset));
  for (const k of tensors.keys()) {
    numbers[`r${k}`] = parts[1]!.strides[k]![0]!;
    numbers[`t${k}`] = parts[2]!.strides[k]![0]!;
  }
  const length = Math.ceil(width / segments);
  Object.assign(numbers, { width, columns, tiles, length, segments });
  if (share !== undefined) numbers.lanes = share.lanes;
  addSpace(numbers, parts[0]!);
  const parameters = { inputs: numbered("x", tensors), scalars: numbered("c", scalars), numbers };
  const hasTooMany = countParameters(parameters) + 1 > MAX_PARAMETERS;
  if (parts.slice(1).some((part) => part.shape.length > 1) || (hasTooMany && rank > 1)) {
    const run = (copies: readonly Tensor[]) => runColumns({ ...call, tensors: copies }, options);
    return withDense(action, tensors, shape, stream, run);
  }
  requireParameters(action, parameters, 1);
  const kept = [...shape.slice(0, split[0]), ...shape.slice(bounds[2])];
  const { finish: _, ...unfinished } = stage;
  const own = segments === 1 ? stage : unfinished;
  const type = segments === 1 ? dtype : mergedType(stage.reducer, stage.value.dtype);
  const partShape = [...shape.slice(0, split[0]), segments, ...shape.slice(bounds[2])];
  const result = newTensor(context, type, segments === 1 ? kept : partShape, stream);
  if (sizeOf(kept) === 0) return result;
  const program = { stages: [own], elements: [], results: [] };
  const classes = share === undefined ? kinds : classesOf(
    layout,
    tensors,
    (k) => [...parts[0]!.strides[k]!, parts[1]!.strides[k]![0]!],
    share.size,
  );
  callKernel({
    ...parameters,
    results: { y: result },
    action,
    key: `columns ${keyOfProgram(program)} ${classes} ${rank} ${share?.size} ${share?.rows}`,
    code: () =>
      share === undefined
        ? columnLoopsCode(own, type, layout, TILE)
        : columnThreadsCode(own, type, { ...layout, kinds: classes }, share),
    size: { grid: outer * tiles * segments, block: work.form === "block" ? 1 : BLOCK },
  }, stream);
  if (segments === 1) return result;
  const { reducer, value } = stage;
  const merging = mergingProgram(stage, { value: mergedNode(reducer, value.dtype), dtype }, width);
  try {
    return runColumns({
      action,
      stage: merging.program.stages[0]!,
      dtype,
      tensors: [result],
      scalars: merging.scalars,
      shape: partShape,
      split: [split[0], 1],
    }, { stream });
  } finally {
    result.dispose();
  }
}
