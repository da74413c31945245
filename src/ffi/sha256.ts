/**
 * SHA-256.
 *
 * @module
 */

import { openedLibrary } from "./library.ts";

const DIGEST_BYTES = 32;

/**
 * The bytes up to which the library makes a digest in less time than it takes to hand them to
 * another thread, where Web Crypto makes it, and be told that it is done.
 */
const AT_ONCE = 2 ** 16;

/**
 * SHA-256 of bytes: made at once by the library where they are few and one is open, else by Web
 * Crypto. That is there from the start: loading `node:crypto` alone takes longer than a hit in the
 * cache of compiled kernels may.
 */
export async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const library = bytes.length <= AT_ONCE ? openedLibrary() : undefined;
  if (library !== undefined) {
    const digest = new Uint8Array(DIGEST_BYTES);
    if (library.symbols.gs_digest_sha256(bytes, bytes.length, digest) === 0) return digest;
  }
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}
