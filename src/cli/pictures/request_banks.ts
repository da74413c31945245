/**
 * Which banks of shared memory the lanes of a request access, and in which wavefront each is served.
 *
 * @module
 */

const BANKS = 32;
const LANES = 32;
const WORD_BYTES = 4;

/** A word that a lane accesses. */
export interface BankAccess {
  /** The lane. */
  readonly lane: number;
  /** The bank in which the word is. */
  readonly bank: number;
  /** The wavefront that serves it, from 0: of the lanes that are served together. */
  readonly wavefront: number;
}

/** A request of a warp to shared memory. */
export interface RequestBanks {
  /** The words of all lanes. */
  readonly accesses: readonly BankAccess[];
  /** Lanes that are served together: 32, or 16 and 8 of elements of 8 and 16 bytes. */
  readonly group: number;
  /** Wavefronts that it takes. */
  readonly wavefronts: number;
  /** Wavefronts that it would take without conflicts. */
  readonly idealWavefronts: number;
}

/** The requests that warps make for indices. Elements of 12 bytes take three of 4 bytes each. */
export function requestBanks(indices: readonly number[], elementBytes: number): RequestBanks[] {
  const parts = elementBytes === 12 ? 3 : 1;
  const words = elementBytes > 4 && parts === 1 ? elementBytes / WORD_BYTES : 1;
  const requests: RequestBanks[] = [];
  for (let from = 0; from < indices.length; from += LANES) {
    const lanes = indices.slice(from, from + LANES);
    for (let part = 0; part < parts; part++) {
      const firstWords = lanes.map((index) => firstWord(index, elementBytes) + BigInt(part));
      requests.push(oneRequest(firstWords, words));
    }
  }
  return requests;
}

function firstWord(index: number, elementBytes: number): bigint {
  return BigInt(index) * BigInt(elementBytes) / BigInt(WORD_BYTES);
}

function oneRequest(firstWords: readonly bigint[], words: number): RequestBanks {
  const group = LANES / words;
  const accesses: BankAccess[] = [];
  let wavefronts = 0;
  let idealWavefronts = 0;
  for (let from = 0; from < firstWords.length; from += group) {
    const served = groupAccesses(firstWords.slice(from, from + group), words);
    accesses.push(...served.map((access) => ({ ...access, lane: access.lane + from })));
    wavefronts += 1 + Math.max(...served.map(({ wavefront }) => wavefront));
    idealWavefronts++;
  }
  return { accesses, group, wavefronts, idealWavefronts };
}

/** A wavefront serves one word of each bank, to all lanes that want that word. */
function groupAccesses(firstWords: readonly bigint[], words: number): BankAccess[] {
  const seen = new Map<number, bigint[]>();
  return firstWords.flatMap((first, lane) =>
    Array.from({ length: words }, (_, i): BankAccess => {
      const word = first + BigInt(i);
      const bank = Number(word % BigInt(BANKS));
      const different = seen.get(bank) ?? [];
      seen.set(bank, different);
      if (!different.includes(word)) different.push(word);
      return { lane, bank, wavefront: different.indexOf(word) };
    })
  );
}
