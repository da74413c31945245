/**
 * Spans of time: how much of it they cover, and how much two sets of them have in common.
 *
 * @module
 */

/** A span: from `start`, `duration` long. */
export interface TimeSpan {
  /** Its beginning. */
  readonly start: number;
  /** Its length. */
  readonly duration: number;
}

/** Spans joined where they touch: disjoint, in their order, each from its beginning to its end. */
export type CoveredTime = readonly (readonly [start: number, end: number])[];

/** The time that spans cover. What several cover at once counts once. */
export function coveredTime(spans: Iterable<TimeSpan>): CoveredTime {
  const sorted = [...spans].sort((one, other) => one.start - other.start);
  const covered: [number, number][] = [];
  for (const { start, duration } of sorted) {
    const last = covered.at(-1);
    if (last !== undefined && start <= last[1]) last[1] = Math.max(last[1], start + duration);
    else covered.push([start, start + duration]);
  }
  return covered;
}

/** How much time that is. */
export function lengthOf(covered: CoveredTime): number {
  return covered.reduce((sum, [start, end]) => sum + (end - start), 0);
}

/** How much time two have in common. */
export function commonTime(one: CoveredTime, other: CoveredTime): number {
  let common = 0;
  for (let i = 0, j = 0; i < one.length && j < other.length;) {
    const [begin, end] = one[i]!;
    const [otherBegin, otherEnd] = other[j]!;
    common += Math.max(0, Math.min(end, otherEnd) - Math.max(begin, otherBegin));
    if (end < otherEnd) i++;
    else j++;
  }
  return common;
}
