/**
 * A simulated device for replays: it has a capacity and addresses, but no bytes and no work.
 *
 * @module
 */

import type { MemoryStream, MemoryUpstream } from "../../memory/pool/memory_upstream.ts";

/** The first plain address, as CUDA's on Linux. */
const PLAIN_BASE = 0x7f00_0000_0000;
/** The first reserved address. */
const RESERVED_BASE = 2 ** 48;

/** The device under simulation. Sizes are bytes. */
export interface SimulatedUpstreamOptions {
  /** The device's memory; 16 GiB by default. */
  readonly capacity?: number;
  /** Granularity of mapped memory, 0 for a device without virtual memory; 2 MiB by default. */
  readonly granularity?: number;
  /** The label in messages. */
  readonly label?: string;
}

/** Hands out address ranges upwards and reuses ranges of the same size. */
class AddressSpace {
  readonly #alignment: number;
  readonly #offset: number;
  readonly #returned = new Map<number, number[]>();
  #next: number;

  constructor(base: number, alignment: number, offset: number) {
    this.#next = base;
    this.#alignment = alignment;
    this.#offset = offset;
  }

  take(bytes: number): number {
    const returned = this.#returned.get(bytes)?.pop();
    if (returned !== undefined) return returned;
    const address = this.#next + this.#offset;
    // A gap behind each range keeps neighbours apart.
    const end = address + bytes + this.#alignment;
    this.#next = Math.ceil(end / this.#alignment) * this.#alignment;
    return address;
  }

  release(address: number, bytes: number): void {
    const returned = this.#returned.get(bytes);
    if (returned === undefined) this.#returned.set(bytes, [address]);
    else returned.push(address);
  }
}

/** A stream of a simulated device; its work is done as soon as it is enqueued. */
export class SimulatedStream implements MemoryStream {
  /** Its number; remains readable after disposal. */
  readonly number: number;
  readonly #closers = new Set<() => void>();
  #disposed = false;

  /** Makes a stream. */
  constructor(number: number) {
    this.number = number;
  }

  /** Its number, as a handle. */
  get id(): number {
    if (this.#disposed) throw new TypeError("Cannot use a stream as it is disposed");
    return this.number;
  }

  /** None: there are no captures. */
  get captureToken(): object | undefined {
    return undefined;
  }

  /** Whether it is disposed. */
  get disposed(): boolean {
    return this.#disposed;
  }

  /** The number of registrations for its disposal. */
  get listeners(): number {
    return this.#closers.size;
  }

  /** Registers a function to call before disposal; the result takes the registration back. */
  onDispose(close: () => void): () => void {
    this.#closers.add(close);
    return () => void this.#closers.delete(close);
  }

  /** Disposes of the stream; does nothing the second time. */
  [Symbol.dispose](): void {
    if (this.#disposed) return;
    for (const close of this.#closers) close();
    this.#disposed = true;
  }
}

/** A simulated device as the upstream of a pool. */
export class SimulatedUpstream implements MemoryUpstream {
  /** The label in messages. */
  readonly label: string;
  /** The device's memory. */
  readonly totalBytes: number;
  /** Granularity of mapped memory; 0 without virtual memory. */
  readonly granularity: number;
  /** A simulated device is never lost. */
  readonly lost = false;
  readonly #plain = new Map<number, number>();
  readonly #reservations = new Map<number, number>();
  readonly #plainAddresses: AddressSpace;
  readonly #reservedAddresses: AddressSpace;
  #usedBytes = 0;
  #peakBytes = 0;
  #lastStream = 0;
  #lastEvent = 0;
  #pressure = 0;
  #answeredPressure = 0;

  /** Makes a device of which nothing is used. */
  constructor(options: SimulatedUpstreamOptions = {}) {
    this.label = options.label ?? "model:0";
    this.totalBytes = options.capacity ?? 2 ** 34;
    this.granularity = options.granularity ?? 2 ** 21;
    // An odd multiple of 512, because CUDA promises no more alignment.
    this.#plainAddresses = new AddressSpace(PLAIN_BASE, 4096, 512);
    this.#reservedAddresses = new AddressSpace(RESERVED_BASE, Math.max(1, this.granularity), 0);
  }

  /** Memory that is taken, plain and mapped. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** The peak of {@linkcode SimulatedUpstream.usedBytes}. */
  get peakBytes(): number {
    return this.#peakBytes;
  }

  /** Makes a stream. */
  createStream(): SimulatedStream {
    return new SimulatedStream(++this.#lastStream);
  }

  /** Free memory. */
  freeBytes(): number {
    return this.totalBytes - this.#usedBytes;
  }

  /** Allocates plain memory; 0 if there is none left. */
  allocate(bytes: number): number {
    if (!this.#take(bytes)) return 0;
    const address = this.#plainAddresses.take(bytes);
    this.#plain.set(address, bytes);
    return address;
  }

  /** Frees plain memory. */
  free(address: number): void {
    const bytes = this.#plain.get(address)!;
    this.#plain.delete(address);
    this.#plainAddresses.release(address, bytes);
    this.#usedBytes -= bytes;
  }

  /** Reserves a range of addresses. */
  reserve(bytes: number): number {
    const address = this.#reservedAddresses.take(bytes);
    this.#reservations.set(address, bytes);
    return address;
  }

  /** Releases a range of addresses. */
  release(address: number): void {
    this.#reservedAddresses.release(address, this.#reservations.get(address)!);
    this.#reservations.delete(address);
  }

  /** Maps memory; false if there is none left. */
  map(_address: number, bytes: number, _handleBytes: number): boolean {
    return this.#take(bytes);
  }

  /** Unmaps memory. */
  unmap(_address: number, bytes: number): void {
    this.#usedBytes -= bytes;
  }

  /** False: there are no captures. */
  get capturing(): boolean {
    return false;
  }

  /** False: there is no other device. */
  isLostFor(): boolean {
    return false;
  }

  /** Makes an event. */
  createEvent(): number {
    return ++this.#lastEvent;
  }

  /** Does nothing. */
  destroyEvent(): void {}

  /** Does nothing: the work is done. */
  recordEvent(): void {}

  /** True: the work is done. */
  queryEvent(): boolean {
    return true;
  }

  /** Does nothing: the work is done. */
  waitSync(): void {}

  /** Resolves at once. */
  async wait(): Promise<void> {}

  /** False: a wait resolves at once. */
  isAwaited(): boolean {
    return false;
  }

  /** Does nothing. */
  declare(): void {}

  /** Does nothing: there are no bytes. */
  fill(): void {}

  /** Leaves the target as it is: there are no bytes. */
  read(): void {}

  /** Notes a request to trim. */
  press(): void {
    this.#pressure++;
  }

  /** Changes with every request to trim. */
  get signal(): number {
    return this.#pressure;
  }

  /** Whether there was a request to trim since the last call. */
  wasPressed(): boolean {
    const isMore = this.#pressure !== this.#answeredPressure;
    this.#answeredPressure = this.#pressure;
    return isMore;
  }

  #take(bytes: number): boolean {
    if (bytes > this.totalBytes - this.#usedBytes) return false;
    this.#usedBytes += bytes;
    this.#peakBytes = Math.max(this.#peakBytes, this.#usedBytes);
    return true;
  }
}
