/**
 * The version of the package. It is part of the path of the user cache, because versions must not
 * share a native library.
 *
 * @module
 */

/** The version in `deno.json`; a test compares the two. */
export const VERSION = "0.14.0";
