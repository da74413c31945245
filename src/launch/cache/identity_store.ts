/**
 * Lists of texts on the disk, by key: what compilers said of themselves.
 *
 * @module
 */

import { attempt, cacheStores, writeTo } from "./cache_stores.ts";
import { magicOf, seal, unseal } from "./sealed_file.ts";

const VERSION = 1;
const MAGIC = magicOf("GSID", VERSION);

/** The texts that were kept under a key; undefined where there are none, or they are damaged. */
export async function recallTexts(key: string): Promise<readonly string[] | undefined> {
  const stores = cacheStores();
  if (stores === undefined) return undefined;
  const file = await attempt("not found again", () => stores.identities.readSmall(key));
  return file === undefined ? undefined : await textsIn(key, file);
}

/** Keeps texts under a key, in the place of those that had it. */
export async function keepTexts(key: string, texts: readonly string[]): Promise<void> {
  const stores = cacheStores();
  if (stores === undefined) return;
  const content = new TextEncoder().encode(JSON.stringify([key, ...texts]));
  await writeTo(stores.identities, stores.place, key, await seal(MAGIC, content));
}

/** The texts in a file; undefined where it is damaged or that of another key. */
async function textsIn(
  key: string,
  file: Uint8Array<ArrayBuffer>,
): Promise<readonly string[] | undefined> {
  const unsealed = await unseal(MAGIC, file);
  if ("problem" in unsealed) return undefined;
  let list: unknown;
  try {
    list = JSON.parse(new TextDecoder().decode(unsealed.content));
  } catch {
    return undefined; // No JSON: it is found again.
  }
  if (!Array.isArray(list) || !list.every((text) => typeof text === "string")) return undefined;
  return list[0] === key ? list.slice(1) : undefined;
}
