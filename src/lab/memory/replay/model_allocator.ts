/**
 * What the models of the peers' allocators have in common, so that each holds its policy alone.
 *
 * - Requests of 0 bytes never reach any of the peers' pools: they are granted, and forgotten.
 * - All round up to multiples of one size, which is what their addresses are multiples of too.
 * - None hears that a program has waited for a stream, or of a stream's end, and nothing that any
 *   of them does would change by it.
 * - What they have taken, and how often they asked, is in the accounts of the device below them.
 *
 * @module
 */

import { ReplayDevice } from "./replay_device.ts";
import {
  paddedForAlignment,
  type ReplayAllocator,
  type ReplayPolicy,
  type ReplaySegment,
} from "./replay_policy.ts";
import { describeSegments, type IdlePart, type SegmentPart } from "./segment_part.ts";

/** What a model remembers of a live block. */
export interface Holding {
  /** Where it is. */
  readonly part: SegmentPart;
}

/** A model of a peer's allocator: accounts and live blocks. The policy is its subclass's. */
export abstract class ModelAllocator<Held extends Holding> implements ReplayAllocator {
  /** Where memory comes from. */
  protected readonly device: ReplayDevice;
  readonly #unitBytes: number;
  /** By the trace's numbers; what has 0 bytes is not among them. */
  readonly #live = new Map<number, Held>();

  /**
   * @param device Where memory comes from, used by nobody else.
   * @param unitBytes What every size and address is a multiple of.
   */
  constructor(device: ReplayDevice, unitBytes: number) {
    this.device = device;
    this.#unitBytes = unitBytes;
  }

  /** Finds memory; `undefined` when there is none left. `bytes` is rounded and not 0. */
  protected abstract take(bytes: number, stream: number): Held | undefined;

  /** Takes memory back, on the stream it was taken on. */
  protected abstract give(held: Held): void;

  /** All parts of segments that nobody has, in any order. */
  protected abstract idle(): Iterable<IdlePart>;

  /** Hears that a stream uses a live block; ignored unless the peer has a notion of it. */
  protected noteUse(_held: Held, _stream: number): void {}

  /** Bytes of the device that the model has. */
  get reservedBytes(): number {
    return this.device.reservedBytes;
  }

  /** Requests to the device so far. */
  get upstreamCalls(): number {
    return this.device.calls;
  }

  /** Requests to the device that were repeated after a refusal. */
  get retries(): number {
    return this.device.retries;
  }

  /** Allocates; false when there is no memory left. */
  allocate(
    block: number,
    bytes: number,
    stream: number,
    alignment: number | undefined,
  ): boolean {
    if (bytes === 0) return true;
    const units = Math.ceil(
      paddedForAlignment(bytes, alignment, this.#unitBytes) / this.#unitBytes,
    );
    const held = this.take(units * this.#unitBytes, stream);
    if (held === undefined) return false;
    this.#live.set(block, held);
    return true;
  }

  /** Frees a live block. */
  free(block: number): void {
    const held = this.#live.get(block);
    if (held === undefined) return; // of 0 bytes
    this.#live.delete(block);
    this.give(held);
  }

  /** Declares that a stream uses a live block. */
  use(block: number, stream: number): void {
    const held = this.#live.get(block);
    if (held !== undefined) this.noteUse(held, stream);
  }

  /** Nobody hears of it. */
  synchronize(): void {}

  /** Nobody hears of it. */
  dispose(): void {}

  /** What is where. */
  segments(): ReplaySegment[] {
    const live = Array.from(this.#live, ([block, { part }]) => [block, part] as const);
    return describeSegments(live, this.idle());
  }
}

/**
 * A model as a policy.
 *
 * @param name What `--policy` and the tables call it.
 * @param description What it is a model of.
 * @param create Makes it over a device of its own.
 */
export function modelPolicy(
  name: string,
  description: string,
  create: (device: ReplayDevice) => ReplayAllocator,
): ReplayPolicy {
  return {
    name,
    description: `${description} (model)`,
    isModel: true,
    create: ({ capacityBytes }) => create(new ReplayDevice(capacityBytes)),
  };
}
