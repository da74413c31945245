/**
 * The text of a file that is to be UTF-8.
 *
 * @module
 */

/** The most characters that V8 has room for in a text. */
const LONGEST_TEXT = 2 ** 29 - 24;

/**
 * Decodes a whole file; a byte order mark is left out.
 *
 * @param file Its bytes.
 * @param refuse Throws the error, for what is wrong with the file and what was thrown for it.
 */
export function decodeFile(
  file: Uint8Array,
  refuse: (offence: string, cause: unknown) => never,
): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(file);
  } catch (cause) {
    // Fewer bytes than that are a text that is short enough, whatever they are.
    if (file.length > LONGEST_TEXT) {
      refuse(`must have at most ${LONGEST_TEXT} characters: it has ${file.length} bytes`, cause);
    }
    refuse("must be UTF-8 text or a pickle: it is neither", cause);
  }
}
