/**
 * Tensors like others: with their shape, element type and device.
 *
 * @module
 */

import { requireOptions } from "../ffi/arguments.ts";
import type { DType, ElementOf, SelfDescribingArray } from "../memory/dtype.ts";
import {
  CREATION_NAMES,
  type CreationOptions,
  fromTypedArray,
  full,
  ones,
  tensor,
  zeros,
} from "./creation.ts";
import { copyOf } from "./elementwise_kernel.ts";
import { requireStored } from "./kit/checks.ts";
import { newTensor } from "./kit/kernel_call.ts";
import { placeOf } from "./kit/placement.ts";
import { requireShape, type Shape } from "./kit/layout.ts";
import { type Nested, Tensor } from "./tensor.ts";

/**
 * A tensor with undefined elements, for a result that is written as a whole.
 *
 * @param shape The extents of the axes.
 * @param options The element type, the device and the stream.
 * @throws {RangeError} If an extent is negative, or there are more than 8 dimensions.
 * @throws {TypeError} If the shape is no array, or the element type is unknown.
 *
 * @example
 * ```ts
 * import { empty } from "@gridstride/cuda/tensor";
 *
 * using y = empty([2, 3], { dtype: "int8" });
 * console.log(y.shape, y.dtype); // [ 2, 3 ] int8
 * ```
 * @category Making tensors
 */
export function empty<D extends DType = "float32">(
  shape: Shape,
  options: CreationOptions<D> = {},
): Tensor<D> {
  const action = "make an empty tensor";
  const { dtype = "float32" as D, stream } = requireOptions(options, CREATION_NAMES, action);
  return newTensor(placeOf(options, action), dtype, requireShape(shape, action), stream);
}

/** The shape of a tensor, and options with its element type and device. */
function like<D extends DType, R extends DType>(
  action: string,
  x: Tensor<D>,
  options: CreationOptions<R>,
): readonly [Shape, CreationOptions<R>] {
  const { shape, dtype } = requireStored(x, "x", action);
  const own = requireOptions(options, CREATION_NAMES, action) as CreationOptions<R>;
  return [shape, { dtype: dtype as DType as R, device: x, ...own }];
}

/**
 * A tensor with undefined elements, of the shape, element type and device of another one.
 *
 * @param x The tensor with the shape.
 * @param options Another element type, device or stream.
 * @throws {RangeError} If there is no such device.
 * @throws {TypeError} If `x` is no tensor, or the element type is unknown.
 *
 * @example
 * ```ts
 * import { emptyLike, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = emptyLike(tensor([1, 2, 3]));
 * console.log(y.shape, y.dtype); // [ 3 ] float32
 * ```
 * @category Making tensors
 */
export function emptyLike<D extends DType, R extends DType = D>(
  x: Tensor<D>,
  options: CreationOptions<R> = {},
): Tensor<R> {
  return empty(...like("make an empty tensor", x, options));
}

/**
 * A tensor of zeros, of the shape, element type and device of another one.
 *
 * @param x The tensor with the shape.
 * @param options Another element type, device or stream.
 * @throws {RangeError} If there is no such device.
 * @throws {TypeError} If `x` is no tensor, or the element type is unknown.
 *
 * @example
 * ```ts
 * import { tensor, zerosLike } from "@gridstride/cuda/tensor";
 *
 * using y = zerosLike(tensor([1, 2]));
 * console.log(await y.toNested()); // [ 0, 0 ]
 * ```
 * @category Making tensors
 */
export function zerosLike<D extends DType, R extends DType = D>(
  x: Tensor<D>,
  options: CreationOptions<R> = {},
): Tensor<R> {
  return zeros(...like("make a tensor of zeros", x, options));
}

/**
 * A tensor of ones, of the shape, element type and device of another one.
 *
 * @param x The tensor with the shape.
 * @param options Another element type, device or stream.
 * @throws {RangeError} If there is no such device.
 * @throws {TypeError} If `x` is no tensor, or the element type is unknown.
 *
 * @example
 * ```ts
 * import { onesLike, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = onesLike(tensor([5, 6]));
 * console.log(await y.toNested()); // [ 1, 1 ]
 * ```
 * @category Making tensors
 */
export function onesLike<D extends DType, R extends DType = D>(
  x: Tensor<D>,
  options: CreationOptions<R> = {},
): Tensor<R> {
  return ones(...like("make a tensor of ones", x, options));
}

/**
 * A tensor with one value in all elements, of the shape, element type and device of another one.
 *
 * @param x The tensor with the shape.
 * @param value The value of all elements.
 * @param options Another element type, device or stream.
 * @throws {RangeError} If the value does not fit the element type.
 *
 * @example
 * ```ts
 * import { fullLike, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = fullLike(tensor([1, 2]), 7);
 * console.log(await y.toNested()); // [ 7, 7 ]
 * ```
 * @category Making tensors
 */
export function fullLike<D extends DType, R extends DType = D>(
  x: Tensor<D>,
  value: ElementOf<R>,
  options: CreationOptions<R> = {},
): Tensor<R> {
  const [shape, own] = like("make a full tensor", x, options);
  return full(shape, value, own);
}

const streamOf = ({ stream }: CreationOptions) => stream === undefined ? {} : { stream };

/**
 * A tensor of nested arrays, of a typed array, or of another tensor: a view if the element type and
 * the device are the same and no copy is requested.
 *
 * @param data The elements, or the tensor.
 * @param options `copy`: true never makes a view.
 * @throws {RangeError} If the arrays are ragged, or an integer does not fit the type.
 * @throws {TypeError} If an element is no number.
 *
 * @example
 * ```ts
 * import { asarray } from "@gridstride/cuda/tensor";
 *
 * using x = asarray([[1, 2], [3, 4]]);
 * using y = asarray(x, { dtype: "int32" });
 * console.log(await y.toNested()); // [ [ 1, 2 ], [ 3, 4 ] ]
 * ```
 * @category Making tensors
 */
export function asarray<D extends DType = DType>(
  data: Tensor | Nested<number | bigint | boolean> | SelfDescribingArray,
  options: CreationOptions<D> & { readonly copy?: boolean } = {},
): Tensor<D> {
  const action = "make a tensor";
  const { copy = false, ...own } = requireOptions(options, ["copy", ...CREATION_NAMES], action);
  if (!(data instanceof Tensor)) {
    if (!ArrayBuffer.isView(data)) {
      return tensor(data as Nested<number>, own as CreationOptions<D> & { readonly dtype: D });
    }
    const { dtype, ...place } = own as CreationOptions;
    const elements = fromTypedArray(data as Float32Array, undefined, place) as Tensor;
    if (dtype === undefined || dtype === elements.dtype) return elements as Tensor as Tensor<D>;
    using _ = elements;
    return copyOf(elements, dtype, streamOf(place)) as Tensor as Tensor<D>;
  }
  const x = requireStored(data, "data", action);
  const { dtype = x.dtype, device } = own as CreationOptions;
  using near = device === undefined ? x.slice([]) : x.to(device);
  const isNew = near.context !== x.context;
  const result = dtype !== x.dtype || (copy && !isNew)
    ? copyOf(near, dtype, streamOf(own))
    : near.slice([]);
  return result as Tensor as Tensor<D>;
}
