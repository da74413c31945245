/**
 * A simulated device for replays: it has a capacity and addresses, but no bytes and no work.
 *
 * @module
 */

import type { MemoryStream, MemoryUpstream } from "../../memory/pool/memory_upstream.ts";

/** The first plain address, as CUDA's on Linux. */
const PLAIN_BASE = 0x7f00_0000_0000;
const RESERVED_BASE = 2 ** 48;

export interface SimulatedUpstreamOptions {
  /** The device's memory; 16 GiB by default. */
  readonly capacity?: number;
  /** Granularity of mapped memory, 0 for a device without virtual memory; 2 MiB by default. */
  readonly granularity?: number;
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

  constructor(number: number) {
    this.number = number;
  }

  get id(): number {
    if (this.#disposed) throw new TypeError("Cannot use a stream as it is disposed");
    return this.number;
  }

  get captureToken(): object | undefined {
    return undefined;
  }

  get disposed(): boolean {
    return this.#disposed;
  }

  get listeners(): number {
    return this.#closers.size;
  }

  /** Registers a function to call before disposal; the result takes the registration back. */
  onDispose(close: () => void): () => void {
    this.#closers.add(close);
    return () => void this.#closers.delete(close);
  }

  [Symbol.dispose](): void {
    if (this.#disposed) return;
    for (const close of this.#closers) close();
    this.#disposed = true;
  }
}

export class SimulatedUpstream implements MemoryUpstream {
  readonly label: string;
  readonly totalBytes: number;
  /** Granularity of mapped memory; 0 without virtual memory. */
  readonly granularity: number;
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

  get peakBytes(): number {
    return this.#peakBytes;
  }

  createStream(): SimulatedStream {
    return new SimulatedStream(++this.#lastStream);
  }

  freeBytes(): number {
    return this.totalBytes - this.#usedBytes;
  }

  allocate(bytes: number): number {
    if (!this.#take(bytes)) return 0;
    const address = this.#plainAddresses.take(bytes);
    this.#plain.set(address, bytes);
    return address;
  }

  free(address: number): void {
    const bytes = this.#plain.get(address)!;
    this.#plain.delete(address);
    this.#plainAddresses.release(address, bytes);
    this.#usedBytes -= bytes;
  }

  reserve(bytes: number): number {
    const address = this.#reservedAddresses.take(bytes);
    this.#reservations.set(address, bytes);
    return address;
  }

  release(address: number): void {
    this.#reservedAddresses.release(address, this.#reservations.get(address)!);
    this.#reservations.delete(address);
  }

  map(_address: number, bytes: number, _handleBytes: number): boolean {
    return this.#take(bytes);
  }

  unmap(_address: number, bytes: number): void {
    this.#usedBytes -= bytes;
  }

  get capturing(): boolean {
    return false;
  }

  isLostFor(): boolean {
    return false;
  }

  createEvent(): number {
    return ++this.#lastEvent;
  }

  destroyEvent(): void {}

  recordEvent(): void {}

  queryEvent(): boolean {
    return true;
  }

  waitSync(): void {}

  async wait(): Promise<void> {}

  isAwaited(): boolean {
    return false;
  }

  declare(): void {}

  fill(): void {}

  read(): void {}

  press(): void {
    this.#pressure++;
  }

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
