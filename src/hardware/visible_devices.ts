/**
 * The grammar of `CUDA_VISIBLE_DEVICES`: which devices a process sees and in which order.
 *
 * The CUDA driver and the host library apply the variable themselves. Both stop at the first entry
 * that they cannot understand and say nothing, so a slip of the pen hides devices; such an entry is
 * refused here, before a library is asked.
 *
 * @module
 */

import { EnvironmentError } from "./environment_error.ts";

/** The variable. */
export const VISIBLE_VARIABLE = "CUDA_VISIBLE_DEVICES";

const ALLOWED = "ordinals or uuids (GPU-…, MIG-…) separated by commas, or -1 or nothing for none";

/** The entries of the variable; an empty list hides all devices. */
export type VisibleDevices = readonly (number | string)[];

function parseEntry(value: string, entry: string): number | string {
  if (/^\d{1,5}$/.test(entry)) return Number(entry);
  if (/^(?:GPU|MIG)-[0-9A-Za-z/-]+$/.test(entry)) return entry;
  throw new EnvironmentError(
    VISIBLE_VARIABLE,
    value,
    ALLOWED,
    `${JSON.stringify(entry)} is neither`,
  );
}

/**
 * Reads a value of `CUDA_VISIBLE_DEVICES`. An entry of -1 ends the list, as in CUDA;
 * `NoDevFiles`, which Slurm sets for jobs without a GPU, means none.
 *
 * @throws {EnvironmentError} If an entry is neither an ordinal nor a uuid.
 */
export function parseVisibleDevices(value: string): VisibleDevices {
  if (value.trim() === "" || value === "NoDevFiles") return [];
  const entries = value.split(",").map((entry) => entry.trim());
  const end = entries.indexOf("-1");
  return (end < 0 ? entries : entries.slice(0, end)).map((entry) => parseEntry(value, entry));
}
