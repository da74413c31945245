/**
 * Device selectors such as `cuda:1`, and the score of the best device.
 *
 * @module
 */

import { describeValue, formatBytes } from "../ffi/describe_value.ts";

/**
 * The two kinds of device: an NVIDIA GPU, or the kernels on the CPU.
 * @category Devices
 */
export type DeviceKind = "cuda" | "host";

/** A request for a device. */
export interface DeviceSelector {
  readonly kind: DeviceKind;
  /** The requested ordinal; absent means the best of its kind. */
  readonly ordinal?: number;
}

/** What {@linkcode parseDeviceSelector} accepts, for error messages. */
export const SELECTOR_GRAMMAR = 'cuda, host, or either with an ordinal such as "cuda:1"';

/** The selector in a text, or undefined if it does not follow the grammar. */
export function matchDeviceSelector(text: string): DeviceSelector | undefined {
  const match = /^(cuda|host)(?::(0|[1-9]\d{0,4}))?$/.exec(text);
  if (match === null) return undefined;
  const kind = match[1] as DeviceKind;
  return match[2] === undefined ? { kind } : { kind, ordinal: Number(match[2]) };
}

/**
 * Parses a device selector.
 *
 * @param selector `"cuda"`, `"cuda:1"`, `"host"` or `"host:0"`.
 */
export function parseDeviceSelector(selector: string): DeviceSelector {
  const parsed = typeof selector === "string" ? matchDeviceSelector(selector) : undefined;
  if (parsed !== undefined) return parsed;
  throw new RangeError(
    `Cannot select a device as selector must be ${SELECTOR_GRAMMAR}: it is ${
      describeValue(selector)
    }`,
  );
}

/** The label of a device in errors and reports: `"cuda:0"`. */
export function deviceLabel(kind: DeviceKind, ordinal: number): string {
  return `${kind}:${ordinal}`;
}

/** The figures of a device that the score needs. */
export interface DeviceCandidate {
  readonly kind: DeviceKind;
  readonly ordinal: number;
  readonly totalMemory: number;
  /** Absent if unknown without opening the device. */
  readonly freeMemory?: number | undefined;
  readonly computeCapability: string;
  readonly multiprocessorCount: number;
}

/** A chosen device and the reason. */
export interface DeviceChoice<Candidate extends DeviceCandidate> {
  /** The device. */
  readonly device: Candidate;
  /** Whether its free memory was known, or its total memory was used instead. */
  readonly memoryBasis: "free" | "total";
  /** The reason in one sentence, for logs and `doctor`. */
  readonly reason: string;
}

/**
 * Free memory counts in steps of 256 MiB: two idle devices of one model differ by some megabytes
 * (a display, a management daemon), which must not outweigh a newer architecture.
 */
export const MEMORY_STEP: number = 256 * 2 ** 20;

/**
 * The score, compared element by element, larger being better: free memory in steps of
 * {@linkcode MEMORY_STEP}, compute capability as major × 10 + minor, multiprocessors. Total memory
 * replaces unknown free memory.
 */
export function deviceScore(device: DeviceCandidate): readonly [number, number, number] {
  const memory = device.freeMemory ?? device.totalMemory;
  const [major = 0, minor = 0] = device.computeCapability.split(".").map(Number);
  return [Math.floor(memory / MEMORY_STEP), major * 10 + minor, device.multiprocessorCount];
}

const CRITERIA = ["most memory", "the newest compute capability", "the most multiprocessors"];

/** Index of the first element in which two scores differ, or -1. */
function firstDifference(a: readonly number[], b: readonly number[]): number {
  return a.findIndex((value, index) => value !== b[index]);
}

/** Negative if `a` is the better device. A GPU comes before the host; a tie goes to the first. */
function compare(a: DeviceCandidate, b: DeviceCandidate): number {
  if (a.kind !== b.kind) return a.kind === "cuda" ? -1 : 1;
  const scoreA = deviceScore(a);
  const scoreB = deviceScore(b);
  const index = firstDifference(scoreA, scoreB);
  return index < 0 ? a.ordinal - b.ordinal : scoreB[index]! - scoreA[index]!;
}

function explain(best: DeviceCandidate, second: DeviceCandidate | undefined): string {
  const label = deviceLabel(best.kind, best.ordinal);
  const memory = best.freeMemory === undefined
    ? `${formatBytes(best.totalMemory)} in all (free memory is not known without opening it)`
    : `${formatBytes(best.freeMemory)} of ${formatBytes(best.totalMemory)} free`;
  if (second === undefined) return `${label} is the only device: ${memory}`;
  if (second.kind !== best.kind) return `${label} is the only GPU: ${memory}`;
  const index = firstDifference(deviceScore(best), deviceScore(second));
  const cause = index < 0 ? "the lowest ordinal of equals" : CRITERIA[index]!;
  return `${label} has ${cause}: ${memory}`;
}

/**
 * The best of some devices: GPUs before host devices, then by {@linkcode deviceScore}, then the
 * lowest ordinal.
 *
 * @returns The choice, or undefined if there is no candidate.
 */
export function bestDevice<Candidate extends DeviceCandidate>(
  candidates: readonly Candidate[],
): DeviceChoice<Candidate> | undefined {
  const [device, second] = candidates.toSorted(compare);
  if (device === undefined) return undefined;
  return {
    device,
    memoryBasis: device.freeMemory === undefined ? "total" : "free",
    reason: explain(device, second),
  };
}
