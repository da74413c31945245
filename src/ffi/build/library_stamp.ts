/**
 * The note beside a library that tells what it was built from, and so whether it is up to date.
 *
 * @module
 */

import { installText } from "./atomic_install.ts";
import { digest } from "./source_tree.ts";

function stampPath(library: string): string {
  return `${library}.json`;
}

/** The digest of the library file; undefined when there is none. */
async function libraryDigest(library: string): Promise<string | undefined> {
  try {
    return digest(await Deno.readFile(library));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/**
 * Whether the library was built under this key and is still the file that was built: an older
 * build, a file cut short or one put there by hand is not.
 */
export async function isUpToDate(library: string, key: string): Promise<boolean> {
  let text: string;
  try {
    text = await Deno.readTextFile(stampPath(library));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
  const current = await libraryDigest(library);
  return current !== undefined && text === stampText(key, current);
}

/** Notes that the library was built under this key. */
export async function writeStamp(library: string, key: string): Promise<void> {
  await installText(stampPath(library), stampText(key, (await libraryDigest(library))!));
}

function stampText(key: string, library: string): string {
  return JSON.stringify({ key, library }) + "\n";
}
