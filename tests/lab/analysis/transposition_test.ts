// Transposition takes other ways by width, shape and alignment, and goes block by block: here with
// matrices that are larger than blocks and regions, and end in the middle of them.

import { assertEquals } from "@std/assert";
import {
  structureOfArraysLayout,
  tiledLayout,
  transposedLayout,
} from "../../../src/lab/analysis/mod.ts";

const WIDTHS = [Uint8Array, Uint16Array, Int32Array, BigUint64Array] as const;
type Elements = InstanceType<typeof WIDTHS[number]>;

/** Elements whose bytes differ from those around them, from the `before`-th on of their memory. */
function patterned(Kind: typeof WIDTHS[number], length: number, before: number): Elements {
  const bytes = new Uint8Array((length + before) * Kind.BYTES_PER_ELEMENT);
  for (let i = 0; i < bytes.length; i++) bytes[i] = Math.imul(i, 0x9e3779b1) >>> 11;
  return new Kind(bytes.buffer, before * Kind.BYTES_PER_ELEMENT, length);
}

/** How many elements are not where those of a transposed matrix are. */
function misplaced(from: Elements, to: Elements, rows: number, columns: number): number {
  let wrong = 0;
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      if (to[column * rows + row] !== from[row * columns + column]) wrong++;
    }
  }
  return wrong;
}

/** Transposes from the middle of memory to the middle of other memory, forth and back. */
function requireTransposed(rows: number, columns: number, from: number, to: number): void {
  const layout = transposedLayout({ rows, columns });
  for (const Kind of WIDTHS) {
    const data = patterned(Kind, rows * columns, from);
    const [moved, back] = [new Kind(data.length + to).subarray(to), new Kind(data.length)];
    layout.apply(data, moved);
    const what = `${Kind.name} of ${rows} × ${columns}, from ${from} to ${to}`;
    assertEquals(misplaced(data, moved, rows, columns), 0, what);
    layout.undo(moved, back);
    assertEquals(misplaced(moved, back, columns, rows), 0, `${what}, and back`);
  }
}

const REGIONS = [[512, 512], [513, 511], [520, 584], [577, 70], [64, 1032], [1096, 64]] as const;

Deno.test("matrices that end inside of blocks and regions are transposed whole", () => {
  for (const [rows, columns] of REGIONS) requireTransposed(rows, columns, 0, 0);
});

Deno.test("matrices that begin at any element are transposed", () => {
  for (const [from, to] of [[1, 0], [0, 1], [2, 4], [4, 2], [3, 3]] as const) {
    requireTransposed(136, 128, from, to);
    requireTransposed(600, 12, from, to);
  }
});

// These were wrong once: blocks of a few columns had rows that were no whole words.
Deno.test("narrow and low matrices of small elements are transposed, whatever a block takes", () => {
  const shapes = [[1000, 12], [1024, 40], [600, 44], [344, 62], [4096, 20], [2056, 8]] as const;
  for (const [rows, columns] of shapes) requireTransposed(rows, columns, 0, 0);
});

Deno.test("records of any length become fields, where steps of 8 and blocks begin and end", () => {
  for (const fields of [1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63]) {
    const block = Math.floor(4096 / fields);
    for (const records of [1, 7, 8, 9, block - 1, block, block + 1, 2 * block + 9]) {
      for (const Kind of WIDTHS) {
        const data = patterned(Kind, records * fields, 0);
        const layout = structureOfArraysLayout(fields, data.length);
        const moved = layout.apply(data);
        const what = `${records} records of ${fields} elements, ${Kind.name}`;
        assertEquals(misplaced(data, moved, records, fields), 0, what);
        assertEquals(misplaced(moved, layout.undo(moved), fields, records), 0, `${what}, and back`);
      }
    }
  }
});

Deno.test("tiles of any extent are filled and emptied, in words and in single elements", () => {
  const tiles = [[1, 1], [64, 64], [7, 13], [33, 8], [200, 3], [3, 200], [16, 32]] as const;
  for (const [tileRows, tileColumns] of tiles) {
    for (const [rows, columns] of [[130, 128], [67, 97], [1, 300], [300, 1]] as const) {
      const layout = tiledLayout({ rows, columns }, { rows: tileRows, columns: tileColumns });
      const places = layout.newIndices();
      for (const Kind of WIDTHS) {
        const data = patterned(Kind, rows * columns, 1);
        const moved = layout.apply(data);
        const wrong = places.filter((place, index) => moved[place] !== data[index]).length;
        assertEquals(
          wrong,
          0,
          `${Kind.name}, ${rows} × ${columns} in ${tileRows} × ${tileColumns}`,
        );
        assertEquals(layout.undo(moved), data.slice());
      }
    }
  }
});
