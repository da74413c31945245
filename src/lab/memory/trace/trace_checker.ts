/**
 * The rules for the events of a trace.
 *
 * - Block numbers count the allocations from 0.
 * - Only a live block is freed or used.
 * - No event names a disposed stream. The blocks that it used may stay live.
 *
 * @module
 */

import { describeValue } from "../../../ffi/describe_value.ts";
import type { TraceEvent } from "./memory_trace.ts";

const MAX_STREAM = 2 ** 31 - 1;

/** The largest alignment: the largest power of two that is a safe integer. */
export const MAX_ALIGNMENT: number = 2 ** 52;

/** Checks for a power of two up to {@linkcode MAX_ALIGNMENT}. */
export function isAlignment(value: number): boolean {
  return value >= 1 && value <= MAX_ALIGNMENT && 2 ** Math.round(Math.log2(value)) === value;
}

/** Checks the events of a trace one after the other. */
export class TraceChecker {
  readonly #isLive: boolean[] = [];
  readonly #disposed = new Set<number>();

  /** The number of allocations so far, which is the number of the next block. */
  get blocks(): number {
    return this.#isLive.length;
  }

  /** Takes the next event. Returns its offence, or `undefined` for a valid event. */
  check(event: TraceEvent): string | undefined {
    switch (event.kind) {
      case "allocate":
        return this.#allocate(event.block, event.bytes, event.stream, event.alignment);
      case "free": {
        const offence = this.#liveOffence(event.block, "freed");
        if (offence === undefined) this.#isLive[event.block] = false;
        return offence;
      }
      case "use":
        return this.#liveOffence(event.block, "used") ?? this.#streamOffence(event.stream);
      case "synchronize":
        return this.#streamOffence(event.stream);
      case "dispose": {
        const offence = this.#streamOffence(event.stream);
        if (offence === undefined) this.#disposed.add(event.stream);
        return offence;
      }
      case "point":
        return pointOffence(event.name);
      default:
        return `kind must be allocate, free, use, synchronize, dispose or point: it is ${
          describeValue((event as { kind: unknown }).kind)
        }`;
    }
  }

  #allocate(
    block: number,
    bytes: number,
    stream: number,
    alignment: number | undefined,
  ): string | undefined {
    if (this.#isLive[block] !== undefined) return `block ${block} was allocated before`;
    if (block !== this.blocks) {
      return `block must be ${this.blocks}, the number of allocations so far: it is ${
        describeValue(block)
      }`;
    }
    if (!Number.isSafeInteger(bytes) || bytes < 0) {
      return `bytes must be an integer in 0..${Number.MAX_SAFE_INTEGER}: it is ${
        describeValue(bytes)
      }`;
    }
    if (alignment !== undefined && !isAlignment(alignment)) {
      return `alignment must be a power of two in 1..2^52: it is ${describeValue(alignment)}`;
    }
    const offence = this.#streamOffence(stream);
    if (offence === undefined) this.#isLive.push(true);
    return offence;
  }

  #liveOffence(block: number, verb: string): string | undefined {
    if (this.#isLive[block] === true) return undefined;
    if (this.#isLive[block] === false) return `block ${block} is ${verb} after it was freed`;
    return `block ${describeValue(block)} was never allocated`;
  }

  #streamOffence(stream: number): string | undefined {
    if (!Number.isInteger(stream) || stream < 0 || stream > MAX_STREAM) {
      return `stream must be an integer in 0..${MAX_STREAM}: it is ${describeValue(stream)}`;
    }
    return this.#disposed.has(stream) ? `stream ${stream} was disposed before` : undefined;
  }
}

function pointOffence(name: unknown): string | undefined {
  if (typeof name === "string" && /^[^\s\p{Cc}](?:[^\p{Cc}]*[^\s\p{Cc}])?$/u.test(name)) {
    return undefined;
  }
  return `name must be a text without control characters or outer spaces: it is ${
    describeValue(name)
  }`;
}
