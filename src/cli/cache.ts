/**
 * `gridstride cache`: what is kept of compiled kernels.
 *
 * @module
 */

import {
  CacheDirectoryError,
  clearKernelCache,
  type KernelCacheEntry,
  listKernelCache,
} from "../../mod.ts";
import { type Command, EXIT, type Invocation, printResult, UsageError } from "./command.ts";
import { formatBytes, textTable } from "./text_table.ts";

/** How many digits of a key tell entries apart for people. */
const SHORT_KEY = 12;
/** The longest list of kernels in a column. */
const LONGEST_KERNELS = 48;

const ACTIONS = ["list", "clear"] as const;

function actionOf({ positional: [action = "list", extra] }: Invocation): string {
  if (extra !== undefined) {
    throw new UsageError(
      `Cannot ${action} the cache as there must be one action: "${extra}" is too many`,
    );
  }
  if ((ACTIONS as readonly string[]).includes(action)) return action;
  throw new UsageError(
    `Cannot use the cache as what to do must be one of ${ACTIONS.join(", ")}: it is "${action}"`,
  );
}

/** The kernels of an entry in one text. */
function kernelsOf({ source, kernels }: KernelCacheEntry): string {
  if (source === "") return "(damaged)";
  return kernels.length === 0 ? source : kernels.join(", ");
}

function shorten(text: string): string {
  return text.length <= LONGEST_KERNELS ? text : `${text.slice(0, LONGEST_KERNELS - 1)}…`;
}

function describe(entries: readonly KernelCacheEntry[]): string {
  if (entries.length === 0) return "no compiled kernels are kept";
  const rows = entries.map((entry) => [
    entry.key.slice(0, SHORT_KEY),
    shorten(kernelsOf(entry)),
    formatBytes(entry.bytes),
    entry.lastUsed.toISOString().slice(0, 19).replace("T", " "),
  ]);
  const table = textTable(["key", "kernel", "size", "last used (UTC)"], rows, [
    "left",
    "left",
    "right",
    "left",
  ]);
  const total = entries.reduce((sum, { bytes }) => sum + bytes, 0);
  return `${table}\n\n${counted(entries.length)}, ${formatBytes(total)}`;
}

function counted(entries: number): string {
  return `${entries} ${entries === 1 ? "entry" : "entries"}`;
}

async function list(invocation: Invocation): Promise<void> {
  const entries = await listKernelCache();
  const rows = entries.map((entry) => ({
    key: entry.key,
    kernel: kernelsOf(entry),
    bytes: entry.bytes,
    lastUsed: entry.lastUsed.toISOString(),
  }));
  printResult(invocation, rows, () => describe(entries));
}

async function clear(invocation: Invocation): Promise<void> {
  const removed = await clearKernelCache();
  const text = `removed ${counted(removed.entries)}, ${formatBytes(removed.bytes)}`;
  printResult(invocation, removed, () => text);
}

/** The command. */
export const CACHE: Command = {
  name: "cache",
  summary: "list or clear what is kept of compiled kernels",
  help: `gridstride cache [list | clear] [--json]

Machine code that device.compile() made is kept, so that the same source is not compiled again by
another process. It lies in kernels/ in the directory that GRIDSTRIDE_CACHE_DIR names, else in the
system's place for caches; GRIDSTRIDE_CACHE_SIZE says how much there may be (1 GiB by default, 0
for none). What was not used for longest goes first.

list shows what is there, the one that was used last first. clear removes it.
With --json: list prints an array of { key, kernel, bytes, lastUsed }, clear prints what it removed
as { entries, bytes }.
Exit code 1 when the directory cannot be read or written, or others can write to it.`,
  async run(invocation) {
    const action = actionOf(invocation);
    try {
      await (action === "list" ? list(invocation) : clear(invocation));
      return EXIT.done;
    } catch (error) {
      if (!(error instanceof CacheDirectoryError)) throw error;
      console.error(error.message);
      return EXIT.failed;
    }
  },
};
