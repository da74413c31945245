/**
 * The memory of an upstream in memory: plain allocations, reservations, and what is mapped in them.
 *
 * @module
 */

import { AddressRanges } from "./address_ranges.ts";
import { AddressSpace } from "./address_space.ts";
import { ModelBytes } from "./model_bytes.ts";
import { ModelReservation } from "./model_reservation.ts";
import { addressText, UpstreamMisuseError } from "./upstream_misuse_error.ts";

/** What the memory of a device is like. Sizes are bytes. */
export interface ModelMemoryOptions {
  /** All of it. */
  readonly capacity: number;
  /** Granularity of mapped memory, 0 for none. */
  readonly granularity: number;
  /** Most addresses that are reserved at a time. */
  readonly addressSpace: number;
  /** Whether addresses are given out again. */
  readonly reuseAddresses: boolean;
  /** Whether what is written can be read again. */
  readonly keepBytes: boolean;
  /** How messages name the device. */
  readonly label: string;
}

/** What has been given out. Sizes are bytes. */
export interface MemoryTally {
  /** Plain allocations. */
  readonly allocations: number;
  /** Their size. */
  readonly allocatedBytes: number;
  /** Reservations. */
  readonly reservations: number;
  /** Addresses that are reserved. */
  readonly reservedBytes: number;
  /** Memory that is mapped. */
  readonly mappedBytes: number;
  /** Blocks that are declared live. */
  readonly declared: number;
}

function requireSize(bytes: number, name: string, unit: number): void {
  if (Number.isSafeInteger(bytes) && bytes > 0 && bytes % unit === 0) return;
  const allowed = unit === 1 ? "an integer above 0" : `a multiple of ${unit} above 0`;
  throw new UpstreamMisuseError(`Cannot use memory as ${name} must be ${allowed}: it is ${bytes}`);
}

/** The memory of a device. A call that throws has had no effect. */
export class ModelMemory {
  readonly #options: ModelMemoryOptions;
  readonly #plain = new AddressRanges<undefined>();
  readonly #reservations = new AddressRanges<ModelReservation>();
  readonly #declared = new AddressRanges<undefined>();
  readonly #plainAddresses: AddressSpace;
  readonly #reservedAddresses: AddressSpace;
  readonly #bytes: ModelBytes | undefined;
  #allocatedBytes = 0;
  #mappedBytes = 0;
  #reservedBytes = 0;
  #peakBytes = 0;
  /** What others use of the device's memory. */
  occupiedBytes = 0;

  /** Memory of which nothing is given out. */
  constructor(options: ModelMemoryOptions) {
    this.#options = options;
    // An odd multiple of 512, so that a pool that expects more alignment than that is found out.
    this.#plainAddresses = new AddressSpace(4096, 512, options.reuseAddresses);
    const alignment = Math.max(1, options.granularity);
    this.#reservedAddresses = new AddressSpace(alignment, 0, options.reuseAddresses, 2 ** 48);
    this.#bytes = options.keepBytes ? new ModelBytes() : undefined;
  }

  /** What is given out now. */
  get tally(): MemoryTally {
    return {
      allocations: this.#plain.size,
      allocatedBytes: this.#allocatedBytes,
      reservations: this.#reservations.size,
      reservedBytes: this.#reservedBytes,
      mappedBytes: this.#mappedBytes,
      declared: this.#declared.size,
    };
  }

  /** Memory taken, plain and mapped. */
  get usedBytes(): number {
    return this.#allocatedBytes + this.#mappedBytes;
  }

  /** The most that {@linkcode usedBytes} has been. */
  get peakBytes(): number {
    return this.#peakBytes;
  }

  /** What is free. */
  get freeBytes(): number {
    return Math.max(0, this.#options.capacity - this.occupiedBytes - this.usedBytes);
  }

  /** Plain memory; 0 where there is none left. */
  allocate(bytes: number): number {
    requireSize(bytes, "bytes", 1);
    if (bytes > this.freeBytes) return 0;
    const address = this.#plainAddresses.take(bytes);
    this.#plain.add(address, bytes, undefined);
    this.#allocatedBytes += bytes;
    this.#peakBytes = Math.max(this.#peakBytes, this.usedBytes);
    return address;
  }

  /** The size of what {@linkcode allocate} gave at an address. */
  plainBytes(address: number): number {
    const range = this.#plain.at(address);
    if (range?.start === address) return range.end - address;
    throw new UpstreamMisuseError(
      `Cannot free ${addressText(address)} as it must be what allocate() gave: it is ${
        range === undefined ? "none of its memory" : `inside of ${addressText(range.start)}`
      }`,
    );
  }

  /** Takes plain memory back. */
  free(address: number): void {
    const bytes = this.plainBytes(address);
    this.#plain.remove(address);
    this.#forget(address, bytes);
    this.#allocatedBytes -= bytes;
    this.#plainAddresses.giveBack(address, bytes);
  }

  #forget(address: number, bytes: number): void {
    this.#declared.removeWithin(address, bytes);
    this.#bytes?.forget(address, bytes);
  }

  /** A range of addresses without memory; 0 where there are none left. */
  reserve(bytes: number): number {
    const { granularity, addressSpace } = this.#options;
    this.#requireVirtual("reserve addresses");
    requireSize(bytes, "bytes", granularity);
    if (this.#reservedBytes + bytes > addressSpace) return 0;
    const address = this.#reservedAddresses.take(bytes);
    this.#reservations.add(address, bytes, new ModelReservation(address, bytes, granularity));
    this.#reservedBytes += bytes;
    return address;
  }

  /** Takes a range of addresses back. */
  release(address: number): void {
    const reservation = this.#reservationAt(address, "release addresses");
    if (reservation.address !== address || reservation.mappedBytes > 0) {
      throw new UpstreamMisuseError(
        `Cannot release ${addressText(address)} as it must begin a reservation without memory: ` +
          `that at ${addressText(reservation.address)} has ${reservation.mappedBytes} bytes`,
      );
    }
    this.#reservations.remove(address);
    this.#reservedBytes -= reservation.bytes;
    this.#reservedAddresses.giveBack(address, reservation.bytes);
  }

  /** Puts memory behind addresses; false where there is none left. */
  map(address: number, bytes: number, handleBytes: number): boolean {
    const reservation = this.#reservationAt(address, "map memory");
    requireSize(handleBytes, "handleBytes", this.#options.granularity);
    reservation.checkMap(address, bytes);
    if (bytes > this.freeBytes) return false;
    reservation.map(address, bytes, handleBytes);
    this.#mappedBytes += bytes;
    this.#peakBytes = Math.max(this.#peakBytes, this.usedBytes);
    return true;
  }

  /** Checks that a range is whole mapped pieces. */
  checkUnmap(address: number, bytes: number): void {
    this.#reservationAt(address, "unmap memory").checkUnmap(address, bytes);
  }

  /** Takes the memory of a checked range away. */
  unmap(address: number, bytes: number): void {
    this.#reservationAt(address, "unmap memory").unmap(address, bytes);
    this.#forget(address, bytes);
    this.#mappedBytes -= bytes;
  }

  #requireVirtual(action: string): void {
    const { granularity, label } = this.#options;
    if (granularity > 0) return;
    throw new UpstreamMisuseError(`Cannot ${action} as ${label} has no virtual memory`);
  }

  #reservationAt(address: number, action: string): ModelReservation {
    this.#requireVirtual(action);
    const range = this.#reservations.at(address);
    if (range !== undefined) return range.value;
    throw new UpstreamMisuseError(
      `Cannot ${action} as ${addressText(address)} must be in a reservation: it is in none`,
    );
  }

  /** Checks that there is memory behind a range, all of it of one allocation or reservation. */
  requireMemory(address: number, bytes: number, action: string): void {
    const plain = this.#plain.at(address);
    if (plain !== undefined && address + bytes <= plain.end) return;
    if (this.#reservations.at(address)?.value.holds(address, bytes)) return;
    throw new UpstreamMisuseError(
      `Cannot ${action} as there must be some behind all ${bytes} bytes at ${addressText(address)}`,
    );
  }

  /** Checks that a range lies in one live block, where blocks are declared. */
  requireDeclared(address: number, bytes: number): void {
    if (this.#declared.size === 0) return;
    const block = this.#declared.at(address);
    if (block !== undefined && address + bytes <= block.end) return;
    throw new UpstreamMisuseError(
      `Cannot use memory as ${bytes} bytes at ${addressText(address)} must lie in one live block`,
    );
  }

  /** Notes a live block, or its end. */
  declare(address: number, bytes: number, isLive: boolean): void {
    this.requireMemory(address, bytes, "declare a block");
    if (isLive) {
      if (this.#declared.add(address, bytes, undefined)) return;
    } else if (this.#declared.at(address)?.end === address + bytes) {
      if (this.#declared.remove(address) !== undefined) return;
    }
    throw new UpstreamMisuseError(
      `Cannot declare ${bytes} bytes at ${addressText(address)} as ${
        isLive ? "they must overlap no live block" : "they must be a live block"
      }`,
    );
  }

  /** Sets bytes, where they are kept. */
  fill(address: number, bytes: number, pattern: number): void {
    this.#bytes?.fill(address, bytes, pattern);
  }

  /** Writes bytes, where they are kept. */
  write(address: number, source: Uint8Array): void {
    this.#bytes?.write(address, source);
  }

  /** Reads bytes, which must be kept. */
  read(address: number, target: Uint8Array): void {
    if (this.#bytes === undefined) {
      throw new UpstreamMisuseError(
        "Cannot read memory as the upstream must be made to keep bytes",
      );
    }
    this.#bytes.read(address, target);
  }
}
