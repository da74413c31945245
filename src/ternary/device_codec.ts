/**
 * Ternary formats on the device: kernels over the bytes of a format.
 *
 * @module
 */

import { ternaryTemplate } from "./kernel_templates.ts";
import { streamFor } from "../memory/buffer_copy.ts";
import type { DType } from "../memory/dtype.ts";
import type { Stream } from "../stream/stream.ts";
import { commonContext } from "../tensor/kit/checks.ts";
import { copyOf, dense } from "../tensor/elementwise_kernel.ts";
import { newTensor } from "../tensor/kit/kernel_call.ts";
import { full } from "../tensor/creation.ts";
import { abs, max } from "../tensor/mod.ts";
import { sizeOf } from "../tensor/kit/layout.ts";
import { runTemplate } from "../tensor/kit/templates.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { byteError, elementError, HALF_SCALES, scaleError } from "./codec.ts";
import { type Layout, ROUNDINGS, type Section } from "./layouts.ts";

/** Bytes that a block of the block form takes. */
const BYTES = 4096;
/** The most digits of the number of a byte, as of `tl1` and `tl2`. */
const MOST_DIGITS = 7;
const NO_DIGIT = { extent: 1, byte: 0, row: 0, column: 0, sign: 0 };

/** The numbers by which `ternary.cuh` knows how weights are rounded. */
const CONSTANTS = {
  GS_ROUNDING_EXACT: ROUNDINGS.indexOf("exact"),
  GS_ROUNDING_RECIPROCAL: ROUNDINGS.indexOf("reciprocal"),
  GS_ROUNDING_ABOVE_HALF: ROUNDINGS.indexOf("aboveHalf"),
  GS_ROUNDING_FROM_HALF: ROUNDINGS.indexOf("fromHalf"),
};
/** The template of all kernels here. */
export const CODEC_TEMPLATE = { template: ternaryTemplate, constants: CONSTANTS };

/** A kernel over the bytes of each section. */
interface ByteKernel {
  readonly action: string;
  readonly inputs: { readonly scales: Tensor } & Readonly<Record<string, Tensor>>;
  readonly results: Readonly<Record<string, Tensor>>;
  /** The C++ statement for a byte. */
  readonly text: (codec: Section["codec"]) => string;
  /** The error for a value that the kernel reported. */
  readonly error: (value: bigint) => Error;
}

/** Runs a kernel over the bytes of each section. */
function eachByte(
  layout: Layout,
  { action, inputs, results, text, error }: ByteKernel,
  stream: Stream,
): void {
  const { columns, bias } = layout;
  const rounding = ROUNDINGS.indexOf(layout.rounding);
  const { size } = inputs.scales;
  for (const section of layout.sections) {
    const { digits, codec, byte, sign, column, slots, rowStep, columnStep } = section;
    const count = digits.reduce((product, { extent }) => product * extent, 1);
    if (count === 0) continue;
    // One number of digits, so that formats share kernels.
    const missing = Array.from({ length: MOST_DIGITS - digits.length }, () => NO_DIGIT);
    const all = [...missing, ...digits];
    const numbers = all.map((digit, index) =>
      Object.entries(digit).map(([name, value]) => [`${name}${index}`, value] as const)
    );
    const takes = all.map((_, k) =>
      `place.take(${["extent", "byte", "row", "column", "sign"].map((name) => name + k)});`
    );
    runTemplate({
      action,
      ...CODEC_TEMPLATE,
      inputs,
      results,
      numbers: {
        ...Object.fromEntries(numbers.flat()),
        ...{ byte, sign, column, slots, columns, bias, rounding },
        ...{ row_step: rowStep, column_step: columnStep },
        per_scale: size === 1 ? 0 : sizeOf(layout.shape) / size,
      },
      body: [
        "  using namespace ternary;",
        "  map(Space<1, 1>{}, size, chunk, [=](const i64*, i64 i) {",
        "    Place place{byte, sign, 0, column, i};",
        ...takes.reverse().map((line) => `    ${line}`),
        "    const Matrix matrix{columns, slots, row_step, column_step, per_scale, bias, faults,",
        "                        operation};",
        `    ${text(codec)}`,
        "  });",
      ].join("\n"),
      size: count,
      chunk: BYTES,
      error,
    }, stream);
  }
}

/** Copies scales out of the bytes, or into them. */
function copyScales(
  layout: Layout,
  bytes: Tensor,
  scales: Tensor,
  isRead: boolean,
  stream: Stream,
) {
  const { dtype, ...numbers } = layout.stored!;
  const width = dtype === "float16" ? 2 : 4;
  const [from, to] = ["bytes[byte + i * step + k]", "u8_of(scales)[i * width + k]"];
  runTemplate({
    action: isRead ? "ternary read scales" : "ternary write scales",
    ...CODEC_TEMPLATE,
    inputs: isRead ? { bytes } : { scales },
    results: isRead ? { scales } : { bytes },
    numbers: { ...numbers, width },
    body: `  using namespace ternary;
  map(Space<1, 1>{}, size, chunk, [=](const i64*, i64 i) {
    for (i64 k = 0; k < width; ++k) ${isRead ? `${to} = ${from}` : `${from} = ${to}`};
  });`,
    size: scales.size,
  }, stream);
}

/** The scales that a format gives elements. */
function derivedScales(x: Tensor, layout: Layout, action: string, stream: Stream): Tensor {
  const { stored, rounding, format } = layout;
  const isBlocked = stored?.dtype === "float16" || format.startsWith("bn32");
  const count = isBlocked ? layout.scales : 1;
  if (x.size === 0) {
    return full([count], 0, { device: x, stream }) as Tensor;
  }
  using rows = x.reshape([count, -1]);
  using sizes = abs(rows as Tensor<"float32">, { stream });
  using largest = max(sizes, { axis: 1, stream }) as Tensor;
  const scales = copyOf(largest, "float32", { stream });
  const isHalf = stored?.dtype === "float16";
  if (!isHalf && (rounding === "exact" || rounding === "reciprocal")) return scales;
  using own = scales;
  const result = newTensor(x.context, "float32", [count], stream) as Tensor;
  runTemplate({
    action: "ternary scales",
    ...CODEC_TEMPLATE,
    inputs: { largest: own },
    results: { scales: result },
    numbers: { rounding: ROUNDINGS.indexOf(rounding), is_half: Number(isHalf) },
    body: `  using namespace ternary;
  map(Space<1, 1>{}, size, chunk, [=](const i64*, i64 i) {
    const float scale = scale_for(largest[i], rounding);
    if (is_half && is_scale(scale) && scale >= ${HALF_SCALES.most}.0f) {
      report(faults, operation, i);
    }
    scales[i] = is_half && scale <= ${HALF_SCALES.least}f ? 0.0f : scale;
  });`,
    size: count,
    error: (index) => scaleError(action, index, undefined, HALF_SCALES.allowed),
  }, stream);
  return result;
}

/** A copy of scales. One that is not positive and finite is an error when the result is read. */
export function checkedScales(given: Tensor, action: string, wanted?: Stream): Tensor<"float32"> {
  const stream = streamFor(given.context, wanted);
  const scales = dense(given, { stream });
  const result = newTensor(given.context, "float32", given.shape, stream) as Tensor;
  runTemplate({
    action: "ternary check scales",
    ...CODEC_TEMPLATE,
    inputs: { scales },
    results: { out: result },
    numbers: {},
    body: `  using namespace ternary;
  map(Space<1, 1>{}, size, chunk, [=](const i64*, i64 i) {
    if (!(scales[i] > 0 && is_scale(scales[i]))) report(faults, operation, i);
    out[i] = scales[i];
  });`,
    size: result.size,
    error: (index) => scaleError(action, index, undefined, "positive and finite"),
  }, stream);
  if (scales !== given) scales.dispose();
  return result as Tensor as Tensor<"float32">;
}

/** The bytes of a tensor's elements; without scales by those that the format gives them. */
export function encodeTensor(
  x: Tensor,
  layout: Layout,
  given: Tensor | undefined,
  action: string,
  wanted?: Stream,
): Tensor<"uint8"> {
  const context = commonContext(action, given === undefined ? [x] : [x, given]);
  const stream = streamFor(context, wanted);
  const { stored, rounding } = layout;
  const source = dense(x, { stream });
  const scales = given === undefined
    ? derivedScales(source, layout, action, stream)
    : dense(given, { stream });
  const bytes = full([layout.bytes], 0, { device: x, dtype: "uint8", stream });
  eachByte(layout, {
    action: "ternary encode",
    inputs: { x: source, scales },
    results: { bytes: bytes as Tensor },
    text: (codec) => `encode_byte<Codec::${codec}>(matrix, place, x, scales, bytes, rounding);`,
    error: (value) =>
      value < 0n ? scaleError(action, -1n - value) : elementError(action, value, rounding),
  }, stream);
  if (stored !== undefined && scales.size > 0) {
    using narrow = copyOf(scales, stored.dtype, { stream });
    copyScales(layout, bytes as Tensor, narrow, false, stream);
  }
  if (source !== x) source.dispose();
  if (scales !== given) scales.dispose();
  return bytes;
}

/** The scales among the bytes of a format that stores them, as `float32`. */
export function storedScalesOf(bytes: Tensor, layout: Layout, wanted?: Stream): Tensor {
  const stream = streamFor(bytes.context, wanted);
  const stored = newTensor(bytes.context, layout.stored!.dtype, [layout.scales], stream) as Tensor;
  if (stored.size > 0) copyScales(layout, bytes, stored, true, stream);
  if (stored.dtype === "float32") return stored;
  using own = stored;
  return copyOf(own, "float32", { stream });
}

/** The elements of bytes, by the scales in the bytes unless others are given. */
export function decodeTensor<D extends DType>(
  given: Tensor,
  layout: Layout,
  ownScales: Tensor | undefined,
  dtype: D,
  action: string,
  wanted?: Stream,
): Tensor<D> {
  const context = commonContext(
    action,
    ownScales === undefined ? [given] : [given, ownScales],
  );
  const stream = streamFor(context, wanted);
  const bytes = dense(given, { stream });
  const scales = layout.stored !== undefined && ownScales === undefined
    ? storedScalesOf(bytes, layout, stream)
    : dense(ownScales!, { stream });
  const out = newTensor(context, dtype, layout.shape, stream);
  eachByte(layout, {
    action: "ternary decode",
    inputs: { bytes, scales },
    results: { out: out as Tensor },
    text: (codec) => `decode_byte<Codec::${codec}>(matrix, place, bytes, scales, out);`,
    error: (value) =>
      value < 0n ? scaleError(action, -1n - value) : byteError(action, layout.format, value),
  }, stream);
  if (bytes !== given) bytes.dispose();
  if (scales !== ownScales) scales.dispose();
  return out;
}
