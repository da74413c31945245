// Elementwise operations on views that differ from dense ones in the order of their elements.

import { assertEquals } from "@std/assert";
import { fuse, subtract, type Tensor } from "../../../src/device/tensor.ts";
import { device } from "../../support/device.ts";
import { expect, Grid } from "../../support/tensor_forms.ts";

/** Numbers of which each occurs once. */
const distinct = (shape: readonly number[], first = 0): Grid => {
  let next = first;
  return Grid.of(shape, () => next++);
};

/** A view of memory with its axes in another order and gaps along one, and its elements. */
function permuted(shape: readonly number[], order: readonly number[], gap?: number) {
  // The memory has the axis order[at] of the view at place `at`.
  const memory = order.map((axis) => shape[axis]! + (axis === gap ? 1 : 0));
  const whole = distinct(memory);
  const place = (axis: number) => order.indexOf(axis);
  const grid = Grid.of(shape, (index) => whole.at(order.map((axis) => index[axis]!)));
  const view = whole.tensor("float32", device)
    .slice(order.map((axis) => axis === gap ? { stop: shape[axis]! } : {}))
    .permute(shape.map((_, axis) => place(axis)));
  return { view: view as Tensor, grid };
}

/**
 * A batch of transposed matrices, a matrix of vectors, and a batch of two dimensions. Kernels of three
 * dimensions differ in the axis along which tiles run, and from that of one dimension in the rank.
 */
const ORDERS: readonly (readonly [
  order: readonly number[],
  gap: number,
  shapes: readonly (readonly number[])[],
])[] = [
  // With extents below 8 the kernel takes rows, from 8 on tiles of 32 x 32, 16 of them in a block.
  [[0, 2, 1], 0, [[3, 7, 9], [3, 8, 9], [2, 31, 33], [1, 33, 32], [3, 40, 50], [6, 70, 70]]],
  [[1, 2, 0], 2, [[7, 3, 9], [8, 3, 9], [9, 3, 31], [31, 2, 33], [33, 3, 32], [40, 6, 70]]],
  [[0, 1, 3, 2], 1, [[2, 3, 8, 9], [3, 2, 33, 31], [2, 2, 65, 40]]],
];

Deno.test("Elementwise operations compute every element of exchanged axes of any extents", async () => {
  const checks: Promise<void>[] = [];
  for (const [order, gap, shapes] of ORDERS) {
    for (const shape of shapes) {
      const { view, grid } = permuted(shape, order, gap);
      const other = distinct(shape, 5);
      const wanted = Grid.of(shape, (index) => grid.at(index) - other.at(index));
      const y = other.tensor("float32", device);
      checks.push(expect(subtract(view, y) as Tensor, wanted, `(${shape}) in order ${order}`));
    }
  }
  const [line, other] = [distinct([33]), distinct([16], 5)];
  const second = line.tensor("float32", device).slice([{ start: 1, step: 2 }]);
  const wanted = Grid.of([16], ([i]) => line.values[2 * i! + 1]! - other.values[i!]!);
  checks.push(
    expect(subtract(second, other.tensor("float32", device)) as Tensor, wanted, "a line"),
  );
  await Promise.all(checks);
});

Deno.test("A fused function has the shape of each call, though ranks and types are equal", async () => {
  const f = fuse((x: Tensor<"float32">) => x.multiply(2).add(1));
  for (const shape of [[3], [5], [0], [1], [2, 3], [3, 2], [6], [1, 6], [2, 1, 3]]) {
    const grid = distinct(shape);
    const result = f(grid.tensor("float32", device));
    assertEquals([...result.shape], shape);
    await expect(result as Tensor, grid.map((it) => 2 * it + 1), `(${shape})`);
  }
});
