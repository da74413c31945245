/**
 * Which compiler was used last, for machines that have none any more.
 *
 * An image of a container is often made in two steps: with a compiler, that fills the cache, and
 * without. There is nothing then to find the key by but what the compiler was, and whatever the last
 * one made is right, as it is keyed by everything else.
 *
 * @module
 */

import { keepIdentity, recallIdentity } from "./identity_store.ts";

/**
 * Notes what was used.
 *
 * @param settings What somebody must have asked for to have this one used.
 * @param identity What it says of itself.
 */
export async function noteLastCompiler(
  settings: readonly string[],
  identity: readonly string[],
): Promise<void> {
  const before = lastCompiler(settings);
  // A file that stays as it is costs no write to the disk.
  if (JSON.stringify(before) === JSON.stringify(identity)) return;
  await keepIdentity(questionOf(settings), { answer: identity, files: [], places: [], state: "" });
}

/** What was used last; undefined where that is not known. */
export function lastCompiler(settings: readonly string[]): readonly string[] | undefined {
  return recallIdentity(questionOf(settings))?.answer;
}

function questionOf(settings: readonly string[]): string {
  return JSON.stringify(["last compiler", settings]);
}
