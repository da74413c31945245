import { assertEquals } from "@std/assert";
import { packColumn, type PackedType } from "../../../../src/lab/memory/report/packed_column.ts";
import type { PageWindow } from "../../../../src/lab/memory/report/page/dom.ts";
import { unpackColumn } from "../../../../src/lab/memory/report/page/report.ts";

const window = { atob } as unknown as PageWindow;

const COLUMNS: readonly (readonly [PackedType, readonly number[]])[] = [
  ["Uint8", []],
  ["Uint8", [0]],
  ["Uint8", [-1]],
  ["Uint8", [Number.MAX_SAFE_INTEGER]],
  ["Uint8", [7, 7, 7]],
  ["Uint8", [-1, 254]],
  ["Uint16", [-1, 255, 0]],
  ["Uint16", [0, 1, 65535]],
  ["Uint32", [0, 1, 65536]],
  ["Uint32", [0, 1, 2 ** 32 - 1]],
  ["Float64", [0, 1, 2 ** 32]],
  ["Uint8", [2 ** 46, 2 ** 46 + 512 * 255, 2 ** 46 + 512]],
  ["Uint16", [2 ** 46, 2 ** 46 + 512 * 256, 2 ** 46 + 512]],
  ["Uint8", [0, Number.MAX_SAFE_INTEGER]],
  ["Float64", [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER]],
  ["Float64", [0.1, 0.2, 1e-9]],
  ["Float64", [2 ** 53, 3]],
];

Deno.test("a column comes back exactly, from the narrowest type that holds it", () => {
  for (const [type, values] of COLUMNS) {
    const packed = packColumn(values);
    assertEquals(packed.type, type, `of ${values}`);
    assertEquals([...unpackColumn(window, packed)], [...values]);
  }
});

Deno.test("columns of every length up to 67 come back exactly", () => {
  for (let length = 0; length <= 67; length++) {
    const values = Array.from({ length }, (_, index) => (index * 7919) % 65537 - 3);
    assertEquals([...unpackColumn(window, packColumn(values))], values);
  }
});
