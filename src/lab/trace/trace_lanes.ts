/**
 * Tracks for spans that may overlap: on a track of a trace file a span lies within another or beside
 * it, but does not cross its end.
 *
 * @module
 */

/** A span in whole units of time. */
interface Span {
  readonly begin: number;
  readonly end: number;
}

/**
 * Divides spans among as few lanes as it finds, so that on each every two are apart or one within
 * the other.
 *
 * @returns The lane of each span, from 0 on, in the order of the spans.
 */
export function assignLanes(spans: readonly Span[]): number[] {
  const order = spans.map((_, index) => index).sort((one, other) =>
    spans[one]!.begin - spans[other]!.begin || spans[other]!.end - spans[one]!.end
  );
  // Of each lane the ends of the spans that are open, innermost last.
  const lanes: number[][] = [];
  const assigned: number[] = new Array(spans.length).fill(0);
  for (const index of order) {
    const { begin, end } = spans[index]!;
    for (const open of lanes) {
      while (open.length > 0 && open.at(-1)! <= begin) open.pop();
    }
    let lane = lanes.findIndex((open) => open.length === 0 || end <= open.at(-1)!);
    if (lane < 0) lane = lanes.push([]) - 1;
    lanes[lane]!.push(end);
    assigned[index] = lane;
  }
  return assigned;
}
