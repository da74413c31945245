/**
 * Programs over rows and columns: reductions, and operations that need reductions of the same row.
 *
 * @module
 */

import type { KernelForm } from "./kit/expression/kernel_template.ts";
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
import { addSpace } from "./kit/space.ts";
import {
  broadcastStrides,
  mergeDimensions,
  type Shape,
  sizeOf,
  type Space,
  strideClass,
} from "./kit/layout.ts";
import { refuseCapture } from "./kit/operation/reports.ts";
import { columnsCode } from "./column_kernel.ts";
import {
  BLOCK,
  type OperandLayout,
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
import { storageOf, type Tensor } from "./tensor.ts";

/** Elements of a block of short rows, in the block form. */
const JOB = 32768;
/** Elements of a part of a long row, or of a tile of columns: at least so many for CUDA threads. */
const PART: Readonly<Record<KernelForm, number>> = { block: 131072, threads: 8192 };
/** With this many jobs, rows are not split. */
const ENOUGH_JOBS = 256;
/** Parts that CUDA threads make of all rows: more would only have to be merged. */
const MAX_PARTS = 1024;
/** Parts of rows for CUDA threads begin at multiples of this, so that they begin with packets. */
const PART_STEP = 1024;
/** Columns of a tile. */
const TILE: Readonly<Record<KernelForm, number>> = { block: 512, threads: BLOCK };

const roundUp = (size: number, step: number) => Math.ceil(size / step) * step;

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

/** The number of parts of a row, which depends on nothing but the shape and the form. */
function segmentsOf(jobs: number, steps: number, stepSize: number, form: KernelForm): number {
  if (jobs >= ENOUGH_JOBS) return 1;
  // To merge two parts takes as long as the second one.
  if (steps * stepSize <= 2 * PART[form]) return 1;
  const length = Math.max(1, Math.ceil(PART[form] / stepSize));
  return Math.max(1, Math.ceil(steps / length));
}

/** The number of parts of each row, and their length. */
function partsOf(rows: number, width: number, form: KernelForm) {
  if (form === "block") {
    const segments = segmentsOf(rows, width, 1, form);
    return { segments, length: Math.ceil(width / segments) };
  }
  if (rows >= ENOUGH_JOBS || width <= 2 * PART.threads) return { segments: 1, length: width };
  const least = Math.max(PART.threads, Math.ceil(rows * width / MAX_PARTS));
  const segments = Math.ceil(width / roundUp(least, PART_STEP));
  return { segments, length: roundUp(Math.ceil(width / segments), PART_STEP) };
}

/** Whether packets of a tensor begin at multiples of their size, at most 16 bytes, in all rows. */
function isAligned(tensor: Tensor, strides: readonly number[], size: number): boolean {
  const bytes = bytesPerElement(tensor.dtype);
  const word = Math.min(16, size * bytes);
  const { address } = storageOf(tensor).buffer;
  return [address / bytes, tensor.offset, ...strides].every((it) => it * bytes % word === 0);
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
  const stream = streamFor(context, options.stream);
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
  let layout: OperandLayout = { dtypes: tensors.map(({ dtype }) => dtype), rank, kinds };
  const share = work.form === "block" ? undefined : shareOf(partial, layout, width, length);
  if (share !== undefined) {
    const classes = tensors.map((it, k) =>
      kinds[k] === "1" && !isAligned(it, outer.strides[k]!, share.size) ? UNALIGNED : kinds[k]
    );
    layout = { ...layout, kinds: classes.join("") };
  }
  const jobs = rows * segments;
  const perBlock = share !== undefined
    ? BLOCK / share.threads
    : Math.max(1, Math.min(Math.ceil(JOB / Math.max(1, length)), Math.ceil(jobs / 4)));
  const numbers: Record<string, number> = numbered("o", tensors.map(({ offset }) => offset));
  inner.strides.forEach(([stride], k) => {
    if (kinds[k] === "s") numbers[`t${k}`] = stride!;
  });
  Object.assign(numbers, { rows, width, length, segments, per_block: perBlock });
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
    size: {
      grid: Math.min(Math.ceil(jobs / perBlock), work.form === "block" ? Infinity : 2 ** 20),
      block: work.form === "block" ? 1 : BLOCK,
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
  const stream = streamFor(context, options.stream);
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
  const tiles = Math.ceil(columns / TILE[work.form]);
  const stepSize = Math.min(columns, TILE[work.form]);
  const segments = segmentsOf(outer * tiles, width, stepSize, work.form);
  const numbers: Record<string, number> = numbered("o", tensors.map(({ offset }) => offset));
  for (const k of tensors.keys()) {
    numbers[`r${k}`] = parts[1]!.strides[k]![0]!;
    numbers[`t${k}`] = parts[2]!.strides[k]![0]!;
  }
  const length = Math.ceil(width / segments);
  Object.assign(numbers, { width, columns, tiles, length, segments });
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
  const kinds = parts[2]!.strides.map(([stride]) => strideClass(stride!)).join("");
  const program = { stages: [own], elements: [], results: [] };
  const layout: OperandLayout = { dtypes: tensors.map(({ dtype }) => dtype), rank, kinds };
  callKernel({
    ...parameters,
    results: { y: result },
    action,
    key: `columns ${keyOfProgram(program)} ${kinds} ${rank}`,
    code: () => columnsCode(own, type, layout, TILE[work.form]),
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
