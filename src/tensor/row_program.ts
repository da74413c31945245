/**
 * Row programs: stages of reductions of a row, each an expression that may use earlier results, then
 * elements and results of the row.
 *
 * @module
 */

import type { DType } from "../memory/dtype.ts";
import {
  castNode,
  type ExpressionNode,
  keyOf,
  operationNode,
  replaceLeaves,
  scalarTypesIn,
} from "./kit/expression/node.ts";
import { valueType } from "./kit/expression/operations.ts";
import type { Scalar } from "./kit/kernel_call.ts";

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
/** The type of the merged values of an element type: sums of single precision are double. */
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

/** Whether a reducer gives a position. */
export const isPlace = (reducer: Reducer) => reducer.startsWith("Arg");

/** Whether parts of a row can be reduced alone, and their results merged. */
export const isSplittable = ({ pick, stages, elements }: RowProgram): boolean =>
  pick === undefined && stages.length === 1 && elements.length === 0;

/** The expressions of a program, in the order of the numbers that they use. */
export function rootsOf({ pick, stages, elements, results }: RowProgram): ExpressionNode[] {
  return [
    ...(pick === undefined ? [] : [pick.position]),
    ...stages.flatMap(({ value, place, finish }) =>
      [value, place, finish].filter((it) => it !== undefined)
    ),
    ...elements.map(({ value }) => value),
    ...results.map(({ value }) => value),
  ];
}

/** A text that equal programs share. */
export function keyOfProgram(program: RowProgram): string {
  const stages = program.stages.map(({ reducer, name, value, place, finish, keeps }) =>
    `${reducer} ${name} ${keeps}=${[value, place, finish].map((it) => it && keyOf(it)).join()}`
  );
  const outputs = [...program.elements, ...program.results]
    .map(({ value, dtype }) => `${dtype}(${keyOf(value)})`);
  const { pick } = program;
  const picked = pick === undefined ? "" : `${pick.name}=${pick.index}[${keyOf(pick.position)}]`;
  return [picked, ...stages, program.elements.length, ...outputs].join(";");
}

/** The program that reduces a part of a row. */
export function partialProgram({ finish: _, ...stage }: RowStage): RowProgram {
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
export function mergingProgram(
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
