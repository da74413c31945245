/**
 * Elementwise operations with one and two operands, named as in the Python array API standard.
 *
 * @module
 */

export type { ElementwiseOptions } from "./elementwise_kernel.ts";
export type { TypeOf } from "./kit/checks.ts";
export type { DivideResult } from "./kit/promotion.ts";
export * from "./elementwise/activation.ts";
export * from "./elementwise/arithmetic.ts";
export * from "./elementwise/bitwise.ts";
export * from "./elementwise/comparison.ts";
export * from "./elementwise/exponential.ts";
export * from "./elementwise/rounding.ts";
export * from "./elementwise/selection.ts";
export * from "./elementwise/trigonometric.ts";
