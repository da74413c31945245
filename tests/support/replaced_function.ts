/**
 * Functions of the native library behind ones of a test's own: to delay them, or to count them.
 *
 * @module
 */

import type { NativeSymbols } from "../../src/ffi/declarations.ts";
import type { NativeLibrary } from "../../src/ffi/library.ts";

/**
 * Replaces a function of the library, in this isolate, until it is disposed.
 *
 * @param make Given the function, makes the one that is called instead.
 */
export function replaceFunction<Name extends keyof NativeSymbols>(
  library: NativeLibrary,
  name: Name,
  make: (original: NativeSymbols[Name]) => NativeSymbols[Name],
): Disposable {
  const holder = library as { symbols: NativeSymbols };
  const { symbols } = holder;
  // Deno's own object does not let itself be changed.
  holder.symbols = Object.create(symbols, { [name]: { value: make(symbols[name]) } });
  return { [Symbol.dispose]: () => void (holder.symbols = symbols) };
}
