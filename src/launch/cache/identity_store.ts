/**
 * What was found out once, on the disk, by what was asked: what compilers said of themselves.
 *
 * A record is a list of texts. It holds the whole question, so that its name need not tell all
 * questions apart, and a checksum of the answer. What else is damaged in it is not what is compared
 * with it.
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
  /** The state that all of these had, as {@linkcode stateText} writes it. */
  readonly state: string;
}

/** Raised when a record, or an answer, means something else than before. */
const SCHEMA = "4";

/** Stands in no path, in no question, which is JSON, and in nothing that a compiler says. */
const SEPARATOR = "\0";

/** The fields before the lists: schema, question, state, checksum, and the lengths of the lists. */
const LISTS_FROM = 7;

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
  const { answer, files, places, state } = record;
  const fields = [
    SCHEMA,
    asked,
    state,
    checksum(answer.join(SEPARATOR)),
    ...[answer, files, places].map((list) => String(list.length)),
    ...[answer, files, places].flat(),
  ];
  const bytes = new TextEncoder().encode(fields.join(SEPARATOR));
  await writeTo(stores.identities, stores.place, checksum(asked), bytes);
}

/** The record in a file; undefined where it is damaged or that of another question. */
function recordIn(asked: string, file: Uint8Array<ArrayBuffer>): IdentityRecord | undefined {
  let fields: string[];
  try {
    fields = decoder.decode(file).split(SEPARATOR);
  } catch {
    return undefined; // Not UTF-8: it is found again.
  }
  const [schema, question, state = "", sum] = fields;
  if (schema !== SCHEMA || question !== asked) return undefined;
  const filesFrom = LISTS_FROM + Number(fields[4]);
  const placesFrom = filesFrom + Number(fields[5]);
  if (placesFrom + Number(fields[6]) !== fields.length) return undefined;
  const answer = fields.slice(LISTS_FROM, filesFrom);
  if (sum !== checksum(answer.join(SEPARATOR))) return undefined;
  const files = fields.slice(filesFrom, placesFrom);
  return { answer, files, places: fields.slice(placesFrom), state };
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
