/**
 * The order in which those that are compared are timed, round by round.
 *
 * What is timed leaves caches, clocks and threads behind in a state that the next one finds. So the
 * order changes at random, and each one meets every other as its predecessor; and each order is
 * followed by its reverse, so that of any two each comes first equally often.
 *
 * @module
 */

/**
 * The places 0 to `count - 1` in the order of a round. The same for the same arguments: a tuning is
 * as repeatable as its times are.
 */
export function roundOrder(count: number, round: number): number[] {
  const order = Array.from({ length: count }, (_, place) => place);
  const random = generator(Math.floor(round / 2));
  // Shuffled as by Fisher and Yates.
  for (let last = count - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    [order[last], order[other]] = [order[other]!, order[last]!];
  }
  return round % 2 === 0 ? order : order.reverse();
}

/** Numbers in [0, 1): a Weyl sequence through the finaliser of MurmurHash3 (Appleby, 2011). */
function generator(seed: number): () => number {
  let state = Math.imul(seed + 1, 0x9e3779b9);
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = Math.imul(state ^ state >>> 16, 0x85ebca6b);
    mixed = Math.imul(mixed ^ mixed >>> 13, 0xc2b2ae35);
    return ((mixed ^ mixed >>> 16) >>> 0) / 2 ** 32;
  };
}
