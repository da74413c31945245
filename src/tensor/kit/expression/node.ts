/**
 * Expressions: what one kernel computes for one element.
 *
 * @module
 */

import { type DType, isFloatDType, isIntegerDType } from "../../../memory/dtype.ts";
import { cTypeOf } from "../../../memory/dtype.ts";
import { type OperationName, OPERATIONS, operationTypes, valueType } from "./operations.ts";

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

/** The operands in the order in which statements compute them. */
function operandsOf(node: ExpressionNode): readonly ExpressionNode[] {
  switch (node.kind) {
    case "cast":
      return [node.operand];
    case "select":
      return [...node.operands, node.condition];
    case "operation":
    case "call":
      return node.operands;
    default:
      return [];
  }
}

/**
 * All nodes of expressions, each once and after its operands. It uses no recursion, because chains
 * of operations can be longer than the stack is deep.
 */
export function nodesOf(...roots: readonly ExpressionNode[]): Set<ExpressionNode> {
  const found = new Set<ExpressionNode>();
  const entered = new Set<ExpressionNode>();
  const stack = roots.toReversed();
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (entered.has(node)) {
      found.add(node);
      continue;
    }
    entered.add(node);
    const operands = operandsOf(node);
    stack.push(node);
    for (const operand of operands.toReversed()) {
      if (!entered.has(operand)) stack.push(operand);
    }
  }
  return found;
}

/** The node with other operands. */
function withOperands(
  node: ExpressionNode,
  f: (operand: ExpressionNode) => ExpressionNode,
): ExpressionNode {
  switch (node.kind) {
    case "cast":
      return { ...node, operand: f(node.operand) };
    case "operation":
    case "call":
      return { ...node, operands: node.operands.map(f) };
    case "select": {
      const [yes, no] = node.operands;
      return { ...node, condition: f(node.condition), operands: [f(yes), f(no)] };
    }
    default:
      return node;
  }
}

/** An expression with its leaves replaced; shared nodes stay shared. */
export function replaceLeaves(
  root: ExpressionNode,
  replace: (leaf: ExpressionNode) => ExpressionNode,
): ExpressionNode {
  const replaced = new Map<ExpressionNode, ExpressionNode>();
  for (const node of nodesOf(root)) {
    const isLeaf = operandsOf(node).length === 0;
    const replacement = isLeaf
      ? replace(node)
      : withOperands(node, (operand) => replaced.get(operand)!);
    replaced.set(node, replacement);
  }
  return replaced.get(root)!;
}

/** Texts of nodes that are longer get a name in keys, which keeps long chains linear. */
const MAX_NESTED = 200;

/** A text that equal expressions share. It names shared nodes, and has each once. */
export function keyOf(root: ExpressionNode): string {
  const nodes = nodesOf(root);
  const uses = new Map<ExpressionNode, number>();
  for (const node of nodes) {
    for (const operand of operandsOf(node)) uses.set(operand, (uses.get(operand) ?? 0) + 1);
  }
  const texts = new Map<ExpressionNode, string>();
  const named: string[] = [];
  for (const node of nodes) {
    const text = nodeText(node, (operand) => texts.get(operand)!);
    const isNamed = operandsOf(node).length > 0 &&
      ((uses.get(node) ?? 0) > 1 || text.length > MAX_NESTED);
    texts.set(node, isNamed ? `t${named.push(text)}` : text);
  }
  return [...named.map((text, index) => `t${index + 1}=${text}; `), texts.get(root)!].join("");
}

function nodeText(node: ExpressionNode, textOf: (operand: ExpressionNode) => string): string {
  switch (node.kind) {
    case "input":
      return `x${node.index}:${node.dtype}`;
    case "scalar":
      return `c${node.index}:${node.dtype}`;
    case "name":
      return `${node.name}:${node.dtype}`;
    case "cast":
      return `${node.dtype}(${textOf(node.operand)})`;
    case "select":
      return `select(${[node.condition, ...node.operands].map(textOf).join()})`;
    case "operation":
    case "call":
      return `${node.name}(${node.operands.map(textOf).join()})`;
  }
}

/** Rounds a value to a narrow floating type, or wraps it to an integer type. */
function fitted(text: string, dtype: DType): string {
  const type = cTypeOf(dtype);
  if (dtype === "float32" || dtype === "float64" || dtype === "bool") return text;
  return isFloatDType(dtype) ? `rounded<${type}>(${text})` : `static_cast<${type}>(${text})`;
}

function castText(text: string, from: DType, to: DType, fit: typeof fitted): string {
  if (to === "bool") return `${text} != 0`;
  if (isIntegerDType(to) && isFloatDType(from)) return `to_integer<${cTypeOf(to)}>(${text})`;
  return fit(`static_cast<${valueType(to)}>(${text})`, to);
}

/** A floating value that its store rounds, or an integer as {@linkcode fitted} has it. */
function stored(text: string, dtype: DType): string {
  return isFloatDType(dtype) ? text : fitted(text, dtype);
}

/** A node with operands. */
type Computed = Extract<ExpressionNode, { kind: "cast" | "select" | "operation" | "call" }>;

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
  value(root: ExpressionNode): string {
    // Operands come first, so the statement of a node finds theirs.
    let name = "";
    for (const node of nodesOf(root)) name = this.#valueOf(node);
    return name;
  }

  /** Writes the statements of a value that is stored and nothing else, so it is rounded once. */
  storedValue(root: ExpressionNode): string {
    const isComputed = root.kind !== "input" && root.kind !== "scalar" && root.kind !== "name";
    if (!isComputed) return this.value(root);
    for (const node of nodesOf(root)) {
      if (node !== root) this.#valueOf(node);
    }
    return this.#declare(root.dtype, this.#text(root, stored));
  }

  #valueOf(node: ExpressionNode): string {
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

  #text(node: Computed, fit = fitted): string {
    switch (node.kind) {
      case "cast":
        return castText(this.#valueOf(node.operand), node.operand.dtype, node.dtype, fit);
      case "select": {
        const [yes, no] = node.operands.map((operand) => this.#valueOf(operand));
        return `${this.#valueOf(node.condition)} ? ${yes} : ${no}`;
      }
      case "call":
        return `${node.name}(${node.operands.map((it) => this.#valueOf(it)).join(", ")})`;
      case "operation": {
        const { code, result } = OPERATIONS[node.name];
        const text = code(node.operands.map((it) => this.#valueOf(it)), node.operands[0]!.dtype);
        return result === "bool" ? text : fit(text, node.dtype);
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
  return new Set(Array.from(nodesOf(...roots), ({ dtype }) => dtype));
}

/** The element types of an expression's numbers, in order. */
export function scalarTypesIn(...roots: readonly ExpressionNode[]): DType[] {
  const types: DType[] = [];
  for (const node of nodesOf(...roots)) {
    if (node.kind === "scalar") types[node.index] = node.dtype;
  }
  return types;
}
