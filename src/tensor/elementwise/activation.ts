/**
 * Elementwise activation functions of neural networks.
 *
 * @module
 */

import type { DType } from "../../memory/dtype.ts";
import { applyOperation, type ElementwiseOptions } from "../elementwise_kernel.ts";
import type { FloatResult } from "../kit/promotion.ts";
import type { Tensor } from "../tensor.ts";

/**
 * max(x, 0).
 *
 * @param x The inputs.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is `bool` or an 8-bit float.
 *
 * @example
 * ```ts
 * import { relu, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = relu(tensor([-1, 2]));
 * console.log(await y.toNested()); // [ 0, 2 ]
 * ```
 * @category Elementwise operations
 */
export function relu<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<D> = {},
): Tensor<D> {
  return applyOperation("relu", [x], options);
}

/**
 * x · Φ(x), where Φ is the distribution function of the normal distribution, computed by the error
 * function.
 *
 * @param x The inputs.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is `bool` or an 8-bit float.
 *
 * @example
 * ```ts
 * import { gelu, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = gelu(tensor([0, 1]));
 * console.log(await y.toNested()); // [ 0, 0.8413 ]
 * ```
 * @category Elementwise operations
 */
export function gelu<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("gelu", [x], options);
}

/**
 * The approximation of {@linkcode gelu} with tanh: x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³))).
 *
 * @param x The inputs.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is `bool` or an 8-bit float.
 *
 * @example
 * ```ts
 * import { geluTanh, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = geluTanh(tensor([0, 1]));
 * console.log(await y.toNested()); // [ 0, 0.8412 ]
 * ```
 * @category Elementwise operations
 */
export function geluTanh<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("geluTanh", [x], options);
}

/**
 * x / (1 + e⁻ˣ).
 *
 * @param x The inputs.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is `bool` or an 8-bit float.
 *
 * @example
 * ```ts
 * import { silu, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = silu(tensor([0, 1]));
 * console.log(await y.toNested()); // [ 0, 0.7311 ]
 * ```
 * @category Elementwise operations
 */
export function silu<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("silu", [x], options);
}

/**
 * 1 / (1 + e⁻ˣ).
 *
 * @param x The inputs.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is `bool` or an 8-bit float.
 *
 * @example
 * ```ts
 * import { sigmoid, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = sigmoid(tensor([0, 1]));
 * console.log(await y.toNested()); // [ 0.5, 0.7311 ]
 * ```
 * @category Elementwise operations
 */
export function sigmoid<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("sigmoid", [x], options);
}

/**
 * log(1 + eˣ), without overflow.
 *
 * @param x The inputs.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is `bool` or an 8-bit float.
 *
 * @example
 * ```ts
 * import { softplus, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = softplus(tensor([0, 100]));
 * console.log(await y.toNested()); // [ 0.6931, 100 ]
 * ```
 * @category Elementwise operations
 */
export function softplus<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("softplus", [x], options);
}

/**
 * The error function, 2/√π · ∫₀ˣ e^(−t²) dt.
 *
 * @param x The upper limits of the integral.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is `bool` or an 8-bit float.
 *
 * @example
 * ```ts
 * import { erf, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = erf(tensor([0, 1]));
 * console.log(await y.toNested()); // [ 0, 0.8427 ]
 * ```
 * @category Elementwise operations
 */
export function erf<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("erf", [x], options);
}
