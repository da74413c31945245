/**
 * What the runs of a stride make together: the rows of a tile, and of tiles that follow each other.
 *
 * A run is in its place if it begins where the run before it puts it: so many accesses later and a
 * pitch further on, or as many times that as runs are missing; with its first accesses missing, as
 * much later. Where it is not, a tile begins, which is regular if as many rows were before it as
 * before most others.
 *
 * @module
 */

import type { TileShape } from "./access_report.ts";

/** Runs from which their length and pitch are taken. */
const FIRST_RUNS = 64;
/** Heights of tiles that are counted; a height that is not among the first so many is irregular. */
const HEIGHTS = 64;

/** What runs make. */
export interface RunVerdict {
  /** The shape of their tiles. */
  readonly tile: TileShape;
  /** Runs that begin where none should. */
  readonly outliers: number;
}

interface Run {
  readonly position: number;
  readonly value: number;
  /** Accesses right before it that follow nothing. */
  readonly strays: number;
}

/** Collects where runs begin. */
export class RunPattern {
  readonly #stride: number;
  #first: Run[] = [];
  /** Accesses of a run and pitch; 0 and 0 before they are known. */
  #columns = 0;
  #pitch = 0;
  /** Where the last run began, or would have with its first accesses. */
  #position = 0;
  #value = 0;
  #tilePosition = 0;
  #inPlace = 0;
  #irregular = 0;
  /** Tiles that have ended, by rows. */
  readonly #heights = new Map<number, number>();

  /** @param stride The stride inside runs. */
  constructor(stride: number) {
    this.#stride = stride;
  }

  /**
   * A run begins.
   *
   * @param position Which access is its first.
   * @param value That access's index.
   * @param strays Accesses right before it that follow nothing.
   */
  begin(position: number, value: number, strays: number): void {
    if (this.#columns !== 0) {
      this.#place(position, value, strays);
    } else {
      this.#first.push({ position, value, strays });
      if (this.#first.length === FIRST_RUNS) this.#settle();
    }
  }

  /**
   * What the runs make; null where they make nothing.
   *
   * @param end How many accesses there were.
   */
  verdict(end: number): RunVerdict | null {
    const [start] = this.#first;
    if (this.#columns === 0) this.#settle();
    const columns = this.#columns;
    // Two runs are as much a jump, unless the second is as long as the first.
    const repeated = this.#inPlace > 1 || this.#inPlace === 1 && end - this.#position === columns;
    if (start === undefined || columns < 2 || !repeated) return null;
    const [height, tiles] = this.#commonestHeight(end);
    const others = [...this.#heights.values()].reduce((sum, count) => sum + count, 0) - tiles;
    const overlong = end - this.#position > columns ? 1 : 0;
    return {
      tile: {
        columns,
        rows: tiles > 0 ? height : Math.ceil((end - this.#start) / columns),
        pitch: this.#pitch,
      },
      outliers: this.#irregular + others + overlong,
    };
  }

  get #start(): number {
    return this.#first[0]!.position;
  }

  /** Takes length and pitch from the first runs, and then looks at these. */
  #settle(): void {
    const runs = this.#first;
    const commonest = commonestStep(runs);
    if (commonest === null) return;
    [this.#columns, this.#pitch] = commonest;
    const [first, ...others] = runs as [Run, ...Run[]];
    this.#first = [first];
    this.#position = this.#tilePosition = first.position;
    this.#value = first.value;
    for (const { position, value, strays } of others) this.#place(position, value, strays);
  }

  #place(position: number, value: number, strays: number): void {
    const columns = this.#columns;
    const later = position - this.#position;
    // Almost always so, and to divide takes long.
    if (later === columns && value - this.#value === this.#pitch) {
      this.#stay(position, value);
      return;
    }
    const column = later % columns;
    const row = (later - column) / columns;
    if (this.#isAhead(value, row, column)) {
      this.#stay(position - column, value - column * this.#stride);
    } else if (row > 1 && this.#isAhead(value - columns * this.#stride, row - 1, column)) {
      // The last row of a tile and the first of the next lie side by side: two runs as one.
      this.#beginTile(this.#position + columns, this.#value + columns * this.#stride, 0);
      this.#stay(position - column, value - column * this.#stride);
    } else {
      // Strays in the places of a row's first accesses leave the row where it is.
      this.#beginTile(position, value, column <= strays ? column : 0);
    }
  }

  /** Whether an index is as far ahead of the last run's first as rows and columns are. */
  #isAhead(value: number, rows: number, columns: number): boolean {
    return value - this.#value === rows * this.#pitch + columns * this.#stride;
  }

  #stay(position: number, value: number): void {
    this.#inPlace++;
    this.#position = position;
    this.#value = value;
  }

  #beginTile(position: number, value: number, column: number): void {
    const begin = position - column;
    const rows = (begin - this.#tilePosition) / this.#columns;
    const known = this.#heights.get(rows);
    if (known !== undefined) this.#heights.set(rows, known + 1);
    else if (Number.isInteger(rows) && this.#heights.size < HEIGHTS) this.#heights.set(rows, 1);
    else this.#irregular++;
    this.#position = this.#tilePosition = begin;
    this.#value = value - column * this.#stride;
  }

  /** Rows of most of the tiles that have ended and how many these are; 0 where it was by chance. */
  #commonestHeight(end: number): readonly [number, number] {
    let height = 0;
    let most = 0;
    for (const [rows, tiles] of this.#heights) {
      if (rows > 1 && tiles > most) [height, most] = [rows, tiles];
    }
    const isLast = end - this.#tilePosition === height * this.#columns;
    return most > 1 || most === 1 && isLast ? [height, most] : [0, 0];
  }
}

/** Accesses and elements from one run to the next, as they are most often; of equals the first. */
function commonestStep(runs: readonly Run[]): readonly [number, number] | null {
  let best: readonly [number, number] | null = null;
  let most = 0;
  const times = new Map<string, number>();
  const steps = runs.slice(1).map(({ position, value }, i) =>
    [position - runs[i]!.position, value - runs[i]!.value] as const
  );
  for (const [columns, pitch] of steps) {
    const key = `${columns} ${pitch}`;
    times.set(key, (times.get(key) ?? 0) + 1);
  }
  for (const step of steps) {
    const count = times.get(`${step[0]} ${step[1]}`)!;
    if (count > most) [best, most] = [step, count];
  }
  return best;
}
