/**
 * The interface between a replay and an allocator.
 *
 * All policies follow the same rules, which makes their figures comparable:
 *
 * - The device is empty, and its capacity is available to the policy.
 * - An event completes when it is recorded. A block freed after its use by another stream is free
 *   when the policy looks next, at the point where the real allocator would query its events.
 * - Reserved bytes are those taken from the layer below and not returned. The replay reads them
 *   after every event and computes the peak.
 * - An upstream call is one request to the layer below, granted or not: one `cudaMalloc` or
 *   `cudaFree`, or one mapping or unmapping of any number of adjacent pages. Address reservations
 *   and events are not counted.
 * - A retry is a request to the layer below after a refused one within the same allocation.
 *
 * @module
 */

/** An allocator under replay. Blocks and streams are the numbers of the trace. */
export interface ReplayAllocator extends Partial<Disposable> {
  /**
   * Allocates a block.
   *
   * @param block The number of the block, never used before.
   * @param bytes The requested size, which may be 0.
   * @param stream The stream that uses the block first.
   * @param alignment A power of two; `undefined` for the alignment of the policy.
   * @returns False if out of memory.
   */
  allocate(block: number, bytes: number, stream: number, alignment: number | undefined): boolean;
  /** Frees a live block on the stream of its allocation. */
  free(block: number): void;
  /** Declares the use of a live block by another stream. */
  use(block: number, stream: number): void;
  /** Reports that the program waited for a stream. */
  synchronize(stream: number): void;
  /** Disposes a stream. Its blocks may be freed later. */
  dispose(stream: number): void;

  /** Bytes currently reserved. */
  readonly reservedBytes: number;
  /** Requests to the layer below so far. */
  readonly upstreamCalls: number;
  /** Requests repeated after a refusal so far. */
  readonly retries: number;
}

/** A memory management policy. */
export interface ReplayPolicy {
  /** Its name in tables and on the command line. */
  readonly name: string;
  /** Its description, in a sentence. */
  readonly description: string;
  /** `true` for a model of another allocator. The speed of a model is not measured. */
  readonly isModel: boolean;
  /** Creates an allocator on an empty device. */
  create(options: {
    /** The memory of the device. */
    readonly capacityBytes: number;
  }): ReplayAllocator;
}
