/**
 * `encode()`, `decode()` and `convert()`: ternary weights as bytes of a format.
 *
 * @module
 */

import { cannot, requireInstance, requireOptions } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import { requireDType } from "../tensor/kit/checks.ts";
import { shapeText, sizeOf } from "../tensor/kit/layout.ts";
import { fromTypedArray, type Shape, Tensor, type TensorOptions } from "../tensor/mod.ts";
import {
  decodeBytes,
  elementError,
  encodeElements,
  requireBytes,
  requireScales,
  scaleError,
  scalesFor,
  storedScales,
} from "./codec.ts";
import { decodeTensor, encodeTensor } from "./device_codec.ts";
import { type FormatOptions, type Layout, layoutOf, type TernaryFormat } from "./layouts.ts";

/**
 * Options of {@linkcode encode} and {@linkcode decode}.
 * @category Formats
 */
export interface CodecOptions extends FormatOptions, TensorOptions {
  /**
   * The scale, or scales of equal parts of the elements: of rows, or of the blocks of `bn32-…`.
   * `decode()` takes it for formats that do not store scales, where it is 1 by default. For
   * `encode()` it is the largest magnitude by default; formats with a scale for each block take none.
   */
  readonly scale?: number | Float32Array;
}

const FORMAT_NAMES = ["layout", "scales", "tile"];
const KNOWN = ["scale", "stream", ...FORMAT_NAMES];

/** Checks options, and scales if given. */
function requireFormatOptions(
  options: CodecOptions,
  layout: Layout,
  isFixed: boolean,
  action: string,
): Float32Array | undefined {
  const { scale } = options;
  if (scale === undefined) return undefined;
  if (isFixed) {
    throw new TypeError(
      `${
        cannot(action)
      } as ${layout.format} has its scales in the data: options.scale must not be given`,
    );
  }
  if (typeof scale !== "number" && !(scale instanceof Float32Array)) {
    throw new TypeError(
      `${cannot(action)} as options.scale must be a number or a Float32Array: it is ${
        describeValue(scale)
      }`,
    );
  }
  const scales = typeof scale === "number" ? Float32Array.of(scale) : scale;
  if (scales.length !== 1 && scales.length !== layout.scales) {
    throw new RangeError(
      `${cannot(action)} as options.scale must have ${
        layout.scales === 1 ? "1 scale" : `1 or ${layout.scales} scales`
      }: it has ${scales.length}`,
    );
  }
  const zero = scales.indexOf(0);
  if (zero >= 0) throw scaleError(action, zero, 0);
  requireScales(scales, action);
  return scales;
}

const uploaded = (scales: Float32Array | undefined, { context }: Tensor, options: TensorOptions) =>
  scales &&
  fromTypedArray(scales, [scales.length], { ...streamOf(options), device: { context } }) as Tensor;
const streamOf = ({ stream }: TensorOptions) => stream === undefined ? {} : { stream };

/** Refuses values of another number than a shape has elements. */
function requireLength(length: number, { shape }: Layout, action: string): void {
  if (length === sizeOf(shape)) return;
  throw new RangeError(
    `${cannot(action)} as values must have ${sizeOf(shape)} elements of the shape ${
      shapeText(shape)
    }: it has ${length}`,
  );
}

const FLOATS = ["float32", "float16", "bfloat16", "int8"] as const;

/**
 * The bytes of ternary weights in a format.
 *
 * Formats with one scale, or with scales apart, take elements that are 0, the scale or its negative,
 * as {@linkcode quantizeWeights} makes them, within 1/128 of the scale. `tq1_0`, `tq2_0` and `bn32-…`
 * quantise each block as their own quantisers do: by its largest magnitude, and halves away from 0
 * (`bn32-twos`: by two thirds of it, and halves to 0). Where they store scales as `float16`, blocks
 * below 2^-25 become zeros, and scales from 65 520 are errors.
 *
 * @param values Elements in row-major order: an array, or a tensor, which is encoded on its device.
 * @param shape The last axis is that of columns.
 * @param format The format of the result.
 * @param options The scale, and the layout of the format.
 * @returns The bytes with the scales that the format stores. Bytes of a tensor are a tensor.
 * @throws {TypeError} If a format needs or does not have an option.
 * @throws {RangeError} If the format does not take the shape; if an element is not of the kind above
 * or a scale is not positive and finite: of a tensor when the result is read.
 *
 * @example
 * ```ts
 * import { decode, encode } from "@gridstride/cuda/ternary";
 *
 * const bytes = encode(new Float32Array(128).fill(0.5), [1, 128], "i2_s");
 * console.log(bytes.length, decode(bytes, [1, 128], "i2_s")[0]); // 64 0.5
 * ```
 * @category Formats
 */
export function encode(
  values: Float32Array,
  shape: Shape,
  format: TernaryFormat,
  options?: CodecOptions,
): Uint8Array<ArrayBuffer>;
/** The bytes of a tensor's elements, as a tensor. */
export function encode(
  values: Tensor<"float32"> | Tensor<"float16"> | Tensor<"bfloat16"> | Tensor<"int8">,
  shape: Shape,
  format: TernaryFormat,
  options?: CodecOptions,
): Tensor<"uint8">;
export function encode(
  values: unknown,
  shape: Shape,
  format: TernaryFormat,
  options: CodecOptions = {},
): Uint8Array<ArrayBuffer> | Tensor<"uint8"> {
  const action = "encode";
  requireOptions(options, KNOWN, action);
  const layout = layoutOf(format, shape, options, action);
  const isBlocked = layout.stored?.dtype === "float16";
  const given = requireFormatOptions(options, layout, isBlocked, action);
  if (values instanceof Tensor) {
    const x = requireDType(values, "values", FLOATS, action);
    requireLength(x.size, layout, action);
    using scales = uploaded(given, x, options);
    return encodeTensor(x, layout, scales, action, options.stream);
  }
  requireInstance(values, Float32Array, "values", action);
  requireLength(values.length, layout, action);
  const scales = given ?? checkedScales(values, layout, action);
  return encodeElements(values, layout, scales, action);
}

/** The scales that a format gives elements, which must be finite. */
function checkedScales(values: Float32Array, layout: Layout, action: string) {
  const wrong = values.findIndex((value) => !Number.isFinite(value));
  if (wrong >= 0) throw elementError(action, wrong, layout.rounding);
  return scalesFor(values, layout, action);
}

/**
 * The scales by which {@linkcode encode} divides elements by default: one for each block, or one.
 * Formats that keep scales apart need them to decode.
 *
 * @param values Elements in row-major order.
 * @param shape The last axis is that of columns.
 * @param format The format.
 * @param options The layout of the format.
 * @throws {TypeError} If the format needs or does not have an option.
 * @throws {RangeError} If the format does not take the shape, or an element is not finite.
 *
 * @example
 * ```ts
 * import { scalesOf } from "@gridstride/cuda/ternary";
 *
 * console.log(scalesOf(new Float32Array(256).fill(-0.5), [1, 256], "tq2_0")); // [ 0.5 ]
 * ```
 * @category Formats
 */
export function scalesOf(
  values: Float32Array,
  shape: Shape,
  format: TernaryFormat,
  options: FormatOptions = {},
): Float32Array<ArrayBuffer> {
  const action = "find scales";
  requireOptions(options, FORMAT_NAMES, action);
  const layout = layoutOf(format, shape, options, action);
  requireInstance(values, Float32Array, "values", action);
  requireLength(values.length, layout, action);
  return checkedScales(values, layout, action);
}

/**
 * The elements of ternary weights in a format: -1, 0 and 1 times their scale.
 *
 * @param bytes An array, or a tensor, which is decoded on its device.
 * @param shape The last axis is that of columns.
 * @param format The format of `bytes`.
 * @param options The scale, and the layout of the format.
 * @throws {TypeError} If a format needs or does not have an option.
 * @throws {RangeError} If there are too few or too many bytes for the shape; if a byte has no meaning
 * or a scale is not positive and finite: of a tensor when the result is read.
 *
 * @example
 * ```ts
 * import { decode, encode } from "@gridstride/cuda/ternary";
 *
 * const bytes = encode(new Float32Array(128).fill(-0.5), [1, 128], "i2_s");
 * console.log(decode(bytes, [1, 128], "i2_s")[0]); // -0.5
 * ```
 * @category Formats
 */
export function decode(
  bytes: Uint8Array,
  shape: Shape,
  format: TernaryFormat,
  options?: CodecOptions,
): Float32Array<ArrayBuffer>;
/** The elements of a tensor of bytes, as a tensor. */
export function decode(
  bytes: Tensor<"uint8">,
  shape: Shape,
  format: TernaryFormat,
  options?: CodecOptions,
): Tensor<"float32">;
export function decode(
  bytes: unknown,
  shape: Shape,
  format: TernaryFormat,
  options: CodecOptions = {},
): Float32Array<ArrayBuffer> | Tensor<"float32"> {
  const action = "decode";
  requireOptions(options, KNOWN, action);
  const layout = layoutOf(format, shape, options, action);
  const isStored = layout.stored !== undefined;
  const given = requireFormatOptions(options, layout, isStored, action);
  const own = given ?? (isStored ? undefined : Float32Array.of(1));
  if (bytes instanceof Tensor) {
    const source = requireDType(bytes, "bytes", ["uint8"], action);
    requireBytes(source.size, layout, action);
    using scales = uploaded(own, source, options);
    return decodeTensor(source, layout, scales, "float32", action, options.stream);
  }
  requireInstance(bytes, Uint8Array, "bytes", action);
  requireBytes(bytes.length, layout, action);
  const scales = own ?? storedScales(bytes, layout);
  requireScales(scales, action);
  return decodeBytes(bytes, layout, scales, action);
}

/**
 * Bytes of one format as those of another one. Weights stay the same; a scale is rounded where a
 * format stores it as `float16`.
 *
 * @param bytes The weights: an array, or a tensor.
 * @param shape The last axis is that of columns.
 * @param from The format of `bytes`.
 * @param to The format of the result.
 * @param options For each of both formats. With scales apart, `from.scale` is that of the elements,
 * and formats that store scales take it over.
 * @throws {TypeError} If a format needs or does not have an option.
 * @throws {RangeError} As {@linkcode decode} and {@linkcode encode}; such as for scales that differ
 * where a format has one.
 *
 * @example
 * ```ts
 * import { convert, encode } from "@gridstride/cuda/ternary";
 *
 * const bytes = encode(new Float32Array(256).fill(0.5), [1, 256], "tq1_0");
 * console.log(convert(bytes, [1, 256], "tq1_0", "tq2_0").length); // 66
 * ```
 * @category Formats
 */
export function convert<B extends Uint8Array | Tensor<"uint8">>(
  bytes: B,
  shape: Shape,
  from: TernaryFormat,
  to: TernaryFormat,
  options: { readonly from?: CodecOptions; readonly to?: CodecOptions } = {},
): B extends Tensor ? Tensor<"uint8"> : Uint8Array<ArrayBuffer> {
  requireOptions(options, ["from", "to"], "convert");
  const values = decode(bytes as Uint8Array, shape, from, options.from);
  const result = encode(values, shape, to, options.to);
  if ((values as unknown) instanceof Tensor) (values as unknown as Tensor).dispose();
  return result as never;
}
