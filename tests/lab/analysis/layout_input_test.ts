import { assertEquals, assertThrows } from "@std/assert";
import {
  firstTouchLayout,
  optimizeLayout,
  structureOfArraysLayout,
  tiledLayout,
  transposedLayout,
  zOrderLayout,
} from "../../../src/lab/analysis/mod.ts";

const data = new Float32Array(12);

function refused(make: () => unknown, message: string, kind = RangeError): void {
  assertThrows(make, kind, message);
}

Deno.test("`optimizeLayout()` throws when an index is not below the length", () => {
  const action = "Cannot optimise the layout as the index at position 2 must be in 0..11: it is";
  for (const list of [[0, 1, 12], Uint32Array.of(0, 1, 12), Float64Array.of(0, 1, 12)]) {
    refused(() => optimizeLayout(data, list), `${action} 12`);
  }
  refused(() => optimizeLayout(data, [0, 1, 2 ** 40]), `${action} 1099511627776`);
  refused(() => optimizeLayout(data, [2 ** 40, 2 ** 40, 2 ** 40]), "position 0 must be in 0..11");
  for (const index of [-1, 0.5, NaN, Infinity, 2 ** 53]) {
    refused(() => optimizeLayout(data, [0, index]), `the index at position 1 must be an integer`);
  }
  refused(
    () => optimizeLayout(new Int8Array(0), [0]),
    "no index, as there are no elements: it is 0",
  );
  refused(() => optimizeLayout(data, 7 as never), "typed array or iterable: it is 7", TypeError);
  refused(() => optimizeLayout(data, ["1"] as never), "a number or a bigint", TypeError);
});

Deno.test("`optimizeLayout()` throws when data or an option is not allowed", () => {
  refused(() => optimizeLayout([1, 2] as never, []), "data must be a typed array", TypeError);
  refused(() => optimizeLayout(new DataView(new ArrayBuffer(4)) as never, []), "data", TypeError);
  const gone = new Float32Array(4);
  gone.buffer.transfer();
  refused(() => optimizeLayout(gone, []), "the memory of data was transferred away", TypeError);
  const options = (given: object, message: string, kind = RangeError) =>
    refused(() => optimizeLayout(data, [0], given), message, kind);
  options({ shape: { rows: 5, columns: 2 } }, "the 12 elements of data: it is 5 × 2");
  options({ shape: { rows: 2 ** 30, columns: 2 ** 30 } }, "at most 9007199254740991");
  options({ shape: { rows: -1, columns: 2 } }, "shape.rows must be an integer in 0");
  options({ shape: 7 }, "shape must be an object: it is 7", TypeError);
  options({ elementsPerRecord: 5 }, "must divide the 12 elements of data: it is 5");
  options({ elementsPerRecord: 0 }, "elementsPerRecord must be an integer in 1");
  options({ minimumGain: 0.5 }, "minimumGain must be 1 or more: it is 0.5");
  options({ minimumGain: NaN }, "minimumGain must be 1 or more: it is NaN");
  options({ minimumGain: "2" }, "minimumGain must be a number: it is a string", TypeError);
  options({ layouts: ["diagonal"] }, "z-order, first-touch: one is diagonal");
  options({ layouts: "tiled" }, "layouts must be an array: it is a string", TypeError);
  options({ offset: -1 }, "offset must be an integer in 0");
  refused(() => optimizeLayout(data, [], null as never), "options must be an object", TypeError);
});

Deno.test("layout functions throw when a shape is not allowed", () => {
  for (const layoutOf of [transposedLayout, zOrderLayout]) {
    refused(() => layoutOf({ rows: 1.5, columns: 2 }), "rows must be an integer in 0");
    refused(() => layoutOf({ rows: 2, columns: 2 ** 53 }), "columns must be an integer in 0");
    refused(() => layoutOf({ rows: 2 ** 27, columns: 2 ** 27 }), "it is 134217728 × 134217728");
    refused(() => layoutOf({ rows: 2, columns: 3 }, 5), "the 5 elements there are: it is 2 × 3");
    refused(() => layoutOf(null as never), "shape must be an object: it is null", TypeError);
  }
  refused(() => tiledLayout({ rows: 2, columns: 2 }, { rows: 0, columns: 1 }), "tile.rows must be");
  refused(() => structureOfArraysLayout(5, 12), "a multiple of elementsPerRecord, 5: it is 12");
  refused(() => structureOfArraysLayout(0, 12), "elementsPerRecord must be an integer in 1");
  refused(() => firstTouchLayout([], 2 ** 32), "length must be an integer in 0..4294967295");
  refused(() => firstTouchLayout([4], 4), "the index at position 0 must be in 0..3: it is 4");
});

Deno.test("`apply()` throws when an array does not fit", () => {
  const layout = transposedLayout({ rows: 3, columns: 4 });
  refused(() => layout.apply(new Uint8Array(11)), "data must have 12 elements: it has 11");
  refused(() => layout.undo(new Uint8Array(13)), "Cannot undo the layout as data must have 12");
  refused(() => layout.apply(data, new Float32Array(11)), "into must have 12 elements: it has 11");
  refused(() => layout.apply(data, data), "into must not share memory with data", TypeError);
  const both = new Float32Array(20);
  const [low, high] = [both.subarray(0, 12), both.subarray(8)];
  refused(
    () => layout.apply(low, high),
    "into must not share memory with data: it does",
    TypeError,
  );
  refused(
    () => layout.apply<Float32Array | Int32Array>(data, new Int32Array(12)),
    "into must be of the kind of data, Float32Array: it is of Int32Array",
    TypeError,
  );
  refused(() => layout.apply("data" as never), "data must be a typed array: it is a", TypeError);
});

Deno.test("`newIndex()` and `oldIndex()` throw when an index is outside", () => {
  const layout = transposedLayout({ rows: 3, columns: 4 });
  for (const index of [-1, 12, 0.5, NaN]) {
    refused(() => layout.newIndex(index), `index must be an integer in 0..11: it is ${index}`);
    refused(() => layout.oldIndex(index), `index must be an integer in 0..11: it is ${index}`);
  }
  refused(() => layout.newIndex("1" as never), "index must be a number", TypeError);
  refused(() => layout.rewrite([12]), "Cannot rewrite accesses as the index at position 0 must be");
});

Deno.test("`newIndices()` throws when there are more than 2^32 elements", () => {
  const layout = transposedLayout({ rows: 2 ** 20, columns: 2 ** 13 });
  const message = "at most 4294967296 elements: it has 8589934592";
  refused(() => layout.newIndices(), message);
  refused(() => layout.oldIndices(), message);
  refused(() => layout.rewrite([0]), message);
  assertEquals(layout.newIndex(1), 2 ** 20);
});
