/**
 * `extern __shared__ T name[];` as the host device's compiler takes it: a reference to an array
 * where the block's memory is. `csrc/host/include/gridstride/user_source.h` says what it becomes.
 *
 * @module
 */

import { NONE } from "./brackets.ts";
import { isAttribute } from "./declaration_reader.ts";
import { type Declaration, membersOf } from "./declarations.ts";
import type { SourceContext } from "./source_context.ts";

/** The macro that the reference is initialised with. */
const MEMORY = "GS_HOST_DYNAMIC_SHARED";

/** Words of such a declaration that are no part of the type. */
const STORAGE: ReadonlySet<string> = new Set(["extern", "static", "__shared__", "__device__"]);

/** Words that may stand before `extern`. */
const BEFORE_EXTERN: ReadonlySet<string> = new Set(["__shared__", "volatile", "const"]);

/** An array that a source declares in dynamic shared memory. */
interface DynamicArray {
  readonly name: string;
  /** The reference that stands for it. */
  readonly reference: string;
}

/** A declaration of such arrays. Positions are those of tokens. */
interface DynamicDeclaration {
  readonly first: number;
  readonly last: number;
  readonly arrays: readonly DynamicArray[];
}

/** Text for characters of the source. */
interface Replacement {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * Rewrites the declarations of dynamic shared memory. What follows them stays in its line and
 * column.
 *
 * @param context The source, cut up.
 */
export function rewriteDynamicShared(source: string, context: SourceContext): string {
  if (!source.includes("__shared__")) return source;
  const found = findDeclarations(context);
  if (found.length === 0) return source;
  const global = new Set(
    context.list.declarations
      .filter(({ kind }) => kind === "variable").map(({ head }) => head),
  );
  const shared: DynamicArray[] = [];
  const replacements: Replacement[] = [];
  for (const { first, last, arrays } of found) {
    const [start, end] = [context.list.tokens[first]!.start, context.list.tokens[last]!.end];
    const isGlobal = global.has(first);
    if (isGlobal) shared.push(...arrays);
    const text = isGlobal ? "" : arrays.map(({ reference }) => reference).join(" ");
    replacements.push({ start, end, text });
  }
  if (shared.length > 0) replacements.push(...insertions(context, shared));
  return replace(source, context, replacements);
}

/** The declarations, wherever they stand. */
function findDeclarations(context: SourceContext): DynamicDeclaration[] {
  const { tokens } = context.list;
  const found: DynamicDeclaration[] = [];
  for (let at = 0; at < tokens.length; at++) {
    if (!wordsAt(context, at).includes("extern")) continue;
    let first = at;
    while (first > 0 && wordsAt(context, first - 1).some((word) => BEFORE_EXTERN.has(word))) {
      first--;
    }
    let [last, isShared] = [first, false];
    while (last < tokens.length && !/^[;{}=]$/.test(tokens[last]!.text)) {
      isShared ||= wordsAt(context, last).includes("__shared__");
      last++;
    }
    if (isShared && tokens[last]?.text === ";") {
      found.push({ first, last, arrays: readArrays(context, first, last) });
    }
    at = Math.max(at, last - 1);
  }
  return found;
}

function wordsAt({ list: { tokens }, macros }: SourceContext, at: number): string[] {
  const { kind, text } = tokens[at]!;
  return kind === "word" ? macros.expand(text).split(" ") : [];
}

/** Reads the names between two tokens and makes a reference of each. */
function readArrays(context: SourceContext, first: number, end: number): DynamicArray[] {
  const { tokens, partners } = context.list;
  const arrays: DynamicArray[] = [];
  let typeText = "";
  let declarator: string[] = [];
  let extents = "";
  const close = () => {
    const name = declarator.pop() ?? "";
    if (arrays.length === 0) typeText = declarator.filter((word) => word !== "*").join(" ");
    const stars = declarator.filter((word) => word === "*").join("");
    arrays.push({ name, reference: `${typeText} ${stars}(&${name})${extents} = ${MEMORY};` });
    [declarator, extents] = [[], ""];
  };
  let angles = 0;
  for (let at = first; at < end; at++) {
    const { text, kind } = tokens[at]!;
    if (text === "<") angles++;
    else if (text === ">") angles--;
    const partner = partners[at]!;
    if (text === "," && angles === 0) close();
    else if (isAttribute(text) && partners[at + 1] !== NONE) at = partners[at + 1]!;
    else if (text === "[" && partner > at) {
      extents += `[${tokens.slice(at + 1, partner).map((token) => token.text).join(" ")}]`;
      at = partner;
    } else if (kind !== "word") declarator.push(text);
    else declarator.push(...wordsAt(context, at).filter((word) => !STORAGE.has(word)));
  }
  close();
  return arrays;
}

/** References at the start of each function that uses an array of the whole source. */
function insertions(context: SourceContext, arrays: readonly DynamicArray[]): Replacement[] {
  const { tokens } = context.list;
  const byName = new Map(arrays.map((array) => [array.name, array]));
  return bodies(context).flatMap(({ body, last }) => {
    const used = new Set<DynamicArray>();
    for (let at = body + 1; at < last; at++) {
      const array = byName.get(tokens[at]!.text);
      const before = tokens[at - 1]!.text;
      if (array !== undefined && before !== "." && before !== "->") used.add(array);
    }
    if (used.size === 0) return [];
    const text = [...used].map(({ reference }) => reference).join(" ");
    const { end } = tokens[body]!;
    return [{ start: end, end, text: ` ${text}` }];
  });
}

/** The functions with bodies, those in classes too. */
function bodies({ list }: SourceContext): Declaration[] {
  const functions: Declaration[] = [];
  const pending = [...list.declarations];
  // Each class is cut up once for every class around it, of which there are few.
  for (let depth = 0; pending.length > 0 && depth < 64; depth++) {
    const classes = pending.splice(0).filter((declaration) => {
      if (declaration.kind === "function" && declaration.body !== NONE) functions.push(declaration);
      return declaration.kind === "class";
    });
    pending.push(...classes.flatMap((owner) => membersOf(list, owner)));
  }
  return functions;
}

function replace(
  source: string,
  { lines }: SourceContext,
  replacements: readonly Replacement[],
): string {
  let result = "";
  let at = 0;
  for (const { start, end, text } of replacements.toSorted((a, b) => a.start - b.start)) {
    const replaced = source.slice(start, end);
    const lineEnd = source.indexOf("\n", end);
    const rest = source.slice(end, lineEnd < 0 ? undefined : lineEnd);
    result += source.slice(at, start) + text;
    if (text === "") result += replaced.replaceAll(/[^\r\n]/g, " ");
    else if (rest.trim() === "") result += replaced.replaceAll(/[^\r\n]/g, "");
    // The new text is longer: what follows is put back into its line and column.
    else result += `\n#line ${lines.lineOf(end)}\n${" ".repeat(lines.columnOf(end) - 1)}`;
    at = end;
  }
  return result + source.slice(at);
}
