/**
 * The spaces that kernels run over, as parameters and as C++: extents `d0`, `d1` and so on, and the
 * stride of operand `k` along an axis as `s0_k`, `s1_k` and so on.
 *
 * @module
 */

import type { Space } from "./layout.ts";

/** Adds a space to the numbers of a kernel, with the strides along its first axes. */
export function addSpace(
  numbers: Record<string, number>,
  { shape, strides }: Space,
  axes: number = shape.length,
): void {
  shape.forEach((extent, axis) => numbers[`d${axis}`] = extent);
  for (let axis = 0; axis < axes; axis++) {
    strides.forEach((operand, k) => numbers[`s${axis}_${k}`] = operand[axis]!);
  }
}

/** The statements that fill a `Space` by the numbers of {@linkcode addSpace}. */
export function spaceText(rank: number, operands: number, axes: number = rank): string[] {
  const indices = (count: number) => Array.from({ length: count }, (_, index) => index);
  return [
    ...indices(rank).map((axis) => `  space.size[${axis}] = d${axis};`),
    ...indices(axes).flatMap((axis) =>
      indices(operands).map((k) => `  space.stride[${axis}][${k}] = s${axis}_${k};`)
    ),
  ];
}
