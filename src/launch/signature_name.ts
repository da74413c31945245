/**
 * Names of C++ in a signature: of kernels and of types, with namespaces and template arguments.
 *
 * @module
 */

import { C_TYPE_WORDS, IGNORED_QUALIFIERS, RESTRICT_QUALIFIERS } from "./c_types.ts";
import { takeBracketed } from "./signature_brackets.ts";
import { SignatureReader } from "./signature_reader.ts";

/** Words that may stand before a kernel's name. */
const HEAD_WORDS: ReadonlySet<string> = new Set([
  ...["extern", '"C"', "static", "inline", "__global__", "void"],
]);

const WORD_CHARACTER = /\w/;

/** Whether the next token can be the name of a kernel or a parameter. */
export function atName(reader: SignatureReader): boolean {
  const { text } = reader.next;
  return reader.atWord && text !== "const" && !C_TYPE_WORDS.has(text) &&
    !IGNORED_QUALIFIERS.has(text) && !RESTRICT_QUALIFIERS.has(text);
}

/** A name, and a token behind it: with a space only where two words would else be one. */
function joined(text: string, token: string): string {
  const needsSpace = WORD_CHARACTER.test(text.at(-1) ?? "") && WORD_CHARACTER.test(token[0] ?? "");
  return needsSpace ? `${text} ${token}` : text + token;
}

function requireAttached(reader: SignatureReader): void {
  if (!reader.touches) reader.fail('nothing can stand between "::" and a name');
}

/**
 * Reads a name with the namespaces and template arguments that belong to it; a part follows its
 * `::` without white space.
 *
 * @returns The name without white space, but between two words, and without a leading `::`.
 */
export function readQualifiedName(reader: SignatureReader): string {
  if (reader.takeIf("::")) requireAttached(reader);
  let name = "";
  while (true) {
    if (!reader.atWord) reader.fail(`a name is expected: it is ${reader.describeNext()}`);
    name += reader.take().text;
    if (reader.next.text === "<") {
      name += takeBracketed(reader, "a list of template arguments").reduce(joined);
    }
    if (reader.next.text !== "::" || !reader.touches) return name;
    reader.take();
    requireAttached(reader);
    name += "::";
  }
}

/** Reads what stands before a kernel's parameters, and returns its name. */
export function readKernelName(reader: SignatureReader): string {
  while (HEAD_WORDS.has(reader.next.text)) reader.take();
  if (reader.next.text === "template") {
    reader.fail('a template has no parameters by itself: an instance reads "name<arguments>(…)"');
  }
  if (reader.next.text !== "::" && !atName(reader)) {
    reader.fail(`a kernel's name is expected: it is ${reader.describeNext()}`);
  }
  return readQualifiedName(reader);
}

/** What a text says of a kernel: its name alone, or its whole signature. */
export interface RequestedKernel {
  /** The name without white space, but between two words. */
  readonly name: string;
  /** Whether parameters follow it. */
  readonly hasParameters: boolean;
  /** What stands between the brackets of these; empty where there are none. */
  readonly parameters: string;
}

/**
 * The kernel that a text names, by its name alone or by its signature.
 *
 * @throws {SyntaxError} If it begins with neither.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { requestedKernel } from "./signature_name.ts";
 *
 * assertEquals(requestedKernel("tile<4, 32>").name, "tile<4,32>");
 * assertEquals(requestedKernel("tile<4, 32>").hasParameters, false);
 * assertEquals(requestedKernel("n::f(int x)").parameters, "int x");
 * ```
 */
export function requestedKernel(text: string): RequestedKernel {
  const reader = new SignatureReader(text);
  const name = readKernelName(reader);
  if (reader.atEnd) return { name, hasParameters: false, parameters: "" };
  if (reader.next.text === "(") {
    const parameters = text.slice(reader.next.offset + 1, Math.max(0, text.lastIndexOf(")")));
    return { name, hasParameters: true, parameters };
  }
  return reader.fail(`what follows the kernel's name must be "(": it is ${reader.describeNext()}`);
}
