/**
 * What a replay needs of an allocator: the policy under test, ours or a model of a peer's.
 *
 * Rules that hold for every policy alike, so that figures can be compared:
 *
 * - The device is empty and all its memory is there to be taken: the capacity.
 * - An event completes when it is recorded. What is freed after a use on another stream is
 *   therefore free as soon as the policy looks, which is when the real one would query its events.
 * - Reserved are the bytes taken from the layer below and not given back, as the policy's own
 *   statistics would count them. The replay reads the figure after every event and computes the
 *   peak itself; what is taken and given back within one allocation is no part of it.
 * - An upstream call is one request to the layer below, whether or not it was granted: one
 *   `cudaMalloc` or `cudaFree`, or one mapping or unmapping of any number of pages in a row.
 *   Reserving addresses, and events, are not counted.
 * - A retry is a request to the layer below that follows a refused one within the same allocation.
 * - Where a policy takes no alignment, a caller who needs more than it gives asks for as many bytes
 *   more, and so does the replay: {@linkcode paddedForAlignment}.
 *
 * @module
 */

/** What a policy is created for. */
export interface ReplayPolicyOptions {
  /** Bytes of memory that the device has. */
  readonly capacityBytes: number;
}

/** What a part of a segment is, for debugging. */
export type ReplayBlockState =
  /** Somebody has it. */
  | "live"
  /** Free. */
  | "free"
  /** Freed, but not looked at again since. */
  | "pending"
  /** Addresses without memory. */
  | "unmapped";

/** A part of a segment, for debugging. */
export interface ReplayBlock {
  /** Where it begins, in bytes from the segment's begin. */
  readonly offset: number;
  /** Its size in bytes, rounding included. */
  readonly bytes: number;
  /** What it is. */
  readonly state: ReplayBlockState;
  /** The trace's number of who has it; `null` unless it is live. */
  readonly block: number | null;
}

/** What was taken from the layer below as one, for debugging. */
export interface ReplaySegment {
  /** Its size in bytes, what has no memory included. */
  readonly bytes: number;
  /** Its parts by offset, without gaps; what has no memory at the end is left out. */
  readonly blocks: readonly ReplayBlock[];
}

/** An allocator as a replay drives it. Blocks and streams are the numbers of the trace. */
export interface ReplayAllocator extends Partial<Disposable> {
  /**
   * Allocates.
   *
   * @param block The block's number, never used before.
   * @param bytes What is asked for; 0 is allowed.
   * @param stream The stream that uses it first.
   * @param alignment A power of two; `undefined` for what the policy gives anyway.
   * @returns False when there is no memory left.
   */
  allocate(block: number, bytes: number, stream: number, alignment: number | undefined): boolean;
  /** Frees a live block, on the stream it was allocated on. */
  free(block: number): void;
  /** Declares that another stream uses a live block. */
  use(block: number, stream: number): void;
  /** The program has waited for all work of a stream. */
  synchronize(stream: number): void;
  /** A stream is disposed. Its blocks may be freed later. */
  dispose(stream: number): void;

  /** Bytes taken from the layer below now. */
  readonly reservedBytes: number;
  /** Requests made to the layer below so far. */
  readonly upstreamCalls: number;
  /** Requests repeated after a refusal so far. */
  readonly retries: number;

  /** What is where, in the order of taking, for tests; models have it. */
  segments?(): readonly ReplaySegment[];
}

/** A way of managing memory that a trace can be replayed against. */
export interface ReplayPolicy {
  /** What `--policy` and the tables call it. */
  readonly name: string;
  /** What it is, in a sentence. */
  readonly description: string;
  /** Whether it is a model of something else, so that its speed means nothing. */
  readonly isModel: boolean;
  /** Makes an allocator that owns nothing yet but what it takes at the start. */
  create(options: ReplayPolicyOptions): ReplayAllocator;
}

/**
 * What a caller who needs an alignment asks a policy for that has none to offer.
 *
 * @param bytes What is needed.
 * @param alignment What its address must be a multiple of; `undefined` for anything.
 * @param natural What the policy's addresses are multiples of.
 * @returns Bytes in which an aligned address with `bytes` after it can always be found.
 */
export function paddedForAlignment(
  bytes: number,
  alignment: number | undefined,
  natural: number,
): number {
  if (bytes === 0 || alignment === undefined || alignment <= natural) return bytes;
  return bytes + alignment - natural;
}
