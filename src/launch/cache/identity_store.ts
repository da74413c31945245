/**
 * What was found out once, on the disk, by what was asked: what compilers said of themselves.
 *
 * A record is JSON that holds the whole question, so that its name need not tell all questions
 * apart, and a checksum of the answer. What else is damaged in it is not what is compared with it.
 *
 * @module
 */

import { attemptNow, cacheStores, writeTo } from "./cache_stores.ts";

/** An answer, and by what one sees that it still holds. */
export interface IdentityRecord {
  /** What was found. */
  readonly answer: readonly string[];
  /** The files that it was found from, absolute paths. */
  readonly files: readonly string[];
  /** Paths where a file that appears may change it. */
  readonly places: readonly string[];
  /** The state that all of these had. */
  readonly states: readonly number[];
}

/** Raised when a record, or an answer, means something else than before. */
const SCHEMA = 3;

const decoder = new TextDecoder("utf-8", { fatal: true });

/** What was kept for a question; undefined where there is nothing, or it is damaged. */
export function recallIdentity(asked: string): IdentityRecord | undefined {
  const stores = cacheStores();
  if (stores === undefined) return undefined;
  const file = attemptNow("not found again", () => stores.identities.readSmall(checksum(asked)));
  return file === undefined ? undefined : recordIn(asked, file);
}

/** Keeps an answer, in the place of the one that there was to the question. */
export async function keepIdentity(asked: string, record: IdentityRecord): Promise<void> {
  const stores = cacheStores();
  if (stores === undefined) return;
  const { answer, files, places, states } = record;
  const text = JSON.stringify([
    SCHEMA,
    asked,
    checksum(answer.join("\0")),
    answer,
    files,
    places,
    states,
  ]);
  const bytes = new TextEncoder().encode(text);
  await writeTo(stores.identities, stores.place, checksum(asked), bytes);
}

/** The record in a file; undefined where it is damaged or that of another question. */
function recordIn(asked: string, file: Uint8Array<ArrayBuffer>): IdentityRecord | undefined {
  let list: unknown;
  try {
    list = JSON.parse(decoder.decode(file));
  } catch {
    return undefined; // Neither UTF-8 nor JSON: it is found again.
  }
  if (!Array.isArray(list)) return undefined;
  const [schema, question, sum, answer, files, places, states] = list as unknown[];
  if (schema !== SCHEMA || question !== asked) return undefined;
  if (!isTexts(answer) || !isTexts(files) || !isTexts(places) || !isNumbers(states)) {
    return undefined;
  }
  return sum === checksum(answer.join("\0")) ? { answer, files, places, states } : undefined;
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((element) => typeof element === "string");
}

function isNumbers(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every((element) => typeof element === "number");
}

/**
 * FNV-1a of a text, as the key of a store. It is there at once: by Web Crypto the digest of some
 * hundred characters takes longer than to read the file that it names.
 */
function checksum(text: string): string {
  let sum = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    sum = Math.imul(sum ^ text.charCodeAt(index), 0x01000193);
  }
  return (sum >>> 0).toString(16).padStart(8, "0");
}
