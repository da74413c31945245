/**
 * Which bytes of which sectors the lanes of a request access.
 *
 * @module
 */

const SECTOR_BYTES = 32;
const LANES = 32;

/** Bytes `from` to `to`, without that, of a sector. */
export interface ByteSpan {
  /** Which of the sectors of the request. */
  readonly sector: number;
  /** The first byte. */
  readonly from: number;
  /** The byte after the last. */
  readonly to: number;
}

/** What one lane accesses in one sector. */
export interface LaneSpan extends ByteSpan {
  /** The lane. */
  readonly lane: number;
}

/** A request of a warp. */
export interface RequestSectors {
  /** Byte at which its first sector begins. */
  readonly firstByte: bigint;
  /** Where its sectors begin, in bytes from the first one, ascending. */
  readonly sectors: readonly bigint[];
  /** What each lane accesses. */
  readonly lanes: readonly LaneSpan[];
  /** What any lane accesses, joined. */
  readonly used: readonly ByteSpan[];
  /** Share of the sectors' bytes that is accessed. */
  readonly usedShare: number;
}

/** How indices lie in memory. */
export interface ElementPlacement {
  /** Bytes of an element. */
  readonly elementBytes: number;
  /** Byte at which element 0 lies. */
  readonly offset: number;
}

/**
 * The requests that warps make for indices. Elements of 12 bytes take three of 4 bytes each.
 */
export function requestSectors(
  indices: readonly number[],
  { elementBytes, offset }: ElementPlacement,
): RequestSectors[] {
  const parts = elementBytes === 12 ? 3 : 1;
  const accessBytes = elementBytes / parts;
  const requests: RequestSectors[] = [];
  for (let from = 0; from < indices.length; from += LANES) {
    const lanes = indices.slice(from, from + LANES);
    for (let part = 0; part < parts; part++) {
      requests.push(oneRequest(lanes, elementBytes, offset + part * accessBytes, accessBytes));
    }
  }
  return requests;
}

function oneRequest(
  indices: readonly number[],
  elementBytes: number,
  offset: number,
  accessBytes: number,
): RequestSectors {
  // Indices reach to 2^53, so that the bytes of one are beyond what a number holds exactly.
  const places = indices.map((index) => BigInt(offset) + BigInt(index) * BigInt(elementBytes));
  const cut = places.map((place) => cutAccess(place, accessBytes));
  const numbers = [...new Set(cut.flatMap((pieces) => pieces.map(({ number }) => number)))]
    .sort((a, b) => a < b ? -1 : 1);
  const ranks = new Map(numbers.map((number, rank) => [number, rank]));
  const lanes = cut.flatMap((pieces, lane) =>
    pieces.map(({ number, from, to }) => ({ sector: ranks.get(number)!, from, to, lane }))
  );
  const used = joined(lanes);
  const bytes = used.reduce((sum, { from, to }) => sum + to - from, 0);
  const first = numbers[0]!;
  return {
    firstByte: first * BigInt(SECTOR_BYTES),
    sectors: numbers.map((number) => (number - first) * BigInt(SECTOR_BYTES)),
    lanes,
    used,
    usedShare: bytes / (numbers.length * SECTOR_BYTES),
  };
}

/** What an access takes of the sector that it begins in, and of the next one if it gets there. */
function cutAccess(place: bigint, accessBytes: number) {
  const number = place / BigInt(SECTOR_BYTES);
  const from = Number(place % BigInt(SECTOR_BYTES));
  const to = from + accessBytes;
  if (to <= SECTOR_BYTES) return [{ number, from, to }];
  return [
    { number, from, to: SECTOR_BYTES },
    { number: number + 1n, from: 0, to: to - SECTOR_BYTES },
  ];
}

/** Spans in order, those that touch or overlap made one. */
function joined(spans: readonly ByteSpan[]): ByteSpan[] {
  const ordered = spans.map(({ sector, from, to }) => ({ sector, from, to }))
    .sort((a, b) => a.sector - b.sector || a.from - b.from);
  const result: { sector: number; from: number; to: number }[] = [];
  for (const span of ordered) {
    const last = result.at(-1);
    if (last !== undefined && last.sector === span.sector && span.from <= last.to) {
      last.to = Math.max(last.to, span.to);
    } else {
      result.push(span);
    }
  }
  return result;
}
