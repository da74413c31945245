/**
 * The kernels among a source's declarations.
 *
 * @module
 */

import type { ActiveToken } from "./active_tokens.ts";
import { annotationsOf } from "./annotations.ts";
import { NONE } from "./brackets.ts";
import type { Declaration, DeclarationList } from "./declarations.ts";
import { DeclaredNames } from "./declared_names.ts";
import type { MacroTable } from "./macros.ts";
import { parameterTypes } from "./parameter_types.ts";
import type { SourceContext } from "./source_context.ts";
import type { TypeAliases } from "./type_aliases.ts";

/** A kernel as its source declares it. */
export interface KernelDeclaration {
  /** Its name in C++: `n::saxpy`; of an instance with its arguments, `n::tile<float, 32>`. */
  readonly expression: string;
  /**
   * Its signature: {@linkcode KernelDeclaration.expression} and the parameters as they are written,
   * but without comments and default arguments, and with the source's macros and plain type aliases
   * replaced by what they stand for.
   */
  readonly signature: string;
  /** In which line it is declared, from 1. */
  readonly line: number;
  /** Whether only its instances are kernels; the parameters' types may then be the template's. */
  readonly isTemplate: boolean;
  /**
   * Whether it depends on what cannot be seen from here, such as a macro of a header, that the
   * compiler gets to see it.
   */
  readonly isConditional: boolean;
  /** Whether other kernels have the same name, so that it alone does not tell which is meant. */
  readonly isOverloaded: boolean;
  /** The types of its parameters as they are written outside of its namespaces: `float*, n::Box`. */
  readonly parameterTypes: string;
}

const IDENTIFIER = /^[A-Za-z_$\u0080-\uffff][A-Za-z0-9_$\u0080-\uffff]*$/;

/** A kernel, and whether this is its definition. */
interface FoundKernel extends KernelDeclaration {
  readonly defines: boolean;
}

/** The kernels that a source defines or instantiates, each once; those of one name together. */
export function kernelsOf(context: SourceContext): KernelDeclaration[] {
  const names = new DeclaredNames(context.list);
  const found = new Map<string, FoundKernel[]>();
  for (const [index, declaration] of context.list.declarations.entries()) {
    const before = context.list.declarations[index - 1];
    const kernel = readKernel(context, names, declaration, before);
    if (kernel === undefined) continue;
    const same = found.get(kernel.expression);
    if (same === undefined) found.set(kernel.expression, [kernel]);
    else same.push(kernel);
  }
  return [...found.values()].flatMap(distinctKernels);
}

/**
 * Of what has one name, that which is defined: each list of parameters once. Branches of the
 * preprocessor may define the same kernel in several ways.
 */
function distinctKernels(same: readonly FoundKernel[]): KernelDeclaration[] {
  const distinct = new Map<string, KernelDeclaration>();
  for (const { defines, ...kernel } of same) {
    const key = `${kernel.parameterTypes} ${kernel.isTemplate}`;
    const known = distinct.get(key);
    const isBetter = known === undefined || known.isConditional && !kernel.isConditional;
    if (defines && isBetter) distinct.set(key, kernel);
  }
  const isOverloaded = distinct.size > 1;
  return [...distinct.values()].map((kernel) => ({ ...kernel, isOverloaded }));
}

function readKernel(
  context: SourceContext,
  names: DeclaredNames,
  declaration: Declaration,
  before: Declaration | undefined,
): FoundKernel | undefined {
  const { list, macros, lines } = context;
  if (declaration.kind !== "function") return undefined;
  if (!annotationsOf(list, declaration, macros).words.has("__global__")) return undefined;
  const name = readName(list, names, declaration, macros);
  if (name === undefined) return undefined;
  const isInstance = declaration.isInstantiation ||
    (declaration.templateHeads > 0 && !declaration.isTemplate);
  // Without its arguments an instance has no name.
  if (isInstance && name.templateArguments === "") return undefined;
  const scope = [...declaration.namespaces, name.text].join("::");
  const expression = scope + name.templateArguments;
  const start = list.tokens[name.position]!;
  return {
    expression,
    signature: `${expression}(${parameterText(context, declaration)})`,
    line: lines.lineOf(start.start),
    isTemplate: declaration.isTemplate,
    // A macro's call right before it may say anything, such as template <…>.
    isConditional: start.conditional || isMacroCall(list, before, declaration),
    isOverloaded: false,
    parameterTypes: parameterTypes(list, declaration, names, macros),
    defines: declaration.body !== NONE || declaration.isInstantiation,
  };
}

function isMacroCall(
  { tokens }: DeclarationList,
  before: Declaration | undefined,
  declaration: Declaration,
): boolean {
  return before !== undefined && before.last === declaration.first - 1 &&
    tokens[before.last]!.text === ")";
}

interface KernelName {
  readonly text: string;
  readonly templateArguments: string;
  readonly position: number;
}

/** The name before the parameters; undefined where a macro makes it. */
function readName(
  list: DeclarationList,
  names: DeclaredNames,
  declaration: Declaration,
  macros: MacroTable,
): KernelName | undefined {
  const { tokens } = list;
  const last = declaration.parameters - 1;
  let at = last;
  if (tokens[at]?.text === ">") at = openingAngle(list, at, declaration.head) - 1;
  if (at < declaration.head || tokens[at]!.kind !== "word") return undefined;
  // The arguments are named from where they stand, the expression from outside.
  const templateArguments = at === last
    ? ""
    : joined(outsideNames(tokens.slice(at + 1, last + 1), names, declaration.namespaces));
  const position = at;
  const parts = [macros.expand(tokens[at]!.text)];
  while (
    tokens[at - 1]?.text === "::" && tokens[at - 2]?.kind === "word" && at > declaration.head
  ) {
    at -= 2;
    parts.unshift(tokens[at]!.text);
  }
  if (!parts.every((part) => IDENTIFIER.test(part))) return undefined;
  return { text: parts.join("::"), templateArguments, position };
}

function outsideNames(
  tokens: readonly ActiveToken[],
  names: DeclaredNames,
  namespaces: readonly string[],
): TextPart[] {
  return tokens.map(({ kind, text, ...place }, index) => {
    const isFirst = kind === "word" && !/^(?:::|\.|->)$/.test(tokens[index - 1]?.text ?? "");
    return { text: isFirst ? names.qualified(text, namespaces) : text, ...place };
  });
}

function openingAngle({ tokens, partners }: DeclarationList, close: number, from: number): number {
  let open = 0;
  for (let at = close; at >= from; at--) {
    const { text } = tokens[at]!;
    if (text === ">") open++;
    else if (text === "<" && --open === 0) return at;
    else if (/^[)\]}]$/.test(text) && partners[at] !== NONE) at = partners[at]!;
  }
  return NONE;
}

/** The parameters on one line, without comments and default arguments. */
function parameterText(
  { list: { tokens, partners }, macros, aliases }: SourceContext,
  { parameters }: Declaration,
): string {
  const end = partners[parameters] === NONE ? parameters : partners[parameters]!;
  const parts: TextPart[] = [];
  let isDefault = false;
  for (let at = parameters + 1; at < end; at++) {
    const token = tokens[at]!;
    if (token.text === ",") isDefault = false;
    else if (token.text === "=") isDefault = true;
    if (isDefault) {
      // A default argument's own commas are in brackets.
      if (partners[at]! > at) at = partners[at]!;
      continue;
    }
    // What is qualified is not the alias of that name that was found without.
    const isPlain = token.kind === "word" && tokens[at - 1]!.text !== "::";
    const text = isPlain ? replaced(token.text, macros, aliases) : token.text;
    parts.push({ ...token, text });
  }
  return joined(parts).trim();
}

function replaced(word: string, macros: MacroTable, aliases: TypeAliases): string {
  return macros.expand(word).split(" ").map((part) => aliases.resolve(part)).join(" ");
}

/** A token's text, which may have been replaced, and its place. */
type TextPart = Pick<ActiveToken, "text" | "start" | "end" | "isSpaced">;

/** Tokens as text, one space where there was any, or a comment, between them. */
function joined(tokens: readonly TextPart[]): string {
  let text = "";
  let end = tokens[0]?.start ?? 0;
  for (const token of tokens) {
    text += token.isSpaced ?? token.start > end ? ` ${token.text}` : token.text;
    end = token.end;
  }
  return text.replaceAll(/ (?=,)/g, "");
}
