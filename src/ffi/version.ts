/**
 * The package's version: part of the path of the user cache, so that two versions never share a
 * native library.
 *
 * @module
 */

/** The version in `deno.json`; a test compares the two. */
export const VERSION = "0.4.0";
