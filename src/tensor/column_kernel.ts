/**
 * C++ of the kernels that reduce columns.
 *
 * @module
 */

import { templates } from "./kit/expression/kernel_template.ts";
import { BLOCK, stepOf } from "../kernels/row_plan.ts";
import { cTypeOf, type DType } from "../memory/dtype.ts";
import { dtypesIn, ExpressionWriter, storeText } from "./kit/expression/node.ts";
import { valueType } from "./kit/expression/operations.ts";
import type { KernelCode } from "./kit/kernel_call.ts";
import { bytesOf, type OperandLayout, operandsIn, rowSpaceText, UNALIGNED } from "./row_kernel.ts";
import { mergedType, type RowStage } from "./row_program.ts";

/** The division of columns among CUDA threads. */
export interface ColumnShare {
  /** The columns of a thread. */
  readonly size: number;
  /** The rows of a step. */
  readonly rows: number;
  /** The threads of a block that lie side by side. */
  readonly lanes: number;
}

/** Rows that a thread loads before it uses the first, at most. */
const MAX_ROWS = 8;
/** Groups of a block's threads that take rows alternately, where there are enough columns. */
const GROUPS = 8;

/** Chooses the threads of columns by the shape and the element types. */
export function columnShareOf(
  stage: RowStage,
  layout: OperandLayout,
  width: number,
  columns: number,
): ColumnShare {
  const { size: whole, elements } = stepOf(bytesOf(operandsIn([stage.value]), layout));
  const size = columns % whole === 0 ? whole : 1;
  const rows = Math.min(MAX_ROWS, elements / size);
  const groups = Math.min(GROUPS, 2 ** Math.floor(Math.log2(Math.max(1, width / rows))));
  const needed = 2 ** Math.ceil(Math.log2(Math.max(1, columns / size)));
  return { size, rows, lanes: Math.min(needed, BLOCK / groups) };
}

/** C++ of the finish of a column. */
function finishText(stage: RowStage, dtype: DType): string {
  const final = new ExpressionWriter((k) => `p${k}[0]`);
  const done = stage.finish === undefined
    ? `static_cast<${valueType(dtype)}>(merged)`
    : final.value(stage.finish);
  const merged = valueType(mergedType(stage.reducer, stage.value.dtype));
  return [
    `[=](i64 i, ${merged} merged) {`,
    ...final.lines.map((line) => `    ${line}`),
    `    ${storeText("out[i]", done, dtype)}`,
    "  }",
  ].join("\n");
}

/** The kernel of columns, whose lines `ofColumns` work on a part of the rows. */
function kernelOf(
  stage: RowStage,
  { dtypes, rank }: OperandLayout,
  ofColumns: readonly string[],
): KernelCode {
  const roots = [stage.value, ...(stage.finish === undefined ? [] : [stage.finish])];
  return {
    template: templates.reduce,
    dtypes: dtypesIn(...roots),
    body: [
      "  using namespace reduce;",
      ...rowSpaceText(rank, dtypes.length),
      "  const i64 tile = blockIdx.x % tiles;",
      "  const i64 segment = blockIdx.x / tiles % segments;",
      "  const i64 outer = blockIdx.x / tiles / segments;",
      "  const i64 begin = segment * length;",
      "  const i64 end = begin + length < width ? begin + length : width;",
      `  i64 at[${Math.max(1, dtypes.length)}];`,
      "  space.locate(outer, at);",
      ...dtypes.map((_, k) => `  const auto* const p${k} = x${k} + o${k} + at[${k}];`),
      "  auto* const out = y + (outer * segments + segment) * columns;",
      ...ofColumns.map((line) => `  ${line}`),
    ].join("\n"),
  };
}

/** Composes the kernel that reduces columns in the block form. */
export function columnLoopsCode(
  stage: RowStage,
  dtype: DType,
  layout: OperandLayout,
  tile: number,
): KernelCode {
  const { kinds } = layout;
  // Inputs are at p0[row * r0 + i].
  const writer = new ExpressionWriter((k) =>
    `p${k}[row * r${k}${kinds[k] === "0" ? "" : kinds[k] === "1" ? " + i" : ` + i * t${k}`}]`
  );
  const value = writer.value(stage.value);
  const type = valueType(stage.value.dtype);
  const first = stage.reducer === "Product"
    ? "[=](i64) { return 1; }"
    : "[=](i64 column) { return f(begin, column); }";
  const reduce = stage.reducer.endsWith("Sum")
    ? `sum_columns<${tile}, ${type}, ${stage.reducer === "SquareSum"}>(begin, end, tile, columns, f`
    : `reduce_columns<${tile}, ${stage.reducer}<${type}>>(begin, end, tile, columns, ${first}, f`;
  return kernelOf(stage, layout, [
    `const auto f = [=](i64 row, i64 i) -> ${type} {`,
    ...writer.lines.map((line) => `  ${line}`),
    `  return ${value};`,
    "};",
    `${reduce}, ${finishText(stage, dtype)});`,
  ]);
}

/** The statements that read the elements of operand # in a row, by the class of its stride. */
const READS: Readonly<Record<string, string>> = {
  "0": "to.x#.read(p# + row * r#)",
  "1": "to.x#.read(p# + row * r# + i)",
  [UNALIGNED]: "to.x#.read(p# + row * r# + i, 1)",
  "s": "to.x#.read(p# + row * r# + i * t#, t#)",
};

/** Composes the kernel that reduces columns for CUDA threads. */
export function columnThreadsCode(
  stage: RowStage,
  dtype: DType,
  layout: OperandLayout,
  { size, rows }: ColumnShare,
): KernelCode {
  const { dtypes, kinds } = layout;
  const writer = new ExpressionWriter((k) => `own.x${k}.element[${kinds[k] === "0" ? "0" : "j"}]`);
  const value = writer.value(stage.value);
  const type = valueType(stage.value.dtype);
  const reduce = stage.reducer.endsWith("Sum")
    ? `sum_columns<${type}, ${stage.reducer === "SquareSum"}, ${rows}, Elements>`
    : `reduce_columns<${stage.reducer}<${type}>, ${rows}, Elements>`;
  const operands = operandsIn([stage.value]);
  return {
    ...kernelOf(stage, layout, [
      "const auto read = [=](Elements& to, i64 row, i64 i) {",
      ...operands.map((k) => `  ${READS[kinds[k]!]!.replaceAll("#", `${k}`)};`),
      "};",
      `const auto f = [=](const Elements& own, int j) -> ${type} {`,
      ...writer.lines.map((line) => `  ${line}`),
      `  return ${value};`,
      "};",
      `const ColumnShare<${size}> share(tile, static_cast<int>(lanes), begin, end);`,
      `${reduce}(share, columns, read, f, ${finishText(stage, dtype)});`,
    ]),
    definitions: [
      "struct Elements {",
      ...operands.map((k) =>
        `  Packet<${cTypeOf(dtypes[k]!)}, ${kinds[k] === "0" ? 1 : size}> x${k};`
      ),
      "};",
    ].join("\n"),
    // The second pass of squares, as double, needs more registers.
    launchBounds: [BLOCK, stage.reducer === "SquareSum" ? 3 : 4],
  };
}
