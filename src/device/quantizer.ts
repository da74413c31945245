/**
 * Quantisation with fallback, statistics and chunks.
 *
 * @module
 */

import { requireObject, requireOptions } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import { displayAs } from "../ffi/display.ts";
import { requireArrayOf } from "../memory/dtype.ts";
import { inChunks } from "../tensor/chunks.ts";
import { fromTypedArray, full, requireSize } from "../tensor/creation.ts";
import { fuse } from "../tensor/fusion.ts";
import { requireShape, type Shape, shapeText, sizeOf } from "../tensor/kit/layout.ts";
import { concat } from "../tensor/manipulation.ts";
import { matmul } from "../tensor/matmul/matmul.ts";
import { sum } from "../tensor/reductions.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { type FormatOptions, type Layout, layoutOf } from "../ternary/layouts.ts";
import { decodeTensor, encodeTensor } from "../ternary/device_codec.ts";
import { requireScales } from "../ternary/codec.ts";
import { quantizeActivations } from "../ternary/quantize.ts";
import { ternaryMatmul } from "../ternary/ternary_matmul.ts";
import { tileFor } from "../ternary/tiles.ts";
import { TernaryWeights } from "../ternary/weights.ts";
import type { Device } from "./device.ts";
import { DeviceFallback } from "./device_fallback.ts";
import type { DeviceStatistics, Provider } from "./device_statistics.ts";

type Floats = Tensor<"float32">;
type Bytes = Uint8Array<ArrayBuffer>;

const TERNARY = ["i2_s", "tl1", "tl2", "tq1_0", "tq2_0"] as const;
const FORMATS: readonly QuantizedFormat[] = [...TERNARY, "int8"];

/**
 * The formats of {@linkcode DeviceAwareQuantizer}: `int8` has a scale for each row; the others are
 * ternary, see {@linkcode TernaryFormat}.
 * @category Formats
 */
export type QuantizedFormat = "i2_s" | "tl1" | "tl2" | "tq1_0" | "tq2_0" | "int8";

/**
 * Quantised values.
 * @category Formats
 */
export interface QuantizedValues {
  /** The format of the bytes. */
  readonly format: QuantizedFormat;
  /** The shape of the values; the last axis is that of a row. */
  readonly shape: Shape;
  /** The encoded values; elements in two's complement for `int8`. */
  readonly bytes: Uint8Array;
  /** For each row of `int8`, the number that a code is multiplied by. Other formats contain theirs. */
  readonly scales?: Float32Array;
  /** The tile of `tl1` and `tl2`; see {@linkcode FormatOptions}. */
  readonly tile?: FormatOptions["tile"];
}

/** Sums of absolute values are taken of segments, so the chunks do not change them. */
const SEGMENT = 4096;

/** Smaller means and maxima count as this, so zeros have a scale. */
const LEAST = 1e-5;

const absoluteSums = fuse((rows: Floats) => sum(rows.abs(), { axis: 1, dtype: "float64" }));
const absoluteMaxima = fuse((rows: Floats) => rows.abs().max({ axis: 1 }));

/** The rows of a shape and the elements of one: all axes but the last count as rows. */
const rowsOf = (shape: Shape): readonly [rows: number, width: number] => [
  sizeOf(shape.slice(0, -1)),
  shape.at(-1) ?? 1,
];

/** `inChunks()` on a device, for functions of certain element types. */
async function onDevice<Result>(
  f: (...chunks: never[]) => Tensor,
  arrays: Parameters<typeof inChunks>[1],
  device: Device,
): Promise<Result> {
  return await inChunks(f as (...chunks: Tensor[]) => Tensor, arrays, { device }) as Result;
}

/** The mean of the absolute values, rounded to float32. */
async function absoluteMean(values: Float32Array, device: Device): Promise<number> {
  const whole = values.length - values.length % SEGMENT;
  let total = 0;
  for (const data of [values.subarray(0, whole), values.subarray(whole)]) {
    const width = Math.min(SEGMENT, data.length);
    const shape = [width === 0 ? 0 : data.length / width, width];
    const sums = await onDevice<Float64Array>(absoluteSums, [{ data, shape }], device);
    for (const sum of sums) total += sum;
  }
  return Math.fround(Math.max(total / Math.max(1, values.length), LEAST));
}

/** Values rounded to −1, 0 and 1 times their absolute mean. */
const ternaryValues = (scale: number) => {
  const factor = Math.fround(1 / scale);
  return fuse((x: Floats) => x.multiply(factor).round().clip(-1, 1).multiply(scale));
};

/** Rows rounded to −128…127 by a factor of their own. */
const rowCodes = fuse((x: Floats, factors: Floats) =>
  x.multiply(factors).round().clip(-128, 127).astype("int8")
);
const rowValues = fuse((codes: Tensor<"int8">, scales: Floats) =>
  codes.astype("float32").multiply(scales)
);

/** Sums of products times the scales of rows and of columns. */
const rescaled = fuse((sums: Tensor<"int32">, rows: Floats, columns: Floats) =>
  sums.astype("float32").multiply(rows).multiply(columns)
);

/** A ternary format of a matrix, divided into parts of whole rows. */
interface Parts {
  readonly layout: Layout;
  readonly options: FormatOptions;
  readonly columns: number;
  /** Rows of a part, and the number of parts. */
  readonly unit: number;
  readonly count: number;
  /** Bytes of a part in each range of the data; each range has those of all parts in order. */
  readonly ranges: readonly number[];
}

function partsOf(
  { format, shape, tile }: Pick<QuantizedValues, "shape" | "tile"> & {
    format: typeof TERNARY[number];
  },
  action: string,
): Parts {
  const given = tile === undefined ? {} : { tile };
  const layout = layoutOf(format, shape, given, action);
  const [rows, columns] = rowsOf(layout.shape);
  let [unit, options] = [1, given as FormatOptions];
  let ranges = [layout.bytes / Math.max(1, rows)];
  if (format === "tl1" || format === "tl2") {
    const own = tileFor(format, rows, columns, tile, action);
    [unit, options] = [own.bm, { tile: own }];
  } else if (format === "i2_s") {
    // A block may contain the ends of rows.
    while (unit * columns % 128 !== 0) unit *= 2;
  }
  if (format === "i2_s" || format === "tl1") ranges = [columns / 4];
  // Triples, their signs and pairs.
  const width = layout.sections[1]?.column ?? 0;
  if (format === "tl2") ranges = [width / 6, width / 24, (columns - width) / 4];
  return {
    ...{ layout, options, columns, unit },
    count: rows / unit,
    ranges: ranges.map((bytes) => unit * bytes).filter((bytes) => bytes > 0),
  };
}

/** Copies between ranges, each with all parts, and parts, each with its bytes of all ranges. */
function rearrange(
  { ranges, count }: Parts,
  inRanges: Uint8Array,
  inParts: Uint8Array,
  direction: "toRanges" | "toParts",
): void {
  const bytes = ranges.reduce((sum, it) => sum + it, 0);
  let [start, offset] = [0, 0];
  for (const range of ranges) {
    for (let part = 0; part < count; part++) {
      const place = start + part * range;
      const own = inRanges.subarray(place, place + range);
      const other = inParts.subarray(part * bytes + offset, part * bytes + offset + range);
      if (direction === "toRanges") own.set(other);
      else other.set(own);
    }
    start += count * range;
    offset += range;
  }
}

const QUANTIZE = "quantize values";
const DEQUANTIZE = "dequantize values";
const MULTIPLY = "multiply by quantized weights";

/** Columns of `int8` weights whose products add up to 32 bits. */
const INT8_COLUMNS = 2 ** 17 - 1;

/**
 * Quantises arrays of the program on a device, in chunks that fit into its memory, and on the host
 * device if the first one fails; see {@linkcode DeviceFallback}. Chunks and devices do not change the
 * results.
 *
 * Ternary formats round values to −1, 0 and 1 times the mean of all absolute values, at least 1e-5;
 * `int8` rounds each row to 127 steps of its largest absolute value. Ties go to even. The method is
 * that of BitNet b1.58: Ma et al., "The Era of 1-bit LLMs" (2024).
 *
 * @example
 * ```ts
 * import { DeviceAwareQuantizer } from "@gridstride/cuda/ternary";
 *
 * using quantizer = new DeviceAwareQuantizer();
 * const weights = Float32Array.from({ length: 256 }, (_, at) => Math.sin(at));
 * const packed = await quantizer.quantize(weights, [1, 256], "tq2_0");
 * const values = await quantizer.dequantize(packed);
 * console.log(packed.bytes.length, values.length); // 66 256
 * const y = await quantizer.matmul(values, [1, 256], packed);
 * console.log(y.length); // 1
 * console.log(quantizer.provider, quantizer.stats().summary());
 * ```
 * @category Quantisation
 */
export class DeviceAwareQuantizer implements Disposable {
  readonly #runner: DeviceFallback;

  /**
   * Chooses the devices as {@linkcode DeviceFallback} does.
   *
   * @throws {TypeError} If an option is not a device, or both are the same.
   */
  constructor(options: { readonly device?: Device; readonly fallback?: Device | null } = {}) {
    this.#runner = new DeviceFallback(options);
  }

  /** The instructions that the first device runs: `"cuda"`, or the vectors of the processor. */
  get provider(): Provider {
    return this.#runner.provider;
  }

  /** The statistics of the operations `quantize`, `dequantize` and `matmul` so far. */
  stats(): DeviceStatistics {
    return this.#runner.stats();
  }

  /**
   * Quantises values.
   *
   * @param shape The last axis is that of a row.
   * @param options The tile of `tl1` and `tl2`, by default the one of bitnet.cpp for the shape.
   * @throws {RangeError} If the shape does not have the number of values or does not fit the format,
   * or a value is not finite.
   * @throws {TypeError} If the format is unknown, or values is not a `Float32Array`.
   */
  async quantize(
    values: Float32Array,
    shape: Shape,
    format: QuantizedFormat,
    options: Pick<FormatOptions, "tile"> = {},
  ): Promise<QuantizedValues & { readonly bytes: Uint8Array<ArrayBuffer> }> {
    requireArrayOf(values, "float32", QUANTIZE, "values");
    requireFormat(format, QUANTIZE);
    requireOptions(options, ["tile"], QUANTIZE);
    const extents = requireShape(shape, QUANTIZE);
    requireSize(values.length, extents, QUANTIZE);
    const { tile } = options;
    const made = { format, shape: extents, ...(tile === undefined ? {} : { tile }) };
    if (format === "int8") {
      return { ...made, ...await this.#run("quantize", (it) => roundRows(values, extents, it)) };
    }
    const parts = partsOf({ ...made, format }, QUANTIZE);
    return { ...made, bytes: await this.#run("quantize", (it) => encodeParts(values, parts, it)) };
  }

  /**
   * The values of what {@linkcode DeviceAwareQuantizer.quantize} returned, or a file contains.
   *
   * @throws {RangeError} If the bytes or scales are not those of the shape, or a code is not valid.
   * @throws {TypeError} If the format is unknown, or bytes is not a `Uint8Array`.
   */
  async dequantize(quantized: QuantizedValues): Promise<Float32Array<ArrayBuffer>> {
    const { bytes, scales, shape, parts } = requireQuantized(quantized, "quantized", DEQUANTIZE);
    return await this.#run(
      "dequantize",
      (it) =>
        parts === undefined ? scaleRows(bytes, scales, shape, it) : decodeParts(bytes, parts, it),
    );
  }

  /**
   * Activations times transposed weights: y[…, n] = Σ x[…, k] · w[n, k]. Each row of activations is
   * rounded as by {@linkcode quantizeActivations}, and products of integers are added up exactly.
   * Activations are divided into chunks; the weights must fit into the memory of the device.
   *
   * @param values The activations.
   * @param shape Their shape […, K].
   * @param weights A matrix of shape [N, K], as {@linkcode DeviceAwareQuantizer.quantize} returned it.
   * @returns The elements of the shape […, N].
   * @throws {RangeError} If shapes do not fit, a value is not finite, the bytes or scales are not those
   * of the shape, a code is not valid, or `int8` weights have more than 131 071 columns.
   * @throws {TypeError} If the format is unknown, or values is not a `Float32Array`.
   */
  async matmul(
    values: Float32Array,
    shape: Shape,
    weights: QuantizedValues,
  ): Promise<Float32Array<ArrayBuffer>> {
    requireArrayOf(values, "float32", MULTIPLY, "values");
    const extents = requireShape(shape, MULTIPLY);
    requireSize(values.length, extents, MULTIPLY);
    const checked = requireQuantized(weights, "weights", MULTIPLY);
    const [rows, columns] = rowsOf(extents);
    const most = checked.format === "int8" ? INT8_COLUMNS : Infinity;
    if (checked.shape.length !== 2 || checked.shape[1] !== columns || columns > most) {
      const allowed = most === Infinity ? "" : `, at most ${most}`;
      throw new RangeError(
        `Cannot ${MULTIPLY} as weights must have rows of ${columns} elements${allowed}, as values ` +
          `have: the shape is ${shapeText(checked.shape)}`,
      );
    }
    const wrong = values.findIndex((it) => !Number.isFinite(it));
    if (wrong >= 0) {
      throw new RangeError(
        `Cannot ${MULTIPLY} as values must be finite: values[${wrong}] is ${values[wrong]}`,
      );
    }
    if (checked.bytes.length === 0 || values.length === 0) {
      return new Float32Array(rows * checked.shape[0]!);
    }
    return await this.#run("matmul", (it) => multiplyRows(values, checked, it));
  }

  #run<Result>(kind: string, operation: (device: Device) => Promise<Result>): Promise<Result> {
    return this.#runner.run(kind, operation);
  }

  /** Releases the devices that it has opened itself. */
  [Symbol.dispose](): void {
    this.#runner[Symbol.dispose]();
  }
}

displayAs(DeviceAwareQuantizer.prototype, "DeviceAwareQuantizer", {
  summary: (quantizer) => quantizer.stats().summary(),
});

function requireFormat(format: unknown, action: string): void {
  if ((FORMATS as readonly unknown[]).includes(format)) return;
  throw new TypeError(
    `Cannot ${action} as format must be one of ${FORMATS.join(", ")}: it is ${
      describeValue(format)
    }`,
  );
}

/** Checks quantised values; of ternary formats, `parts` divides them. */
function requireQuantized(quantized: QuantizedValues, name: string, action: string) {
  requireObject(quantized, name, action);
  const { bytes, format, scales = new Float32Array() } = quantized;
  requireFormat(format, action);
  requireArrayOf(bytes, "uint8", action, `${name}.bytes`);
  requireArrayOf(scales, "float32", action, `${name}.scales`);
  const shape = requireShape(quantized.shape, action, `${name}.shape`);
  const checked = { bytes, scales, shape };
  if (format === "int8") {
    requireSize(bytes.length, shape, action);
    const [rows] = rowsOf(shape);
    if (scales.length === rows) return { ...checked, format, parts: undefined };
    throw new RangeError(
      `Cannot ${action} as ${name}.scales must have one scale for each of ${rows} rows: ` +
        `it has ${scales.length}`,
    );
  }
  const parts = partsOf({ ...quantized, format }, action);
  if (bytes.length === parts.layout.bytes) return { ...checked, format, parts };
  throw new RangeError(
    `Cannot ${action} as ${name}.bytes must have ${parts.layout.bytes} bytes for ` +
      `${format} of the shape ${shapeText(shape)}: it has ${bytes.length}`,
  );
}

function requireFinite(scale: number): void {
  if (Number.isFinite(scale)) return;
  throw new RangeError(
    `Cannot ${QUANTIZE} as values must be finite: a scale would be ${scale}`,
  );
}

/** Ternary formats: the bytes of values. */
async function encodeParts(values: Float32Array, parts: Parts, device: Device): Promise<Bytes> {
  const { layout, options, columns, unit, count, ranges } = parts;
  const { format, stored } = layout;
  const scale = await absoluteMean(values, device);
  requireFinite(scale);
  const result = new Uint8Array(layout.bytes);
  if (stored?.dtype === "float32") {
    new DataView(result.buffer).setFloat32(stored.byte, scale, true);
  }
  if (values.length === 0) return result;
  const round = ternaryValues(scale);
  const encodeChunk = (x: Tensor): Tensor => {
    const own = x.shape[0]!;
    const rows = round(x as Floats).reshape([own * unit, columns]);
    const part = layoutOf(format, rows.shape, options, QUANTIZE);
    const encoded = encodeTensor(rows as Tensor, part, undefined, QUANTIZE);
    let start = 0;
    const split = ranges.map((range) =>
      encoded.slice([{ start, stop: start += own * range }]).reshape([own, range])
    );
    return split.length === 1 ? split[0]! : concat(split, { axis: 1 });
  };
  const data = { data: values, shape: [count, unit * columns] };
  const inParts = await onDevice<Bytes>(encodeChunk, [data], device);
  rearrange(parts, result, inParts, "toRanges");
  return result;
}

/** Ternary formats: the values of bytes. */
async function decodeParts(bytes: Uint8Array, parts: Parts, device: Device) {
  const { layout: { format, stored }, options, columns, unit, count, ranges } = parts;
  const width = ranges.reduce((sum, it) => sum + it, 0);
  const data = new Uint8Array(count * width);
  rearrange(parts, bytes, data, "toParts");
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const scale = stored?.dtype === "float32" ? view.getFloat32(stored.byte, true) : undefined;
  if (scale !== undefined) requireScales(Float32Array.of(scale), DEQUANTIZE);
  if (data.length === 0) return new Float32Array();
  const decodeChunk = (x: Tensor): Tensor => {
    const own = x.shape[0]!;
    const part = layoutOf(format, [own * unit, columns], options, DEQUANTIZE);
    let start = 0;
    const split = ranges.map((range) => x.slice([{}, { start, stop: start += range }]).flatten());
    const encoded = split.length === 1 ? split[0]! : concat(split);
    const scales = scale === undefined ? undefined : full([1], scale, { device }) as Tensor;
    return decodeTensor(encoded, part, scales, "float32", DEQUANTIZE)
      .reshape([own, unit * columns]) as Tensor;
  };
  const operand = { data, shape: [count, width] };
  return await onDevice<Float32Array<ArrayBuffer>>(decodeChunk, [operand], device);
}

/** `int8`: the codes of rows, and their scales. */
async function roundRows(values: Float32Array, shape: Shape, device: Device) {
  const [rows, width] = rowsOf(shape);
  if (values.length === 0) return { bytes: new Uint8Array(), scales: new Float32Array(rows) };
  const data = { data: values, shape: [rows, width] };
  const maxima = await onDevice<Float32Array>(absoluteMaxima, [data], device);
  maxima.forEach(requireFinite);
  // As quantizeActivations() computes both.
  const largest = maxima.map((maximum) => Math.max(maximum, LEAST));
  const factors = { data: largest.map((it) => 127 / it), shape: [rows, 1] };
  const codes = await onDevice<Int8Array<ArrayBuffer>>(rowCodes, [data, factors], device);
  return { bytes: new Uint8Array(codes.buffer), scales: largest.map((it) => it / 127) };
}

async function scaleRows(bytes: Uint8Array, scales: Float32Array, shape: Shape, device: Device) {
  const [rows, width] = rowsOf(shape);
  if (bytes.length === 0) return new Float32Array();
  const codes = new Int8Array(bytes.buffer, bytes.byteOffset, bytes.length);
  const operands = [{ data: codes, shape: [rows, width] }, { data: scales, shape: [rows, 1] }];
  return await onDevice<Float32Array<ArrayBuffer>>(rowValues, operands, device);
}

/** Rows of activations times the transposed matrix of weights, on a device that has the weights. */
async function multiplyRows(
  values: Float32Array,
  { bytes, scales, shape, parts }: ReturnType<typeof requireQuantized>,
  device: Device,
): Promise<Float32Array<ArrayBuffer>> {
  const width = shape[1]!;
  const x = { data: values, shape: [values.length / width, width] };
  if (parts !== undefined) {
    const { layout: { format }, options } = parts;
    using weights = TernaryWeights.from(bytes, { ...options, format, shape, device });
    return await onDevice((rows: Floats) => ternaryMatmul(rows, weights) as Tensor, [x], device);
  }
  const data = new Int8Array(bytes.buffer, bytes.byteOffset, bytes.length);
  using codes = fromTypedArray(data, shape, { device });
  using factors = fromTypedArray(scales, [scales.length], { device });
  const multiply = (rows: Floats) => {
    const { values, scale } = quantizeActivations(rows);
    const sums = matmul(values, codes.transpose(), { dtype: "int32" });
    return rescaled(sums, scale.reshape([-1, 1]), factors) as Tensor;
  };
  return await onDevice(multiply, [x], device);
}
