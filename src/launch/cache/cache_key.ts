/**
 * The key of the compile cache: everything that machine code depends on, and what is known of the
 * source. It is made of what the program says, as reading a source takes longer than all else about
 * a hit.
 *
 * @module
 */

import type { CompileInputs } from "../compile/compiler.ts";
import { sha256 } from "../../ffi/sha256.ts";
import { packageState } from "./package_state.ts";

/** What a program has compiled. */
export interface SourceRequest extends CompileInputs {
  /** Instances of templates that are kernels, as C++ names them: `tile<float, 32>`. */
  readonly instances: readonly string[];
}

/**
 * Raised when an entry means something else than before, so that entries of older versions are not
 * found.
 */
export const CACHE_SCHEMA = 3;

/** Names with texts. Their order means nothing to a compiler, so it is made one. */
function sortedPairs(texts: ReadonlyMap<string, string>): (readonly [string, string])[] {
  // Not by the language of the system. No two names are the same.
  return [...texts].sort(([one], [other]) => one < other ? -1 : 1);
}

/**
 * What a request adds to the key. A field that is new cannot be forgotten here: its absence does
 * not compile.
 */
function fieldsOf(request: SourceRequest): { [Field in keyof SourceRequest]-?: unknown } {
  const { target, source, name, headers, defines, options, instances } = request;
  return {
    target: [target.kind, target.capability],
    source,
    // Part of the machine code: __FILE__, the text of an assertion, line information.
    name,
    headers: sortedPairs(headers),
    defines: sortedPairs(defines),
    // In their order, which can mean something: the last of two that contradict each other holds.
    options,
    instances: [...instances].sort(),
  };
}

/**
 * What the key of a request is the digest of: JSON, so that two requests have one text only if they
 * differ in nothing but the order of headers, defines and instances.
 *
 * @param identity What the compiler says of itself.
 */
export function keyText(identity: readonly string[], request: SourceRequest): string {
  // What is made of a source before a compiler sees it is this package's.
  return JSON.stringify([CACHE_SCHEMA, packageState(), identity, fieldsOf(request)]);
}

/**
 * The key of a request: 64 hexadecimal digits.
 *
 * @param identity What the compiler says of itself.
 */
export async function cacheKey(
  identity: readonly string[],
  request: SourceRequest,
): Promise<string> {
  return (await sha256(new TextEncoder().encode(keyText(identity, request)))).toHex();
}
