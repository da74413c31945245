/**
 * Text that comes from a file, shown in a message.
 *
 * @module
 */

/** Most characters that a message shows of what may be any length. */
const LONGEST = 1000;

/**
 * A text for a terminal: what would move its cursor, change its colours or turn the direction of
 * what follows is written as an escape, and the end of a very long one left out.
 */
export function printableText(text: string): string {
  const short = text.length <= LONGEST ? text : `${text.slice(0, LONGEST - 1)}…`;
  return short.replace(
    /[\p{C}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`,
  );
}
