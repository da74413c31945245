/**
 * Programs over rows and columns: reductions, and operations that need reductions of the same row.
 *
 * @module
 */

import { type KernelForm, templates } from "./kit/expression/kernel_template.ts";
import { streamFor } from "../memory/buffer_copy.ts";
import type { DType } from "../memory/dtype.ts";
import { DeviceWork } from "./kit/device_work.ts";
import { withDense } from "./elementwise_kernel.ts";
import {
  castNode,
  dtypesIn,
  type ExpressionNode,
  ExpressionWriter,
  keyOf,
  operationNode,
  replaceLeaves,
  scalarTypesIn,
  storeText,
} from "./kit/expression/node.ts";
import { valueType } from "./kit/expression/operations.ts";
import { commonContext, type TensorOptions } from "./kit/checks.ts";
import {
  callKernel,
  countParameters,
  type KernelCode,
  MAX_PARAMETERS,
  newTensor,
  numbered,
  requireParameters,
  type Scalar,
} from "./kit/kernel_call.ts";
import { addSpace, spaceText } from "./kit/space.ts";
import {
  broadcastStrides,
  mergeDimensions,
  type Shape,
  sizeOf,
  type Space,
  strideClass,
} from "./kit/layout.ts";
import { refuseCapture } from "./kit/operation/reports.ts";
import type { Tensor } from "./tensor.ts";

/** The reducers of `reduce.cuh`; `SquareSum` adds up the squares of values, which may be out of range. */
export type Reducer =
  | "Sum"
  | "SquareSum"
  | "Product"
  | "Maximum"
  | "Minimum"
  | "ArgMaximum"
  | "ArgMinimum";

/** A reduction of a row; later expressions use the result as `{ kind: "name", name }`. */
export interface RowStage {
  readonly reducer: Reducer;
  readonly value: ExpressionNode;
  /** The position of an `Arg…` reduction; the position in the row by default. */
  readonly place?: ExpressionNode;
  /** The name of the result. */
  readonly name: string;
  /** The result of a merged value, which is named `merged`; the value itself by default. */
  readonly finish?: ExpressionNode;
  /** The output of elements that keeps the values, which later expressions read by `keptName()`. */
  readonly keeps?: number;
}

/** The name of the value that an output of elements keeps. */
export const keptName = (output: number): string => `q${output}[i]`;

/**
 * An element of the row at a position that the kernel checks. Expressions use `NAME()` for the
 * element, and `at_NAME` for the position.
 */
export interface RowPick {
  readonly name: string;
  /** The operand. */
  readonly index: number;
  readonly position: ExpressionNode;
  /** The error for the first position that is not in the row. */
  readonly error: (position: bigint) => Error;
}

/** What a kernel computes for each row. */
export interface RowProgram {
  readonly pick?: RowPick;
  readonly stages: readonly RowStage[];
  /** One element for each element of the row. */
  readonly elements: readonly { readonly value: ExpressionNode; readonly dtype: DType }[];
  /** One element for the row. */
  readonly results: readonly { readonly value: ExpressionNode; readonly dtype: DType }[];
}

/** The position in the row. */
export const POSITION: ExpressionNode = { kind: "name", name: "(begin + i)", dtype: "int64" };
/** The type of the merged values of an element type, as `Total` in `reduce.cuh`. */
export const mergedType = (reducer: Reducer, dtype: DType): DType =>
  valueType(dtype) !== "float" ? dtype : reducer.endsWith("Sum") ? "float64" : "float32";

/** The merged value of a stage whose values have an element type, before it is finished. */
export const mergedNode = (reducer: Reducer, dtype: DType): ExpressionNode => ({
  kind: "name",
  name: "merged",
  dtype: mergedType(reducer, dtype),
});

/** The mean of values of a floating type, in that of their sum; the divisor is less by `less`. */
export function meanNode(dtype: DType, less = 0): ExpressionNode {
  const merged = mergedNode("Sum", dtype);
  const type = merged.dtype;
  const count = castNode({ kind: "name", name: "width", dtype: "int64" }, type);
  if (less === 0) return operationNode("divide", [merged, count], type);
  const number = (name: string): ExpressionNode => ({ kind: "name", name, dtype: type });
  const divisor = operationNode("subtract", [count, number(`${less}.0`)], type);
  return {
    kind: "select",
    dtype: type,
    condition: operationNode("greater", [divisor, number("0.0")], type),
    operands: [operationNode("divide", [merged, divisor], type), number("NAN")],
  };
}

const BLOCK = 256;
/** Rows of up to this length are reduced by a warp. */
const WARP_COLUMNS = 1024;
/** Elements of a block of short rows. */
const JOB: Readonly<Record<KernelForm, number>> = { block: 32768, threads: 8192 };
/** Elements of a part of a long row, or of a tile of columns. */
const PART: Readonly<Record<KernelForm, number>> = { block: 131072, threads: 8192 };
/** With this many jobs, rows are not split. */
const ENOUGH_JOBS = 256;
/** Columns of a tile. */
const TILE: Readonly<Record<KernelForm, number>> = { block: 512, threads: BLOCK };

const isPlace = (reducer: Reducer) => reducer.startsWith("Arg");

/** The expressions of a program, in the order of the numbers that they use. */
function rootsOf({ pick, stages, elements, results }: RowProgram): ExpressionNode[] {
  return [
    ...(pick === undefined ? [] : [pick.position]),
    ...stages.flatMap(({ value, place, finish }) =>
      [value, place, finish].filter((it) => it !== undefined)
    ),
    ...elements.map(({ value }) => value),
    ...results.map(({ value }) => value),
  ];
}

function keyOfProgram(program: RowProgram): string {
  const stages = program.stages.map(({ reducer, name, value, place, finish, keeps }) =>
    `${reducer} ${name} ${keeps}=${[value, place, finish].map((it) => it && keyOf(it)).join()}`
  );
  const outputs = [...program.elements, ...program.results]
    .map(({ value, dtype }) => `${dtype}(${keyOf(value)})`);
  const { pick } = program;
  const picked = pick === undefined ? "" : `${pick.name}=${pick.index}[${keyOf(pick.position)}]`;
  return [picked, ...stages, program.elements.length, ...outputs].join(";");
}

/** C++ of a stage: the merge of a lambda over the row. */
function stageText(stage: RowStage, load: (index: number) => string, threads: number): string[] {
  const { reducer, value, name, finish, keeps } = stage;
  const writer = new ExpressionWriter(load);
  const text = writer.value(value);
  const type = valueType(value.dtype);
  const place = isPlace(reducer) ? writer.value(stage.place ?? POSITION) : undefined;
  const result = place === undefined ? text : `Place<${type}>{${text}, ${place}}`;
  const kept = keeps === undefined ? "" : `q${keeps}[i] = ${text}; `;
  const lambda = `[=](i64 i) { ${writer.lines.join(" ")} ${kept}return ${result}; }`;
  const f = `f_${name}`;
  const first = reducer === "Product" ? "1" : `${f}(0)`;
  const merged = reducer.endsWith("Sum")
    ? `${reducer === "Sum" ? "sum" : "sum_squares"}_row<${threads}, ${type}>(columns, ${f})`
    : `reduce_row<${threads}, ${reducer}<${type}>>(columns, ${first}, ${f})`;
  const final = new ExpressionWriter(load);
  const done = finish === undefined ? undefined : final.value(finish);
  return [
    `const auto ${f} = ${lambda};`,
    `const auto m_${name} = ${merged};`,
    ...(done === undefined
      ? [
        place === undefined
          ? `const ${type} ${name} = m_${name};`
          : `const auto ${name} = m_${name}.index;`,
      ]
      : [
        `const auto merged = m_${name};`,
        ...final.lines,
        `const auto ${name} = ${done};`,
      ]),
  ];
}

/** The element of an input in a row: `p0[i]`. */
function inputText(k: number, kind: string): string {
  return kind === "0" ? `p${k}[0]` : kind === "1" ? `p${k}[i]` : `p${k}[i * t${k}]`;
}

/** C++ of an element at a checked position. */
function pickText(pick: RowPick, load: (index: number) => string, threads: number): string[] {
  const { name, index, position } = pick;
  const writer = new ExpressionWriter(load);
  const text = writer.value(position);
  return [
    ...writer.lines,
    `const i64 at_${name} = ${text};`,
    `const bool has_${name} = at_${name} >= 0 && at_${name} < width;`,
    `if (!has_${name} && is_first_of_row<${threads}>()) report(faults, operation, at_${name});`,
    `const auto ${name} = [=] { const i64 i = has_${name} ? at_${name} : 0; return load(${
      load(index)
    }); };`,
  ];
}

/** C++ of the space of rows. Its last dimension is a single element, because locate() takes rows. */
function rowSpaceText(rank: number, operands: number): string[] {
  return [
    `  Space<${rank + 1}, ${Math.max(1, operands)}> space{};`,
    `  space.size[${rank}] = 1;`,
    ...spaceText(rank, operands),
  ];
}

/** How operands lie in a space around rows or columns. */
interface OperandLayout {
  /** The number of operands. */
  readonly inputs: number;
  /** The number of dimensions of the space. */
  readonly rank: number;
  /** The classes of the operands' innermost strides. */
  readonly kinds: string;
}

/** Composes the kernel of a row program. */
function rowsCode(
  program: RowProgram,
  { inputs, rank, kinds }: OperandLayout,
  threads: number,
): KernelCode {
  const { pick, stages, elements, results } = program;
  const load = (k: number) => inputText(k, kinds[k]!);
  const operands = Array.from({ length: inputs }, (_, k) => k);
  const step = (k: number) =>
    kinds[k] === "0" ? "" : kinds[k] === "1" ? " + begin" : ` + begin * t${k}`;
  const writer = new ExpressionWriter(load);
  const values = elements.map(({ value }) => writer.value(value));
  const rowWriter = new ExpressionWriter(load);
  const rowValues = results.map(({ value }) => rowWriter.value(value));
  const stageLines = stages.flatMap((stage) => {
    const [first, second, ...rest] = stageText(stage, load, threads);
    // Several stages may name their merged value alike.
    return stage.finish === undefined ? [first!, second!, ...rest] : [
      first!,
      second!,
      `const auto ${stage.name} = [=] { ${rest.slice(0, -1).join(" ")} return ${
        rest.at(-1)!.replace(/^.* = /, "")
      } }();`,
    ];
  });
  return {
    template: templates.reduce,
    dtypes: dtypesIn(...rootsOf(program)),
    body: [
      "  using namespace reduce;",
      ...rowSpaceText(rank, inputs),
      `  for_each_row<${threads}>(rows * segments, per_block, [=](i64 job) {`,
      "    const i64 row = segments == 1 ? job : job / segments;",
      "    const i64 begin = (job - row * segments) * length;",
      "    const i64 columns = width - begin < length ? width - begin : length;",
      `    i64 at[${Math.max(1, inputs)}];`,
      "    space.locate(row, at);",
      ...operands.map((k) => `    const auto* const p${k} = x${k} + o${k} + at[${k}]${step(k)};`),
      ...(pick === undefined ? [] : pickText(pick, load, threads)).map((line) => `    ${line}`),
      ...elements.map((_, k) => `    auto* const q${k} = y${k} + row * width;`),
      ...stageLines.map((line) => `    ${line}`),
      ...(elements.length === 0 ? [] : [
        `    map_row<${threads}>(columns, [=](i64 i) {`,
        ...writer.lines.map((line) => `      ${line}`),
        ...elements.map(({ dtype }, k) => `      ${storeText(`q${k}[i]`, values[k]!, dtype)}`),
        "    });",
      ]),
      ...(results.length === 0 ? [] : [
        `    if (is_first_of_row<${threads}>()) {`,
        ...rowWriter.lines.map((line) => `      ${line}`),
        ...results.map(({ dtype }, k) =>
          `      ${storeText(`y${elements.length + k}[job]`, rowValues[k]!, dtype)}`
        ),
        "    }",
      ]),
      "  });",
    ].join("\n"),
  };
}

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
  const isSplittable = program.pick === undefined && program.stages.length === 1 &&
    program.elements.length === 0 &&
    program.results.length === 1;
  const segments = isSplittable ? segmentsOf(rows, width, 1, work.form) : 1;
  const partial: RowProgram = segments === 1 ? program : partialProgram(only!);
  // The block form has one thread, and a row of one element any stride: no kernel for each.
  const isShort = width <= WARP_COLUMNS && segments === 1;
  const threads = work.form === "block" || isShort ? 32 : BLOCK;
  const length = Math.ceil(width / segments);
  const jobs = rows * segments;
  const perBlock = work.form === "block"
    ? Math.max(1, Math.min(Math.ceil(JOB.block / Math.max(1, length)), Math.ceil(jobs / 4)))
    : threads === 32
    ? BLOCK / 32
    : 1;
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
    key: `rows ${keyOfProgram(partial)} ${rank} ${kinds} ${threads}`,
    code: () => rowsCode(partial, { inputs: tensors.length, rank, kinds }, threads),
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

/** The program that reduces a part of a row. */
function partialProgram({ finish: _, ...stage }: RowStage): RowProgram {
  const { dtype } = stage.value;
  const name = (text: string, type: DType): ExpressionNode => ({
    kind: "name",
    name: text,
    dtype: type,
  });
  const type = mergedType(stage.reducer, dtype);
  const results = isPlace(stage.reducer)
    ? [
      { value: name(`m_${stage.name}.value`, type), dtype: type },
      { value: name(`m_${stage.name}.index`, "int64"), dtype: "int64" as const },
    ]
    : [{ value: name(`m_${stage.name}`, type), dtype: type }];
  return { stages: [stage], elements: [], results };
}

/** The program that merges the parts of rows. */
function mergingProgram(
  stage: RowStage,
  result: RowProgram["results"][number],
  width: number,
): { readonly program: RowProgram; readonly scalars: readonly Scalar[] } {
  const { reducer, value } = stage;
  const dtype = mergedType(reducer, value.dtype);
  // The parts are as long as the number of parts; the length of the row is passed.
  const finish = replaceLeaves(
    stage.finish ?? castNode(mergedNode(reducer, dtype), value.dtype),
    (leaf) =>
      leaf.kind === "name" && leaf.name === "width"
        ? { kind: "scalar", index: 0, dtype: "int64" }
        : leaf,
  );
  const usesWidth = scalarTypesIn(finish).length > 0;
  const place: ExpressionNode = { kind: "input", index: 1, dtype: "int64" };
  return {
    program: {
      stages: [{
        reducer: reducer === "SquareSum" ? "Sum" : reducer,
        name: stage.name,
        value: { kind: "input", index: 0, dtype },
        ...(isPlace(reducer) ? { place } : { finish }),
      }],
      elements: [],
      results: [result],
    },
    scalars: usesWidth ? [{ dtype: "int64", value: BigInt(width) }] : [],
  };
}

/** Composes the kernel that reduces columns. */
function columnsCode(
  stage: RowStage,
  dtype: DType,
  { inputs, rank, kinds }: OperandLayout,
  tile: number,
): KernelCode {
  // Inputs are at p0[row * r0 + i].
  const load = (k: number) =>
    `p${k}[row * r${k}${kinds[k] === "0" ? "" : kinds[k] === "1" ? " + i" : ` + i * t${k}`}]`;
  const writer = new ExpressionWriter(load);
  const value = writer.value(stage.value);
  const type = valueType(stage.value.dtype);
  const roots = [stage.value, ...(stage.finish === undefined ? [] : [stage.finish])];
  const final = new ExpressionWriter(load);
  const done = stage.finish === undefined
    ? `static_cast<${valueType(dtype)}>(merged)`
    : final.value(stage.finish);
  const operands = Array.from({ length: inputs }, (_, k) => k);
  const first = stage.reducer === "Product"
    ? "[=](i64) { return 1; }"
    : "[=](i64 column) { return f(begin, column); }";
  const reduce = stage.reducer.endsWith("Sum")
    ? `sum_columns<${tile}, ${type}, ${stage.reducer === "SquareSum"}>(begin, end, tile, columns, f`
    : `reduce_columns<${tile}, ${stage.reducer}<${type}>>(begin, end, tile, columns, ${first}, f`;
  const merged = valueType(mergedType(stage.reducer, stage.value.dtype));
  return {
    template: templates.reduce,
    dtypes: dtypesIn(...roots),
    body: [
      "  using namespace reduce;",
      ...rowSpaceText(rank, inputs),
      "  const i64 tile = blockIdx.x % tiles;",
      "  const i64 segment = blockIdx.x / tiles % segments;",
      "  const i64 outer = blockIdx.x / tiles / segments;",
      "  const i64 begin = segment * length;",
      "  const i64 end = begin + length < width ? begin + length : width;",
      `  i64 at[${Math.max(1, inputs)}];`,
      "  space.locate(outer, at);",
      ...operands.map((k) => `  const auto* const p${k} = x${k} + o${k} + at[${k}];`),
      "  auto* const out = y + (outer * segments + segment) * columns;",
      `  const auto f = [=](i64 row, i64 i) -> ${type} {`,
      ...writer.lines.map((line) => `    ${line}`),
      `    return ${value};`,
      "  };",
      `  ${reduce}, [=](i64 i, ${merged} merged) {`,
      ...final.lines.map((line) => `    ${line}`),
      `    ${storeText("out[i]", done, dtype)}`,
      "  });",
    ].join("\n"),
  };
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
  callKernel({
    ...parameters,
    results: { y: result },
    action,
    key: `columns ${keyOfProgram(program)} ${kinds} ${rank}`,
    code: () => columnsCode(own, type, { inputs: tensors.length, rank, kinds }, TILE[work.form]),
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
