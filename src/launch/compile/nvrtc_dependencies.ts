/**
 * What NVRTC may read that the identity of a request says nothing of: it is given all headers by
 * their texts, but opens a file that is included by its absolute path all the same.
 *
 * @module
 */

import { type Directive, readDirective } from "../source/preprocessor.ts";
import { tokenize } from "../signature/tokens.ts";
import { includeDirectives } from "./include_directives.ts";

/** A name that leads to no file of its own. */
const RELATIVE = /^(?:"[^/"][^"]*"|<[^/>][^>]*>)$/;

/**
 * What a program's texts include in ways that {@linkcode includeDirectives} does not see, where that
 * may be an absolute path: by the name of a macro, or with a comment in the line.
 *
 * @param texts The source, and the headers that are the program's.
 * @param defines Macros and their values.
 */
export function unseenByNvrtc(
  texts: readonly string[],
  defines: ReadonlyMap<string, string>,
): string[] {
  // Where each line is seen, as almost always, nothing is cut up.
  const hidden = texts.filter((text) =>
    text.split(/\b(?:include|import)/).length - 1 > includeDirectives(text).length
  );
  const names = hidden.flatMap(directivesOf)
    .filter(({ name }) => /^(?:include|include_next|import)$/.test(name))
    .map(({ rest }) => rest.trim()).filter((rest) => !RELATIVE.test(rest));
  // An absolute path that can be seen is part of the identity.
  const seen = new Set(texts.flatMap(includeDirectives).map(({ name }) => name));
  const unclear = names.filter((rest) => !seen.has(rest.slice(1, -1)));
  if (unclear.length === 0) return [];
  const definitions = [...texts.flatMap(directivesOf)].filter(({ name }) => name === "define")
    .map(({ rest }) => /^([\w$]+)\s+(.*)$/s.exec(rest));
  const values = (macro: string): string[] => [
    ...definitions.flatMap((match) => match?.[1] === macro ? [match[2]!.trim()] : []),
    ...(defines.has(macro) ? [defines.get(macro)!] : []),
  ];
  return unclear.filter((rest) => {
    const known = values(rest);
    return known.length === 0 || !known.every((value) => RELATIVE.test(value));
  });
}

function directivesOf(text: string): Directive[] {
  return tokenize(text).filter(({ kind }) => kind === "directive")
    .map((token) => readDirective(token.text));
}
