/**
 * The files that a compiler has read, as it writes them down for `make`.
 *
 * @module
 */

/** The names in what a compiler writes for `make`, those behind the colon. */
export function readDependencies(text: string): string[] {
  const rule = text.replaceAll(/\\\r?\n/g, " ");
  const colon = /:(?=\s)/.exec(rule);
  if (colon === null) return [];
  const names = rule.slice(colon.index + 1).match(/(?:\\[ #]|\$\$|\S)+/g) ?? [];
  return names.map((name) => name.replaceAll(/\\([ #])/g, "$1").replaceAll("$$", "$"));
}
