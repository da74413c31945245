/**
 * The texts and numbers of pickle's protocol 0, which are written as Python source.
 *
 * @module
 */

const ESCAPES: Readonly<Record<string, string>> = {
  "\n": "",
  "\\": "\\",
  "'": "'",
  '"': '"',
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};

const HIGHEST_CHARACTER = 0x10ffff;

const FLOAT = /^[+-]?(?:\d+\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?|inf(?:inity)?|nan)$/i;

/** Reads Python's `raw-unicode-escape`, where only `\u` and `\U` with digits are not themselves. */
export function decodeRawUnicode(text: string): string | undefined {
  let valid = true;
  const decoded = text.replace(
    /\\u([\da-fA-F]{4})|\\U([\da-fA-F]{8})|\\[uU]/g,
    (_, short?: string, long?: string) => {
      const code = parseInt(short ?? long ?? "", 16);
      valid &&= code <= HIGHEST_CHARACTER;
      return valid ? String.fromCodePoint(code) : "";
    },
  );
  return valid ? decoded : undefined;
}

/** Reads a text of Python 2 in its quotes; `undefined` where it is none. */
export function decodeQuoted(text: string): string | undefined {
  const match = /^(['"])([\s\S]*)\1$/.exec(text.trim());
  if (match === null) return undefined;
  let valid = true;
  const decoded = match[2]!.replace(
    /\\(?:x([\da-f]{2})|([0-7]{1,3})|([\s\S])|$)/gi,
    (_, hexadecimal?: string, octal?: string, letter?: string) => {
      if (hexadecimal !== undefined) return String.fromCharCode(parseInt(hexadecimal, 16));
      if (octal !== undefined) return String.fromCharCode(parseInt(octal, 8) & 255);
      const character = letter === undefined ? undefined : ESCAPES[letter];
      valid &&= character !== undefined;
      return character ?? "";
    },
  );
  return valid ? decoded : undefined;
}

/** Reads a floating-point number as `repr()` writes it; `undefined` where it is none. */
export function decodeFloat(text: string): number | undefined {
  if (!FLOAT.test(text)) return undefined;
  if (/nan/i.test(text)) return NaN;
  if (/inf/i.test(text)) return text.startsWith("-") ? -Infinity : Infinity;
  return Number(text);
}
