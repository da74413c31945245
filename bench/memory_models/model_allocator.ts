/**
 * The common parts of the models: a simulated device, segments, and the accounts of live blocks.
 *
 * - Requests of 0 bytes do not reach the pools of the modelled libraries: they are granted.
 * - Every size and address is a multiple of one unit.
 * - No modelled library reacts to a wait for a stream or to the end of a stream.
 *
 * A segment has a place in the order of reservations and a part an offset in its segment. Together
 * they order parts as addresses would. Drivers choose addresses freely, so this is one of the orders
 * that the libraries may see.
 *
 * @module
 */

import type { ReplayAllocator, ReplayPolicy } from "../../src/lab/memory/mod.ts";

/** Memory that a model took from the device in one request. */
export interface Segment {
  /** Its place in the order of reservations. */
  readonly order: number;
  /** Its size, including addresses without memory. */
  readonly bytes: number;
}

/** A part of a segment. */
export interface SegmentPart {
  readonly segment: Segment;
  /** The distance from the start of the segment, in bytes. */
  readonly offset: number;
  readonly bytes: number;
}

/** The state of a part; `pending` parts wait for events of other streams. */
export type PartState = "live" | "free" | "pending" | "unmapped";

/** A part that is not live. */
export interface IdlePart extends SegmentPart {
  readonly state: PartState;
}

/** A segment with its parts, for tests. */
export interface SegmentContent {
  readonly bytes: number;
  /** Parts by offset; unmapped addresses at the end are left out. */
  readonly blocks: readonly {
    readonly offset: number;
    readonly bytes: number;
    readonly state: PartState;
    /** The block number of a live part. */
    readonly block: number | null;
  }[];
}

/** Orders parts as their addresses would. */
export function compareAddresses(left: SegmentPart, right: SegmentPart): number {
  return left.segment.order - right.segment.order || left.offset - right.offset;
}

/**
 * The memory of a device. A request is refused if the sum would exceed the capacity, never for
 * fragmentation: a driver maps pages wherever they are free.
 */
export class ModelDevice {
  readonly capacityBytes: number;
  /** Bytes taken and not returned. */
  reservedBytes = 0;
  /** Requests so far, including refused ones. */
  calls = 0;
  /** Requests so far that repeat a refused one within the same allocation. */
  retries = 0;
  #segments = 0;

  constructor(capacityBytes: number) {
    this.capacityBytes = capacityBytes;
  }

  get freeBytes(): number {
    return this.capacityBytes - this.reservedBytes;
  }

  /** Requests memory; false if out of memory. */
  take(bytes: number): boolean {
    this.calls++;
    if (bytes > this.freeBytes) return false;
    this.reservedBytes += bytes;
    return true;
  }

  /** Requests a segment; `undefined` if out of memory. */
  takeSegment(bytes: number): Segment | undefined {
    return this.take(bytes) ? this.reserveAddresses(bytes) : undefined;
  }

  /** Reserves a segment without memory, which does not count as a request. */
  reserveAddresses(bytes: number): Segment {
    return { order: this.#segments++, bytes };
  }

  /** Returns memory in one request. */
  release(bytes: number): void {
    this.calls++;
    this.reservedBytes -= bytes;
  }
}

/** A model of an allocator. Its subclass holds the policy. */
export abstract class ModelAllocator<Held extends { readonly part: SegmentPart }>
  implements ReplayAllocator {
  protected readonly device: ModelDevice;
  readonly #unitBytes: number;
  /** Live blocks by number, without those of 0 bytes. */
  readonly #live = new Map<number, Held>();

  constructor(device: ModelDevice, unitBytes: number) {
    this.device = device;
    this.#unitBytes = unitBytes;
  }

  /** Finds memory for a rounded size; `undefined` if out of memory. */
  protected abstract take(bytes: number, stream: number): Held | undefined;

  /** Frees memory on the stream of its allocation. */
  protected abstract give(held: Held): void;

  /** All parts of segments that are not live, in any order. */
  protected abstract idle(): Iterable<IdlePart>;

  /** Records the use of a live block by a stream. */
  protected noteUse(_held: Held, _stream: number): void {}

  get reservedBytes(): number {
    return this.device.reservedBytes;
  }

  get upstreamCalls(): number {
    return this.device.calls;
  }

  get retries(): number {
    return this.device.retries;
  }

  allocate(block: number, bytes: number, stream: number, alignment: number | undefined): boolean {
    if (bytes === 0) return true;
    // A caller that needs a larger alignment than the unit requests that many bytes more.
    const padded = bytes + Math.max(0, (alignment ?? 0) - this.#unitBytes);
    const held = this.take(Math.ceil(padded / this.#unitBytes) * this.#unitBytes, stream);
    if (held === undefined) return false;
    this.#live.set(block, held);
    return true;
  }

  free(block: number): void {
    const held = this.#live.get(block);
    if (held === undefined) return; // 0 bytes
    this.#live.delete(block);
    this.give(held);
  }

  use(block: number, stream: number): void {
    const held = this.#live.get(block);
    if (held !== undefined) this.noteUse(held, stream);
  }

  synchronize(): void {}

  dispose(): void {}

  /** The content of all segments, in the order of reservations. */
  segments(): SegmentContent[] {
    const parts = [
      ...Array.from(this.#live, ([block, { part }]) => ({ part, block, state: "live" as const })),
      ...Array.from(this.idle(), (part) => ({ part, block: null, state: part.state })),
    ].sort((left, right) => compareAddresses(left.part, right.part));
    const segments = new Map<Segment, SegmentContent["blocks"][number][]>();
    for (const { part: { segment, offset, bytes }, block, state } of parts) {
      const blocks = segments.get(segment) ?? [];
      segments.set(segment, blocks);
      const isEnd = offset + bytes === segment.bytes;
      if (state !== "unmapped" || !isEnd) blocks.push({ offset, bytes, state, block });
    }
    return Array.from(segments, ([{ bytes }, blocks]) => ({ bytes, blocks }));
  }
}

/** A policy with allocators that show their segments. */
export interface ModelPolicy extends ReplayPolicy {
  create(options: { readonly capacityBytes: number }): ReplayAllocator & {
    segments(): readonly SegmentContent[];
  };
}

/** Makes a policy of a model. */
export function modelPolicy(
  name: string,
  description: string,
  create: (device: ModelDevice) => ReturnType<ModelPolicy["create"]>,
): ModelPolicy {
  return {
    name,
    description: `${description} (model)`,
    isModel: true,
    create: ({ capacityBytes }) => create(new ModelDevice(capacityBytes)),
  };
}
