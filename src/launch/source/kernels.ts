/**
 * The kernels and device variables among a source's declarations.
 *
 * @module
 */

import { C_TYPE_WORDS, ELABORATED_WORDS, RESTRICT_QUALIFIERS } from "../signature/c_types.ts";
import { NONE, textOfTokens, tokenize } from "../signature/tokens.ts";
import {
  annotationsOf,
  type Declaration,
  type DeclarationList,
  declaratorsOf,
  DeclaredNames,
} from "./declarations.ts";
import { MacroExpander } from "./macro_calls.ts";
import type { ActiveToken } from "./preprocessor.ts";
import { resolvedWords, type SourceContext } from "./source_context.ts";

export interface KernelDeclaration {
  /** Its name in C++: `n::saxpy`; of an instance with its arguments, `n::tile<float, 32>`. */
  readonly expression: string;
  /**
   * Its expression and parameters, without comments and default arguments, macros and type aliases
   * replaced.
   */
  readonly signature: string;
  /** Whether only its instances are kernels. */
  readonly isTemplate: boolean;
  /** The names of a template's parameters with their defaults; empty if an argument may be a pack. */
  readonly templateParameters: readonly (readonly [name: string, byDefault: string])[];
  /** Whether only the compiler knows that it is there, because of an unseen macro, for example. */
  readonly isConditional: boolean;
  readonly isOverloaded: boolean;
  /** The types of its parameters as they are written outside of its namespaces: `float*, n::Box`. */
  readonly parameterTypes: string;
}

const IDENTIFIER = /^[A-Za-z_$\u0080-\uffff][A-Za-z0-9_$\u0080-\uffff]*$/;

/**
 * The kernels that a source and its headers define or instantiate, each once; those of one name
 * together.
 */
export function kernelsOf(source: SourceContext): KernelDeclaration[] {
  const contexts = [...source.headers, source];
  const names = new DeclaredNames(contexts.map(({ list }) => list));
  const expander = new MacroExpander(source.macros);
  const found = contexts.flatMap((context) => {
    const { declarations } = context.list;
    return declarations.map((declaration, index) =>
      readKernel(
        context,
        names,
        declaration,
        isOpen(context.list, declarations[index - 1], expander),
      )
    ).filter((kernel) => kernel !== undefined);
  });
  return [...Map.groupBy(found, ({ expression }) => expression).values()].flatMap(distinctKernels);
}

/**
 * Whether a declaration is a macro's call that may continue in the next one: with `template <…>`, for
 * example.
 */
function isOpen(
  { tokens }: DeclarationList,
  declaration: Declaration | undefined,
  expander: MacroExpander,
): boolean {
  if (declaration === undefined || tokens[declaration.last]?.text !== ")") return false;
  const { head, first, last } = declaration;
  if (!expander.isCall(tokens, head)) return true;
  const expanded = expander.expand(tokens.slice(first, last + 1));
  return expanded === undefined || !/^[;}]$/.test(expanded.tokens.at(-1)?.text ?? ";");
}

/**
 * The kernels of one name, each list of parameters once: branches of the preprocessor may define the
 * same kernel in several ways.
 */
function distinctKernels(same: readonly KernelDeclaration[]): KernelDeclaration[] {
  const distinct = new Map<string, KernelDeclaration>();
  for (const kernel of same) {
    const key = `${kernel.parameterTypes} ${kernel.isTemplate}`;
    const known = distinct.get(key);
    const isBetter = known === undefined || known.isConditional && !kernel.isConditional;
    if (isBetter) distinct.set(key, kernel);
  }
  return [...distinct.values()].map((kernel) => ({ ...kernel, isOverloaded: distinct.size > 1 }));
}

function readKernel(
  context: SourceContext,
  names: DeclaredNames,
  declaration: Declaration,
  isBehindOpen: boolean,
): KernelDeclaration | undefined {
  const { list, macros } = context;
  const { kind, head, parameters, namespaces } = declaration;
  // A mere declaration is no kernel.
  const isDefinition = declaration.body !== NONE || declaration.isInstantiation;
  if (kind !== "function" || !isDefinition) return undefined;
  if (!annotationsOf(list, declaration, macros).words.has("__global__")) return undefined;
  // The name before the parameters, behind which may be template arguments.
  const { tokens, partners } = list;
  let at = parameters - 1;
  if (tokens[at]?.text === ">") at = partners[at]! - 1;
  if (at < head || tokens[at]!.kind !== "word") return undefined;
  const templateArguments = joined(
    tokens.slice(at + 1, parameters),
    (token, previous) => isMember(previous) ? token.text : names.qualified(token.text, namespaces),
  );
  const isInstance = declaration.isInstantiation ||
    (declaration.templateHeads > 0 && !declaration.isTemplate);
  // Without its arguments an instance has no name.
  if (isInstance && templateArguments === "") return undefined;
  const name = tokens[at]!;
  const parts = [macros.expand(name.text)];
  for (; tokens[at - 1]?.text === "::" && tokens[at - 2]?.kind === "word" && at > head; at -= 2) {
    parts.unshift(tokens[at - 2]!.text);
  }
  if (!parts.every((part) => IDENTIFIER.test(part))) return undefined;
  const expression = [...namespaces, ...parts].join("::") + templateArguments;
  const ranges = parametersOf(list, declaration);
  const types = ranges.map((range) => typeText(context, names, namespaces, range));
  const texts = ranges.map((range) =>
    joined(
      range.tokens,
      (token, previous) =>
        previous?.text === "::" ? token.text : resolvedWords(context, token.text).join(" "),
    )
  );
  return {
    expression,
    signature: `${expression}(${texts.join(", ")})`,
    isTemplate: declaration.isTemplate,
    templateParameters: declaration.isTemplate ? templateParameters(list, declaration) : [],
    isConditional: name.conditional || isBehindOpen,
    isOverloaded: false,
    parameterTypes: types.filter((type) => type !== "void" && type !== "").join(", "),
  };
}

/** The parameters of `template <class T, int N = 4>`; none where one is a pack or has no name. */
function templateParameters(
  { tokens, partners }: DeclarationList,
  { first, templateHeads }: Declaration,
): [string, string][] {
  if (templateHeads !== 1) return [];
  const end = partners[first + 1]!;
  const found: [string, string][] = [];
  let [name, byDefault, isDefault] = ["", "", false];
  for (let at = first + 2; at <= end; at++) {
    const { kind, text } = tokens[at]!;
    const close = at === end ? at : Math.max(at, partners[at]!);
    if (text === "," || at === end) {
      if (name === "") return [];
      found.push([name, byDefault]);
      [name, byDefault, isDefault] = ["", "", false];
    } else if (isDefault) {
      byDefault += ` ${textOfTokens(tokens.slice(at, close + 1))}`;
    } else if (text === ".") return [];
    else if (text === "=") isDefault = true;
    else if (kind === "word") name = text;
    at = close;
  }
  return found;
}

/** The signature of a template's instance such as `tile<float,32>`; undefined if it is unknown. */
export function instanceSignature(
  { expression: template, signature, templateParameters }: Pick<
    KernelDeclaration,
    "expression" | "signature" | "templateParameters"
  >,
  instance: string,
): string | undefined {
  const tokens = tokenize(instance.slice(instance.indexOf("<") + 1, instance.lastIndexOf(">")));
  const values = [""];
  let depth = 0;
  for (const { text } of tokens) {
    depth += /^[<([{]$/.test(text) ? 1 : /^[>)\]}]$/.test(text) ? -1 : 0;
    if (text === "," && depth === 0) values.push("");
    else values[values.length - 1] += text;
  }
  const given = new Map(
    templateParameters.map(([name, byDefault], at) => [name, (values[at] || byDefault).trim()]),
  );
  if (values.length > given.size || [...given.values()].includes("")) return undefined;
  const parameters = tokenize(signature.slice(template.length));
  return instance +
    parameters.map(({ kind, text }, at) =>
      kind === "word" && parameters[at - 1]?.text !== "::" ? given.get(text) ?? text : text
    ).join("");
}

/** Whether a word behind this token is a member of what stands before. */
function isMember(previous: ActiveToken | undefined): boolean {
  return /^(?:::|\.|->)$/.test(previous?.text ?? "");
}

/** Tokens as text, one space for any white space or comment between them. */
function joined(
  tokens: readonly ActiveToken[],
  wordOf: (word: ActiveToken, previous: ActiveToken | undefined) => string,
): string {
  return tokens.map((token, index) => {
    const previous = tokens[index - 1];
    const text = token.kind === "word" ? wordOf(token, previous) : token.text;
    return previous !== undefined && token.start > previous.end ? ` ${text}` : text;
  }).join("");
}

// ---- Parameters ----------------------------------------------------------------------------------

interface ParameterRange {
  readonly tokens: readonly ActiveToken[];
  /** The position of its name among them, or {@linkcode NONE}. */
  readonly name: number;
}

const NO_TYPE: ReadonlySet<string> = new Set([
  ...["const", "volatile", "enum", "__grid_constant__"],
  ...ELABORATED_WORDS,
  ...RESTRICT_QUALIFIERS,
]);

function parametersOf(
  { tokens, partners }: DeclarationList,
  { parameters }: Declaration,
): ParameterRange[] {
  const close = Math.max(parameters, partners[parameters]!);
  const found: ParameterRange[] = [];
  let range: ActiveToken[] = [];
  let [name, words, isDefault, isNamed] = [NONE, 0, false, false];
  for (let at = parameters + 1; at <= close; at++) {
    const token = tokens[at]!;
    if (at === close || token.text === ",") {
      const word = range[name]?.text ?? "";
      const next = range[name + 1]?.text ?? "";
      const isPartOfType = words < 2 || C_TYPE_WORDS.has(word) || next === "::" || next === "<" ||
        range[name - 1]?.text === "::";
      if (range.length > 0) found.push({ tokens: range, name: isPartOfType ? NONE : name });
      [range, name, words, isDefault, isNamed] = [[], NONE, 0, false, false];
      continue;
    }
    isDefault ||= token.text === "=";
    const end = Math.max(at, partners[at]!);
    // The last word outside of brackets and before an array's extents is the name.
    if (!isDefault) {
      isNamed ||= token.text === "[";
      if (token.kind === "word" && !isNamed && !NO_TYPE.has(token.text)) {
        [name, words] = [range.length, words + 1];
      }
      for (let part = at; part <= end; part++) range.push(tokens[part]!);
    }
    at = end;
  }
  return found;
}

function typeText(
  { macros }: SourceContext,
  names: DeclaredNames,
  namespaces: readonly string[],
  { tokens, name }: ParameterRange,
): string {
  let text = "";
  for (const [index, token] of tokens.entries()) {
    const isDropped = token.text === "__grid_constant__" || RESTRICT_QUALIFIERS.has(token.text);
    if (index === name || isDropped) continue;
    const word = token.kind !== "word" || isMember(tokens[index - 1])
      ? token.text
      : macros.expand(token.text).split(" ").map((part) => names.qualified(part, namespaces))
        .join(" ");
    text += /\w$/.test(text) && /^\w/.test(word) ? ` ${word}` : word;
  }
  return text;
}

// ---- Overloads -----------------------------------------------------------------------------------

interface Overload {
  readonly name: string;
  readonly types: string;
}

/**
 * The expression that names an overload to a compiler: a cast to its own type, which every compiler
 * takes as a constant expression.
 */
export function overloadExpression({ name, types }: Overload): string {
  return `static_cast<void (*)(${types})>(${name})`;
}

/** The overload that an expression chooses; undefined for a plain name. */
export function overloadIn(expression: string): Overload | undefined {
  const [, types, name] = /^static_cast<void \(\*\)\((.*?)\)>\((.+)\)$/s.exec(expression) ?? [];
  return types === undefined || name === undefined ? undefined : { name, types };
}

/** An expression for messages: of an overload `add(const float*, int)`. */
export function readableExpression(expression: string): string {
  const overload = overloadIn(expression);
  return overload === undefined ? expression : `${overload.name}(${overload.types})`;
}

// ---- Variables -----------------------------------------------------------------------------------

export interface VariableDeclaration {
  readonly expression: string;
  /** Its type without `const`, macros and type aliases replaced. */
  readonly type: string;
  /** The extents of an array as they are written, outermost first: `["2 * N", "16"]`. */
  readonly extents: readonly string[];
  readonly memory: "device" | "constant" | "managed";
}

/** Words that describe a variable's storage, not its type. */
const STORAGE: ReadonlySet<string> = new Set(
  ("extern static inline const volatile thread_local __device__ __constant__ __managed__ " +
    "__restrict__").split(" "),
);

/** The variables that a source and its headers certainly define, each once, in order. */
export function variablesOf(source: SourceContext): VariableDeclaration[] {
  const found = new Map<string, VariableDeclaration>();
  for (const context of [...source.headers, source]) {
    for (const declaration of context.list.declarations) {
      for (const variable of readVariables(context, declaration)) {
        if (!found.has(variable.expression)) found.set(variable.expression, variable);
      }
    }
  }
  return [...found.values()];
}

function readVariables(
  context: SourceContext,
  declaration: Declaration,
): readonly VariableDeclaration[] {
  const { list, macros } = context;
  const { kind, templateHeads, head, initialiser, last, namespaces } = declaration;
  if (kind !== "variable" || templateHeads > 0) return [];
  const { words } = annotationsOf(list, declaration, macros);
  const memory = words.has("__constant__")
    ? "constant"
    : words.has("__managed__")
    ? "managed"
    : words.has("__device__") && !words.has("__shared__")
    ? "device"
    : undefined;
  // A constant has no address, and an extern declaration is no definition.
  if (memory === undefined || words.has("constexpr")) return [];
  if (words.has("extern") && initialiser === NONE) return [];
  const declarators = declaratorsOf(list, head, last);
  const wordsOf = (tokens: readonly ActiveToken[]) =>
    tokens.flatMap((token) =>
      token.kind === "word" ? resolvedWords(context, token.text) : [token.text]
    ).filter((word) => !STORAGE.has(word));
  const type = wordsOf(declarators[0]!.before).filter((word) => word !== "*").join(" ");
  return declarators.flatMap(({ before, name, extents }) => {
    if (type === "" || name === undefined || name.conditional) return [];
    return [{
      expression: [...namespaces, name.text].join("::"),
      type: type + before.filter(({ text }) => text === "*").map(({ text }) => text).join(""),
      extents: extents.map((extent) => extent.map(({ text }) => text).join(" ")),
      memory,
    }];
  });
}
