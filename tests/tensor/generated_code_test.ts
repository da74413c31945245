// The kernels' own functions and loops over tiles.

import { device } from "../support/device.ts";
import { assert, assertEquals } from "@std/assert";
import { arange, exp, tanh, type Tensor, tensor } from "../../src/device/tensor.ts";

/** The elements of a view in row-major order, by its strides. */
function elementsOf({ shape, strides, offset }: Tensor): number[] {
  let places = [offset];
  shape.forEach((extent, axis) => {
    const steps = Array.from({ length: extent }, (_, i) => i * strides[axis]!);
    places = places.flatMap((place) => steps.map((step) => place + step));
  });
  return places;
}

Deno.test("astype() copies transposed tensors exactly around the edges of tiles", async () => {
  const views = [
    ...[[8, 8], [31, 33], [32, 64], [65, 40]].map((shape) => matrix(shape).transpose()),
    matrix([40, 33]).transpose().flip(0),
    matrix([3, 35, 37]).permute([0, 2, 1]),
    matrix([34, 2, 9, 33]).permute([2, 1, 3, 0]),
    matrix([70, 70]).slice([{ start: 1, step: 2 }, { start: 3 }]).transpose(),
  ];
  const copies = views.map((view) => view.astype("float32"));
  for (const [index, copy] of copies.entries()) {
    assertEquals([...await copy.toArray()], elementsOf(views[index]!), `view ${index}`);
  }
  const square = matrix([33, 33]);
  const sums = await square.add(square.transpose()).toArray();
  assertEquals([sums[1], sums[33], sums[33 * 33 - 2]], [34, 34, 1087 + 1055]);
});

function matrix(shape: readonly number[]): Tensor<"int32"> {
  return arange(0, shape.reduce((size, extent) => size * extent), 1, { dtype: "int32", device })
    .reshape(
      shape,
    );
}

/**
 * Bounds in units of the last place of the true value: those of `element.cuh` on the host device, and
 * NVIDIA's of expf() and tanhf(), which count from the correctly rounded value.
 */
const BOUNDS = device.info.kind === "cuda" ? { exp: 2, tanh: 2.5 } : { exp: 1, tanh: 3 };

Deno.test("exp() and tanh() are exact for special values, and within their bounds else", async () => {
  const special = [NaN, Infinity, -Infinity, 88.75, -104.5, 0, -0];
  const [e, t] = [exp(tensor(special, { device })), tanh(tensor(special, { device }))];
  assertEquals([...await e.toArray()], [NaN, Infinity, 0, Infinity, 0, 1, 1]);
  assertEquals([...await t.toArray()], [NaN, 1, -1, 1, -1, 0, -0]);
  const many = Array.from({ length: 4099 }, (_, i) => Math.fround((i - 2200) * 0.0431));
  many.push(...Float32Array.of(1e-40, -1e-40, 1e-20, -0.0310102, 48.8707, 88.7));
  const x = tensor(many, { device });
  const results = [[exp(x), Math.exp, BOUNDS.exp], [tanh(x), Math.tanh, BOUNDS.tanh]] as const;
  for (const [result, reference, bound] of results) {
    const values = await result.toArray();
    many.forEach((value, i) => {
      const want = reference(value);
      const step = Math.max(2 ** -149, 2 ** (Math.floor(Math.log2(Math.abs(want))) - 23));
      const isClose = Math.abs(values[i]! - want) <= bound * step ||
        values[i] === Math.fround(want);
      assert(isClose, `of ${value}: ${values[i]} instead of ${want}`);
    });
  }
});
