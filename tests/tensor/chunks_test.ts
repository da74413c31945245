// Functions of tensors on arrays that are larger than the pool.

import { device } from "../support/device.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { openDevice, OutOfMemoryError } from "../../mod.ts";
import { fromTypedArray, inChunks, type Tensor, zeros } from "../../src/device/tensor.ts";

const MIB = 2 ** 20;

/** A device whose pool holds 4 MiB. */
const smallDevice = () => openDevice(device.label, { memory: { maxPoolSize: 4 * MIB } });

/** Numbers that differ from row to row. */
const numbers = (length: number) =>
  Float32Array.from({ length }, (_, index) => (index * 7919 % 1000003) / 1000003 - 0.5);

/** A function with several intermediates. */
const layer = (weights: Tensor) => (x: Tensor, y: Tensor): Tensor => {
  const scaled = x.multiply(3).add(y.expandDims(1)).multiply(weights);
  return scaled.subtract(scaled.max({ axis: 1, keepDims: true })).exp();
};

Deno.test("inChunks() gives the result of one call where the pool holds a part", async () => {
  const [rows, columns] = [60_013, 37];
  const x = { data: numbers(rows * columns), shape: [rows, columns] };
  const y = numbers(rows);
  const lengths: number[] = [];
  using small = smallDevice();
  using weights = fromTypedArray(numbers(columns), [columns], { device: small });
  const inParts = await inChunks(
    (...chunks) => {
      lengths.push(chunks[0]!.shape[0]!);
      return layer(weights)(chunks[0]!, chunks[1]!);
    },
    [x, y],
    { device: small },
  );
  assert(lengths.length > 4 && lengths.length < 60, String(lengths));
  assertEquals(lengths.reduce((sum, length) => sum + length), rows);

  using largeX = fromTypedArray(x.data, x.shape, { device });
  using largeY = fromTypedArray(y, [rows], { device });
  using largeWeights = fromTypedArray(numbers(columns), [columns], { device });
  using whole = layer(largeWeights)(largeX, largeY);
  assertEquals(inParts, await whole.toArray() as Float32Array<ArrayBuffer>);
});

Deno.test("inChunks() takes any element type, shape and chunk size", async () => {
  const data = Uint16Array.from({ length: 7 * 6 }, (_, index) => 0x3f80 + index);
  const x = { data, shape: [7, 2, 3], dtype: "bfloat16" } as const;
  for (const maxRows of [1, 2, 3, 6, 7, 100]) {
    const lengths: number[] = [];
    const sums = await inChunks(
      (rows) => {
        lengths.push(rows.shape[0]!);
        return rows.astype("float64").sum({ axis: 2 });
      },
      [x],
      { device, maxRows },
    );
    assert(sums instanceof Float64Array && Math.max(...lengths) <= maxRows);
    assertEquals([sums.length, sums[0]], [14, 1 + 1.0078125 + 1.015625]);
  }
  const none = await inChunks((rows) => rows.add(1), [new Int32Array()], { device });
  assertEquals(none, new Int32Array());
  const same = await inChunks((rows) => rows, [Int32Array.of(1, 2, 3)], { device, maxRows: 2 });
  assertEquals(same, Int32Array.of(1, 2, 3));
});

Deno.test("inChunks() halves a chunk that does not fit", async () => {
  using small = smallDevice();
  const lengths: number[] = [];
  const square = (rows: Tensor) => {
    lengths.push(rows.shape[0]!);
    zeros([rows.size, rows.size], { device: small });
    return rows.add(1);
  };
  const x = Float32Array.from({ length: 4000 }, (_, index) => index);
  const result = await inChunks(square, [x], { device: small });
  assertEquals(result, x.map((value) => value + 1));
  assert(Math.max(...lengths) > 1024, "some chunk did not fit");
  assertEquals(small.memory.memoryAllocated(), 0);
  const large = (row: Tensor) => row.add(zeros([1, 2 * MIB], { device: small }));
  const row = { data: new Float32Array(2 * MIB), shape: [1, 2 * MIB] };
  await assertRejects(() => inChunks(large, [row], { device: small }), OutOfMemoryError);
  assertEquals(small.memory.memoryAllocated(), 0);
});

Deno.test("inChunks() halves a chunk of two rows of which one fits", async () => {
  using own = openDevice(device.label, { memory: { maxPoolSize: 16 * MIB } });
  for (const rows of [2, 3]) {
    const lengths: number[] = [];
    const wide = (x: Tensor) => {
      lengths.push(x.shape[0]!);
      zeros([x.size, 9 * MIB / 4], { device: own });
      return x.add(1);
    };
    const x = Float32Array.from({ length: rows }, (_, index) => index);
    const result = await inChunks(wide, [x], { device: own, maxRows: 2 });
    assertEquals(result, x.map((value) => value + 1));
    assertEquals(lengths.slice(0, 3), [2, 1, 1]);
  }
});

Deno.test("inChunks() refuses operands and results that do not match", async () => {
  const f = (x: Tensor) => x.add(1);
  const x = new Float32Array(6);
  // Compiles the kernel of the sum, which no case waits for.
  using compiled = fromTypedArray(x, [6], { device }).sum();
  await compiled.ready();
  const cases: readonly (readonly [unknown, readonly unknown[], typeof TypeError, string])[] = [
    [f, [], RangeError, "must have one first extent: it is missing"],
    [f, [x, new Float32Array(5)], RangeError, "it is 6 and 5"],
    [f, [{ data: x, shape: [] }], RangeError, "shape must have 6 elements"],
    [f, [{ data: x, shape: [4] }], RangeError, "shape must have 6 elements"],
    [f, [{ data: x, dtype: "int32" }], TypeError, "arrays[0].data must be a Int32Array"],
    [f, [{ data: [1, 2] }], TypeError, "arrays[0] must be a typed array"],
    [f, [5], TypeError, "arrays[0] must be an object"],
    [(x: Tensor) => x.sum(), [x], RangeError, "one row of"],
    [(x: Tensor) => x.slice([{ start: 1 }]), [x], RangeError, "for each of 6: the shape is (5,)"],
    [() => 5, [x], TypeError, "the result of f must be a Tensor"],
    [(x: Tensor) => Promise.resolve(x), [x], TypeError, "a Tensor"],
  ];
  for (const [g, arrays, Kind, message] of cases) {
    await assertRejects(() => inChunks(g as never, arrays as never, { device }), Kind, message);
  }
  const none = () => inChunks(f as never, [x], { device, maxRows: 0 });
  await assertRejects(none, RangeError, "options.maxRows");
});

Deno.test("inChunks() refuses a later chunk of another element type", async () => {
  let calls = 0;
  // Compiles both kernels, which no case waits for.
  using x = fromTypedArray(new Float64Array(2), [2], { device });
  for (const dtype of ["float32", "float64"] as const) {
    using converted = x.astype(dtype);
    await converted.ready();
  }
  const f = (rows: Tensor): Tensor => rows.astype(calls++ === 0 ? "float32" : "float64");
  await assertRejects(
    () => inChunks(f, [new Float64Array(4)], { device, maxRows: 2 }),
    TypeError,
    "one element type for all chunks: it has given float32, and then float64",
  );
});
