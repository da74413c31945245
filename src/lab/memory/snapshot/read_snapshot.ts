/**
 * Reads snapshots from JSON.
 *
 * @module
 */

import type { MemorySnapshot } from "./memory_snapshot.ts";
import { SnapshotError } from "./snapshot_error.ts";
import { validateSnapshot } from "./validate_snapshot.ts";

/** The longest string of V8, in characters. */
const MAX_TEXT_LENGTH = 2 ** 29 - 24;

/** Decodes a whole UTF-8 file, without its byte order mark. `refuse` throws for an offence. */
export function decodeFile(
  file: string | Uint8Array,
  refuse: (offence: string, cause: unknown) => never,
): string {
  if (typeof file === "string") return file.replace(/^\uFEFF/, "");
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(file);
  } catch (cause) {
    if (file.length > MAX_TEXT_LENGTH) {
      refuse(`must have at most ${MAX_TEXT_LENGTH} characters: it has ${file.length} bytes`, cause);
    }
    return refuse("must be UTF-8 text", cause);
  }
}

/**
 * Reads a snapshot from JSON.
 *
 * @param file The whole file, as text or bytes.
 * @throws {SnapshotError} If the file is not JSON, or a field is invalid; the message names the
 *   field.
 *
 * @example
 * ```ts ignore
 * import { readSnapshot } from "@gridstride/cuda/memory";
 *
 * const snapshot = readSnapshot(Deno.readFileSync("snapshot.json"));
 * console.log(snapshot.segments.length);
 * ```
 */
export function readSnapshot(file: Uint8Array | string): MemorySnapshot {
  const text = decodeFile(file, (offence, cause) => {
    throw new SnapshotError("", offence, { cause });
  });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new SnapshotError("", `must be JSON: ${reason}`, { cause });
  }
  return validateSnapshot(value);
}
