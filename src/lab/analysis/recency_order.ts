/**
 * In which order things were used last: a mark for each in a row of places, the newest at the end.
 *
 * Marks are bits; a Fenwick tree over the words of 32 of them counts those before any place. A word
 * enters the tree when it is full: making a mark never touches the tree, and taking one away that is
 * new hardly does. When the row is full, the marks move to its beginning.
 *
 * @module
 */

const WORD_BITS = 32;
/** Places of a row at least, or the marks of few members would move too often. */
const LEAST_PLACES = 1024;
/** Places for each member: marks then move after each has been used three times. */
const PLACES_OF_MEMBER = 4;
/** The place of what is not in the order. */
const NOWHERE = -1;
/** The distance of what was not in the order. */
export const FIRST = -1;

/** How many bits of a word are set. */
function bitCount(word: number): number {
  let bits = word - (word >>> 1 & 0x55555555);
  bits = (bits & 0x33333333) + (bits >>> 2 & 0x33333333);
  return Math.imul(bits + (bits >>> 4) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/** Orders members with numbers from 1 on by when they were used. */
export class RecencyOrder {
  /** Words after the last one that was begun are of no meaning, as is their part of the tree. */
  readonly #marks: Int32Array<ArrayBuffer>;
  /** Sums of marks; entry 0 is not used. */
  readonly #tree: Int32Array<ArrayBuffer>;
  readonly #placeOf: Int32Array<ArrayBuffer>;
  /** No member in the order has a number beyond it. */
  #greatest = 0;
  #size = 0;
  /** Where the next mark goes, and where it cannot: a multiple of 32. */
  #next = 0;
  #end = LEAST_PLACES;

  /** @param capacity How many members there can be. */
  constructor(capacity: number) {
    const words = placesFor(capacity) / WORD_BITS;
    this.#marks = new Int32Array(words + 1);
    this.#tree = new Int32Array(words + 1);
    this.#placeOf = new Int32Array(capacity + 1).fill(NOWHERE);
  }

  /**
   * Uses members one after the other.
   *
   * @param members Their numbers.
   * @param count How many of them.
   * @param distances Where it goes, for each, how many others were used since it was the last time;
   * {@linkcode FIRST} for the first time.
   */
  useAll(
    members: Int32Array<ArrayBuffer>,
    count: number,
    distances: Int32Array<ArrayBuffer>,
  ): void {
    let newest = 0;
    for (let i = 0; i < count; i++) {
      const member = members[i]!;
      distances[i] = member === newest ? 0 : this.#use(member);
      newest = member;
    }
  }

  /** Makes a member the newest and returns its distance. */
  #use(member: number): number {
    if (this.#next === this.#end) this.#compact();
    const place = this.#placeOf[member]!;
    let distance = FIRST;
    if (place === NOWHERE) {
      this.#size++;
      this.#greatest = Math.max(this.#greatest, member);
    } else {
      distance = this.#size - this.#marksUpTo(place);
      this.#clear(place);
    }
    this.#mark(member);
    return distance;
  }

  /** Marks the place of the newest member. */
  #mark(member: number): void {
    const place = this.#next++;
    const word = place >>> 5;
    if ((place & 31) === 0) this.#begin(word);
    this.#marks[word] = this.#marks[word]! | 1 << (place & 31);
    this.#placeOf[member] = place;
  }

  /** Counts the marks up to a place, with its own. */
  #marksUpTo(place: number): number {
    const tree = this.#tree;
    const word = place >>> 5;
    let marks = bitCount(this.#marks[word]! & -1 >>> 31 - (place & 31));
    for (let node = word; node > 0; node &= node - 1) marks += tree[node]!;
    return marks;
  }

  /** Takes the mark of a place away. */
  #clear(place: number): void {
    const tree = this.#tree;
    const word = place >>> 5;
    const full = this.#next - 1 >>> 5;
    this.#marks[word] = this.#marks[word]! & ~(1 << (place & 31));
    for (let node = word + 1; node <= full; node += node & -node) tree[node] = tree[node]! - 1;
  }

  /** Takes a member out. */
  remove(member: number): void {
    this.#clear(this.#placeOf[member]!);
    this.#placeOf[member] = NOWHERE;
    this.#size--;
  }

  /** Begins a word: the one before it is full, and enters the tree. */
  #begin(word: number): void {
    const tree = this.#tree;
    this.#marks[word] = 0;
    if (word === 0) return;
    let sum = bitCount(this.#marks[word - 1]!);
    const before = word & word - 1;
    for (let node = word - 1; node > before; node &= node - 1) sum += tree[node]!;
    tree[word] = sum;
  }

  /** Moves marks to the beginning: each to as many places from it as there are marks before. */
  #compact(): void {
    const marks = this.#marks;
    const placeOf = this.#placeOf;
    // Sums of all words before each, in the place of those that the tree has.
    const before = this.#tree;
    const words = this.#next >>> 5;
    let sum = 0;
    for (let word = 0; word < words; word++) {
      before[word] = sum;
      sum += bitCount(marks[word]!);
    }
    for (let member = 1; member <= this.#greatest; member++) {
      const place = placeOf[member]!;
      if (place === NOWHERE) continue;
      const word = place >>> 5;
      placeOf[member] = before[word]! + bitCount(marks[word]! & ~(-1 << (place & 31)));
    }
    this.#fill(sum);
  }

  /** Marks the first places. */
  #fill(count: number): void {
    const full = count >>> 5;
    this.#marks.fill(-1, 0, full);
    this.#marks[full] = ~(-1 << (count & 31));
    for (let node = 1; node <= full; node++) this.#tree[node] = (node & -node) * WORD_BITS;
    this.#next = count;
    this.#end = placesFor(count);
  }
}

/** The places of a row for as many members: whole words. */
function placesFor(members: number): number {
  const places = Math.max(LEAST_PLACES, PLACES_OF_MEMBER * members);
  return Math.ceil(places / WORD_BITS) * WORD_BITS;
}
