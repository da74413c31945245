/**
 * The key of the compile cache: everything that machine code depends on, and what is known of the
 * source. It is made of what the program says, as reading a source takes longer than all else about
 * a hit.
 *
 * @module
 */

import type { CompileInputs } from "../compile/compiler.ts";
import { type DigestPart, listParts, partDigest, partStream } from "./digest.ts";
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
export const CACHE_SCHEMA = 2;

/** A comparison that does not depend on the language of the system, as sorting by default. */
function byName([one]: readonly [string, string], [other]: readonly [string, string]): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/** Names with texts. Their order means nothing to a compiler, so it is made one. */
function namedParts(label: string, texts: ReadonlyMap<string, string>): DigestPart[] {
  const pairs = [...texts].sort(byName);
  return [
    ...listParts(`${label} name`, pairs.map(([name]) => name)),
    ...listParts(`${label} text`, pairs.map(([, text]) => text)),
  ];
}

/**
 * What each field of a request adds to the key. A field that is new cannot be forgotten here: its
 * absence does not compile.
 */
const FIELDS: {
  readonly [Field in keyof SourceRequest]-?: (request: SourceRequest) => DigestPart[];
} = {
  target: ({ target: { kind, capability } }) => [
    { label: "target kind", payload: kind },
    { label: "target capability", payload: capability },
  ],
  source: ({ source }) => [{ label: "source", payload: source }],
  // Part of the machine code: __FILE__, the text of an assertion, line information.
  name: ({ name }) => [{ label: "name", payload: name }],
  headers: ({ headers }) => namedParts("header", headers),
  defines: ({ defines }) => namedParts("define", defines),
  // In their order, which can mean something: the last of two that contradict each other holds.
  options: ({ options }) => listParts("option", options),
  instances: ({ instances }) => listParts("instance", [...instances].sort()),
};

/** All that a key covers, in a fixed order. */
function keyParts(identity: readonly string[], request: SourceRequest): DigestPart[] {
  return [
    { label: "schema", payload: String(CACHE_SCHEMA) },
    // What is made of a source before a compiler sees it is this package's.
    { label: "package", payload: packageState() },
    ...listParts("compiler", identity),
    ...Object.values(FIELDS).flatMap((parts) => parts(request)),
  ];
}

/**
 * What the key of a request is the digest of. Two requests have one stream only if they differ in
 * nothing but the order of headers, defines and instances.
 *
 * @param identity What the compiler says of itself.
 */
export function keyStream(
  identity: readonly string[],
  request: SourceRequest,
): Uint8Array<ArrayBuffer> {
  return partStream(keyParts(identity, request));
}

/**
 * The key of a request: 64 hexadecimal digits.
 *
 * @param identity What the compiler says of itself.
 */
export function cacheKey(identity: readonly string[], request: SourceRequest): Promise<string> {
  return partDigest(keyParts(identity, request));
}
