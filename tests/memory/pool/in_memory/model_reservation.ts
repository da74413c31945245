/**
 * A reserved range of addresses, and what is mapped in it.
 *
 * @module
 */

import { addressText, UpstreamMisuseError } from "./upstream_misuse_error.ts";

/** States of a granule. */
const UNMAPPED = 0;
const PIECE_START = 1;
const PIECE_REST = 2;

/** A reservation; one byte of state for each granule. */
export class ModelReservation {
  /** Its first address. */
  readonly address: number;
  /** Its size in bytes. */
  readonly bytes: number;
  readonly #granularity: number;
  readonly #states: Uint8Array;
  #mappedBytes = 0;

  /** Makes a reservation in which nothing is mapped. */
  constructor(address: number, bytes: number, granularity: number) {
    this.address = address;
    this.bytes = bytes;
    this.#granularity = granularity;
    this.#states = new Uint8Array(bytes / granularity);
  }

  /** Bytes that are mapped. */
  get mappedBytes(): number {
    return this.#mappedBytes;
  }

  /** The granules of a range, which must lie within the reservation. */
  #granules(address: number, bytes: number, action: string): [first: number, end: number] {
    const first = (address - this.address) / this.#granularity;
    const end = first + bytes / this.#granularity;
    const isWhole = Number.isInteger(first) && Number.isInteger(end);
    if (isWhole && bytes > 0 && first >= 0 && end <= this.#states.length) return [first, end];
    throw new UpstreamMisuseError(
      `Cannot ${action} as the range must be whole granules of ${this.#granularity} bytes in the ` +
        `reservation of ${this.bytes} bytes at ${addressText(this.address)}: it is ${bytes} ` +
        `bytes at ${addressText(address)}`,
    );
  }

  /** Checks that a range can be mapped: it is whole granules and holds no memory. */
  checkMap(address: number, bytes: number): void {
    const [first, end] = this.#granules(address, bytes, "map memory");
    const taken = this.#states.subarray(first, end).findIndex((state) => state !== UNMAPPED);
    if (taken < 0) return;
    throw new UpstreamMisuseError(
      `Cannot map memory as the range must hold none: there is some at ${
        addressText(address + taken * this.#granularity)
      }`,
    );
  }

  /** Maps a range that was checked, in pieces of which the last may be shorter. */
  map(address: number, bytes: number, pieceBytes: number): void {
    const first = (address - this.address) / this.#granularity;
    const end = first + bytes / this.#granularity;
    const step = pieceBytes / this.#granularity;
    this.#states.fill(PIECE_REST, first, end);
    for (let piece = first; piece < end; piece += step) this.#states[piece] = PIECE_START;
    this.#mappedBytes += bytes;
  }

  /** Checks that a range is whole pieces. */
  checkUnmap(address: number, bytes: number): void {
    const [first, end] = this.#granules(address, bytes, "unmap memory");
    const hole = this.#states.subarray(first, end).indexOf(UNMAPPED);
    const isWhole = this.#states[first] === PIECE_START && this.#states[end] !== PIECE_REST;
    if (hole < 0 && isWhole) return;
    const problem = hole < 0
      ? "it cuts one in two"
      : `there is no memory at ${addressText(address + hole * this.#granularity)}`;
    throw new UpstreamMisuseError(
      `Cannot unmap ${bytes} bytes at ${
        addressText(address)
      } as the range must be whole pieces: ${problem}`,
    );
  }

  /** Unmaps a range that was checked. */
  unmap(address: number, bytes: number): void {
    const first = (address - this.address) / this.#granularity;
    this.#states.fill(UNMAPPED, first, first + bytes / this.#granularity);
    this.#mappedBytes -= bytes;
  }

  /** Whether there is memory behind all addresses of a range. */
  holds(address: number, bytes: number): boolean {
    const first = Math.floor((address - this.address) / this.#granularity);
    const end = Math.ceil((address + bytes - this.address) / this.#granularity);
    if (first < 0 || end > this.#states.length) return false;
    return this.#states.subarray(first, end).indexOf(UNMAPPED) < 0;
  }
}
