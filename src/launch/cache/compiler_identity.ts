/**
 * What a compiler is, remembered from one process to the next.
 *
 * To say exactly what it is a compiler must be started, or a library of 100 MB be read. Both take
 * longer than everything else about a hit in the cache, and the answer only changes with certain
 * files. So it is kept under these files' paths, sizes and times, much as `make` decides what is up
 * to date.
 *
 * @module
 */

import { attempt, cacheStores, writeTo } from "./cache_stores.ts";
import { type DigestPart, listParts, partDigest } from "./digest.ts";
import { isFileProblem } from "./file_problem.ts";
import { magicOf, seal, unseal } from "./sealed_file.ts";

/** What the answer depends on. */
export interface IdentityBasis {
  /** What is identified, and how: `"g++ on the host device"`. */
  readonly subject: string;
  /** Files that the answer changes with: the compiler, its library, headers. Absolute paths. */
  readonly files: readonly string[];
  /** Whatever else it changes with: options, variables of the environment. */
  readonly settings: readonly string[];
}

const VERSION = 1;
const MAGIC = magicOf("GSID", VERSION);

/**
 * A file that was changed more recently than this may be changed again without its times telling
 * (their steps are some milliseconds, on some file systems two seconds), in milliseconds.
 */
const SETTLED_AFTER = 2_000;

/** Answers of this process, and those that are being found. */
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
  const states = statesOf(basis.files);
  if (states === undefined) return await find();
  const key = await partDigest(basisParts(basis, states));
  const running = known.get(key);
  if (running !== undefined) return await running;
  const answer = recallOrFind(key, states, find);
  known.set(key, answer);
  try {
    return await answer;
  } catch (error) {
    known.delete(key);
    throw error;
  } finally {
    // Who asked meanwhile has it; a file that is changed once more may have the same times.
    if (!areSettled(states)) known.delete(key);
  }
}

function areSettled(states: readonly FileState[]): boolean {
  return states.every(({ changed }) => changed < Date.now() - SETTLED_AFTER);
}

/** The state of a file, as far as it tells whether the file is still the same. */
interface FileState {
  readonly description: string;
  readonly changed: number;
}

/** The states of files; undefined where one has none that may be read. */
function statesOf(files: readonly string[]): readonly FileState[] | undefined {
  try {
    requireReadable(files);
    return files.map(stateOf);
  } catch (error) {
    if (isFileProblem(error)) return undefined;
    throw error;
  }
}

/** Refuses files that Deno would ask somebody for. */
function requireReadable(files: readonly string[]): void {
  // Asked for all files first: there are dozens, and mostly everything is permitted.
  if (isReadable()) return;
  const refused = files.find((path) => !isReadable(path));
  if (refused !== undefined) throw new Deno.errors.NotCapable(refused);
}

function isReadable(path?: string): boolean {
  const permission = { name: "read", ...(path === undefined ? {} : { path }) } as const;
  return Deno.permissions.querySync(permission).state === "granted";
}

function stateOf(path: string): FileState {
  // Of the file that a link leads to: a compiler's name often is one.
  const { dev, ino, size, mtime, ctime } = Deno.statSync(path);
  const times = [mtime?.getTime(), ctime?.getTime()];
  return {
    description: [path, dev, ino, size, ...times].join("\0"),
    changed: Math.max(...times.map((time) => time ?? 0)),
  };
}

function basisParts(
  { subject, settings }: IdentityBasis,
  states: readonly FileState[],
): DigestPart[] {
  return [
    { label: "schema", payload: String(VERSION) },
    { label: "subject", payload: subject },
    ...listParts("setting", settings),
    ...listParts("file", states.map(({ description }) => description)),
  ];
}

async function recallOrFind(
  key: string,
  states: readonly FileState[],
  find: () => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const stores = cacheStores();
  if (stores === undefined) return await find();
  const file = await attempt("not found again", () => stores.identities.read(key));
  const recalled = file === undefined ? undefined : await answerIn(key, file);
  if (recalled !== undefined) return recalled;
  const answer = await find();
  if (areSettled(states)) {
    const text = new TextEncoder().encode(JSON.stringify([key, ...answer]));
    await writeTo(stores.identities, stores.place, key, await seal(MAGIC, text));
  }
  return answer;
}

/** The answer in a file; undefined where it is damaged or that of another key. */
async function answerIn(
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
