/**
 * Reordering 64 MiB, in two groups for each type.
 *
 * `layout.apply(data)` into new memory is compared with `data.slice()`: both wait for pages that the
 * system makes at the first write. `layout.apply(data, into)` is compared with `to.set(from)` and with
 * a copy by a loop over the elements; that memory was written before, because unwritten memory is one
 * page that is always cached.
 */

import {
  type DataLayout,
  firstTouchLayout,
  type IndexArray,
  structureOfArraysLayout,
  tiledLayout,
  transposedLayout,
  zOrderLayout,
} from "../src/lab/analysis/mod.ts";
import { measure, measureNew, type MeasureOptions, scaled } from "./support/measure.ts";

const BYTES = scaled(2 ** 26, 2 ** 16);
const TILE = { rows: 64, columns: 64 };
/** Elements that a call of the loop copies: a call for all of them would be compiled too late. */
const PIECE = 4096;

function written<T extends IndexArray>(data: T): T {
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

type Layouts = Readonly<Record<string, (length: number) => DataLayout>>;

function groupOf(data: IndexArray, where: string): MeasureOptions {
  const group = `reordering 64 MiB of ${data.constructor.name} into ${where}`;
  return { group, bytes: 2 * BYTES };
}

function measureNewMemory(data: IndexArray, layouts: Layouts): void {
  const options = groupOf(data, "new memory");
  measureNew("data.slice()", { ...options, baseline: true }, () => data.slice());
  for (const [title, make] of Object.entries(layouts)) {
    const layout = lazily(() => make(data.length));
    measureNew(title, options, () => layout().apply(data));
  }
}

function measureGivenMemory(
  data: IndexArray,
  layouts: Layouts,
  copyPiece: (begin: number, end: number) => void,
  to: IndexArray,
): void {
  const { length } = data;
  const options = groupOf(data, "memory that is there");
  measure("to.set(from)", { ...options, baseline: true }, () => {
    (to as Uint8Array).set(data as Uint8Array);
  });
  measure("to[i] = from[i]", options, () => {
    for (let begin = 0; begin < length; begin += PIECE) copyPiece(begin, begin + PIECE);
  });
  for (const [title, make] of Object.entries(layouts)) {
    const layout = lazily(() => make(length));
    measure(title, options, () => {
      layout().apply(data, to);
    });
  }
}

/** A layout that is made in the warm-up: one that holds a table is only made if it is measured. */
function lazily(make: () => DataLayout): () => DataLayout {
  let layout: DataLayout | undefined;
  return () => layout ??= make();
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
measureNewMemory(bytes, LAYOUTS);
measureGivenMemory(bytes, LAYOUTS, (begin, end) => {
  for (let i = begin; i < end; i++) bytesTo[i] = bytes[i]!;
}, bytesTo);

const floats = written(new Float32Array(BYTES / 4));
const floatsTo = written(new Float32Array(BYTES / 4));
measureNewMemory(floats, LAYOUTS);
measureGivenMemory(
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
measureNewMemory(doubles, LAYOUTS);
measureGivenMemory(doubles, LAYOUTS, (begin, end) => {
  for (let i = begin; i < end; i++) doublesTo[i] = doubles[i]!;
}, doublesTo);
