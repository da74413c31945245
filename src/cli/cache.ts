/**
 * `gridstride cache`: lists or clears the cache of compiled kernels.
 *
 * @module
 */

import { formatBytes } from "../lab/memory/mod.ts";
import { clearKernelCache, listKernelCache } from "../../mod.ts";
import { type Command, printResult, UsageError } from "./command.ts";
import { plural, textTable } from "./format.ts";

type KernelCacheEntry = Awaited<ReturnType<typeof listKernelCache>>[number];

const KEY_DIGITS = 12;
const KERNEL_COLUMN = 34;

function kernelsOf({ source, kernels }: KernelCacheEntry): string {
  if (source === "") return "(damaged)";
  return kernels.length === 0 ? source : kernels.join(", ");
}

function summaryOf(count: number, bytes: number): string {
  return `${plural(count, "entry", "entries")}, ${formatBytes(bytes)}`;
}

function describe(entries: readonly KernelCacheEntry[]): string {
  if (entries.length === 0) return "The cache is empty.";
  const rows = entries.map((entry) => {
    const kernels = kernelsOf(entry);
    return [
      entry.key.slice(0, KEY_DIGITS),
      kernels.length <= KERNEL_COLUMN ? kernels : `${kernels.slice(0, KERNEL_COLUMN - 1)}…`,
      formatBytes(entry.bytes),
      entry.lastUsed.toISOString().slice(0, 19).replace("T", " "),
    ];
  });
  const total = entries.reduce((sum, { bytes }) => sum + bytes, 0);
  const table = textTable(["key", "kernel", "size", "last used (UTC)"], rows, "<<>");
  return `${table}\n\n${summaryOf(entries.length, total)}`;
}

export const CACHE: Command = {
  name: "cache",
  summary: "list or clear the cache of compiled kernels",
  arguments: "[action]",
  description: `device.compile() caches machine code on disk, and other processes reuse it. The
cache is the folder kernels/ in the directory GRIDSTRIDE_CACHE_DIR, or in the system's cache
directory. Its maximum size is GRIDSTRIDE_CACHE_SIZE: 1GiB by default, 0 turns it off. The least
recently used entries are removed first.

  list   lists the entries, the most recently used first; this is the default
  clear  removes all entries`,
  details: `With --json: list prints an array of { key, kernel, bytes, lastUsed }, and clear
prints the removed { entries, bytes }.

Exit code 1 if the directory cannot be read or written, or if other users can write to it.`,
  async run(invocation) {
    const [action = "list"] = invocation.positional;
    if (action === "clear") {
      const removed = await clearKernelCache();
      const text = `removed ${summaryOf(removed.entries, removed.bytes)}`;
      printResult(invocation, removed, () => text);
      return;
    }
    if (action !== "list") {
      throw new UsageError(
        `Cannot run gridstride cache ${action} as the action must be list or clear`,
      );
    }
    const entries = await listKernelCache();
    const rows = entries.map((entry) => ({
      key: entry.key,
      kernel: kernelsOf(entry),
      bytes: entry.bytes,
      lastUsed: entry.lastUsed.toISOString(),
    }));
    printResult(invocation, rows, () => describe(entries));
  },
};
