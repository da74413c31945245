/**
 * The conditions of `#if`, in three values: true, false, or not to be known from here.
 *
 * @module
 */

import type { Directive, MacroTable } from "./macros.ts";
import { StepLimitError } from "./step_budget.ts";
import { isSignificant, tokenize } from "./tokens.ts";

/** An integer, or undefined where it cannot be known. */
type Value = bigint | undefined;

/** Binary operators by how strongly they bind, weakest first. */
const LEVELS: readonly (readonly string[])[] = [
  ["||"],
  ["&&"],
  ["|"],
  ["^"],
  ["&"],
  ["==", "!="],
  ["<", ">", "<=", ">="],
  ["<<", ">>"],
  ["+", "-"],
  ["*", "/", "%"],
];

/** Operators of several characters that the tokenizer cuts up. */
const JOINED = new Set(["||", "!=", ">>"]);
/** More brackets and macros in each other than this are not followed. */
const DEEPEST = 64;
/** Values are those of 64 bits. */
const WIDTH = 64;

/**
 * Whether the lines behind a condition count.
 *
 * @param directive `#if`, `#ifdef`, `#ifndef`, `#elif`, `#elifdef` or `#elifndef`.
 * @returns Undefined where that depends on what cannot be seen.
 */
export function evaluateCondition(
  { name, rest }: Directive,
  macros: MacroTable,
): boolean | undefined {
  if (name.endsWith("def")) {
    const macro = /^[\w$]+/.exec(rest)?.[0];
    const defined = macro === undefined ? undefined : isDefined(macro, macros);
    return defined === undefined ? undefined : defined === !name.endsWith("ndef");
  }
  const value = integerOf(rest, macros);
  return value === undefined ? undefined : value !== 0n;
}

/** The integer that an expression of the preprocessor has; undefined where that is not known. */
export function integerOf(text: string, macros: MacroTable): bigint | undefined {
  try {
    return new ConditionReader(words(text), macros, 0).read();
  } catch (error) {
    // Of macros that stand for more than anybody would wait for nothing is known.
    if (error instanceof StepLimitError) return undefined;
    throw error;
  }
}

function isDefined(name: string, macros: MacroTable): boolean | undefined {
  const { state } = macros.look(name);
  return state === "unknown" ? undefined : state !== "undefined";
}

function words(text: string): string[] {
  const result: string[] = [];
  let end = -1;
  for (const token of tokenize(text).filter(isSignificant)) {
    const joined = result.length > 0 && token.start === end ? result.at(-1)! + token.text : "";
    if (JOINED.has(joined)) result[result.length - 1] = joined;
    else result.push(token.text);
    end = token.end;
  }
  return result;
}

class ConditionReader {
  readonly #words: readonly string[];
  readonly #macros: MacroTable;
  #depth: number;
  #at = 0;

  constructor(text: readonly string[], macros: MacroTable, depth: number) {
    this.#words = text;
    this.#macros = macros;
    this.#depth = depth;
  }

  /** The value of the whole text; undefined also where it is no expression. */
  read(): Value {
    const value = this.#choice();
    return this.#at === this.#words.length ? value : undefined;
  }

  #take(word: string): boolean {
    if (this.#words[this.#at] !== word) return false;
    this.#at++;
    return true;
  }

  #choice(): Value {
    const condition = this.#binary(0);
    if (!this.#take("?")) return condition;
    const yes = this.#inner(() => this.#choice());
    if (!this.#take(":")) return undefined;
    const no = this.#inner(() => this.#choice());
    if (condition === undefined) return yes === no ? yes : undefined;
    return condition !== 0n ? yes : no;
  }

  #binary(level: number): Value {
    if (level === LEVELS.length) return this.#unary();
    let left = this.#binary(level + 1);
    while (LEVELS[level]!.includes(this.#words[this.#at] ?? "")) {
      const operator = this.#words[this.#at++]!;
      left = apply(operator, left, this.#binary(level + 1));
    }
    return left;
  }

  #unary(): Value {
    return this.#inner(() => this.#operand());
  }

  /** What is in something else, as far as that is followed. */
  #inner(read: () => Value): Value {
    if (this.#depth >= DEEPEST) {
      this.#at = this.#words.length;
      return undefined;
    }
    this.#depth++;
    const value = read();
    this.#depth--;
    return value;
  }

  #operand(): Value {
    const word = this.#words[this.#at++];
    if (word === undefined) return undefined;
    if (word === "(") {
      const value = this.#choice();
      return this.#take(")") ? value : undefined;
    }
    if (word === "!") return map(this.#unary(), (value) => value === 0n ? 1n : 0n);
    if (word === "-") return map(this.#unary(), (value) => -value);
    if (word === "+") return this.#unary();
    if (word === "~") return map(this.#unary(), (value) => ~value);
    if (word === "defined") return this.#defined();
    return /^[0-9]/.test(word) ? integer(word) : this.#name(word);
  }

  #defined(): Value {
    const bracket = this.#take("(");
    const defined = isDefined(this.#words[this.#at++] ?? "", this.#macros);
    if (bracket && !this.#take(")")) return undefined;
    return defined === undefined ? undefined : BigInt(defined);
  }

  #name(word: string): Value {
    if (word === "true") return 1n;
    const known = this.#macros.look(word);
    // Whatever takes arguments is not evaluated: __has_include(…), and a program's own.
    if (this.#words[this.#at] === "(") {
      this.#skipBrackets();
      return undefined;
    }
    if (known.state === "undefined") return 0n;
    if (known.state !== "defined") return undefined;
    this.#macros.conditionSteps.spend(1 + known.body.length);
    return new ConditionReader(words(known.body), this.#macros, this.#depth + 1).read();
  }

  #skipBrackets(): void {
    let open = 0;
    do {
      const word = this.#words[this.#at++];
      if (word === "(") open++;
      else if (word === ")") open--;
    } while (open > 0 && this.#at < this.#words.length);
  }
}

function integer(word: string): Value {
  const digits = word.replaceAll("'", "").replace(/[uUlLzZ]+$/, "");
  if (/^0[0-7]+$/.test(digits)) return BigInt(`0o${digits.slice(1)}`);
  return /^(?:0[xX][0-9a-fA-F]+|0[bB][01]+|[0-9]+)$/.test(digits) ? BigInt(digits) : undefined;
}

function map(value: Value, change: (value: bigint) => bigint): Value {
  return value === undefined ? undefined : BigInt.asIntN(WIDTH, change(value));
}

function apply(operator: string, left: Value, right: Value): Value {
  // One side can be enough to know the result.
  if (operator === "&&" && (left === 0n || right === 0n)) return 0n;
  if (operator === "||" && (isTrue(left) || isTrue(right))) return 1n;
  if (left === undefined || right === undefined) return undefined;
  const result = calculate(operator, left, right);
  return result === undefined ? undefined : BigInt.asIntN(WIDTH, result);
}

function isTrue(value: Value): boolean {
  return value !== undefined && value !== 0n;
}

function calculate(operator: string, left: bigint, right: bigint): bigint | undefined {
  switch (operator) {
    case "||":
    case "&&":
      // Neither side decided alone: both are false, or both are true.
      return operator === "&&" ? 1n : 0n;
    case "|":
      return left | right;
    case "^":
      return left ^ right;
    case "&":
      return left & right;
    case "==":
      return BigInt(left === right);
    case "!=":
      return BigInt(left !== right);
    case "<":
      return BigInt(left < right);
    case ">":
      return BigInt(left > right);
    case "<=":
      return BigInt(left <= right);
    case ">=":
      return BigInt(left >= right);
    case "<<":
      return left << BigInt.asUintN(6, right);
    case ">>":
      return left >> BigInt.asUintN(6, right);
    case "+":
      return left + right;
    case "-":
      return left - right;
    case "*":
      return left * right;
    case "/":
      return right === 0n ? undefined : left / right;
    default:
      return right === 0n ? undefined : left % right;
  }
}
