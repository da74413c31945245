/**
 * Leaving parts of a source out without moving the rest.
 *
 * @module
 */

import { readDirective } from "./macros.ts";
import type { Token } from "./tokens.ts";

/** Characters to replace by spaces. */
export interface BlankRange {
  /** The first. */
  readonly start: number;
  /** The one behind the last. */
  readonly end: number;
  /** Whether it is a line of the preprocessor; these stay otherwise. */
  readonly directive?: boolean;
}

/** Lines that mean nothing where the code around them is gone; all others must stay in pairs. */
const GOES_WITH_CODE: ReadonlySet<string> = new Set(["pragma", "include"]);

/**
 * Replaces ranges by spaces, line breaks kept. Lines of the preprocessor in them stay, since an
 * `#if` may begin before a range and end in it.
 *
 * @param tokens Those of the source.
 */
export function blank(
  source: string,
  tokens: readonly Token[],
  ranges: readonly BlankRange[],
): string {
  const kept = tokens.filter(({ kind, text }) =>
    kind === "directive" && !GOES_WITH_CODE.has(readDirective(text).name)
  );
  let result = "";
  let at = 0;
  let next = 0;
  for (const { start, end, directive } of ranges.toSorted((a, b) => a.start - b.start)) {
    // A range in the one before it is blank already.
    if (end <= at) continue;
    result += source.slice(at, Math.max(at, start));
    at = Math.max(at, start);
    while (next < kept.length && kept[next]!.start < at) next++;
    for (; directive !== true && next < kept.length && kept[next]!.start < end; next++) {
      const { start: first, end: last } = kept[next]!;
      result += spaces(source.slice(at, first)) + source.slice(first, last);
      at = last;
    }
    result += spaces(source.slice(at, end));
    at = end;
  }
  return result + source.slice(at);
}

/** As many spaces as there are characters, but line breaks where they were. */
function spaces(text: string): string {
  return text.replaceAll(/[^\r\n]/g, " ");
}
