/**
 * Packs the bytes of a format, which are on the device, as those of {@linkcode TernaryWeights}.
 *
 * @module
 */

import { cannot } from "../ffi/arguments.ts";
import { streamFor } from "../memory/buffer_copy.ts";
import { copyOf } from "../tensor/elementwise_kernel.ts";
import { fromTypedArray, full, type Shape, type Tensor } from "../tensor/mod.ts";
import { requireBytes, requireScales, scaleError } from "./codec.ts";
import { decodeTensor, encodeTensor, storedScalesOf } from "./device_codec.ts";
import { type FormatOptions, type Layout, layoutOf, type TernaryFormat } from "./layouts.ts";
import { canRepack, repack } from "./repacking.ts";
import { scalesOfRows } from "./weights.ts";

/** What the bytes are. */
export interface PackedSource {
  readonly format: TernaryFormat;
  readonly formatOptions: FormatOptions;
  /** Rows and columns. */
  readonly shape: Shape;
  /** A factor beside the scales among the bytes, or the scales; 1 by default. */
  readonly scale?: number | Float32Array<ArrayBuffer>;
}

/** The product of stored scales and given ones; one of them may be missing. */
function joinedScales(
  stored: Float32Array<ArrayBuffer> | undefined,
  given: PackedSource["scale"],
  action: string,
): Float32Array<ArrayBuffer> {
  const factors = typeof given === "number" ? Float32Array.of(given) : given;
  if (stored === undefined) return factors ?? Float32Array.of(1);
  if (factors === undefined) return stored;
  if (factors.length === 1) return stored.map((scale) => scale * factors[0]!);
  if (factors.length === stored.length) return stored.map((scale, at) => scale * factors[at]!);
  throw new RangeError(
    `${cannot(action)} as scale must have 1 or ${stored.length} numbers: it has ${factors.length}`,
  );
}

/**
 * Packs the bytes of a matrix. A byte without a meaning is an error when the result is read.
 *
 * @param bytes The bytes, which must not be disposed before the result is there.
 * @param out The packed rows, which may be rows of a larger matrix.
 * @param action The action in error messages.
 * @returns One scale, or one for each row.
 * @throws {RangeError} If there are too few or too many bytes; if a scale is not positive and finite, or
 * scales within a row differ.
 */
export async function packBytes(
  bytes: Tensor<"uint8">,
  out: Tensor<"uint8">,
  { format, formatOptions, shape, scale }: PackedSource,
  action: string,
): Promise<Float32Array<ArrayBuffer>> {
  const layout = layoutOf(format, shape, formatOptions, action);
  requireBytes(bytes.size, layout, action);
  const isFast = canRepack(layout);
  if (isFast) repack(bytes, layout, out, action);
  else packInSteps(bytes, layout, out, undefined, action);
  using found = layout.stored && storedScalesOf(bytes as Tensor, layout);
  const stored = await found?.toArray() as Float32Array<ArrayBuffer> | undefined;
  const scales = joinedScales(stored, scale, action);
  requireScales(scales, action);
  const zero = scales.indexOf(0);
  if (zero >= 0) {
    if (stored?.[zero] !== 0) throw scaleError(action, zero, 0, "positive and finite");
    // The weights of such a scale must be 0, which decoding checks.
    using known = fromTypedArray(scales.map((it) => Number(it !== 0)), [scales.length], {
      device: bytes,
    });
    packInSteps(bytes, layout, out, known as Tensor, action);
  }
  return scalesOfRows(scales, shape[0]!, action);
}

/** Packs bytes of any format by the codes of all weights, which take a byte each. */
function packInSteps(
  bytes: Tensor<"uint8">,
  layout: Layout,
  out: Tensor<"uint8">,
  scales: Tensor | undefined,
  action: string,
): void {
  using one = full([1], 1, { device: bytes }) as Tensor;
  using codes = decodeTensor(bytes as Tensor, layout, scales ?? one, "int8", action);
  packCodes(codes, out, action);
}

/** Packs codes -1, 0 and 1, or the one magnitude that elements have besides 0. */
export function packCodes(codes: Tensor, out: Tensor<"uint8">, action: string, scale?: Tensor) {
  const { context } = codes;
  using one = full([1], 1, { device: codes }) as Tensor;
  using packed = encodeTensor(
    codes,
    layoutOf("gridstride", codes.shape, {}, action),
    scale ?? one,
    action,
  );
  using rows = packed.reshape(out.shape);
  copyOf(rows as Tensor, "uint8", { out: out as Tensor, stream: streamFor(context, undefined) });
}
