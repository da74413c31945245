/**
 * Snapshots from files: our own in JSON, and PyTorch's.
 *
 * @module
 */

import type { MemorySnapshot } from "./memory_snapshot.ts";
import { isPickle, readPickle } from "./pickle.ts";
import { convertPytorchSnapshot, type PytorchSnapshotOptions } from "./pytorch_snapshot.ts";
import { SnapshotError } from "./snapshot_error.ts";
import { validateSnapshot } from "./validate_snapshot.ts";

/**
 * Reads a snapshot.
 *
 * @param file The whole file: JSON as `pool.snapshot()` makes it, as text or bytes, or a pickle as
 *   PyTorch's `torch.cuda.memory._dump_snapshot()` writes it.
 * @param options Which device of a file of PyTorch is read.
 * @throws {SnapshotError} If it is neither, or a field is wrong; the message names the field.
 * @throws {PickleError} If a pickle is corrupt or holds more than plain values.
 * @throws {RangeError} If the file has nothing of the device.
 *
 * @example
 * ```ts ignore
 * import { readSnapshot } from "@gridstride/cuda/memory";
 *
 * const snapshot = readSnapshot(Deno.readFileSync("snapshot.pickle"));
 * console.log(snapshot.segments.length);
 * ```
 */
export function readSnapshot(
  file: Uint8Array | string,
  options: PytorchSnapshotOptions = {},
): MemorySnapshot {
  if (typeof file !== "string" && isPickle(file)) {
    return convertPytorchSnapshot(readPickle(file), options);
  }
  const text = typeof file === "string" ? file : decode(file);
  if (!/^\s*[{[]/.test(text)) {
    throw new SnapshotError("", "must be JSON or a pickle: it is neither");
  }
  return validateSnapshot(parse(text));
}

function decode(file: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(file);
  } catch (cause) {
    throw new SnapshotError("", "must be JSON or a pickle: it is no UTF-8 text", { cause });
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new SnapshotError("", `must be JSON: ${reason}`, { cause });
  }
}
