/**
 * A kernel source as the host device's compiler gets it: between the language and a table of what
 * it has to offer.
 *
 * @module
 */

import { KERNEL_HEADERS } from "../../ffi/build/host_toolchain.ts";
import { rewriteDynamicShared } from "../source/dynamic_shared.ts";
import { overloadIn, readableExpression } from "../source/kernels.ts";
import type { SourceContext } from "../source/source_context.ts";
import type { CompileRequest } from "./compiler.ts";

/** What diagnostics call what stands behind the source. */
export const END_FILE = "gridstride end of source";
/** What diagnostics call the table; its lines are the expressions of the request. */
export const TABLE_FILE = "gridstride table";

/** The name in the machine code of an expression of a request. */
export function loweredName(expression: string): string {
  return readableExpression(expression.replace(/^&/, ""));
}

/**
 * The text of the wrapper.
 *
 * @param context The request's source, cut up.
 */
export function wrapperText(
  { source, name, expressions }: CompileRequest,
  context: SourceContext,
): string {
  return [
    ...KERNEL_HEADERS.map((header) => `#include <${header}>`),
    `#line 1 ${quoted(name)}`,
    // A byte order mark is white space only where a file begins.
    rewriteDynamicShared(source, context).replace(/^\uFEFF/, " "),
    // Ends the last line, also if that ends with a backslash.
    "",
    // Nothing but namespace scope takes this: whatever the source leaves open is found here.
    `#line 1 ${quoted(END_FILE)}`,
    "namespace gridstride {}",
    "GS_MODULE_BEGIN",
    `#line 1 ${quoted(TABLE_FILE)}`,
    ...expressions.map(tableEntry),
    "GS_MODULE_END",
    "",
  ].join("\n");
}

/** One line for each expression, so that the line tells which. */
function tableEntry(expression: string): string {
  const text = expression.replaceAll(/\s+/g, " ");
  const name = quoted(loweredName(expression));
  if (text.startsWith("&")) return `GS_MODULE_VARIABLE(${name}, ${text.slice(1)})`;
  const macro = overloadIn(text) === undefined ? "GS_MODULE_KERNEL" : "GS_MODULE_OVERLOAD";
  return `${macro}(${name}, ${text})`;
}

/** A text as a string of C++, which has no `\u` for the characters that ASCII has. */
function quoted(text: string): string {
  const bytes = new TextEncoder().encode(text);
  const characters = [...bytes].map((byte) => {
    const isPlain = byte >= 0x20 && byte < 0x7f && byte !== 0x22 && byte !== 0x5c && byte !== 0x3f;
    return isPlain ? String.fromCharCode(byte) : `\\${byte.toString(8).padStart(3, "0")}`;
  });
  return `"${characters.join("")}"`;
}
