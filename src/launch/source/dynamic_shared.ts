/**
 * Rewrites `extern __shared__ T name[];` for the host device's compiler: as a reference to an array
 * in the block's memory. `csrc/host/include/gridstride/dynamic_shared.h` defines its initialiser.
 *
 * @module
 */

import { NONE, textOfTokens } from "../signature/tokens.ts";
import { type Declaration, declaratorsOf, membersOf } from "./declarations.ts";
import type { SourceContext } from "./source_context.ts";

const MEMORY = "GS_HOST_DYNAMIC_SHARED";
const MAX_CLASSES = 64;
const NO_INITIALISER = 'static_assert(false, "__shared__ variables have no initialisers"); ';

/** Words of such a declaration that are no part of the type. */
const STORAGE: ReadonlySet<string> = new Set(["extern", "static", "__shared__", "__device__"]);

interface Replacement {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * Rewrites the declarations of dynamic shared memory in a source and its headers, and refuses
 * initialisers of shared memory, as CUDA does. The text behind them keeps its place.
 *
 * @returns The texts by name; that of the source is empty.
 */
export function rewriteDynamicShared(source: SourceContext): ReadonlyMap<string, string> {
  const shared = new Map<string, string>();
  const contexts = [...source.headers, source].map((context) => ({
    context,
    replacements: context.text.includes("__shared__") ? declarationsOf(context, shared) : [],
  }));
  return new Map(contexts.map(({ context, replacements }) => {
    const inserted = shared.size > 0 ? insertions(context, shared) : [];
    return [context.name, replaced(context, [...replacements, ...inserted])];
  }));
}

/** Replacements of the declarations in functions; those outside are added to `shared`. */
function declarationsOf(context: SourceContext, shared: Map<string, string>): Replacement[] {
  const { tokens, declarations } = context.list;
  const global = new Set(declarations.map(({ head }) => head));
  const replacements: Replacement[] = [];
  for (let at = 0; at < tokens.length; at++) {
    if (wordsAt(context, at).includes("__shared__") && isInitialised(context, at)) {
      let first = at;
      while (first > 0 && STORAGE.has(tokens[first - 1]!.text)) first--;
      const { start } = tokens[first]!;
      replacements.push({ start, end: start, text: NO_INITIALISER });
    }
    if (!wordsAt(context, at).includes("extern")) continue;
    let first = at;
    // __shared__ extern float x[];
    while (first > 0 && STORAGE.has(tokens[first - 1]!.text)) first--;
    let isShared = false;
    for (at = first; at < tokens.length && !/^[;{}=]$/.test(tokens[at]!.text); at++) {
      isShared ||= wordsAt(context, at).includes("__shared__");
    }
    if (!isShared || tokens[at]?.text !== ";") continue;
    const references = referencesOf(context, first, at);
    const isGlobal = global.has(first);
    for (const [name, text] of isGlobal ? references : []) shared.set(name, text);
    const text = isGlobal ? "" : [...references.values()].join(" ");
    replacements.push({ start: tokens[first]!.start, end: tokens[at]!.end, text });
  }
  return replacements;
}

/** Whether a declaration of shared memory has a value, as in `__shared__ int x = 1;`. */
function isInitialised({ list: { tokens, partners } }: SourceContext, shared: number): boolean {
  for (let at = shared; at < tokens.length; at++) {
    const { text } = tokens[at]!;
    if (text === "=") return true;
    if (/^[;{}]$/.test(text)) return false;
    if (partners[at]! > at) at = partners[at]!;
  }
  return false;
}

function wordsAt({ list: { tokens }, macros }: SourceContext, at: number): string[] {
  const { kind, text } = tokens[at]!;
  return kind === "word" ? macros.expand(text).split(" ") : [text];
}

/** The references to the arrays that are declared between two tokens, by name. */
function referencesOf(context: SourceContext, first: number, last: number): Map<string, string> {
  const { list, macros } = context;
  const declarators = declaratorsOf(list, first, last);
  const type = declarators[0]!.before
    .flatMap(({ text }) => macros.expand(text).split(" "))
    .filter((word) => word !== "*" && !STORAGE.has(word)).join(" ");
  return new Map(declarators.map(({ before, name, extents }) => {
    const stars = before.filter(({ text }) => text === "*").map(({ text }) => text).join("");
    const array = extents.map((extent) => `[${textOfTokens(extent)}]`).join("");
    const text = `${type} ${stars}(&${name?.text ?? ""})${array} = ${MEMORY};`;
    return [name?.text ?? "", text];
  }));
}

/** References at the start of each function that uses an array of the whole source. */
function insertions(context: SourceContext, shared: ReadonlyMap<string, string>): Replacement[] {
  const { tokens } = context.list;
  return functionsOf(context).flatMap(({ parameters, body, last }) => {
    const used = new Set<string>();
    const hidden = new Set(tokens.slice(parameters, body).map(({ text }) => text));
    // A function's own array hides one of the whole source.
    let isShared = false;
    for (let at = body + 1; at < last; at++) {
      if (/^[;{}=]$/.test(tokens[at]!.text)) isShared = false;
      if (isShared) hidden.add(tokens[at]!.text);
      isShared ||= wordsAt(context, at).includes("__shared__");
    }
    for (let at = body + 1; at < last; at++) {
      const { text } = tokens[at]!;
      const reference = hidden.has(text) ? undefined : shared.get(text);
      if (reference !== undefined && !/^(?:\.|->)$/.test(tokens[at - 1]!.text)) used.add(reference);
    }
    const { end } = tokens[body]!;
    return used.size === 0 ? [] : [{ start: end, end, text: ` ${[...used].join(" ")}` }];
  });
}

function functionsOf({ list }: SourceContext): Declaration[] {
  let functions: Declaration[] = [];
  let pending = list.declarations;
  for (let depth = 0; pending.length > 0 && depth < MAX_CLASSES; depth++) {
    functions = functions.concat(
      pending.filter(({ kind, body }) => kind === "function" && body !== NONE),
    );
    pending = pending.filter(({ kind }) => kind === "class")
      .flatMap((owner) => membersOf(list, owner));
  }
  return functions;
}

function replaced(
  { text: source, lines }: SourceContext,
  replacements: readonly Replacement[],
): string {
  let result = "";
  let at = 0;
  for (const { start, end, text } of replacements.toSorted((a, b) => a.start - b.start)) {
    const old = source.slice(start, end);
    const lineEnd = source.indexOf("\n", end);
    const rest = source.slice(end, lineEnd < 0 ? undefined : lineEnd);
    result += source.slice(at, start) + text;
    if (text === "") result += old.replaceAll(/[^\r\n]/g, " ");
    else if (rest.trim() === "") result += old.replaceAll(/[^\r\n]/g, "");
    // The new text is longer: a directive puts the rest back into its line and column.
    else result += `\n#line ${lines.lineOf(end)}\n${" ".repeat(lines.columnOf(end) - 1)}`;
    at = end;
  }
  return result + source.slice(at);
}
