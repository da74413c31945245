/**
 * Ternary weights, that is -1, 0 and 1 times a scale: quantisation, the formats of files and
 * kernels, and packed matrices on a device.
 *
 * @example
 * ```ts
 * import { uniform } from "@gridstride/cuda/tensor";
 * import { TernaryWeights } from "@gridstride/cuda/ternary";
 *
 * using weights = TernaryWeights.from(uniform([256, 1024], { low: -1, high: 1 }));
 * using restored = weights.dequantize();
 * console.log(restored.shape); // [ 256, 1024 ]
 * ```
 *
 * @module
 */

export { type CodecOptions, convert, decode, encode, scalesOf } from "./formats.ts";
export {
  formatOfGguf,
  type FormatOptions,
  TERNARY_FORMATS,
  type TernaryFormat,
  type TernaryTile,
} from "./layouts.ts";
export { quantizeActivations, type QuantizeOptions, quantizeWeights } from "./quantize.ts";
export {
  explainTernaryMatmul,
  ternaryMatmul,
  type TernaryMatmulOptions,
  type TernaryResult,
} from "./ternary_matmul.ts";
export { TernaryWeights, type WeightsOptions } from "./weights.ts";
