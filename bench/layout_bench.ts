/**
 * Reordering 64 MiB, beside a copy of them by the engine: `to.set(from)`. Memory is allocated before,
 * as the first write to new memory takes longer than all the rest. `bench/report/layout_goals.ts`
 * says what is to be reached.
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

const TYPES = [Uint8Array, Uint16Array, Float32Array, Float64Array] as const;

/** A permutation without order: steps that are prime to the length lead everywhere. */
function scattered(length: number): Uint32Array {
  const step = Math.floor(length * 0.6180339887) | 1;
  const indices = new Uint32Array(length);
  for (let i = 0, place = 0; i < length; i++, place = (place + step) % length) indices[i] = place;
  return indices;
}

function measureLayout(title: string, group: string, data: DataArray, layout: () => DataLayout) {
  let made: DataLayout | undefined;
  let into: DataArray | undefined;
  measure(title, { group, bytes: 2 * BYTES }, () => {
    made ??= layout();
    made.apply(data, into ??= data.slice());
  });
}

for (const Type of TYPES) {
  const data = new Type(BYTES / Type.BYTES_PER_ELEMENT);
  const { length } = data;
  const copy = data.slice();
  const group = `reordering 64 MiB of ${Type.name}`;
  const columns = 2 ** Math.ceil(Math.log2(length) / 2);
  const shape = { rows: length / columns, columns };
  measure("to.set(from)", { group, bytes: 2 * BYTES, baseline: true }, () => {
    (copy as Uint8Array).set(data as Uint8Array);
  });
  const odd = { rows: shape.rows + 3, columns: Math.floor(length / (shape.rows + 3)) };
  measureLayout("transposed", group, data, () => transposedLayout(shape));
  measureLayout("transposed, odd extents", group, data, () => transposedLayout(odd, length));
  measureLayout("structure of arrays", group, data, () => structureOfArraysLayout(4, length));
  measureLayout("tiles of 8 × 8", group, data, () => tiledLayout(shape, { rows: 8, columns: 8 }));
  measureLayout(
    "tiles of 64 × 64",
    group,
    data,
    () => tiledLayout(shape, { rows: 64, columns: 64 }),
  );
  measureLayout("Z-order", group, data, () => zOrderLayout(shape));
  if (Type === Float32Array) {
    measureLayout(
      "order of first access",
      group,
      data,
      () => firstTouchLayout(scattered(length), length),
    );
  }
}
