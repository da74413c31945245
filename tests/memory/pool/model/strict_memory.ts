/**
 * Address ranges, uses of memory by streams, and bytes of a `StrictUpstream`.
 *
 * @module
 */

/** Disjoint ranges of addresses with a value each. */
export class AddressRanges<Value> {
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  readonly #values: Value[] = [];

  get size(): number {
    return this.#starts.length;
  }

  /** Adds a range; false if it overlaps another. */
  add(start: number, bytes: number, value: Value): boolean {
    const index = this.#firstEndingAfter(start);
    const end = start + bytes;
    if (index < this.#starts.length && this.#starts[index]! < end) return false;
    this.#starts.splice(index, 0, start);
    this.#ends.splice(index, 0, end);
    this.#values.splice(index, 0, value);
    return true;
  }

  /** Removes the range that begins at an address and returns its end. */
  remove(start: number): number | undefined {
    const index = this.#firstEndingAfter(start);
    if (this.#starts[index] !== start) return undefined;
    this.#starts.splice(index, 1);
    this.#values.splice(index, 1);
    return this.#ends.splice(index, 1)[0];
  }

  /** Removes all ranges that overlap one. */
  removeWithin(start: number, bytes: number): void {
    const first = this.#firstEndingAfter(start);
    let last = first;
    while (last < this.#starts.length && this.#starts[last]! < start + bytes) last++;
    for (const list of [this.#starts, this.#ends, this.#values]) list.splice(first, last - first);
  }

  /** The range at an address. */
  at(address: number): { start: number; end: number; value: Value } | undefined {
    const index = this.#firstEndingAfter(address);
    const start = this.#starts[index];
    if (start === undefined || !(start <= address)) return undefined; // NaN too
    return { start, end: this.#ends[index]!, value: this.#values[index]! };
  }

  values(): readonly Value[] {
    return this.#values;
  }

  #firstEndingAfter(address: number): number {
    let low = 0;
    let high = this.#ends.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#ends[middle]! <= address) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** A stream with work. */
interface WorkingStream {
  readonly number: number;
  enqueued: number;
  completed: number;
}

/** Work of a stream that uses memory. */
interface Use {
  readonly start: number;
  readonly end: number;
  readonly stream: WorkingStream;
  readonly owner: unknown;
  /** The use is over when the stream has done its work up to here. */
  position: number;
}

/** Uses are listed by stretches of this many bytes, which keeps the search short. */
const STRETCH = 2 ** 20;
/** A use of more stretches is in one list for all. */
const MAX_STRETCHES = 16;

function isOver({ stream, position }: Use): boolean {
  return stream.completed >= position;
}

function stretches(start: number, end: number): [first: number, last: number] {
  return [Math.floor(start / STRETCH), Math.floor(Math.max(start, end - 1) / STRETCH)];
}

/** The uses of memory that are not over. */
export class MemoryUses {
  readonly #byStretch = new Map<number, Use[]>();
  #wide: Use[] = [];
  #sincePrune = 0;
  #kept = 0;

  /** A use of the range that is not over and that the predicate objects to. */
  conflict(start: number, bytes: number, objects: (use: Use) => boolean): Use | undefined {
    const end = start + bytes;
    const objection = (use: Use) =>
      use.start < end && start < use.end && !isOver(use) && objects(use);
    const wide = this.#wide.find(objection);
    if (wide !== undefined) return wide;
    const [first, last] = stretches(start, end);
    const near = last - first < this.#byStretch.size
      ? Array.from({ length: last - first + 1 }, (_, index) => first + index)
      : [...this.#byStretch.keys()].filter((stretch) => stretch >= first && stretch <= last);
    for (const stretch of near) {
      const use = this.#byStretch.get(stretch)?.find(objection);
      if (use !== undefined) return use;
    }
    return undefined;
  }

  /** Gives a stream work that uses a range. */
  add(start: number, bytes: number, stream: WorkingStream, owner: unknown): void {
    const end = start + bytes;
    const position = ++stream.enqueued;
    const [first, last] = stretches(start, end);
    const isWide = last - first >= MAX_STRETCHES;
    const known = (isWide ? this.#wide : this.#byStretch.get(first))?.find((use) =>
      use.start === start && use.end === end && use.stream === stream && use.owner === owner
    );
    if (known !== undefined) {
      known.position = position;
      return;
    }
    const use = { start, end, stream, owner, position };
    if (isWide) this.#wide.push(use);
    else {
      for (let stretch = first; stretch <= last; stretch++) {
        const uses = this.#byStretch.get(stretch);
        if (uses === undefined) this.#byStretch.set(stretch, [use]);
        else uses.push(use);
      }
    }
    if (++this.#sincePrune > 64 + this.#kept) this.#prune();
  }

  #prune(): void {
    this.#sincePrune = 0;
    this.#wide = this.#wide.filter((use) => !isOver(use));
    this.#kept = this.#wide.length;
    for (const [stretch, uses] of this.#byStretch) {
      const left = uses.filter((use) => !isOver(use));
      this.#kept += left.length;
      if (left.length === 0) this.#byStretch.delete(stretch);
      else this.#byStretch.set(stretch, left);
    }
  }
}

const PAGE_BYTES = 4096;
/** Bytes that were never written. */
const UNWRITTEN = 0xa5;

/** Written bytes by page; a page that was filled is kept as one byte. */
export class ModelBytes {
  readonly #pages = new Map<number, number | Uint8Array>();

  fill(address: number, bytes: number, pattern: number): void {
    this.#visit(address, bytes, (page, from, to) => {
      if (to - from === PAGE_BYTES) this.#pages.set(page, pattern);
      else this.#writable(page).fill(pattern, from, to);
    });
  }

  write(address: number, source: Uint8Array): void {
    this.#visit(address, source.length, (page, from, to, done) => {
      this.#writable(page).set(source.subarray(done, done + to - from), from);
    });
  }

  read(address: number, target: Uint8Array): void {
    this.#visit(address, target.length, (page, from, to, done) => {
      const known = this.#pages.get(page) ?? UNWRITTEN;
      if (typeof known === "number") target.fill(known, done, done + to - from);
      else target.set(known.subarray(from, to), done);
    });
  }

  /** Forgets the bytes of a range. */
  forget(address: number, bytes: number): void {
    if (this.#pages.size > 0) this.fill(address, bytes, UNWRITTEN);
  }

  #visit(
    address: number,
    bytes: number,
    visit: (page: number, from: number, to: number, done: number) => void,
  ): void {
    for (let done = 0; done < bytes;) {
      const page = Math.floor((address + done) / PAGE_BYTES);
      const from = address + done - page * PAGE_BYTES;
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
}
