/**
 * Expressions: what one kernel computes for one element.
 *
 * @module
 */

import { type DType, isFloatDType, isIntegerDType } from "../../memory/dtype.ts";
import { cTypeOf } from "../../memory/dtype.ts";
import { floatResult } from "../promotion.ts";
import { domainProblem, type OperationName, OPERATIONS, valueType } from "./operations.ts";

/** A value in a kernel, of an element type. */
export type ExpressionNode =
  & { readonly dtype: DType }
  & (
    | { readonly kind: "input"; readonly index: number }
    /** A number that is passed at the launch. */
    | { readonly kind: "scalar"; readonly index: number }
    /** The result of an earlier reduction of the row; or the position in the row. */
    | { readonly kind: "name"; readonly name: string }
    | { readonly kind: "cast"; readonly operand: ExpressionNode }
    | {
      readonly kind: "select";
      readonly condition: ExpressionNode;
      readonly operands: readonly [ExpressionNode, ExpressionNode];
    }
    | {
      readonly kind: "operation";
      readonly name: OperationName;
      readonly operands: readonly ExpressionNode[];
    }
    /** A function of a template. */
    | { readonly kind: "call"; readonly name: string; readonly operands: readonly ExpressionNode[] }
  );

/** A node of another element type with the same value. */
export function castNode(operand: ExpressionNode, dtype: DType): ExpressionNode {
  return operand.dtype === dtype ? operand : { kind: "cast", dtype, operand };
}

/**
 * The type in which an operation computes operands of a common type, and the type of its result.
 *
 * @throws {TypeError} If the operation does not take such operands.
 */
export function operationTypes(
  name: OperationName,
  common: DType,
): { readonly computed: DType; readonly result: DType } {
  const { domain, result } = OPERATIONS[name];
  const problem = domainProblem(domain, common);
  if (problem !== undefined) {
    throw new TypeError(`Cannot ${name} as the operands must be ${problem}: they are ${common}`);
  }
  if (result === "bool") return { computed: common, result: "bool" };
  // NumPy divides integers of all sizes as float64.
  const isQuotient = name === "divide" && !isFloatDType(common);
  const computed = isQuotient ? "float64" : result === "float" ? floatResult(common) : common;
  return { computed, result: computed };
}

/** An operation on operands of a common type. */
export function operationNode(
  name: OperationName,
  operands: readonly ExpressionNode[],
  common: DType,
): ExpressionNode {
  const { computed, result } = operationTypes(name, common);
  const cast = operands.map((operand) => castNode(operand, computed));
  return { kind: "operation", name, dtype: result, operands: cast };
}

/** The node with other operands. */
export function mapOperands(
  node: ExpressionNode,
  f: (operand: ExpressionNode) => ExpressionNode,
): ExpressionNode {
  switch (node.kind) {
    case "cast":
      return { ...node, operand: f(node.operand) };
    case "operation":
      return { ...node, operands: node.operands.map(f) };
    case "select": {
      const [yes, no] = node.operands;
      return { ...node, condition: f(node.condition), operands: [f(yes), f(no)] };
    }
    default:
      return node;
  }
}

/** A text that equal expressions share. */
export function keyOf(node: ExpressionNode): string {
  switch (node.kind) {
    case "input":
      return `x${node.index}:${node.dtype}`;
    case "scalar":
      return `c${node.index}:${node.dtype}`;
    case "name":
      return `${node.name}:${node.dtype}`;
    case "cast":
      return `${node.dtype}(${keyOf(node.operand)})`;
    case "select":
      return `select(${[node.condition, ...node.operands].map(keyOf).join()})`;
    case "operation":
    case "call":
      return `${node.name}(${node.operands.map(keyOf).join()})`;
  }
}

/** Rounds a value to a narrow floating type, or wraps it to an integer type. */
function fitted(text: string, dtype: DType): string {
  const type = cTypeOf(dtype);
  if (dtype === "float32" || dtype === "float64" || dtype === "bool") return text;
  return isFloatDType(dtype) ? `rounded<${type}>(${text})` : `static_cast<${type}>(${text})`;
}

function castText(text: string, from: DType, to: DType): string {
  if (to === "bool") return `${text} != 0`;
  if (isIntegerDType(to) && isFloatDType(from)) return `to_integer<${cTypeOf(to)}>(${text})`;
  return fitted(`static_cast<${valueType(to)}>(${text})`, to);
}

/**
 * C++ statements that compute expressions, each shared node once.
 *
 * @param load The C++ of an input's element.
 */
export class ExpressionWriter {
  readonly lines: string[] = [];
  readonly #load: (index: number) => string;
  readonly #written = new Map<ExpressionNode, string>();
  readonly #loaded = new Map<number, string>();

  constructor(load: (index: number) => string) {
    this.#load = load;
  }

  /** Writes the statements of a node; the result is the name of its value. */
  value(node: ExpressionNode): string {
    if (node.kind === "input") {
      const known = this.#loaded.get(node.index);
      const name = known ?? this.#declare(node.dtype, `load(${this.#load(node.index)})`);
      this.#loaded.set(node.index, name);
      return name;
    }
    if (node.kind === "scalar") return `c${node.index}`;
    if (node.kind === "name") return node.name;
    let name = this.#written.get(node);
    if (name === undefined) {
      name = this.#declare(node.dtype, this.#text(node));
      this.#written.set(node, name);
    }
    return name;
  }

  #declare(dtype: DType, text: string): string {
    const name = `v${this.lines.length}`;
    this.lines.push(`const ${valueType(dtype)} ${name} = ${text};`);
    return name;
  }

  #text(node: Extract<ExpressionNode, { kind: "cast" | "select" | "operation" | "call" }>): string {
    switch (node.kind) {
      case "cast":
        return castText(this.value(node.operand), node.operand.dtype, node.dtype);
      case "select": {
        const [yes, no] = node.operands.map((operand) => this.value(operand));
        return `${this.value(node.condition)} ? ${yes} : ${no}`;
      }
      case "call":
        return `${node.name}(${node.operands.map((it) => this.value(it)).join(", ")})`;
      case "operation": {
        const { code, result } = OPERATIONS[node.name];
        const text = code(node.operands.map((it) => this.value(it)), node.operands[0]!.dtype);
        return result === "bool" ? text : fitted(text, node.dtype);
      }
    }
  }
}

/** The store of a value as an element. */
export function storeText(target: string, value: string, dtype: DType): string {
  return `${target} = store<${cTypeOf(dtype)}>(${value});`;
}

/** The element types of all values of expressions. */
export function dtypesIn(...roots: readonly ExpressionNode[]): Set<DType> {
  const dtypes = new Set<DType>();
  const visit = (node: ExpressionNode): void => {
    dtypes.add(node.dtype);
    if (node.kind === "cast") visit(node.operand);
    if (node.kind === "select") [node.condition, ...node.operands].forEach(visit);
    if (node.kind === "operation" || node.kind === "call") node.operands.forEach(visit);
  };
  roots.forEach(visit);
  return dtypes;
}
