/**
 * What requests cost, counted with sets: slow, and plain enough to be believed.
 *
 * @module
 */

/** Counts of all requests. */
export interface ReferenceCounts {
  readonly requests: number;
  readonly sectors: number;
  readonly lines: number;
  readonly idealSectors: number;
  readonly bankConflicts: number;
}

function* warps(indices: readonly number[]): Generator<readonly number[]> {
  for (let first = 0; first < indices.length; first += 32) yield indices.slice(first, first + 32);
}

/** The bytes that each lane of a request accesses, for each request of a warp. */
function requestsOf(warp: readonly number[], elementBytes: number): bigint[][][] {
  const bytes = elementBytes === 12 ? 4 : elementBytes;
  return Array.from({ length: elementBytes / bytes }, (_, part) =>
    warp.map((index) =>
      Array.from(
        { length: bytes },
        (_, byte) => BigInt(index) * BigInt(elementBytes) + BigInt(4 * part + byte),
      )
    ));
}

function distinct(values: readonly bigint[], unit: number): number {
  return new Set(values.map((value) => value / BigInt(unit))).size;
}

/** Wavefronts of lanes that are served together: the most words that one bank has to give. */
function wavefronts(lanes: readonly bigint[][]): number {
  const words = new Set(lanes.flat().map((byte) => byte / 4n));
  const banks = new Map<bigint, number>();
  for (const word of words) banks.set(word % 32n, (banks.get(word % 32n) ?? 0) + 1);
  return Math.max(...banks.values());
}

function conflicts(lanes: readonly bigint[][]): number {
  const together = Math.min(32, 128 / lanes[0]!.length);
  let count = 0;
  for (let first = 0; first < lanes.length; first += together) {
    count += wavefronts(lanes.slice(first, first + together)) - 1;
  }
  return count;
}

/** Counts accesses at byte `offset` of a line on. */
export function referenceCounts(
  indices: readonly number[],
  elementBytes: number,
  offset: number,
): ReferenceCounts {
  const counts = { requests: 0, sectors: 0, lines: 0, idealSectors: 0, bankConflicts: 0 };
  for (const warp of warps(indices)) {
    for (const lanes of requestsOf(warp, elementBytes)) {
      const bytes = lanes.flat().map((byte) => byte + BigInt(offset));
      counts.requests++;
      counts.sectors += distinct(bytes, 32);
      counts.lines += distinct(bytes, 128);
      counts.idealSectors += Math.ceil(distinct(bytes, 1) / 32);
      counts.bankConflicts += conflicts(lanes);
    }
  }
  return counts;
}

/** The lines that requests access, in the order of requests and of their lanes. */
export function referenceLines(
  indices: readonly number[],
  elementBytes: number,
  offset: number,
): bigint[] {
  return [...warps(indices)].flatMap((warp) =>
    requestsOf(warp, elementBytes).flatMap((lanes) => [
      ...new Set(lanes.flat().map((byte) => (byte + BigInt(offset)) / 128n)),
    ])
  );
}
