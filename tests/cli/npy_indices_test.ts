// Indices in .npy files come in the order of the array, whatever the file's is, in pieces that are
// small however large the file is.

import "../support/cache_directory.ts";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import fc from "fast-check";
import { NpyError } from "../../src/cli/npy_header.ts";
import { NpyIndices } from "../../src/cli/npy_indices.ts";
import { TemporaryDirectory } from "../support/temporary_file.ts";

/** A file of version 1. */
function npyFile(
  descr: string,
  shape: readonly number[],
  data: Uint8Array,
  fortran = false,
): Uint8Array<ArrayBuffer> {
  const extents = shape.map((extent) => `${extent},`).join(" ");
  const order = fortran ? "True" : "False";
  const text = `{'descr': '${descr}', 'fortran_order': ${order}, 'shape': (${extents}), }\n`;
  const header = new TextEncoder().encode(text);
  return Uint8Array.of(
    ...[0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, header.length & 255, header.length >> 8],
    ...header,
    ...data,
  );
}

function bytesOf(array: ArrayBufferView): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

/** All indices of a file. */
function read(file: Uint8Array<ArrayBuffer>, panelBytes?: number): number[] {
  using folder = new TemporaryDirectory();
  using indices = new NpyIndices(folder.file(file, "indices.npy"), panelBytes);
  return [...indices.pieces()].flatMap((piece) =>
    Array.from<number | bigint, number>(piece, Number)
  );
}

Deno.test("integers of any width and byte order are read, and floating-point numbers", () => {
  const values = [0, 1, 127, 3];
  const arrays: readonly (readonly [string, ArrayBufferView])[] = [
    ["|i1", Int8Array.from(values)],
    ["|u1", Uint8Array.from(values)],
    ["<i2", Int16Array.from(values)],
    ["<u2", Uint16Array.from(values)],
    ["<i4", Int32Array.from(values)],
    ["=u4", Uint32Array.from(values)],
    ["<i8", BigInt64Array.from(values, BigInt)],
    ["<u8", BigUint64Array.from(values, BigInt)],
    ["<f2", Float16Array.from(values)],
    ["<f4", Float32Array.from(values)],
    ["<f8", Float64Array.from(values)],
  ];
  for (const [descr, array] of arrays) {
    const bytes = bytesOf(array);
    assertEquals(read(npyFile(descr, [4], bytes)), values, descr);
    const size = bytes.length / 4;
    const reversed = Uint8Array.from(bytes, (_, i) => bytes[i - i % size + size - 1 - i % size]!);
    assertEquals(read(npyFile(`>${descr.slice(1)}`, [2, 2], reversed)), values, `big ${descr}`);
  }
});

Deno.test("arrays of any shape come with their last index fastest, however many rows fit", () => {
  const shapes = fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 4 });
  fc.assert(
    fc.property(shapes, fc.constantFrom(1, 7, 24, 60, 4096), (shape, panelBytes) => {
      const count = shape.reduce((product, extent) => product * extent, 1);
      // The element whose indices are i, j, k … has the value that it has with the last fastest.
      const fortran = new Uint16Array(count);
      for (let value = 0; value < count; value++) {
        let rest = value;
        let place = 0;
        for (let axis = shape.length - 1; axis >= 0; axis--) {
          const stride = shape.slice(0, axis).reduce((product, extent) => product * extent, 1);
          place += rest % shape[axis]! * stride;
          rest = Math.floor(rest / shape[axis]!);
        }
        fortran[place] = value;
      }
      const expected = Array.from({ length: count }, (_, value) => value);
      const file = npyFile("<u2", shape, bytesOf(fortran), true);
      assertEquals(read(file, panelBytes), expected);
      const plain = npyFile("<u2", shape, bytesOf(Uint16Array.from(expected)));
      assertEquals(read(plain, panelBytes), expected);
    }),
    { numRuns: 60 },
  );
});

Deno.test("a large file comes in pieces of a mebibyte", () => {
  using folder = new TemporaryDirectory();
  const count = 3 * 2 ** 18 + 5;
  const data = bytesOf(Uint32Array.from({ length: count }, (_, i) => i));
  const header = npyFile("<u4", [count], new Uint8Array());
  const file = new Uint8Array(header.length + data.length);
  file.set(header);
  file.set(data, header.length);
  using indices = new NpyIndices(folder.file(file, "large.npy"));
  assertEquals(indices.count, count);
  let next = 0;
  const sizes: number[] = [];
  for (const piece of indices.pieces()) {
    sizes.push(piece.byteLength);
    assertEquals([Number(piece[0]), Number(piece.at(-1))], [next, next + piece.length - 1]);
    next += piece.length;
  }
  assertEquals(sizes, [2 ** 20, 2 ** 20, 2 ** 20, 20]);
});

Deno.test("what is no array of integers is refused, and closed again", () => {
  const problem = (file: Uint8Array<ArrayBuffer>) =>
    assertThrows(() => read(file), NpyError).message;
  assertStringIncludes(problem(npyFile("<c8", [1], new Uint8Array(8))), '"<c8", and indices are');
  assertStringIncludes(problem(npyFile("|b1", [1], new Uint8Array(1))), '"|b1"');
  assertStringIncludes(problem(npyFile("<i3", [1], new Uint8Array(3))), '"<i3"');
  assertStringIncludes(problem(npyFile("<i4", [2], new Uint8Array(7))), "is cut short");
  assertStringIncludes(problem(npyFile("<i4", [2], new Uint8Array(9))), "is too long");
  assertStringIncludes(problem(new Uint8Array(100)), "is no .npy file");
  assertStringIncludes(problem(new Uint8Array()), "is no .npy file");
  for (let length = 0; length < 12; length++) {
    problem(npyFile("<i4", [1], new Uint8Array(4)).slice(0, length));
  }
  assert(read(npyFile("<i4", [0, 3], new Uint8Array())).length === 0);
});
