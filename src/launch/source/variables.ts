/**
 * The variables of the device among a source's declarations.
 *
 * @module
 */

import { annotationsOf } from "./annotations.ts";
import { closingAngle, NONE } from "./brackets.ts";
import { isAttribute } from "./declaration_reader.ts";
import type { Declaration } from "./declarations.ts";
import type { SourceContext } from "./source_context.ts";

/** In which memory a variable lies. */
export type VariableMemory = "device" | "constant" | "managed";

/** A variable of the device as its source declares it. */
export interface VariableDeclaration {
  /** Its name in C++: `n::table`. */
  readonly expression: string;
  /** Its type without `const`, the source's macros and plain type aliases replaced. */
  readonly type: string;
  /** The extents of an array as they are written, outermost first: `["2 * N", "16"]`. */
  readonly extents: readonly string[];
  /** In which memory it lies. */
  readonly memory: VariableMemory;
  /** In which line it is declared, from 1. */
  readonly line: number;
}

/** Words that say how a variable is stored, and not of which type it is. */
const STORAGE: ReadonlySet<string> = new Set([
  "extern",
  "static",
  "inline",
  "const",
  "volatile",
  "thread_local",
  "__device__",
  "__constant__",
  "__managed__",
  "__restrict__",
]);

/** A name with what stands around it. */
interface Declarator {
  readonly name: number;
  readonly stars: string;
  readonly extents: readonly string[];
}

/**
 * The variables that a source defines, each once, in order; none that depend on what cannot be seen
 * from here.
 */
export function variablesOf(context: SourceContext): VariableDeclaration[] {
  const found = new Map<string, VariableDeclaration>();
  for (const declaration of context.list.declarations) {
    for (const variable of readVariables(context, declaration)) {
      if (!found.has(variable.expression)) found.set(variable.expression, variable);
    }
  }
  return [...found.values()];
}

function readVariables(context: SourceContext, declaration: Declaration): VariableDeclaration[] {
  const { list, macros, lines } = context;
  if (declaration.kind !== "variable" || declaration.templateHeads > 0) return [];
  const { words } = annotationsOf(list, declaration, macros);
  const memory = memoryOf(words);
  // A constant has no address; what is declared extern may be nowhere.
  if (memory === undefined || words.has("constexpr")) return [];
  if (words.has("extern") && declaration.initialiser === NONE) return [];
  const [typeText, declarators] = readDeclarators(context, declaration);
  const certain = declarators.filter(({ name }) => !list.tokens[name]!.conditional);
  return certain.map(({ name, stars, extents }) => {
    const token = list.tokens[name]!;
    return {
      expression: [...declaration.namespaces, token.text].join("::"),
      type: typeText + stars,
      extents,
      memory,
      line: lines.lineOf(token.start),
    };
  });
}

function memoryOf(words: ReadonlySet<string>): VariableMemory | undefined {
  if (words.has("__constant__")) return "constant";
  if (words.has("__managed__")) return "managed";
  return words.has("__device__") && !words.has("__shared__") ? "device" : undefined;
}

/** The type that stands first, and the names behind it. */
function readDeclarators(
  context: SourceContext,
  declaration: Declaration,
): [string, Declarator[]] {
  const { tokens, partners } = context.list;
  const parts = splitAtCommas(context, declaration);
  const declarators: Declarator[] = [];
  let typeText = "";
  for (const [index, { first, end }] of parts.entries()) {
    const name = nameOf(context, first, end);
    if (name === NONE) continue;
    const before = words(context, first, name);
    const stars = before.filter((word) => word === "*").join("");
    if (index === 0) typeText = before.filter((word) => word !== "*").join(" ");
    const extents: string[] = [];
    let at = name + 1;
    while (at < end && tokens[at]!.text === "[" && partners[at] !== NONE) {
      extents.push(tokens.slice(at + 1, partners[at]).map(({ text }) => text).join(" "));
      at = partners[at]! + 1;
    }
    declarators.push({ name, stars, extents });
  }
  return [typeText, declarators];
}

/** The declarators of a declaration, without their initialisers. */
function splitAtCommas(
  { list: { tokens, partners } }: SourceContext,
  { head, last }: Declaration,
): { first: number; end: number }[] {
  const parts: { first: number; end: number }[] = [];
  let first = head;
  let end = NONE;
  let angles = true;
  for (let at = head; at <= last; at++) {
    const { text } = tokens[at]!;
    if (text === "," || text === ";" || at === last) {
      parts.push({ first, end: end === NONE ? at : end });
      [first, end] = [at + 1, NONE];
    } else if (text === "=" || text === "{" || text === "(") {
      if (end === NONE && !(text === "(" && isAttribute(tokens[at - 1]?.text ?? ""))) end = at;
    } else if (text === "<" && end === NONE && angles) {
      const close = closingAngle(tokens, partners, at, last);
      angles = close !== NONE;
      if (angles) at = close;
    }
    if (/^[([{]$/.test(text) && partners[at]! > at) at = partners[at]!;
  }
  return parts;
}

/** The last word before extents. */
function nameOf({ list: { tokens } }: SourceContext, first: number, end: number): number {
  let name = NONE;
  for (let at = first; at < end && tokens[at]!.text !== "["; at++) {
    if (tokens[at]!.kind === "word") name = at;
  }
  return name;
}

/** The words and stars of a type, attributes and storage left out. */
function words(
  { list: { tokens, partners }, macros, aliases }: SourceContext,
  first: number,
  end: number,
): string[] {
  const result: string[] = [];
  for (let at = first; at < end; at++) {
    const { kind, text } = tokens[at]!;
    if (isAttribute(text) && partners[at + 1]! > at) at = partners[at + 1]!;
    else if (kind === "word") {
      for (const word of macros.expand(text).split(" ")) {
        if (!STORAGE.has(word)) result.push(aliases.resolve(word));
      }
    } else result.push(text);
  }
  return result;
}
