/**
 * Snapshots from files: our own in JSON, and PyTorch's.
 *
 * @module
 */

import { describeValue } from "../../../ffi/describe_value.ts";
import { decodeFile } from "./file_text.ts";
import type { MemorySnapshot } from "./memory_snapshot.ts";
import { isPickle, readPickle } from "./pickle.ts";
import { convertPytorchSnapshot, type PytorchSnapshotOptions } from "./pytorch_snapshot.ts";
import { SnapshotError } from "./snapshot_error.ts";
import { validateSnapshot } from "./validate_snapshot.ts";

/**
 * Reads a snapshot.
 *
 * @param file The whole file: JSON as `snapshotPool()` makes it, as text or bytes, or a pickle as
 *   PyTorch's `torch.cuda.memory._dump_snapshot()` writes it.
 * @param options Which device of a file of PyTorch is read; a snapshot of ours is of one device.
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
  const text = typeof file === "string" ? file.replace(/^\uFEFF/, "") : decode(file);
  if (!/^\s*[{[]/.test(text)) {
    throw new SnapshotError("", "must be JSON or a pickle: it is neither");
  }
  const snapshot = validateSnapshot(parse(text));
  requireDevice(snapshot, options.device);
  return snapshot;
}

function decode(file: Uint8Array): string {
  return decodeFile(file, (offence, cause) => {
    throw new SnapshotError("", offence, { cause });
  });
}

/** A snapshot of a pool is of one device, and that is the one that must be asked for, if any is. */
function requireDevice({ device: { label } }: MemorySnapshot, device: number | undefined): void {
  if (device === undefined || label.endsWith(`:${device}`)) return;
  throw new RangeError(
    `Cannot read the snapshot as device must be the one that it is of, ${
      describeValue(label)
    }: it is ${describeValue(device)}`,
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new SnapshotError("", `must be JSON: ${reason}`, { cause });
  }
}
