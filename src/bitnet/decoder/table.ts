/**
 * Tables with a row for each token: the embedding and the head.
 *
 * @module
 */

import type { DeviceContext } from "../../hardware/device_context.ts";
import { streamFor } from "../../memory/buffer_copy.ts";
import { bytesPerElement } from "../../memory/dtype.ts";
import { copyOf } from "../../tensor/elementwise_kernel.ts";
import { templates } from "../../tensor/kit/expression/kernel_template.ts";
import { newTensor } from "../../tensor/kit/kernel_call.ts";
import { runTemplate } from "../../tensor/kit/templates.ts";
import { empty, fromBuffer, matmul, rmsNorm, type Tensor } from "../../tensor/mod.ts";
import { multiplyScaledRows } from "../../ternary/integer_product.ts";
import { quantizeActivations } from "../../ternary/quantize.ts";
import { BLOCK_FORMATS, type BlockFormat } from "../files/block_formats.ts";
import { isFloat } from "../files/file_weight.ts";
import type { WeightSource } from "../files/model_source.ts";
import { type Norm, quantizeRows } from "./activations.ts";
import type { WeightTransfer } from "./transfer.ts";

/**
 * The floating element types of weights in files and of tables on the device.
 * @category Generation
 */
export type DecoderDType = "float32" | "float16" | "bfloat16";

/** Rows of numbers: floating ones, or integers with a scale for each row. */
export interface Table {
  /** [rows, columns]. */
  readonly values: Tensor<DecoderDType | "int8">;
  /** [rows], of integers. */
  readonly scale: Tensor<"float32"> | undefined;
}

/** Elements that are converted at once. */
const PIECE = 2 ** 22;

/** The C++ of element `k` of a block at `at`, as `decodeBlocks()` computes it. */
const ELEMENTS: Readonly<Record<BlockFormat, string>> = {
  q8_0: "half_at(at) * signed_at(at + 2 + k)",
  q4_k: `[&] {
      const i64 part = k / 32;
      const i64 scales = at + 4;
      const int low = part < 4 ? bytes[scales + part] & 63
        : (bytes[scales + part + 4] & 15) | bytes[scales + part - 4] >> 6 << 4;
      const int high = part < 4 ? bytes[scales + part + 4] & 63
        : bytes[scales + part + 4] >> 4 | bytes[scales + part] >> 6 << 4;
      const int code = bytes[at + 16 + part / 2 * 32 + k % 32] >> part % 2 * 4 & 15;
      const float factor = half_at(at) * static_cast<float>(low);
      const float offset = half_at(at + 2) * static_cast<float>(high);
      const float product = factor * static_cast<float>(code);
      return product - offset;
    }()`,
  q6_k: `[&] {
      const i64 half = k / 128, quarter = k / 32 % 4, place = k % 32;
      const int low = bytes[at + half * 64 + quarter % 2 * 32 + place] >> quarter / 2 * 4;
      const int high = bytes[at + 128 + half * 32 + place] >> quarter * 2;
      const int code = ((low & 15) | (high & 3) << 4) - 32;
      const float factor = half_at(at + 208) * signed_at(at + 192 + k / 16);
      return factor * static_cast<float>(code);
    }()`,
};

/** The elements of blocks, with the bits of `decodeBlocks()`. */
export function blockElements(
  bytes: Tensor<"uint8">,
  format: BlockFormat,
  shape: readonly number[],
): Tensor<"float32"> {
  const { elements, bytes: size } = BLOCK_FORMATS[format];
  const stream = streamFor(bytes.context, undefined);
  const out = newTensor(bytes.context, "float32", shape, stream);
  runTemplate({
    action: `decode ${format}`,
    template: templates.map,
    inputs: { bytes: bytes as Tensor },
    results: { out: out as Tensor },
    numbers: {},
    body: `  const auto half_at = [=](i64 at) {
    const int bits = bytes[at] | bytes[at + 1] << 8;
    const int size = bits & 0x7fff;
    // The exponent of float32 is larger by 112; subnormal numbers are multiples of 2^-24.
    const int exponent = size < 0x7c00 ? 112 << 23 : 224 << 23;
    const float value = size < 0x400 ? static_cast<float>(size) * 5.9604644775390625e-8f
                                     : __int_as_float((size << 13) + exponent);
    return bits < 0x8000 ? value : -value;
  };
  const auto signed_at = [=](i64 at) {
    return static_cast<float>(static_cast<signed char>(bytes[at]));
  };
  map(Space<1, 1>{}, size, chunk, [=](const i64*, i64 i) {
    const i64 at = i / ${elements} * ${size};
    const i64 k = i % ${elements};
    out[i] = ${ELEMENTS[format]};
  });`,
    size: out.size,
  }, stream);
  return out;
}

/** The bytes of rows of a weight of floats or blocks. */
export function bytesOfRows({ format, shape }: WeightSource, rows: number): number {
  const elements = rows * shape.slice(1).reduce((product, extent) => product * extent, 1);
  if (isFloat(format)) return elements * bytesPerElement(format);
  const block = BLOCK_FORMATS[format as BlockFormat];
  return elements / block.elements * block.bytes;
}

/** A piece of a weight: rows of floats, or of blocks as `float32`. */
function convertRows(
  source: WeightSource,
  [first, last]: readonly [number, number],
  transfer: WeightTransfer,
  use: (rows: Tensor) => void,
): Promise<void> {
  const { format } = source;
  const shape = [last - first, ...source.shape.slice(1)];
  const part = {
    source,
    offset: bytesOfRows(source, first),
    bytes: bytesOfRows(source, last - first),
  };
  if (isFloat(format)) {
    return transfer.convert(part, format, (elements) => {
      using rows = elements.reshape(shape);
      use(rows as Tensor);
    });
  }
  return transfer.convert(part, "uint8", (bytes) => {
    using rows = blockElements(bytes, format as BlockFormat, shape);
    use(rows as Tensor);
  });
}

/** Reads floats or blocks as an element type, or as integers with a scale for each row. */
export async function readTable(
  source: WeightSource,
  dtype: DecoderDType | "int8",
  context: DeviceContext,
  transfer: WeightTransfer,
  own: <Value extends Disposable>(value: Value) => Value,
): Promise<Table> {
  const { format, shape, byteLength } = source;
  if (dtype === format) {
    const part = { source, offset: 0, bytes: byteLength };
    const values = own(fromBuffer(await transfer.upload(part, dtype), shape));
    return { values, scale: undefined };
  }
  const rows = shape[0]!;
  const values = own(empty(shape, { dtype, device: { context } }));
  const scale = dtype === "int8" ? own(empty([rows], { device: { context } })) : undefined;
  const step = Math.max(1, Math.floor(PIECE * rows / values.size));
  const starts = Array.from({ length: Math.ceil(rows / step) }, (_, piece) => piece * step);
  await Promise.all(starts.map((start) => {
    const stop = Math.min(rows, start + step);
    return convertRows(source, [start, stop], transfer, (elements) => {
      using out = values.slice([{ start, stop }]) as Tensor;
      if (scale === undefined) return void copyOf(elements, dtype, { out });
      using factors = scale.slice([{ start, stop }]) as Tensor;
      using quantised = new DisposableStack();
      const parts = quantizeActivations(elements as Tensor<DecoderDType>);
      copyOf(quantised.use(parts.values) as Tensor, "int8", { out });
      copyOf(quantised.use(parts.scale) as Tensor, "float32", { out: factors });
    });
  }));
  return { values, scale };
}

/**
 * The logits of rows: the product of norm(hidden + pending) and a table, in a new tensor or a given
 * one. Rows of integers are multiplied with rows that are quantised as activations.
 */
export function logitsOf(
  hidden: Tensor,
  residual: Tensor,
  norm: Norm,
  { values, scale }: Table,
  out: Tensor<"float32"> | undefined,
): Tensor<"float32"> {
  const place = out === undefined ? {} : { out };
  if (scale === undefined) {
    const { y } = rmsNorm(hidden, { ...norm, residual });
    const dtype = values.dtype as DecoderDType;
    const rows = y.dtype === dtype ? y : y.astype(dtype);
    return matmul(rows as Tensor, values.transpose() as Tensor, { dtype: "float32", ...place });
  }
  const { values: q, scale: factor } = quantizeRows(hidden, { norm, residual });
  const table = { values: values as Tensor as Tensor<"int8">, scale };
  return multiplyScaledRows({ values: q, scale: factor }, table, out);
}
