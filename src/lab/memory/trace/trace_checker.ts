/**
 * The rules that the events of a trace keep, one after the other.
 *
 * - Block numbers count the allocations: the first is block 0.
 * - Only a live block is freed or used.
 * - A stream that is disposed is not named again; the blocks that it used may live on.
 *
 * @module
 */

import { describeValue } from "../../../ffi/describe_value.ts";
import type { TraceEvent } from "./memory_trace.ts";

/** The largest number a stream may have. */
export const MAXIMUM_STREAM = 2 ** 31 - 1;

/** The largest alignment: the largest power of two that is a safe integer. */
export const MAXIMUM_ALIGNMENT: number = 2 ** 52;

const LIVE = 1;
const FREED = 2;

function sizeOffence(bytes: unknown): string | undefined {
  if (Number.isSafeInteger(bytes) && (bytes as number) >= 0) return undefined;
  return `bytes must be an integer in 0..${Number.MAX_SAFE_INTEGER}: it is ${describeValue(bytes)}`;
}

function alignmentOffence(alignment: unknown): string | undefined {
  if (alignment === undefined) return undefined;
  const value = alignment as number;
  // The quotient of two powers of two is exact, and only theirs has an integer logarithm.
  if (value >= 1 && value <= MAXIMUM_ALIGNMENT && Number.isInteger(Math.log2(value))) {
    if (2 ** Math.log2(value) === value) return undefined;
  }
  return `alignment must be a power of two in 1..2^52: it is ${describeValue(alignment)}`;
}

/**
 * Follows a trace and says what is wrong with an event.
 *
 * @example
 * ```ts
 * import { TraceChecker } from "./trace_checker.ts";
 *
 * const checker = new TraceChecker();
 * console.log(checker.check({ kind: "free", block: 0 })); // block 0 was never allocated
 * ```
 */
export class TraceChecker {
  #states = new Uint8Array(1024);
  #blocks = 0;
  readonly #disposed = new Set<number>();

  /** How many blocks were allocated so far, which is the number of the next one. */
  get blocks(): number {
    return this.#blocks;
  }

  /**
   * Takes the next event.
   *
   * @returns What is wrong with it; `undefined` where nothing is. A wrong event has no effect.
   */
  check(event: TraceEvent): string | undefined {
    switch (event.kind) {
      case "allocate":
        return this.#allocate(event.block, event.bytes, event.stream, event.alignment);
      case "free":
        return this.#free(event.block);
      case "use":
        return this.#liveOffence(event.block, "used") ?? this.#streamOffence(event.stream);
      case "synchronize":
        return this.#streamOffence(event.stream);
      case "dispose":
        return this.#dispose(event.stream);
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
    if (block !== this.#blocks) {
      if (this.#stateOf(block) !== 0) return `block ${block} was allocated before`;
      return `block must be ${this.#blocks}, the number of allocations so far: it is ${
        describeValue(block)
      }`;
    }
    const offence = sizeOffence(bytes) ?? this.#streamOffence(stream) ??
      alignmentOffence(alignment);
    if (offence !== undefined) return offence;
    if (block === this.#states.length) this.#grow();
    this.#states[block] = LIVE;
    this.#blocks++;
    return undefined;
  }

  #free(block: number): string | undefined {
    const offence = this.#liveOffence(block, "freed");
    if (offence === undefined) this.#states[block] = FREED;
    return offence;
  }

  #dispose(stream: number): string | undefined {
    const offence = this.#streamOffence(stream);
    if (offence === undefined) this.#disposed.add(stream);
    return offence;
  }

  #stateOf(block: number): number {
    return this.#states[block] ?? 0;
  }

  #liveOffence(block: number, verb: string): string | undefined {
    const state = this.#stateOf(block);
    if (state === LIVE) return undefined;
    if (state === FREED) return `block ${block} is ${verb} after it was freed`;
    return `block ${describeValue(block)} was never allocated`;
  }

  #streamOffence(stream: number): string | undefined {
    if (!Number.isInteger(stream) || stream < 0 || stream > MAXIMUM_STREAM) {
      return `stream must be an integer in 0..${MAXIMUM_STREAM}: it is ${describeValue(stream)}`;
    }
    // Most traces dispose of no stream, and a look-up for every event is time.
    if (this.#disposed.size === 0 || !this.#disposed.has(stream)) return undefined;
    return `stream ${stream} was disposed before`;
  }

  #grow(): void {
    const larger = new Uint8Array(this.#states.length * 2);
    larger.set(this.#states);
    this.#states = larger;
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
