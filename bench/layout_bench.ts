/**
 * Reordering 64 MiB, beside a copy of them by the engine, `to.set(from)`, and one by a loop over the
 * elements. Memory is allocated and written before: new memory takes longer to write than all the
 * rest, and memory that was never written is one page that is always cached.
 * `bench/report/layout_goals.ts` says what is to be reached.
 */

import {
  type DataArray,
  type DataLayout,
  firstTouchLayout,
  structureOfArraysLayout,
  tiledLayout,
  transposedLayout,
  zOrderLayout,
} from "../src/analysis/mod.ts";
import { measure, scaled } from "./support/measure.ts";

const BYTES = scaled(2 ** 26, 2 ** 16);
const TILE = { rows: 64, columns: 64 };
/** Elements that a call of the loop copies: a call for all of them would be compiled too late. */
const PIECE = 4096;

function written<T extends DataArray>(data: T): T {
  const words = new Uint32Array(data.buffer);
  for (let i = 0; i < words.length; i++) words[i] = Math.imul(i, 0x9e3779b1);
  return data;
}

/** All indices, in steps that lead everywhere: they are prime to the length. */
function scattered(length: number): Uint32Array {
  const step = Math.floor(length * 0.6180339887) | 1;
  const indices = new Uint32Array(length);
  for (let i = 0, place = 0; i < length; i++, place = (place + step) % length) indices[i] = place;
  return indices;
}

function measureLayouts(
  data: DataArray,
  layouts: Readonly<Record<string, (length: number) => DataLayout>>,
  copyPiece: (begin: number, end: number) => void,
  to: DataArray,
): void {
  const { length } = data;
  const type = data.constructor.name;
  const options = { group: `reordering 64 MiB of ${type}`, bytes: 2 * BYTES };
  measure("to.set(from)", { ...options, baseline: true }, () => {
    (to as Uint8Array).set(data as Uint8Array);
  });
  measure("to[i] = from[i]", options, () => {
    for (let begin = 0; begin < length; begin += PIECE) copyPiece(begin, begin + PIECE);
  });
  for (const [title, make] of Object.entries(layouts)) {
    let layout: DataLayout | undefined;
    measure(title, options, () => {
      layout ??= make(length);
      layout.apply(data, to);
    });
  }
}

/** Rows and columns of about the same number; powers of two, as extents often are. */
function shapeOf(length: number): { readonly rows: number; readonly columns: number } {
  const columns = 2 ** Math.ceil(Math.log2(length) / 2);
  return { rows: length / columns, columns };
}

const LAYOUTS = {
  transposed: (length: number) => transposedLayout(shapeOf(length)),
  "structure of arrays": (length: number) => structureOfArraysLayout(4, length),
  tiled: (length: number) => tiledLayout(shapeOf(length), TILE),
};

const bytes = written(new Uint8Array(BYTES));
const bytesTo = written(new Uint8Array(BYTES));
measureLayouts(bytes, LAYOUTS, (begin, end) => {
  for (let i = begin; i < end; i++) bytesTo[i] = bytes[i]!;
}, bytesTo);

const floats = written(new Float32Array(BYTES / 4));
const floatsTo = written(new Float32Array(BYTES / 4));
measureLayouts(
  floats,
  {
    ...LAYOUTS,
    "Z-order": (length) => zOrderLayout(shapeOf(length)),
    "order of first access": (length) => firstTouchLayout(scattered(length), length),
  },
  (begin, end) => {
    for (let i = begin; i < end; i++) floatsTo[i] = floats[i]!;
  },
  floatsTo,
);

const doubles = written(new Float64Array(BYTES / 8));
const doublesTo = written(new Float64Array(BYTES / 8));
measureLayouts(doubles, LAYOUTS, (begin, end) => {
  for (let i = begin; i < end; i++) doublesTo[i] = doubles[i]!;
}, doublesTo);
