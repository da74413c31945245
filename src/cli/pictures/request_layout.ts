/**
 * The requests of a warp: the bytes of sectors and the banks that each lane accesses.
 *
 * @module
 */

export const SECTOR_BYTES = 32;
export const LANES = 32;
export const BANKS = 32;
const WORD_BYTES = 4;

/** Bytes from `from` up to `to` of a sector. */
export interface ByteSpan {
  readonly sector: number;
  readonly from: number;
  readonly to: number;
}

/** Splits indices into warps; elements of 12 bytes are three accesses of 4 bytes each. */
function* accesses(indices: readonly number[], elementBytes: number) {
  const parts = elementBytes === 12 ? 3 : 1;
  const accessBytes = elementBytes / parts;
  for (let from = 0; from < indices.length; from += LANES) {
    for (let part = 0; part < parts; part++) {
      // Byte addresses of indices up to 2^53 exceed the exact range of a number.
      const addresses = indices.slice(from, from + LANES)
        .map((index) => BigInt(index) * BigInt(elementBytes) + BigInt(part * accessBytes));
      yield { addresses, accessBytes };
    }
  }
}

export type SectorRequest = ReturnType<typeof sectorRequests>[number];
export type BankRequest = ReturnType<typeof bankRequests>[number];

/**
 * The requests of indices to global memory, with element 0 at the byte `offset`: the bytes of each
 * lane, and of all lanes without overlap. The addresses of `sectors` are relative to the first one.
 */
export function sectorRequests(
  indices: readonly number[],
  elementBytes: number,
  offset: number,
) {
  return [...accesses(indices, elementBytes)].map(({ addresses, accessBytes }) => {
    const spans = addresses.flatMap((address, lane) => {
      const place = address + BigInt(offset);
      const number = place / BigInt(SECTOR_BYTES);
      const from = Number(place % BigInt(SECTOR_BYTES));
      const rest = from + accessBytes - SECTOR_BYTES;
      if (rest <= 0) return [{ number, from, to: from + accessBytes, lane }];
      const next = { number: number + 1n, from: 0, to: rest, lane };
      return [{ number, from, to: SECTOR_BYTES, lane }, next];
    });
    const numbers = [...new Set(spans.map(({ number }) => number))].sort((a, b) => a < b ? -1 : 1);
    const first = numbers[0]!;
    const lanes = spans.map(({ number, from, to, lane }) => ({
      ...{ sector: numbers.indexOf(number), from, to, lane },
    }));
    const used = joined(lanes);
    const bytes = used.reduce((sum, { from, to }) => sum + to - from, 0);
    return {
      firstByte: first * BigInt(SECTOR_BYTES),
      sectors: numbers.map((number) => (number - first) * BigInt(SECTOR_BYTES)),
      lanes,
      used,
      usedShare: bytes / (numbers.length * SECTOR_BYTES),
    };
  });
}

function joined(spans: readonly ByteSpan[]): ByteSpan[] {
  const result: ByteSpan[] = [];
  for (
    const { sector, from, to } of spans.toSorted((a, b) => a.sector - b.sector || a.from - b.from)
  ) {
    const last = result.at(-1);
    if (last === undefined || last.sector !== sector || from > last.to) {
      result.push({ sector, from, to });
    } else {
      result[result.length - 1] = { ...last, to: Math.max(last.to, to) };
    }
  }
  return result;
}

export interface BankAccess {
  readonly lane: number;
  readonly bank: number;
  /** The wavefront that serves it; from 0 for each group of lanes. */
  readonly wavefront: number;
}

/** The requests of indices to shared memory; `group` lanes are served together. */
export function bankRequests(indices: readonly number[], elementBytes: number) {
  return [...accesses(indices, elementBytes)].map(({ addresses, accessBytes }) => {
    const words = Math.max(1, accessBytes / WORD_BYTES);
    const group = LANES / words;
    const served: BankAccess[] = [];
    let wavefronts = 0;
    for (let from = 0; from < addresses.length; from += group) {
      const lanes = groupAccesses(addresses.slice(from, from + group), words, from);
      served.push(...lanes);
      wavefronts += 1 + Math.max(...lanes.map(({ wavefront }) => wavefront));
    }
    const idealWavefronts = Math.ceil(addresses.length / group);
    return { accesses: served, group, wavefronts, idealWavefronts };
  });
}

/** A wavefront serves one word of each bank, to all lanes that access this word. */
function groupAccesses(
  addresses: readonly bigint[],
  words: number,
  firstLane: number,
): BankAccess[] {
  const wordsOfBank = Array.from({ length: BANKS }, (): bigint[] => []);
  return addresses.flatMap((address, lane) =>
    Array.from({ length: words }, (_, part): BankAccess => {
      const word = address / BigInt(WORD_BYTES) + BigInt(part);
      const bank = Number(word % BigInt(BANKS));
      const different = wordsOfBank[bank]!;
      if (!different.includes(word)) different.push(word);
      return { lane: firstLane + lane, bank, wavefront: different.indexOf(word) };
    })
  );
}
