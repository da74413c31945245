/**
 * Bank conflicts in shared memory.
 *
 * Shared memory has 32 banks, each a word of 4 bytes wide; successive words lie in successive banks.
 * A wavefront serves one word of each bank, to as many lanes as want it. A warp whose lanes access 4
 * bytes or less is served together; with 8 bytes it is served in halves, with 16 in quarters, as no
 * more than 128 bytes can go at once. There is no instruction for 12 bytes (PTX ISA, `ld`: vectors of
 * two or four), so such elements take three requests of 4 bytes.
 *
 * @module
 */

const BANKS = 32;
const WORD_BYTES = 4;
const WARP_LANES = 32;
/** Elements of any size that lie before one at the same place of the same bank. */
const ELEMENTS_OF_PERIOD = 128;

/** Counts the wavefronts of requests to shared memory that begins at bank 0. */
export class BankCounter {
  readonly #elementBytes: number;
  /** Words that a lane accesses in a request. */
  readonly #wordsPerLane: number;
  readonly #parts: number;
  /** Lanes that are served together. */
  readonly #group: number;
  /**
   * The elements of which the group wants the word that lies in a bank, and how many they are: no
   * element has two there.
   */
  readonly #elements = new Float64Array(BANKS * WARP_LANES);
  readonly #counts = new Uint8Array(BANKS);
  /** The same counts in binary, the highest digit first, one bit of each for each bank. */
  readonly #digits = new Int32Array(6);
  /** Elements and words before element 0. */
  readonly #elementsBefore: number;
  readonly #wordsBefore: number;
  #wavefronts = 0;
  #idealWavefronts = 0;
  #degree = 0;
  #worstBank = 0;

  /**
   * Begins counting.
   *
   * @param elementBytes Bytes of an element, which an index counts: 1, 2, 4, 8, 12 or 16.
   * @param offset Byte at which element 0 lies, a multiple of what is accessed at once.
   * @throws {RangeError} If there are no such accesses.
   */
  constructor(elementBytes: number, offset = 0) {
    if (![1, 2, 4, 8, 12, 16].includes(elementBytes)) {
      throw new RangeError(
        `Cannot count bank conflicts as elementBytes must be one of 1, 2, 4, 8, 12, 16: it is ${elementBytes}`,
      );
    }
    this.#elementBytes = elementBytes;
    this.#parts = elementBytes === 12 ? 3 : 1;
    this.#wordsPerLane = Math.max(1, elementBytes / WORD_BYTES) / this.#parts;
    this.#group = WARP_LANES / this.#wordsPerLane;
    const isPart = elementBytes < WORD_BYTES;
    this.#elementsBefore = isPart ? offset / elementBytes : 0;
    this.#wordsBefore = isPart ? 0 : offset / WORD_BYTES;
  }

  /** Wavefronts of the requests so far. */
  get wavefronts(): number {
    return this.#wavefronts;
  }

  /** Wavefronts that they would take without a conflict. */
  get idealWavefronts(): number {
    return this.#idealWavefronts;
  }

  /** The most different words that lanes which are served together want of one bank; 0 at first. */
  get degree(): number {
    return this.#degree;
  }

  /** The bank in which that was first. */
  get worstBank(): number {
    return this.#worstBank;
  }

  /** Adds an access of a warp, whose lanes have the indices `from` to `to`, without that. */
  add(indices: ArrayLike<number>, from: number, to: number): void {
    for (let part = 0; part < this.#parts; part++) {
      for (let lane = from; lane < to; lane += this.#group) {
        this.#serve(indices, lane, Math.min(to, lane + this.#group), part);
      }
    }
  }

  /**
   * The same where no two lanes access the same word.
   *
   * @internal
   */
  addApart(indices: ArrayLike<number>, from: number, to: number): void {
    for (let part = 0; part < this.#parts; part++) {
      for (let lane = from; lane < to; lane += this.#group) {
        this.#serveApart(indices, lane, Math.min(to, lane + this.#group), part);
      }
    }
  }

  #serve(indices: ArrayLike<number>, from: number, to: number, part: number): void {
    const elements = this.#elements;
    const counts = this.#counts;
    const perLane = this.#wordsPerLane;
    counts.fill(0);
    let most = 1;
    for (let lane = from; lane < to; lane++) {
      const element = this.#element(indices[lane]!);
      const first = this.#word(indices[lane]!, part);
      for (let word = first; word < first + perLane; word++) {
        const bank = word & BANKS - 1;
        const count = counts[bank]!;
        const begin = bank * WARP_LANES;
        let i = 0;
        while (i < count && elements[begin + i] !== element) i++;
        if (i < count) continue;
        elements[begin + count] = element;
        counts[bank] = count + 1;
        if (count >= most) most = count + 1;
      }
    }
    this.#addGroup(most, most > this.#degree ? counts.indexOf(most) : 0);
  }

  /**
   * All words of a lane are counted at once, by adders in the bits of integers: bit `bank` of `ones`,
   * `twos` and so on are the digits of that bank's count.
   */
  #serveApart(indices: ArrayLike<number>, from: number, to: number, part: number): void {
    const words = (1 << this.#wordsPerLane) - 1;
    let ones = 0;
    let twos = 0;
    let fours = 0;
    let eights = 0;
    let sixteens = 0;
    let thirtyTwos = 0;
    for (let lane = from; lane < to; lane++) {
      const first = this.#word(indices[lane]!, part);
      const wanted = words << first | words >>> 32 - (first & BANKS - 1);
      const two = ones & wanted;
      ones ^= wanted;
      const four = twos & two;
      twos ^= two;
      const eight = fours & four;
      fours ^= four;
      const sixteen = eights & eight;
      eights ^= eight;
      thirtyTwos |= sixteens & sixteen;
      sixteens ^= sixteen;
    }
    const digits = this.#digits;
    digits[0] = thirtyTwos;
    digits[1] = sixteens;
    digits[2] = eights;
    digits[3] = fours;
    digits[4] = twos;
    digits[5] = ones;
    let most = 0;
    let banks = -1;
    for (let i = 0; i < 6; i++) {
      const larger = banks & digits[i]!;
      most = 2 * most + (larger !== 0 ? 1 : 0);
      if (larger !== 0) banks = larger;
    }
    this.#addGroup(most, 31 - Math.clz32(banks & -banks));
  }

  #addGroup(most: number, bank: number): void {
    this.#wavefronts += most;
    this.#idealWavefronts++;
    if (most <= this.#degree) return;
    this.#degree = most;
    this.#worstBank = bank;
  }

  /** Which of the elements of at least a word an element is, or lies in. */
  #element(index: number): number {
    return this.#elementBytes < WORD_BYTES
      ? Math.floor((index + this.#elementsBefore) * this.#elementBytes / WORD_BYTES)
      : index;
  }

  /** The first word of an element that a part accesses, from a place on that begins at bank 0. */
  #word(index: number, part: number): number {
    // Small integers: what is computed for each lane must not become a floating-point number.
    const element = (index & ELEMENTS_OF_PERIOD - 1) + this.#elementsBefore;
    return (Math.imul(element, this.#elementBytes) >>> 2) + part + this.#wordsBefore;
  }
}
