/**
 * The calls of an upstream in memory: counted, and made to fail when a test says so.
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

/** The calls that take memory or addresses, and may therefore find none. */
export const TAKING_CALLS: readonly UpstreamCall[] = ["allocate", "reserve", "map"];

/** How a call is to fail. */
export interface UpstreamFault {
  /** Which call; absent means any. */
  readonly call?: UpstreamCall;
  /** Which of the coming calls, 1 being the next. 1 by default. */
  readonly nth?: number;
  /** How many calls fail from then on; 1 by default, `Infinity` for all. */
  readonly times?: number;
  /**
   * `throw` throws a `CudaError`; `none` says that there is no memory, which only calls that take
   * some can say. `throw` by default.
   */
  readonly outcome?: "throw" | "none";
  /** The status of the error; `cudaErrorUnknown` (999) by default. */
  readonly status?: number;
}

interface ArmedFault {
  readonly call: UpstreamCall | undefined;
  readonly outcome: "throw" | "none";
  readonly status: number;
  /** Calls until it begins. */
  before: number;
  /** Calls that fail then. */
  left: number;
}

function countFrom(value: number | undefined, name: string): number {
  const count = value ?? 1;
  if (count === Infinity || (Number.isInteger(count) && count >= 1)) return count;
  throw new RangeError(
    `Cannot arm a fault as ${name} must be an integer of at least 1: it is ${count}`,
  );
}

function arm(fault: UpstreamFault): ArmedFault {
  const outcome = fault.outcome ?? "throw";
  if (outcome === "none" && (fault.call === undefined || !TAKING_CALLS.includes(fault.call))) {
    throw new TypeError(
      `Cannot arm a fault as only ${TAKING_CALLS.join(", ")} can find no memory: the call is ${
        fault.call ?? "any"
      }`,
    );
  }
  return {
    call: fault.call,
    outcome,
    status: fault.status ?? 999,
    before: countFrom(fault.nth, "nth") - 1,
    left: countFrom(fault.times, "times"),
  };
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
  #faults: ArmedFault[] = [];

  /** Counts the calls of one upstream, which errors name by its label. */
  constructor(label: string) {
    this.#label = label;
  }

  /** How often each call was made, failed ones included. */
  get counts(): Readonly<Record<UpstreamCall, number>> {
    return { ...this.#counts };
  }

  /** Begins to count anew. */
  reset(): void {
    this.#counts = noCalls();
  }

  /** Arms a fault; several may be armed. */
  fail(fault: UpstreamFault): void {
    this.#faults.push(arm(fault));
  }

  /** Forgets all faults; how many of them had not happened at all or not to the end. */
  restore(): number {
    const left = this.#faults.filter((fault) => fault.left !== Infinity).length;
    this.#faults = [];
    return left;
  }

  /**
   * Counts a call.
   *
   * @returns Whether it is to say that there is no memory.
   * @throws {CudaError} If a fault says so.
   */
  count(call: UpstreamCall): boolean {
    this.#counts[call]++;
    return this.#faults.length > 0 && this.#happens(call);
  }

  #happens(call: UpstreamCall): boolean {
    let happening: ArmedFault | undefined;
    for (const fault of this.#faults) {
      if (fault.call !== undefined && fault.call !== call) continue;
      if (fault.before > 0) fault.before--;
      else if (happening === undefined) {
        happening = fault;
        fault.left--;
      }
    }
    if (happening === undefined) return false;
    this.#faults = this.#faults.filter((fault) => fault.left > 0);
    if (happening.outcome === "none") return true;
    throw new CudaError({
      action: `make the call ${call}`,
      code: happening.status,
      device: this.#label,
      detail: "a test made it fail",
    });
  }
}
