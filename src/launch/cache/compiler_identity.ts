/**
 * What a compiler is, remembered from one process to the next.
 *
 * To say exactly what it is a compiler must be started, or a library of 100 MB be read. Both take
 * longer than everything else about a hit in the cache, and the answer only changes with certain
 * files. So it is kept with the state of these files. Even to find out which files these are, such
 * as to look for the compiler on `PATH`, takes longer than to look whether they are as they were,
 * so their names are kept too.
 *
 * @module
 */

import { fileStates, lastChange, stateText } from "./file_states.ts";
import { type IdentityRecord, keepIdentity, recallIdentity } from "./identity_store.ts";

/** What an answer changes with. */
export interface IdentityFiles {
  /** Files that must be there: the compiler, its library, headers. Absolute paths. */
  readonly files: readonly string[];
  /** Paths where a file that appears changes it: directories that are searched. */
  readonly places?: readonly string[];
}

/** What the answer depends on. */
export interface IdentityBasis {
  /** What is identified, and how: `"g++ on the host device"`. */
  readonly subject: string;
  /** Whatever it changes with besides files: options, variables of the environment. */
  readonly settings: readonly string[];
  /**
   * The files. Where it takes a search to find them, how to do that: as long as all that it found
   * is as it was, and the settings are the same, it would find the same again.
   */
  readonly files: readonly string[] | (() => Promise<IdentityFiles>);
}

/**
 * A file that was changed more recently than this may be changed again without its times telling
 * (their steps are some milliseconds, on some file systems two seconds), in milliseconds.
 */
const SETTLED_AFTER = 2_000;

/** Answers of this process, by what was asked. */
const known = new Map<string, IdentityRecord>();

/** Those that are being found, by what was asked and the state of the files. */
const underWay = new Map<string, Promise<readonly string[]>>();

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
  const { subject, settings, files } = basis;
  const isSearch = typeof files === "function";
  const asked = JSON.stringify([subject, settings, isSearch ? null : files]);
  const record = known.get(asked) ?? recallIdentity(asked);
  if (record !== undefined && isCurrent(record)) {
    known.set(asked, record);
    return record.answer;
  }
  return await findOnce(asked, isSearch ? await files() : { files }, find);
}

function isCurrent({ files, places, state }: IdentityRecord): boolean {
  const now = fileStates(files, places);
  return now !== undefined && stateText(now) === state;
}

/** Finds an answer, for all who ask while the files are in this state. */
async function findOnce(
  asked: string,
  { files, places = [] }: IdentityFiles,
  find: () => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const states = fileStates(files, places);
  if (states === undefined) return await find();
  const state = stateText(states);
  const name = JSON.stringify([asked, files, places, state]);
  const running = underWay.get(name);
  if (running !== undefined) return await running;
  const answer = find();
  underWay.set(name, answer);
  try {
    const record = { answer: await answer, files, places, state };
    // A file that is changed once more may have the same times.
    if (areSettled(states)) {
      known.set(asked, record);
      await keepIdentity(asked, record);
    }
    return record.answer;
  } finally {
    underWay.delete(name);
  }
}

function areSettled(states: Float64Array): boolean {
  return lastChange(states) < Date.now() - SETTLED_AFTER;
}
