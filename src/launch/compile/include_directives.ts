/**
 * The `#include` lines of a source.
 *
 * Conditions are not evaluated and comments not told apart: whoever follows a line that no compiler
 * would has read a file too many, which is harmless. A name that a macro stands for is not seen.
 *
 * @module
 */

/** An `#include` line. */
export interface IncludeDirective {
  /** The name, as it is written. */
  readonly name: string;
  /** Whether in quotes, and so looked for beside the including file first. */
  readonly quoted: boolean;
}

const DIRECTIVE = /^([ \t]*#[ \t]*include[ \t]*)(?:"([^"\n\r]+)"|<([^>\n\r]+)>)/gm;

/** The `#include` lines of a source, in order. */
export function includeDirectives(source: string): IncludeDirective[] {
  return [...source.matchAll(DIRECTIVE)].map(([, , quoted, angled]) => ({
    name: (quoted ?? angled)!,
    quoted: quoted !== undefined,
  }));
}

/**
 * A source whose `#include` lines name other files; all other lines are as they were.
 *
 * @param rename The name to put in the place of one; undefined leaves the line alone.
 */
export function renameIncludes(
  source: string,
  rename: (directive: IncludeDirective) => string | undefined,
): string {
  return source.replace(DIRECTIVE, (line, head: string, quoted?: string, angled?: string) => {
    const name = rename({ name: (quoted ?? angled)!, quoted: quoted !== undefined });
    return name === undefined ? line : `${head}"${name}"`;
  });
}
