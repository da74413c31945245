/**
 * What is in the memory of an upstream in memory.
 *
 * Only pages that were written are kept, and a page that was filled is kept as the byte it was
 * filled with, so that poisoning gigabytes costs little.
 *
 * @module
 */

const PAGE_BYTES = 4096;

/** The bytes behind all addresses; those never written are 0xa5, so that nobody takes them for 0. */
const UNWRITTEN = 0xa5;

/** Bytes by address. */
export class ModelBytes {
  readonly #pages = new Map<number, number | Uint8Array>();

  /** How many pages are kept. */
  get pages(): number {
    return this.#pages.size;
  }

  /** Calls a function for each page of a range with the part of the page that is in it. */
  #visit(
    address: number,
    bytes: number,
    visit: (page: number, from: number, to: number, done: number) => void,
  ): void {
    for (let done = 0; done < bytes;) {
      const at = address + done;
      const page = Math.floor(at / PAGE_BYTES);
      const from = at - page * PAGE_BYTES;
      const to = Math.min(PAGE_BYTES, from + bytes - done);
      visit(page, from, to, done);
      done += to - from;
    }
  }

  #writable(page: number): Uint8Array {
    const known = this.#pages.get(page) ?? UNWRITTEN;
    if (typeof known !== "number") return known;
    const bytes = new Uint8Array(PAGE_BYTES).fill(known);
    this.#pages.set(page, bytes);
    return bytes;
  }

  /** Sets all bytes of a range to one. */
  fill(address: number, bytes: number, pattern: number): void {
    this.#visit(address, bytes, (page, from, to) => {
      if (to - from === PAGE_BYTES) this.#pages.set(page, pattern);
      else this.#writable(page).fill(pattern, from, to);
    });
  }

  /** Writes bytes. */
  write(address: number, source: Uint8Array): void {
    this.#visit(address, source.length, (page, from, to, done) => {
      this.#writable(page).set(source.subarray(done, done + to - from), from);
    });
  }

  /** Reads bytes. */
  read(address: number, target: Uint8Array): void {
    this.#visit(address, target.length, (page, from, to, done) => {
      const known = this.#pages.get(page) ?? UNWRITTEN;
      if (typeof known === "number") target.fill(known, done, done + to - from);
      else target.set(known.subarray(from, to), done);
    });
  }

  /** Forgets what is in a range; it is then as if it had never been written. */
  forget(address: number, bytes: number): void {
    if (this.#pages.size === 0) return;
    this.#visit(address, bytes, (page, from, to) => {
      if (to - from === PAGE_BYTES) this.#pages.delete(page);
      else if (this.#pages.has(page)) this.#writable(page).fill(UNWRITTEN, from, to);
    });
  }
}
