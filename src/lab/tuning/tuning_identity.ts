/**
 * What the results of a tuning are kept by: name, key, device, and the state of what is tuned.
 *
 * @module
 */

import type { DeviceContext } from "../../hardware/device_context.ts";
import { partDigest } from "../../launch/cache/digest.ts";

/** What tells one tuning's results from another's. */
export interface TuningIdentity {
  /** What is tuned. */
  readonly name: string;
  /** The text of the key. */
  readonly key: string;
  /** What the device is; devices of one model are one. */
  readonly device: string;
  /** The state of what is tuned. */
  readonly version: string;
}

/** Raised when results mean something else than before, so that older ones are not found. */
export const TUNING_SCHEMA = 2;

/**
 * What a device is, as far as times depend on it. Not which one: a second one of the same model is as
 * fast.
 */
export function deviceModel({ info, library }: DeviceContext): string {
  const parts = [
    `${info.kind}${info.fake ? " (fake)" : ""} ${info.name}`,
    `compute capability ${info.computeCapability}`,
    `${info.multiprocessorCount} multiprocessors`,
    `driver ${info.driverVersion ?? "none"}`,
  ];
  if (library.kind === "cuda") return parts.join(", ");
  // Kernels on the CPU are as fast as its cores and what their compiler made of them.
  const { compiler, architectures } = library.build;
  return [...parts, `${navigator.hardwareConcurrency} processors`, architectures, compiler]
    .join(", ");
}

/** The name of the file that has the results: 64 hexadecimal digits. */
export function tuningDigest({ name, key, device, version }: TuningIdentity): Promise<string> {
  return partDigest([
    { label: "tuning schema", payload: String(TUNING_SCHEMA) },
    { label: "name", payload: name },
    { label: "key", payload: key },
    { label: "device", payload: device },
    { label: "version", payload: version },
  ]);
}
