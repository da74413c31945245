/**
 * Files whose content vouches for itself: magic, SHA-256 of what follows, what follows.
 *
 * The digest finds what fails by itself: a truncated file, a bad sector, half of a write. It is no
 * protection against somebody who writes such a file on purpose; that is what the check of the
 * directory's owner is for.
 *
 * @module
 */

import { sha256 } from "../../ffi/sha256.ts";
import { concatenate } from "./digest.ts";

const DIGEST_BYTES = 32;

/** What a file begins with; all magics are of this length. */
const MAGIC_BYTES = 8;

/** Bytes before the content. */
export const SEAL_BYTES: number = MAGIC_BYTES + DIGEST_BYTES;

/** What was read: the content, or what is wrong with the file. */
export type Unsealed =
  | {
    /** A view of the file's bytes. */
    readonly content: Uint8Array<ArrayBuffer>;
  }
  | {
    /** Completes "the file is bad as …". */
    readonly problem: string;
  };

/** A magic: a byte that no text begins with, four letters, and the version of the format. */
export function magicOf(letters: string, version: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.of(0x93, ...new TextEncoder().encode(letters), version, 0x0d, 0x0a);
}

function startsWith(bytes: Uint8Array, start: Uint8Array): boolean {
  for (let index = 0; index < start.length; index++) {
    if (bytes[index] !== start[index]) return false;
  }
  return true;
}

/** A file with this content. */
export async function seal(
  magic: Uint8Array<ArrayBuffer>,
  content: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer>> {
  return concatenate([magic, await sha256(content), content]);
}

/** The content of a file, if it is the one that was sealed. */
export async function unseal(
  magic: Uint8Array<ArrayBuffer>,
  file: Uint8Array<ArrayBuffer>,
): Promise<Unsealed> {
  if (file.length < SEAL_BYTES) {
    return { problem: `it ends after ${file.length} bytes, before its content` };
  }
  if (!startsWith(file, magic)) return { problem: "it begins as files of another kind do" };
  const content = file.subarray(SEAL_BYTES);
  const digest = await sha256(content);
  if (startsWith(file.subarray(MAGIC_BYTES), digest)) return { content };
  return { problem: "its content is not what was written" };
}
