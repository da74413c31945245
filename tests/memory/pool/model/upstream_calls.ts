/**
 * Counts the calls of an upstream and makes them fail.
 *
 * @module
 */

import { CudaError } from "../../../../src/ffi/cuda_error.ts";

/** The calls of an upstream. */
export const UPSTREAM_CALLS = [
  "freeBytes",
  "allocate",
  "free",
  "reserve",
  "release",
  "map",
  "unmap",
  "createEvent",
  "destroyEvent",
  "recordEvent",
  "queryEvent",
  "waitSync",
  "wait",
  "declare",
  "fill",
  "read",
  "press",
] as const;

/** A call of an upstream. */
export type UpstreamCall = typeof UPSTREAM_CALLS[number];

/** The calls that can find no memory. */
export const TAKING_CALLS: readonly UpstreamCall[] = ["allocate", "reserve", "map"];

/** A fault of a call. */
export interface UpstreamFault {
  /** The call; any by default. */
  readonly call?: UpstreamCall;
  /** The number of the failing call, from 1, the default. */
  readonly nth?: number;
  /** The number of calls that fail from then on; 1 by default. */
  readonly times?: number;
  /** `throw` throws a `CudaError`, the default; `none` reports a lack of memory. */
  readonly outcome?: "throw" | "none";
  /** The status of the error; `cudaErrorUnknown` (999) by default. */
  readonly status?: number;
}

function noCalls(): Record<UpstreamCall, number> {
  return Object.fromEntries(UPSTREAM_CALLS.map((call) => [call, 0])) as Record<
    UpstreamCall,
    number
  >;
}

/** Counts calls and makes armed faults happen. */
export class UpstreamCalls {
  readonly #label: string;
  #counts = noCalls();
  #faults: { readonly fault: UpstreamFault; before: number; left: number }[] = [];

  constructor(label: string) {
    this.#label = label;
  }

  /** The number of calls, including failed ones. */
  get counts(): Readonly<Record<UpstreamCall, number>> {
    return { ...this.#counts };
  }

  reset(): void {
    this.#counts = noCalls();
  }

  /** Arms a fault. */
  fail(fault: UpstreamFault): void {
    this.#faults.push({ fault, before: (fault.nth ?? 1) - 1, left: fault.times ?? 1 });
  }

  /** Forgets all faults, and returns the number of those with calls left to fail. */
  restore(): number {
    const left = this.#faults.filter((armed) => armed.left !== Infinity).length;
    this.#faults = [];
    return left;
  }

  /**
   * Counts a call.
   *
   * @returns Whether it reports a lack of memory.
   * @throws {CudaError} If a fault is due.
   */
  count(call: UpstreamCall): boolean {
    this.#counts[call]++;
    if (this.#faults.length === 0) return false;
    let due: UpstreamFault | undefined;
    for (const armed of this.#faults) {
      if (armed.fault.call !== undefined && armed.fault.call !== call) continue;
      if (armed.before > 0) armed.before--;
      else if (due === undefined) {
        due = armed.fault;
        armed.left--;
      }
    }
    if (due === undefined) return false;
    this.#faults = this.#faults.filter((armed) => armed.left > 0);
    if (due.outcome === "none") return true;
    throw new CudaError({
      action: `make the call ${call}`,
      code: due.status ?? 999,
      device: this.#label,
      detail: "a test made it fail",
    });
  }
}
