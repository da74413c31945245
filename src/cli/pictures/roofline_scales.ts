/**
 * The scales of a roofline, and where its labels go.
 *
 * @module
 */

/** A range of values, both positive. */
export interface Range {
  /** The least. */
  readonly from: number;
  /** The greatest. */
  readonly to: number;
}

/** A place in pixels. */
export interface Place {
  /** From the left. */
  readonly x: number;
  /** From the top. */
  readonly y: number;
}

/** A range that has room around values, and ends at quarters of decades. */
export function rangeAround(values: readonly number[], room: number): Range {
  const least = Math.floor(4 * Math.log10(Math.min(...values) / room)) / 4;
  const most = Math.ceil(4 * Math.log10(Math.max(...values) * room)) / 4;
  return { from: 10 ** least, to: 10 ** Math.max(least + 1, most) };
}

/** Most labels that an axis has room for. */
const MOST_TICKS = 12;

/** The powers of ten in a range, or as many of them as have room, all as far from each other. */
export function powersOfTen({ from, to }: Range): number[] {
  const [least, most] = [Math.ceil(Math.log10(from)), Math.floor(Math.log10(to))];
  const step = Math.ceil((most - least + 1) / MOST_TICKS);
  return Array.from(
    { length: Math.floor((most - least) / step) + 1 },
    (_, i) => 10 ** (least + i * step),
  );
}

/** The pixel of a value on a logarithmic axis. */
export function logarithmic({ from, to }: Range, start: number, end: number) {
  const span = Math.log10(to / from);
  return (value: number) => start + (end - start) * Math.log10(value / from) / span;
}

/** A label that wants a place. */
export interface Label {
  /** What it belongs to. */
  readonly at: Place;
  /** Its size in pixels. */
  readonly width: number;
  /** Its height. */
  readonly height: number;
}

/** A place for a label: the left end of its baseline. */
export interface LabelPlace extends Place {
  /** Whether it is right beside its point, so that nobody has to be told what it belongs to. */
  readonly isBeside: boolean;
}

/** Where something is: its left end and its bottom, and its size. */
export interface Box extends Place {
  /** Its width. */
  readonly width: number;
  /** Its height. */
  readonly height: number;
}

/** Whether two boxes have a place in common. */
export function overlap(a: Box, b: Box): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y - a.height < b.y && b.y - b.height < a.y;
}

/** What labels keep from the points that they belong to. */
const DISTANCE = 10;

/** Places beside a point: right and left of it. */
function besidePlaces({ at, width, height }: Label): Place[] {
  const y = at.y + height * 0.35;
  return [{ x: at.x + DISTANCE, y }, { x: at.x - DISTANCE - width, y }];
}

/** Places further away: below and to the right, where a roof seldom is, before all others. */
function otherPlaces({ at, width, height }: Label): Place[] {
  const rows = Array.from({ length: 12 }, (_, row) => 1.6 * height + row * (height + 2));
  const right = at.x + 2 * DISTANCE;
  const left = at.x - 2 * DISTANCE - width;
  return [[right, 1], [left, 1], [left, -1], [right, -1]].flatMap(([x, sign]) =>
    rows.map((row) => ({ x: x!, y: at.y + sign! * row }))
  );
}

/**
 * Finds places for labels, so that none covers another, a point, or what is there already: beside
 * their points where that is free, else as near as possible.
 *
 * @param labels The labels.
 * @param taken Where something is already.
 * @param within Where labels may be.
 */
export function placeLabels(
  labels: readonly Label[],
  taken: readonly Box[],
  within: Box,
): LabelPlace[] {
  const boxes: Box[] = [
    ...taken,
    ...labels.map(({ at }) => ({ x: at.x - 7, y: at.y + 7, width: 14, height: 14 })),
  ];
  const places = new Array<LabelPlace | undefined>(labels.length).fill(undefined);
  const isFree = (box: Box) =>
    box.x >= within.x && box.x + box.width <= within.x + within.width &&
    box.y <= within.y && box.y - box.height >= within.y - within.height &&
    !boxes.some((other) => overlap(other, box));
  const settle = (index: number, candidates: readonly Place[], isBeside: boolean) => {
    const { width, height } = labels[index]!;
    const free = candidates.find((place) => isFree({ ...place, width, height }));
    if (free === undefined) return;
    places[index] = { ...free, isBeside };
    boxes.push({ ...free, width, height });
  };
  labels.forEach((label, index) => settle(index, besidePlaces(label), true));
  return labels.map((label, index) => {
    if (places[index] === undefined) settle(index, otherPlaces(label), false);
    // A picture so full has to have labels above each other.
    return places[index] ?? { ...besidePlaces(label)[0]!, isBeside: true };
  });
}
