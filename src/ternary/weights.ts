/**
 * Ternary weights on a device.
 *
 * @module
 */

import { cannot, requireInstance, requireObject, requireOptions } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import type { DeviceContext } from "../hardware/device_context.ts";
import type { TensorDevice } from "../tensor/kit/placement.ts";
import { requireDType } from "../tensor/kit/checks.ts";
import { full } from "../tensor/creation.ts";
import { shapeText } from "../tensor/kit/layout.ts";
import { concat, fromTypedArray, type Shape, Tensor, type TensorOptions } from "../tensor/mod.ts";
import type { RowDType } from "../tensor/row_steps.ts";
import { TensorScope } from "../tensor/scope.ts";
import { decodeBytes, requireBytes, requireScales, scaleError, storedScales } from "./codec.ts";
import { checkedScales, decodeTensor, encodeTensor } from "./device_codec.ts";
import type { CodecOptions } from "./formats.ts";
import { layoutOf, type TernaryFormat } from "./layouts.ts";
import { quantizeWeights, requireSegments } from "./quantize.ts";

const ACTION = "make TernaryWeights";

/**
 * Options of {@linkcode TernaryWeights.from}.
 * @category Weights
 */
export interface WeightsOptions extends CodecOptions {
  /** The format of weights that are given as bytes. */
  readonly format?: TernaryFormat;
  /** Rows and columns of weights that are given as bytes. */
  readonly shape?: Shape;
  /** Of bytes in an array: the device; the default one otherwise. */
  readonly device?: TensorDevice;
  /** The numbers of consecutive rows that have scales of their own; all rows share one by default. */
  readonly segments?: readonly number[];
}

/** Weights as {@linkcode quantizeWeights} returns them. */
interface Quantized {
  readonly codes: Tensor<"int8">;
  readonly scale: Tensor<"float32">;
}

const KEY = Symbol("TernaryWeights");

/** Makes weights of packed codes and their scales. */
export let weightsOfCodes: (
  shape: readonly [number, number],
  codes: Tensor<"uint8">,
  scale: Tensor<"float32">,
) => TernaryWeights;

/**
 * A matrix of ternary weights on a device, 2 bits each, with one scale or one for each row.
 *
 * Columns are padded with zeros to a multiple of 64. Each 64 consecutive weights of a row are 16
 * bytes: byte j holds the weights j, j + 16, j + 32 and j + 48 from its lowest bits, coded as the
 * weight plus 1.
 *
 * @example
 * ```ts
 * import { tensor } from "@gridstride/cuda/tensor";
 * import { TernaryWeights } from "@gridstride/cuda/ternary";
 *
 * using weights = TernaryWeights.from(tensor([[0.5, -0.5, 0], [0.5, 0.5, 0.5]]));
 * console.log(weights.shape, weights.codes.shape); // [ 2, 3 ] [ 2, 16 ]
 * ```
 * @category Weights
 */
export class TernaryWeights {
  /** Rows, which are outputs, and columns, which are inputs. */
  readonly shape: readonly [rows: number, columns: number];
  /** The packed weights: for each row a quarter of the padded columns. */
  readonly codes: Tensor<"uint8">;
  /** One scale, or one for each row, by which the weights -1, 0 and 1 are multiplied. */
  readonly scale: Tensor<"float32">;

  /** Use {@linkcode TernaryWeights.from}. */
  private constructor(
    key: symbol,
    shape: readonly [number, number],
    codes: Tensor<"uint8">,
    scale: Tensor<"float32">,
  ) {
    if (key !== KEY) throw new TypeError(`${cannot(ACTION)} by new: call TernaryWeights.from()`);
    this.shape = shape;
    this.codes = codes;
    this.scale = scale;
  }

  /**
   * Packs weights.
   *
   * @param source Floating point weights, which {@linkcode quantizeWeights} quantises; its result; or
   * the bytes of a format, with `format` and `shape` in the options.
   * @param options Scales of formats that do not store them are 1 by default.
   * @throws {TypeError} If the source is none of these, or an option is missing or does not belong to
   * it.
   * @throws {RangeError} If shapes do not agree; if a byte or a code is no weight, or a scale is not
   * positive and finite: of tensors when the result is read. If scales within a row differ, as those of
   * blocks may.
   */
  static from(
    source: Tensor<RowDType> | Quantized | Uint8Array,
    options: WeightsOptions = {},
  ): TernaryWeights {
    requireObject(source, "source", ACTION);
    const isBytes = source instanceof Uint8Array;
    const allowed = isBytes
      ? ["format", "shape", "device", "scale", "layout", "scales", "tile", "stream"]
      : ["segments", "stream"];
    requireOptions(options, allowed, `${ACTION} of this source`);
    if (isBytes) return ofBytes(source, options);
    if (!(source instanceof Tensor)) return ofCodes(source, options);
    const { codes, scale } = quantizeWeights(source, options);
    using own = codes;
    using ownScale = scale;
    return ofCodes({ codes: own, scale: ownScale }, options);
  }

  /**
   * Joins matrices of equally many columns, the rows of one below those of another. Rows keep their
   * scales.
   *
   * @param parts The matrices, at least one.
   * @throws {RangeError} If there is none, or their columns are not equally many.
   * @throws {TypeError} If one is disposed, or they are on several devices.
   *
   * @example
   * ```ts
   * import { ones } from "@gridstride/cuda/tensor";
   * import { TernaryWeights } from "@gridstride/cuda/ternary";
   *
   * using query = TernaryWeights.from(ones([64, 64]));
   * using key = TernaryWeights.from(ones([16, 64]));
   * using joined = TernaryWeights.concat([query, key]);
   * console.log(joined.shape, joined.scale.shape); // [ 80, 64 ] [ 80 ]
   * ```
   */
  static concat(parts: readonly TernaryWeights[], options: TensorOptions = {}): TernaryWeights {
    const action = "join TernaryWeights";
    requireOptions(options, ["stream"], action);
    for (const part of parts) {
      requireInstance(part, TernaryWeights, "parts", action);
      part.codes.requireUsable(action, "parts");
    }
    const columns = parts[0]?.shape[1];
    if (columns === undefined || parts.some(({ shape }) => shape[1] !== columns)) {
      throw new RangeError(
        `${cannot(action)} as parts must be matrices of equally many columns: the shapes are ${
          parts.map(({ shape }) => shapeText(shape)).join(", ")
        }`,
      );
    }
    using scope = new TensorScope();
    const codes = concat(parts.map((part) => part.codes), streamOf(options));
    const scale = concat(
      parts.map((part) => part.scale.broadcastTo([part.shape[0]])),
      streamOf(options),
    );
    return weightsOfCodes([codes.shape[0]!, columns], scope.keep(codes), scope.keep(scale));
  }

  static {
    weightsOfCodes = (shape, codes, scale) => new TernaryWeights(KEY, shape, codes, scale);
  }

  /** The device. */
  get context(): DeviceContext {
    return this.codes.context;
  }

  /** Whether the weights are disposed. */
  get disposed(): boolean {
    return this.codes.disposed;
  }

  /**
   * The weights times their scales.
   *
   * @param options `dtype`: the element type of the result, `float32` by default; `int8` gives -1, 0
   * and 1 without scales.
   * @throws {TypeError} If the weights are disposed, or `dtype` is none of these.
   */
  dequantize<D extends RowDType | "int8" = "float32">(
    options: TensorOptions & { readonly dtype?: D } = {},
  ): Tensor<D> {
    const action = "dequantize";
    requireOptions(options, ["dtype", "stream"], action);
    this.codes.requireUsable(action, "the weights");
    const { dtype = "float32" as D, stream } = options;
    const allowed = ["float16", "bfloat16", "float32", "float64", "int8"];
    if (!allowed.includes(dtype)) {
      throw new TypeError(
        `${cannot(action)} as options.dtype must be ${allowed.join(" or ")}: it is ${
          describeValue(dtype)
        }`,
      );
    }
    const layout = layoutOf("gridstride", this.shape, {}, action);
    using one = dtype === "int8" ? oneScale(this.codes as Tensor, options) : undefined;
    return decodeTensor(
      this.codes as Tensor,
      layout,
      one ?? this.scale as Tensor,
      dtype,
      action,
      stream,
    );
  }

  /** Gives up the memory. Repeated calls have no effect. */
  dispose(): void {
    this.codes.dispose();
    this.scale.dispose();
  }

  /** Gives up the memory; see {@linkcode TernaryWeights.dispose}. */
  [Symbol.dispose](): void {
    this.dispose();
  }
}

const streamOf = ({ stream }: TensorOptions) => stream === undefined ? {} : { stream };

const oneScale = ({ context }: Tensor, options: TensorOptions): Tensor =>
  full([1], 1, { ...streamOf(options), device: { context } }) as Tensor;

/** Packs codes. */
function ofCodes({ codes, scale }: Quantized, options: WeightsOptions): TernaryWeights {
  const own = requireDType(codes, "source.codes", ["int8"], ACTION);
  const factor = requireDType(scale, "source.scale", ["float32"], ACTION);
  if (own.rank !== 2) {
    throw new RangeError(
      `${cannot(ACTION)} as source.codes must be a matrix: its shape is ${shapeText(own.shape)}`,
    );
  }
  const shape = own.shape as readonly [number, number];
  const [rows, columns] = shape;
  const segments = options.segments === undefined
    ? undefined
    : requireSegments(options.segments, rows, ACTION);
  const count = segments?.length ?? 1;
  const isRows = segments === undefined && factor.size === rows;
  if (factor.rank > 1 || (factor.size !== count && !isRows)) {
    throw new RangeError(
      `${cannot(ACTION)} as source.scale must have ${
        segments === undefined ? `1 scale or ${rows}` : `${count} scales`
      }: its shape is ${shapeText(factor.shape)}`,
    );
  }
  const layout = layoutOf("gridstride", shape, {}, ACTION);
  using one = oneScale(own, options);
  using bytes = encodeTensor(own, layout, one, ACTION, options.stream);
  const packed = bytes.reshape([rows, 16 * Math.ceil(columns / 64)]);
  return weightsOfCodes(shape, packed, perRow(factor, segments, options));
}

/** One scale, or one for each row. */
function perRow(
  scale: Tensor,
  segments: readonly number[] | undefined,
  options: TensorOptions,
): Tensor<"float32"> {
  using flat = scale.reshape([-1]);
  const parts = segments === undefined || segments.length === 1
    ? [flat]
    : segments.map((rows, k) => {
      using own = flat.slice([{ start: k, stop: k + 1 }]);
      return own.broadcastTo([rows]);
    });
  using all = concat(parts, streamOf(options)) as Tensor;
  for (const part of parts) part.dispose();
  return checkedScales(all, ACTION, options.stream);
}

/** Packs the bytes of a format. */
function ofBytes(bytes: Uint8Array, options: WeightsOptions): TernaryWeights {
  const { format, shape, device, scale, ...own } = options;
  if (format === undefined || shape === undefined) {
    throw new TypeError(
      `${cannot(ACTION)} of bytes as options.format and options.shape must be given: ${
        format === undefined ? "format" : "shape"
      } is not`,
    );
  }
  const layout = layoutOf(format, shape, own, ACTION);
  if (layout.shape.length !== 2) {
    throw new RangeError(
      `${cannot(ACTION)} as options.shape must have 2 dimensions: it is ${shapeText(layout.shape)}`,
    );
  }
  requireInstance(bytes, Uint8Array, "source", ACTION);
  requireBytes(bytes.length, layout, ACTION);
  if (scale !== undefined && layout.stored !== undefined) {
    throw new TypeError(
      `${cannot(ACTION)} as ${format} has its scales in the data: options.scale must not be given`,
    );
  }
  const found = layout.stored !== undefined
    ? storedScales(bytes, layout)
    : scale instanceof Float32Array
    ? scale
    : Float32Array.of(scale ?? 1);
  requireScales(found, ACTION);
  const zero = found.indexOf(0);
  if (zero >= 0) {
    if (scale !== undefined) throw scaleError(ACTION, zero, 0, "positive and finite");
    // Its weights must be 0, which this checks.
    decodeBytes(bytes, layout, found, ACTION);
  }
  const scales = scalesOfRows(found, layout.shape[0]!, ACTION);
  const place = { ...streamOf(own), ...(device === undefined ? {} : { device }) };
  using uploaded = fromTypedArray(bytes, [bytes.length], place);
  using one = oneScale(uploaded as Tensor, own);
  using codes = decodeTensor(uploaded as Tensor, layout, one, "int8", ACTION, own.stream);
  using factor = fromTypedArray(scales, [scales.length], place);
  return ofCodes({ codes, scale: factor as Tensor<"float32"> }, streamOf(own));
}

/** One scale, or one for each row, of scales of equal parts; those of zeros alone are 0. */
export function scalesOfRows(
  scales: Float32Array,
  rows: number,
  action: string,
): Float32Array<ArrayBuffer> {
  const common = (part: Float32Array) => {
    const used = part.filter((scale) => scale !== 0);
    return used.every((scale) => scale === used[0]) ? used[0] ?? 1 : undefined;
  };
  const single = common(scales);
  if (single !== undefined) return Float32Array.of(single);
  const perRow = scales.length / rows;
  return Float32Array.from({ length: rows }, (_, row) => {
    const scale = common(scales.subarray(row * perRow, (row + 1) * perRow));
    if (scale !== undefined && perRow >= 1) return scale;
    throw new RangeError(
      `${cannot(action)} as the scales of a row must be equal: those of row ${row} are not. ` +
        "decode() the bytes and quantise again",
    );
  });
}
