/**
 * The translation unit of a kernel library for the host device, and the seal of the library.
 *
 * @module
 */

import { KERNEL_HEADERS } from "../../ffi/build/toolchains.ts";
import { overloadIn, readableExpression } from "../source/kernels.ts";
import { type CompileRequest, kernelMacros } from "./compiler.ts";

/** The name in diagnostics of the text behind the source. */
export const END_FILE = "gridstride end of source";
/** The name in diagnostics of the table; its lines are the expressions of the request. */
export const TABLE_FILE = "gridstride table";

const MAGIC = new TextEncoder().encode("GSsealed");

/** The name in the machine code of an expression of a request. */
export function loweredName(expression: string): string {
  return readableExpression(expression.replace(/^&/, ""));
}

/**
 * The text that the compiler gets: the source between the language's headers and a table of its
 * kernels and variables.
 *
 * @param source The request's source as this compiler takes it.
 */
export function wrapperText(
  { name, expressions, target }: CompileRequest,
  source: string,
): string {
  return [
    ...KERNEL_HEADERS.map((header) => `#include <${header}>`),
    // Behind the precompiled headers, which are the same for all targets.
    ...kernelMacros(target).map(([macro, value]) =>
      `#ifndef ${macro}\n#define ${macro} ${value}\n#endif`
    ),
    `#line 1 ${quoted(name)}`,
    // A byte order mark is white space only at the start of a file.
    source.replace(/^\uFEFF/, " "),
    // Ends the last line, even if that ends with a backslash.
    "",
    // Only valid at namespace scope: the compiler finds here whatever the source leaves open.
    `#line 1 ${quoted(END_FILE)}`,
    "namespace gridstride {}",
    "GS_MODULE_BEGIN",
    `#line 1 ${quoted(TABLE_FILE)}`,
    // One line each: the line of a message identifies the expression.
    ...expressions.map(tableEntry),
    "GS_MODULE_END",
    "",
  ].join("\n");
}

function tableEntry(expression: string): string {
  const text = expression.replaceAll(/\s+/g, " ");
  const name = quoted(loweredName(expression));
  if (text.startsWith("&")) return `GS_MODULE_VARIABLE(${name}, ${text.slice(1)})`;
  const macro = overloadIn(text) === undefined ? "GS_MODULE_KERNEL" : "GS_MODULE_OVERLOAD";
  return `${macro}(${name}, ${text})`;
}

/** A string literal of C++, which has no `\u` for the characters of ASCII. */
function quoted(text: string): string {
  const bytes = new TextEncoder().encode(text);
  const characters = [...bytes].map((byte) => {
    const isPlain = byte >= 0x20 && byte < 0x7f && byte !== 0x22 && byte !== 0x5c && byte !== 0x3f;
    return isPlain ? String.fromCharCode(byte) : `\\${byte.toString(8).padStart(3, "0")}`;
  });
  return `"${characters.join("")}"`;
}

/**
 * Machine code followed by its seal, which loaders ignore.
 *
 * The system's loader trusts its input, and a kernel runs in the program's own process: one damaged
 * byte would end it. The host library checks the seal before it loads an image
 * (`csrc/host/module/image_seal.h`).
 */
export async function sealedImage(image: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  // Loading node:zlib takes milliseconds, which a cache hit can do without.
  const { crc32 } = await import("node:zlib");
  const sealed = new Uint8Array(image.length + MAGIC.length + 8);
  sealed.set(image);
  sealed.set(MAGIC, image.length);
  const numbers = new DataView(sealed.buffer, image.length + MAGIC.length);
  numbers.setUint32(0, image.length, true);
  numbers.setUint32(4, crc32(image), true);
  return sealed;
}

/** Whether an image ends with a seal; the host library checks it against the bytes. */
export function isSealed(image: Uint8Array): boolean {
  const start = image.length - MAGIC.length - 8;
  return MAGIC.every((byte, index) => image[start + index] === byte);
}
