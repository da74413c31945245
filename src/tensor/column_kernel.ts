/**
 * C++ of the kernels that reduce columns.
 *
 * @module
 */

import { templates } from "./kit/expression/kernel_template.ts";
import type { DType } from "../memory/dtype.ts";
import { dtypesIn, ExpressionWriter, storeText } from "./kit/expression/node.ts";
import { valueType } from "./kit/expression/operations.ts";
import type { KernelCode } from "./kit/kernel_call.ts";
import { type OperandLayout, rowSpaceText } from "./row_kernel.ts";
import { mergedType, type RowStage } from "./row_program.ts";

/** Composes the kernel that reduces columns. */
export function columnsCode(
  stage: RowStage,
  dtype: DType,
  { dtypes, rank, kinds }: OperandLayout,
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
