/**
 * A source as a list of declarations: those of namespaces and of `extern "C"` blocks, and those in
 * classes. Function bodies and initialisers are opaque.
 *
 * @module
 */

import { ATTRIBUTE_WORDS } from "../signature/c_types.ts";
import { matchBrackets, NONE } from "../signature/tokens.ts";
import type { ActiveToken, MacroTable } from "./preprocessor.ts";

/** A declaration. Positions are those of tokens. */
export interface Declaration {
  /** An `alias` is `using` or `typedef`; `other` is `enum`, `static_assert` or a macro's call. */
  readonly kind: "function" | "class" | "variable" | "alias" | "other";
  /** Its first token: that of `template` or `extern "C"` if it has them. */
  readonly first: number;
  /** The first token behind template heads. */
  readonly head: number;
  /** Its last token: `;` or `}`. */
  readonly last: number;
  /** The `{` of a function's or class's body, or {@linkcode NONE}. */
  readonly body: number;
  /** The `(` of a function's parameters, or {@linkcode NONE}. */
  readonly parameters: number;
  /** The `=` or `{` of a variable's initialiser, or {@linkcode NONE}. */
  readonly initialiser: number;
  readonly templateHeads: number;
  readonly isTemplate: boolean;
  /** Whether it is `template` without parameters. */
  readonly isInstantiation: boolean;
  /** The named namespaces around it, outermost first. */
  readonly namespaces: readonly string[];
}

export interface DeclarationList {
  readonly tokens: readonly ActiveToken[];
  readonly partners: Int32Array;
  readonly declarations: readonly Declaration[];
}

const MAX_SCOPES = 256;

/** Words before brackets that hold no parameters. */
const ATTRIBUTES: ReadonlySet<string> = new Set([
  ...ATTRIBUTE_WORDS,
  ..."__attribute __declspec decltype __typeof__ noexcept throw explicit asm __asm__ requires"
    .split(" "),
]);

/** Words that may follow a function's parameters. */
const AFTER_PARAMETERS: ReadonlySet<string> = new Set(
  ("const volatile noexcept override final throw try requires __attribute__ asm __asm__ " +
    "__launch_bounds__").split(" "),
);

const CLASS_KEYS: ReadonlySet<string> = new Set(["class", "struct", "union"]);

/** Reads the declarations of a text inside these namespaces. */
export function readDeclarations(
  tokens: readonly ActiveToken[],
  around: readonly string[] = [],
): DeclarationList {
  const partners = matchBrackets(tokens);
  const list: DeclarationList & { declarations: Declaration[] } = {
    tokens,
    partners,
    declarations: [],
  };
  const scopes: { readonly names: readonly string[]; readonly end: number }[] = [];
  let namespaces = around;
  for (let at = 0; at < tokens.length;) {
    if (scopes.at(-1)?.end === at) {
      scopes.pop();
      namespaces = [...around, ...scopes.flatMap(({ names }) => names)];
      at++;
    } else if (tokens[at]!.text === ";" || tokens[at]!.text === "}") at++;
    else {
      const scope = scopes.length < MAX_SCOPES ? scopeAt(list, at) : undefined;
      if (scope === undefined) {
        const end = scopes.at(-1)?.end ?? tokens.length;
        const declaration = readDeclaration(list, at, end, namespaces);
        list.declarations.push(declaration);
        at = declaration.last + 1;
      } else {
        const close = partners[scope.brace]!;
        scopes.push({ names: scope.names, end: close === NONE ? tokens.length : close });
        namespaces = [...namespaces, ...scope.names];
        at = scope.brace + 1;
      }
    }
  }
  return list;
}

/** The namespaces that tokens leave open; undefined if they leave other brackets open. */
export function openScopes(tokens: readonly ActiveToken[]): readonly string[] | undefined {
  const partners = matchBrackets(tokens);
  const names: string[] = [];
  for (const [at, { text }] of tokens.entries()) {
    if (!/^[({]$/.test(text) || partners[at] !== NONE) continue;
    let first = at;
    while (first > 0 && !/^[;{}]$/.test(tokens[first - 1]!.text)) first--;
    const scope = scopeAt({ tokens, partners }, first);
    if (scope?.brace !== at) return undefined;
    names.push(...scope.names);
  }
  return names;
}

/** The `namespace` or `extern "C"` block that begins at a token. */
function scopeAt(
  { tokens, partners }: Omit<DeclarationList, "declarations">,
  start: number,
): { readonly names: readonly string[]; readonly brace: number } | undefined {
  const textAt = (at: number) => tokens[at]?.text ?? "";
  if (textAt(start) === "extern" && /^"C(?:\+\+)?"$/.test(textAt(start + 1))) {
    return textAt(start + 2) === "{" ? { names: [], brace: start + 2 } : undefined;
  }
  let at = textAt(start) === "inline" ? start + 1 : start;
  if (textAt(at) !== "namespace") return undefined;
  const names: string[] = [];
  for (at++; textAt(at) !== "{"; at++) {
    const { kind, text } = tokens[at] ?? { kind: "sign", text: "" };
    if (kind === "word") {
      if (text !== "inline" && !text.startsWith("__")) names.push(text);
    } else if (/^[([]$/.test(text) && partners[at] !== NONE) at = partners[at]!;
    // An alias, or no namespace at all.
    else if (text !== "::") return undefined;
  }
  return { names, brace: at };
}

export function membersOf(list: DeclarationList, { body, namespaces }: Declaration): Declaration[] {
  const { tokens, partners } = list;
  const members: Declaration[] = [];
  if (body === NONE || partners[body] === NONE) return members;
  const end = partners[body]!;
  for (let at = body + 1; at < end;) {
    const { text } = tokens[at]!;
    if (text === ";" || text === "}") at++;
    else if (/^(?:public|protected|private)$/.test(text) && tokens[at + 1]?.text === ":") at += 2;
    else {
      const member = readDeclaration(list, at, end, namespaces);
      members.push(member);
      at = member.last + 1;
    }
  }
  return members;
}

// ---- One declaration -----------------------------------------------------------------------------

/** The position behind the signs of an operator's name: those of `operator +=` or `operator ()`. */
function operatorEnd({ tokens }: DeclarationList, at: number): number {
  let end = at + 1;
  if (tokens[end]?.text === "(") return tokens[end + 1]?.text === ")" ? end + 2 : end;
  while (tokens[end]?.kind === "sign" && !/^[(;{}]$/.test(tokens[end]!.text)) end++;
  return end;
}

/** Reads the declaration that begins at a token and ends before `end`, in linear time. */
function readDeclaration(
  list: DeclarationList,
  first: number,
  end: number,
  namespaces: readonly string[],
): Declaration {
  const { tokens, partners } = list;
  const textAt = (at: number) => at < end ? tokens[at]?.text ?? "" : "";
  const isWordAt = (at: number) => at < end && tokens[at]?.kind === "word";
  let [head, templateHeads, isTemplate] = [first, 0, false];
  while (textAt(head) === "template" && textAt(head + 1) === "<") {
    const close = partners[head + 1]!;
    if (close === NONE || close >= end) break;
    templateHeads++;
    isTemplate ||= close > head + 2;
    head = close + 1;
  }
  const word = head + (textAt(head) === "extern" ? 1 : 0);
  const isInstantiation = textAt(word) === "template" && textAt(word + 1) !== "<";
  let [parameters, initialiser, body, last] = [NONE, NONE, NONE, NONE];
  let [isClass, isEnum, inBases, inMemberInitialisers] = [false, false, false, false];
  // A macro's call that stands by itself, without a semicolon.
  const called = isWordAt(head) && textAt(head + 1) === "(" ? partners[head + 1]! : NONE;
  const isCall = called !== NONE && called < end && !ATTRIBUTES.has(textAt(head)) &&
    (called + 1 === end || isWordAt(called + 1) && !AFTER_PARAMETERS.has(textAt(called + 1)));
  if (isCall) last = called;

  for (let at = head, next: number; last === NONE; at = next) {
    const text = textAt(at);
    const before = textAt(at - 1);
    const close = /^[[({]$/.test(text) ? partners[at]! : at;
    const isOpen = close === NONE || close >= end;
    next = isOpen ? at + 1 : close + 1;
    if (at >= end) last = end - 1;
    else if (text === "operator") next = operatorEnd(list, at);
    else if (text === ";") last = at;
    else if (text === "(") {
      const isValue = parameters !== NONE || initialiser !== NONE || inBases || at === first ||
        ATTRIBUTES.has(before) ||
        isWordAt(next) && !AFTER_PARAMETERS.has(textAt(next));
      // The parameters of (*pointer)(…) and (f)(…) follow.
      if (!isValue && textAt(next) !== "(") parameters = at;
    } else if (text === "{") {
      const braceEnd: number = isOpen ? end - 1 : close;
      next = braceEnd + 1;
      // Member initialisers may have braces too: `: a{1}, b(2) {`.
      const isMember = inMemberInitialisers && before !== "try" &&
        (isWordAt(at - 1) || before === ">");
      if (initialiser !== NONE || isMember) continue;
      if (parameters !== NONE) {
        if (body === NONE) body = at;
        if (textAt(next) === "catch") inMemberInitialisers = false;
        else last = braceEnd;
      } else if (isClass || isEnum) {
        if (body === NONE) body = at;
      } else {
        initialiser = at;
        if (!/^[;,=]$/.test(textAt(next))) last = braceEnd;
      }
    } else if (CLASS_KEYS.has(text)) isClass = true;
    else if (text === "enum") isEnum = true;
    else if (text === "=" && initialiser === NONE) initialiser = at;
    else if (text === ":" && parameters !== NONE) inMemberInitialisers = true;
    else if (text === ":" && isClass) inBases = true;
  }

  const kindOf = (): Declaration["kind"] => {
    const key = textAt(head);
    if (key === "using" || key === "typedef") return "alias";
    if (key === "static_assert" || key === "namespace") return "other";
    if (parameters !== NONE) {
      // The brackets of `float3 origin(0, 0, 0);` hold values.
      const value = tokens[parameters + 1];
      const isValue = value?.kind === "number" || value?.kind === "string" || value?.text === "-";
      return isValue && body === NONE ? "variable" : "function";
    }
    const isForward = last - head <= 2 && CLASS_KEYS.has(key);
    if (!isEnum && isClass && (body !== NONE || isForward)) return "class";
    return isEnum || textAt(last) === ")" ? "other" : "variable";
  };
  return {
    kind: kindOf(),
    first,
    head,
    last,
    body,
    parameters,
    initialiser,
    templateHeads,
    isTemplate,
    isInstantiation,
    namespaces,
  };
}

// ---- Names and declarators -----------------------------------------------------------------------

/** The declared name; empty if there is no plain one. */
export function declaredName({ tokens }: DeclarationList, declaration: Declaration): string {
  const { kind, head, body, parameters, initialiser, last } = declaration;
  if (parameters !== NONE) return wordAt(tokens[parameters - 1]);
  if (kind === "class" || tokens[head]?.text === "enum") {
    const words = tokens.slice(head + 1, body === NONE ? last : body);
    const end = words.findIndex(({ text }) => text === ":" || text === "<" || text === "final");
    return wordAt(
      words.slice(0, end < 0 ? undefined : end).findLast((part) => wordAt(part) !== ""),
    );
  }
  if (kind === "alias" && tokens[head + 2]?.text === "=") return wordAt(tokens[head + 1]);
  let at = (initialiser === NONE ? last : initialiser) - 1;
  while (tokens[at]?.text === "]" && at > head) {
    while (at > head && tokens[at]!.text !== "[") at--;
    at--;
  }
  return at > head ? wordAt(tokens[at]) : "";
}

function wordAt(token: ActiveToken | undefined): string {
  return token?.kind === "word" ? token.text : "";
}

/** One name of a declaration, such as `*b[2]` of `int a, *b[2];`. */
export interface Declarator {
  /** The tokens before the name, attributes left out; of the first one also the type. */
  readonly before: readonly ActiveToken[];
  readonly name: ActiveToken | undefined;
  readonly extents: readonly (readonly ActiveToken[])[];
  /** The sign that ends it: `,` or `;`, or that of an initialiser or a bit-field. */
  readonly end: string;
}

/** The declarators between two tokens, the last of which ends them. */
export function declaratorsOf(
  { tokens, partners }: DeclarationList,
  first: number,
  last: number,
): Declarator[] {
  const found: Declarator[] = [];
  let before: ActiveToken[] = [];
  let extents: (readonly ActiveToken[])[] = [];
  let end = "";
  for (let at = first; at <= last; at++) {
    const token = tokens[at]!;
    const { text, kind } = token;
    const close = Math.max(at, Math.min(partners[at]!, last - 1));
    if (text === "," || text === ";" || at === last) {
      const name = before.at(-1)?.kind === "word" ? before.pop() : undefined;
      found.push({ before, name, extents, end: end || text });
      [before, extents, end] = [[], [], ""];
    } else if (ATTRIBUTES.has(text) && partners[at + 1]! > at) at = partners[at + 1]!;
    else if (end === "" && /^[={(:]$/.test(text)) end = text;
    else if (end === "" && text === "[") extents.push(tokens.slice(at + 1, close));
    else if (end === "") {
      const part = text === "<" ? close : at;
      for (let next = at; next <= part; next++) before.push(tokens[next]!);
    }
    if (kind === "sign" && /^[[({<]$/.test(text)) at = close;
  }
  // Brackets that reach beyond the end, which the compiler reports.
  if (found.length === 0) found.push({ before, name: undefined, extents, end });
  return found;
}

/** The types that texts rename: `using real = float;`, `typedef unsigned int word;`. */
export function typeAliases(lists: readonly DeclarationList[]): Map<string, string> {
  const types = new Map<string, string>();
  const ambiguous = new Set<string>();
  const all = lists.flatMap(({ tokens, declarations }) =>
    declarations.map((declaration) => ({ ...declaration, tokens }))
  );
  for (const { kind, isTemplate, head, last, tokens } of all) {
    if (kind !== "alias" || isTemplate) continue;
    const words = tokens.slice(head + 1, last);
    const isUsing = tokens[head]!.text === "using";
    if (isUsing && words.splice(1, 1)[0]?.text !== "=") continue;
    const name = wordAt(isUsing ? words.shift() : words.pop());
    const isPlain = words.every((word) => word.kind === "word" && word.text !== name);
    const isType = /^(?:struct|class|union|enum|typename)$/.test(words[0]?.text ?? "struct");
    if (name === "" || !isPlain || isType) continue;
    const type = words.map(({ text }) => text).join(" ");
    if ((types.get(name) ?? type) !== type) ambiguous.add(name);
    types.set(name, type);
  }
  for (const name of ambiguous) types.delete(name);
  return types;
}

export class DeclaredNames {
  readonly #names = new Set<string>();
  /** The unqualified names: most words of a source are none of them. */
  readonly #plain = new Set<string>();

  /** Collects the names; those outside of namespaces are the same from everywhere. */
  constructor(lists: readonly DeclarationList[]) {
    for (const list of lists) {
      for (const declaration of list.declarations) this.#add(list, declaration);
    }
  }

  #add(list: DeclarationList, declaration: Declaration): void {
    const { namespaces } = declaration;
    if (namespaces.length === 0) return;
    for (let depth = namespaces.length; depth > 0; depth--) {
      const name = namespaces.slice(0, depth).join("::");
      // The namespaces around a known one are known.
      if (this.#names.has(name)) break;
      this.#names.add(name);
      this.#plain.add(namespaces[depth - 1]!);
    }
    const name = declaredName(list, declaration);
    this.#names.add([...namespaces, name].join("::"));
    this.#plain.add(name);
  }

  /** The name outside of all namespaces of a word that stands in some. */
  qualified(word: string, namespaces: readonly string[]): string {
    if (!this.#plain.has(word)) return word;
    for (let depth = namespaces.length; depth > 0; depth--) {
      const candidate = [...namespaces.slice(0, depth), word].join("::");
      if (this.#names.has(candidate)) return candidate;
    }
    return word;
  }
}

// ---- Annotations ---------------------------------------------------------------------------------

/** The words before a declaration's name: its target and storage. */
export interface Annotations {
  /** These words, macros replaced. */
  readonly words: ReadonlySet<string>;
  readonly isForDevice: boolean;
  /** Whether one of the words may be a macro of an unseen header. */
  readonly isDoubtful: boolean;
}

/** Reserved words that are no macros. */
const KNOWN_WORD = new RegExp(
  "^__(?:attribute|extension|inline|restrict|volatile|const|signed|asm|typeof|int128|half|nv_|" +
    "launch_bounds|(?:global|device|host|constant|managed|shared|forceinline|noinline|inline_hint|" +
    "align|maxnreg|cluster_dims|block_size|grid_constant|builtin_align)__$)",
);
const MACRO_NAME = /^(?:[A-Z][A-Z0-9_]*|__\w+)$/;
const DEVICE_WORDS = ["__global__", "__device__", "__constant__", "__managed__", "__shared__"];

/** Reads the words before a declaration's name, but those in brackets. */
export function annotationsOf(
  { tokens, partners }: DeclarationList,
  { head, parameters, body, initialiser, last }: Declaration,
  macros: MacroTable,
): Annotations {
  const words = new Set<string>();
  let isDoubtful = false;
  const ends = [parameters, body, initialiser].filter((position) => position !== NONE);
  const end = Math.min(...ends, tokens[last]?.text === ";" ? last : last + 1);
  for (let at = head; at < end; at++) {
    const { kind, text } = tokens[at]!;
    if (partners[at]! > at && partners[at]! < end) at = partners[at]!;
    if (kind !== "word") continue;
    const expanded = macros.expand(text);
    for (const word of expanded.split(" ")) words.add(word);
    const macro = macros.look(text);
    isDoubtful ||= expanded === text && at < end - 1 && (
      macro === "function" ||
      macro === "unknown" && MACRO_NAME.test(text) && !KNOWN_WORD.test(text)
    );
  }
  return { words, isDoubtful, isForDevice: DEVICE_WORDS.some((word) => words.has(word)) };
}
