/**
 * The members of a struct as its source declares them, as far as kernels can be given them.
 *
 * @module
 */

import { C_TYPE_WORDS, ELABORATED_WORDS } from "../signature/c_types.ts";
import type { ActiveToken } from "./active_tokens.ts";
import { NONE } from "./brackets.ts";
import { integerOf } from "./condition.ts";
import type { Declaration } from "./declarations.ts";
import type { SourceContext } from "./source_context.ts";

/** A member that has a place in the struct. */
export interface StructMember {
  /** Its name. */
  readonly name: string;
  /** Its type as it is written, without qualifiers. */
  readonly type: string;
  /** The extents of an array, outermost first. */
  readonly extents: readonly number[];
}

/** Thrown for what cannot be described; completes "struct S cannot be described as …". */
export class UndescribedError extends Error {
  override name = "UndescribedError";
}

/** Words beside a type that change nothing in where a member lies. */
const QUALIFIERS: ReadonlySet<string> = new Set(["const", "volatile", "mutable"]);

/** Integers that a source has given names. */
export type Constants = ReadonlyMap<string, bigint>;

/** The constants of integral types that a source declares at namespace scope. */
export function constantsOf({ list, macros }: SourceContext): Map<string, bigint> {
  const found = new Map<string, bigint>();
  const { tokens } = list;
  for (const { kind, head, initialiser, last } of list.declarations) {
    if (kind !== "variable" || initialiser === NONE) continue;
    const words = tokens.slice(head, initialiser).map(({ text }) => text);
    const isConstant = words.includes("constexpr") || words.includes("const");
    if (!isConstant || words.some((word) => /^(?:float|double|half|\*|\[)$/.test(word))) continue;
    const isBraced = tokens[initialiser]!.text === "{";
    const text = textOf(tokens.slice(initialiser + 1, isBraced ? last - 1 : last));
    const value = integerOf(withConstants(text, found), macros);
    if (value !== undefined) found.set(words.at(-1)!, value);
  }
  return found;
}

function textOf(tokens: readonly ActiveToken[]): string {
  return tokens.map(({ text }) => text).join(" ");
}

function withConstants(text: string, constants: Constants): string {
  return text.replaceAll(/[A-Za-z_]\w*/g, (word) => constants.get(word)?.toString() ?? word);
}

/**
 * The members that a declaration in a struct's body declares; none of functions, types and what is
 * static.
 *
 * @param owner The name of the struct, which its constructors have.
 * @throws {UndescribedError} If one has no place that could be told from here.
 */
export function membersIn(
  context: SourceContext,
  declaration: Declaration,
  constants: Constants,
  owner: string,
): StructMember[] {
  const { tokens } = context.list;
  const { kind, head, body, last } = declaration;
  const words = tokens.slice(head, last + 1).map(({ text }) => text);
  if (words.includes("virtual")) throw new UndescribedError("it has virtual functions");
  if (kind === "alias" || words[0] === "static" || words[0] === "friend") return [];
  if (kind === "function") {
    requireFunction(context, declaration, owner);
    return [];
  }
  if (words[0] === "static_assert" || words[0] === "enum" && body !== NONE) return [];
  if (kind === "class") {
    if (body === NONE) return [];
    if (body === head + 1) throw new UndescribedError(`it has a ${words[0]} without a name in it`);
    if (words.at(-2) === "}") return [];
  }
  if (kind !== "variable") {
    throw new UndescribedError(
      `it has a member that cannot be read: ${words.slice(0, 8).join(" ")}`,
    );
  }
  return declarators(context, declaration, constants);
}

/** Makes sure that what has brackets is a function, and no pointer to one or to an array. */
function requireFunction(
  { list: { tokens } }: SourceContext,
  { head, parameters, last }: Declaration,
  owner: string,
): void {
  const before = tokens[parameters - 1]!;
  const isOperator = tokens.slice(head, parameters).some(({ text }) => text === "operator");
  const isNamed = before.kind === "word" && !C_TYPE_WORDS.has(before.text) &&
    (parameters - 1 > head || before.text === owner);
  const isDeclarator = /^(?:\*|&|&&|\()$/.test(tokens[parameters + 1]!.text);
  if (isOperator || isNamed && !isDeclarator) return;
  throw new UndescribedError(
    `its member ${memberText(tokens, head, last)} is not declared by a type and a name alone`,
  );
}

/** Reads `const float x = 0, y[4];`. */
function declarators(
  context: SourceContext,
  { head, last }: Declaration,
  constants: Constants,
): StructMember[] {
  const { tokens, partners } = context.list;
  const members: StructMember[] = [];
  let type: string | undefined;
  let first = head;
  let isValue = false;
  for (let at = head; at <= last; at++) {
    const { text } = tokens[at]!;
    if (text === "=") isValue = true;
    if (text === "<" && !isValue) {
      throw new UndescribedError(`its member ${memberText(tokens, head, last)} is of a template`);
    }
    if (text === "{" || text === "(" || text === "[") {
      at = Math.max(at, partners[at]!);
      continue;
    }
    if (text !== "," && text !== ";") continue;
    const member = readMember(context, first, at, type, constants);
    type = member.type;
    members.push(member);
    first = at + 1;
    isValue = false;
  }
  return members;
}

function memberText(tokens: readonly ActiveToken[], first: number, end: number): string {
  return textOf(tokens.slice(first, end));
}

/** Reads one declarator, the first of a declaration with the type before it. */
function readMember(
  { list: { tokens, partners }, macros }: SourceContext,
  first: number,
  end: number,
  before: string | undefined,
  constants: Constants,
): StructMember {
  const refuse = (problem: string): never => {
    throw new UndescribedError(`its member ${memberText(tokens, first, end)} ${problem}`);
  };
  const words: string[] = [];
  const extents: number[] = [];
  for (let at = first; at < end; at++) {
    const { kind, text } = tokens[at]!;
    if (text === "=" || text === "{") break;
    if (text === "[") {
      const extent = withConstants(textOf(tokens.slice(at + 1, partners[at]!)), constants);
      const value = integerOf(extent, macros);
      if (value === undefined || value < 1n) refuse("has an extent that cannot be told");
      extents.push(Number(value));
      at = partners[at]!;
    } else if (text === "*" || text === "&" || text === "&&") {
      refuse("is no value but an address");
    } else if (text === ":") refuse("is a bit-field");
    else if (text === "(" || /^(?:alignas|__align__|__attribute__)$/.test(text)) {
      refuse("is not declared by a type and a name alone");
    } else if (kind === "word" || text === "::") {
      if (!QUALIFIERS.has(text) && !ELABORATED_WORDS.has(text)) words.push(text);
    }
  }
  const name = words.pop();
  const type = before ?? words.join(" ").replaceAll(" :: ", "::").replace(/^:: /, "::");
  if (name === undefined || type === "" || name === "::") return refuse("has no name");
  return { name, type, extents };
}
