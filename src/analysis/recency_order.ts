/**
 * In which order things were used last: a mark for each in a row of places, the newest at the end.
 *
 * Marks are bits; a Fenwick tree over the words of 32 of them counts those before any place. When
 * the row is full, the marks move to its beginning.
 *
 * @module
 */

const WORD_BITS = 32;

/** How many bits of a word are set. */
function bitCount(word: number): number {
  let bits = word - (word >>> 1 & 0x55555555);
  bits = (bits & 0x33333333) + (bits >>> 2 & 0x33333333);
  return Math.imul(bits + (bits >>> 4) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/** Orders members 0 to `capacity` − 1, each of which is in it or not, by when they were used. */
export class RecencyOrder {
  readonly #marks: Uint32Array<ArrayBuffer>;
  /** Sums of marks; entry 0 is not used. */
  readonly #tree: Int32Array<ArrayBuffer>;
  readonly #memberAt: Int32Array<ArrayBuffer>;
  readonly #placeOf: Int32Array<ArrayBuffer>;
  #next = 0;
  #size = 0;

  /** @param capacity How many members there can be. */
  constructor(capacity: number) {
    // Marks then move after each has been used three times, which costs little.
    const words = Math.ceil(4 * capacity / WORD_BITS) + 1;
    this.#marks = new Uint32Array(words);
    this.#tree = new Int32Array(words + 1);
    this.#memberAt = new Int32Array(words * WORD_BITS);
    this.#placeOf = new Int32Array(capacity);
  }

  /** Puts a member that is not in the order at its end, as the newest. */
  append(member: number): void {
    if (this.#next === this.#memberAt.length) this.#compact();
    this.#mark(this.#next++, member);
    this.#size++;
  }

  /** Takes a member out. */
  remove(member: number): void {
    const place = this.#placeOf[member]!;
    const word = place >>> 5;
    this.#marks[word] = this.#marks[word]! & ~(1 << (place & 31));
    this.#add(word, -1);
    this.#size--;
  }

  /** How many members were used after this one. */
  newerThan(member: number): number {
    const place = this.#placeOf[member]!;
    const word = place >>> 5;
    let upTo = bitCount(this.#marks[word]! & -1 >>> (31 - (place & 31)));
    for (let node = word; node > 0; node &= node - 1) upTo += this.#tree[node]!;
    return this.#size - upTo;
  }

  #mark(place: number, member: number): void {
    this.#memberAt[place] = member;
    this.#placeOf[member] = place;
    const word = place >>> 5;
    this.#marks[word] = this.#marks[word]! | 1 << (place & 31);
    this.#add(word, 1);
  }

  #add(word: number, count: number): void {
    const tree = this.#tree;
    for (let node = word + 1; node < tree.length; node += node & -node) {
      tree[node] = tree[node]! + count;
    }
  }

  #compact(): void {
    const marked: number[] = [];
    for (let place = 0; place < this.#next; place++) {
      if ((this.#marks[place >>> 5]! >>> (place & 31) & 1) !== 0) {
        marked.push(this.#memberAt[place]!);
      }
    }
    this.#marks.fill(0);
    this.#tree.fill(0);
    this.#next = 0;
    for (const member of marked) this.#mark(this.#next++, member);
  }
}
