/**
 * Layouts that may suit a pattern.
 *
 * @module
 */

import type { AccessReport } from "./access_report.ts";
import type { DataLayout, LayoutKind } from "./data_layout.ts";
import { firstTouchLayout } from "./layout_first_touch.ts";
import { tiledLayout } from "./layout_tiled.ts";
import { structureOfArraysLayout, transposedLayout } from "./layout_transposed.ts";
import { zOrderLayout } from "./layout_z_order.ts";
import type { MatrixShape } from "./matrix_shape.ts";

/** A layout to try. */
export interface LayoutCandidate {
  /** What it is. */
  readonly kind: LayoutKind;
  /** What it is, in words: `4096 × 4096 elements by columns`. */
  readonly name: string;
  /** Makes it. */
  readonly make: () => DataLayout;
}

/** What candidates are chosen by. */
export interface CandidateSubject {
  /** What the accesses are. */
  readonly report: AccessReport;
  /** Their indices. */
  readonly indices: Uint32Array;
  /** Elements of the data. */
  readonly length: number;
  /** Bytes of an element. */
  readonly elementBytes: number;
  /** Elements of a record, if the data is records. */
  readonly elementsPerRecord: number | undefined;
  /** The matrix that the data is, if it is one. */
  readonly shape: MatrixShape | undefined;
}

/** A sector's bytes, and a line's: tiles of as many are fetched as a whole. */
const FETCHED_BYTES = [32, 128] as const;

/** Layouts that may suit, those that are easiest to compute with first. */
export function layoutCandidates(subject: CandidateSubject): LayoutCandidate[] {
  const { elementsPerRecord, shape, length } = subject;
  const shapes = uniqueShapes([
    ...shape === undefined ? [] : [shape],
    ...columnsByPattern(subject.report).map((columns) => ({
      rows: Math.floor(length / columns),
      columns,
    })),
  ]);
  return [
    ...elementsPerRecord === undefined ? [] : [recordCandidate(elementsPerRecord, length)],
    ...shapes.map((each) => transposedCandidate(each, length)),
    ...isNeighbourhood(subject)
      ? shapes.flatMap((each) => [
        ...tileShapes(subject).map((tile) => tiledCandidate(each, tile, length)),
        zOrderCandidate(each, length),
      ])
      : [],
    firstTouchCandidate(subject),
  ];
}

/** Rows of what matrix the pattern goes across. */
function columnsByPattern({ stride, tile }: AccessReport): number[] {
  return [...stride === null ? [] : [stride], ...tile === null ? [] : [tile.pitch]].map(Math.abs);
}

/** The first of each number of columns; a single row or column would stay as it is. */
function uniqueShapes(shapes: readonly MatrixShape[]): MatrixShape[] {
  return shapes.filter(({ rows, columns }, place) =>
    rows >= 2 && columns >= 2 &&
    shapes.findIndex((other) => other.columns === columns) === place
  );
}

/** Whether accesses may be near each other in both directions of a matrix. */
function isNeighbourhood({ report }: CandidateSubject): boolean {
  return report.kind === "blocked" || report.kind === "random";
}

function tileShapes({ report, elementBytes }: CandidateSubject): MatrixShape[] {
  const fetched = FETCHED_BYTES.map((bytes) => bytes / elementBytes).map((elements) => {
    const columns = 2 ** Math.ceil(Math.log2(elements) / 2);
    return { rows: elements / columns, columns };
  });
  const { tile } = report;
  const found = tile === null || tile.rows * tile.columns > 2 ** 20
    ? []
    : [{ rows: tile.rows, columns: tile.columns }];
  return [...found, ...fetched];
}

function recordCandidate(elementsPerRecord: number, length: number): LayoutCandidate {
  return {
    kind: "structure-of-arrays",
    name: `records of ${elementsPerRecord} elements by fields`,
    make: () => structureOfArraysLayout(elementsPerRecord, length),
  };
}

function transposedCandidate(shape: MatrixShape, length: number): LayoutCandidate {
  return {
    kind: "transposed",
    name: `${described(shape)} elements by columns`,
    make: () => transposedLayout(shape, length),
  };
}

function tiledCandidate(shape: MatrixShape, tile: MatrixShape, length: number): LayoutCandidate {
  return {
    kind: "tiled",
    name: `${described(shape)} elements by tiles of ${described(tile)}`,
    make: () => tiledLayout(shape, tile, length),
  };
}

function zOrderCandidate(shape: MatrixShape, length: number): LayoutCandidate {
  return {
    kind: "z-order",
    name: `${described(shape)} elements in Z-order`,
    make: () => zOrderLayout(shape, length),
  };
}

function firstTouchCandidate({ indices, length }: CandidateSubject): LayoutCandidate {
  return {
    kind: "first-touch",
    name: "elements in the order of their first access",
    make: () => firstTouchLayout(indices, length),
  };
}

function described({ rows, columns }: MatrixShape): string {
  return `${rows} × ${columns}`;
}
