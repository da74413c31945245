/**
 * What a compiler is, remembered from one process to the next.
 *
 * To say exactly what it is a compiler must be started, or a library of 100 MB be read. Both take
 * longer than everything else about a hit in the cache, and the answer only changes with certain
 * files. So it is kept under the state of these files.
 *
 * @module
 */

import { listParts, partDigest } from "./digest.ts";
import { type FileStates, fileStates } from "./file_states.ts";
import { keepTexts, recallTexts } from "./identity_store.ts";

/** What the answer depends on. */
export interface IdentityBasis {
  /** What is identified, and how: `"g++ on the host device"`. */
  readonly subject: string;
  /** Files that the answer changes with: the compiler, its library, headers. Absolute paths. */
  readonly files: readonly string[];
  /** Whatever else it changes with: options, variables of the environment. */
  readonly settings: readonly string[];
}

/** Raised when an answer means something else than before. */
const SCHEMA = 2;

/**
 * A file that was changed more recently than this may be changed again without its times telling
 * (their steps are some milliseconds, on some file systems two seconds), in milliseconds.
 */
const SETTLED_AFTER = 2_000;

/** Answers of this process, and those that are being found, by what was asked. */
const known = new Map<string, Promise<readonly string[]>>();

/**
 * What a compiler is, found only where it is not known already: by this process, or by an earlier
 * one with the same files in the same state.
 *
 * @param basis What the answer depends on.
 * @param find Finds it, at any expense. What it throws is thrown, and not remembered.
 * @returns What `find` returned, now or then.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { rememberedIdentity } from "./compiler_identity.ts";
 *
 * const basis = { subject: "deno", files: [Deno.execPath()], settings: ["--version"] };
 * const find = () => Promise.resolve([`deno ${Deno.version.deno}`]);
 * assertEquals(await rememberedIdentity(basis, find), [`deno ${Deno.version.deno}`]);
 * ```
 */
export async function rememberedIdentity(
  basis: IdentityBasis,
  find: () => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const states = fileStates(basis.files);
  if (states === undefined) return await find();
  const { subject, settings } = basis;
  const asked = JSON.stringify([subject, settings, states.description]);
  const running = known.get(asked);
  if (running !== undefined) return await running;
  const answer = recallOrFind(basis, states, find);
  known.set(asked, answer);
  try {
    return await answer;
  } catch (error) {
    known.delete(asked);
    throw error;
  } finally {
    // Who asked meanwhile has it; a file that is changed once more may have the same times.
    if (!areSettled(states)) known.delete(asked);
  }
}

function areSettled({ changed }: FileStates): boolean {
  return changed < Date.now() - SETTLED_AFTER;
}

async function recallOrFind(
  basis: IdentityBasis,
  states: FileStates,
  find: () => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const key = await keyOf(basis, states);
  const recalled = await recallTexts(key);
  if (recalled !== undefined) return recalled;
  const answer = await find();
  if (areSettled(states)) await keepTexts(key, answer);
  return answer;
}

function keyOf({ subject, settings }: IdentityBasis, states: FileStates): Promise<string> {
  return partDigest([
    { label: "schema", payload: String(SCHEMA) },
    { label: "subject", payload: subject },
    ...listParts("setting", settings),
    { label: "files", payload: states.description },
  ]);
}
