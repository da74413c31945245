/**
 * The places of ternary weights in GGUF files, and the variants of their formats.
 *
 * @module
 */

import { TensorFileError } from "../../tensor/mod.ts";
import { entrySubject } from "../../tensor/files/tensor_file.ts";
import { sizeOf } from "../../tensor/kit/layout.ts";
import { formatOfGguf, type FormatOptions, type TernaryFormat } from "../../ternary/mod.ts";
import { type Layout, layoutOf } from "../../ternary/layouts.ts";
import { tileFor } from "../../ternary/tiles.ts";
import type { GgufTensor } from "./gguf_header.ts";
import type { I2sLayout } from "./model_source.ts";
import type { SourceFile } from "./source_file.ts";

const ACTION = "open a model";

/** A variant of a format. */
interface Variant {
  readonly format: TernaryFormat;
  readonly formatOptions: FormatOptions;
}

/** A variant that a file may have, and whether the scale behind its data must be there. */
interface Candidate extends Variant {
  readonly needsTail?: boolean;
}

/**
 * The variants of I2_S in the order of preference: of bitnet.cpp, with the scale behind the data; in
 * sequence, with the scale in a tensor of its own; and those of BitNet.rs.
 */
const VARIANTS: Readonly<Record<I2sLayout, readonly Variant[]>> = {
  "i2s-128": [{ format: "i2_s", formatOptions: { layout: "i2s-128" } }],
  "i2s-64": [{ format: "i2_s", formatOptions: { layout: "i2s-64" } }],
  "i2s-seq": [{ format: "i2_s", formatOptions: { layout: "i2s-seq" } }],
  "bn32-offset2": [
    { format: "bn32-offset2", formatOptions: { scales: "inline" } },
    { format: "bn32-offset2", formatOptions: { scales: "apart" } },
  ],
  "bn32-twos": [
    { format: "bn32-twos", formatOptions: { scales: "inline" } },
    { format: "bn32-twos", formatOptions: { scales: "apart" } },
  ],
};

/** What is tried by default: 64 has the bytes of 128, `bn32-twos` those of `bn32-offset2`. */
const DETECTED: readonly Candidate[] = [
  // Without the scale behind them, its data have the length of weights in sequence.
  { ...VARIANTS["i2s-128"][0]!, needsTail: true },
  ...VARIANTS["i2s-seq"],
  ...VARIANTS["bn32-offset2"],
];

/** Ternary weights in a file. */
interface TernaryPlace extends Variant {
  readonly offset: number;
  readonly length: number;
  readonly tail?: Uint8Array<ArrayBuffer>;
  readonly scale?: number | Float32Array<ArrayBuffer>;
}

/** A variant whose bytes the file has room for. */
interface Fitting extends Variant {
  readonly layout: Layout;
  /** The bytes in the file. */
  readonly length: number;
}

/** The bytes of weights without the scale behind them, and without the space in front of it. */
function dataBytes({ rows, columns, stored }: Layout, format: TernaryFormat): number {
  if (format !== "tl2") return stored!.byte;
  const rest = columns % tileFor("tl2", rows, columns, undefined, ACTION).bk;
  return rows * (columns - rest) * 5 / 24 + rows * rest / 4;
}

/**
 * The lengths that a variant can have in a file: with all its scales, or without a scale behind the
 * data if a companion has it.
 */
function lengthsOf(layout: Layout, hasCompanion: boolean, needsTail: boolean): number[] {
  const { format, stored, bytes } = layout;
  const isTail = stored?.dtype === "float32" && !needsTail;
  const own = stored !== undefined || hasCompanion ? [bytes] : [];
  return isTail && hasCompanion ? [...own, dataBytes(layout, format)] : own;
}

/**
 * The variant that fills the room of a tensor up to its alignment. The room of the last tensor need
 * only be enough, because a file may have anything at its end.
 */
function fitting(
  tensor: GgufTensor,
  variants: readonly Candidate[],
  hasCompanion: boolean,
  alignment: number,
  subject: string,
): Fitting {
  const problems: string[] = [];
  const all = variants.flatMap(({ format, formatOptions, needsTail = false }) => {
    try {
      const layout = layoutOf(format, tensor.shape, formatOptions, ACTION);
      return lengthsOf(layout, hasCompanion, needsTail).map((length) => ({
        ...{ format, formatOptions, layout, length },
      }));
    } catch (error) {
      if (!(error instanceof RangeError || error instanceof TypeError)) throw error;
      problems.push(error.message.replace(/^Cannot .*? as /, ""));
      return [];
    }
  });
  const { room, isLast } = tensor;
  const fits = all.filter(({ length }) => length <= room);
  const found = fits.find(({ length }) => room < length + alignment) ??
    (isLast ? fits[0] : undefined);
  if (found !== undefined) return found;
  const needs = all.map(({ format, length }) => `${length} bytes as ${format}`);
  const reason = all.length > 0
    ? `needs ${needs.join(" or ")}, and there are ${room}`
    : problems.length > 0
    ? `cannot be decoded: ${problems.join("; ")}`
    : "has no scale, neither behind its data nor in a tensor of its own";
  throw new TensorFileError(reason, subject);
}

/** The scales in a companion: one, or one for each block. */
async function companionScales(
  companion: GgufTensor,
  counts: readonly number[],
  file: SourceFile,
): Promise<Float32Array<ArrayBuffer>> {
  const subject = entrySubject(companion.name, file.path);
  const count = sizeOf(companion.shape);
  const size = companion.type === 0 ? 4 : companion.type === 1 ? 2 : 0;
  if (!counts.includes(count) || size === 0) {
    throw new TensorFileError(`must be ${counts.join(" or ")} scales, float32 or float16`, subject);
  }
  if (count * size > companion.room) {
    throw new TensorFileError(
      `needs ${count * size} bytes, and there are ${companion.room}`,
      subject,
    );
  }
  const { buffer } = await file.bytes(companion.offset, count * size);
  const scales = Float32Array.from(
    size === 4 ? new Float32Array(buffer) : new Float16Array(buffer),
  );
  const wrong = scales.find((scale) => !(scale > 0 && scale < Infinity));
  if (wrong === undefined) return scales;
  throw new TensorFileError(`has the scale ${wrong}, which must be positive and finite`, subject);
}

/**
 * Finds ternary weights and their scale.
 *
 * @param companion The tensor named as this one with `_scale`, if there is one.
 * @throws {TensorFileError} If the type is not ternary, there is not enough room, or a scale is
 * missing, negative or not finite.
 */
export async function ternaryPlace(
  tensor: GgufTensor,
  companion: GgufTensor | undefined,
  file: SourceFile,
  options: {
    readonly layout: I2sLayout | undefined;
    readonly alignment: number;
    readonly architecture: string;
  },
): Promise<TernaryPlace> {
  const subject = entrySubject(tensor.name, file.path);
  const format = ternaryFormat(tensor.type, options.architecture, subject);
  const variants = format !== "i2_s"
    ? [{ format, formatOptions: {} }]
    : options.layout === undefined
    ? DETECTED
    : VARIANTS[options.layout];
  const hasCompanion = companion !== undefined;
  const { layout, length, ...variant } = fitting(
    tensor,
    variants,
    hasCompanion,
    options.alignment,
    subject,
  );
  const place = { ...variant, offset: tensor.offset, length };
  const { stored } = layout;
  if (stored?.dtype === "float32" && length === layout.bytes) {
    const bytes = await file.bytes(tensor.offset + stored.byte, 4);
    const scale = new DataView(bytes.buffer).getFloat32(0, true);
    if (scale >= 0 && scale < Infinity) return place;
    const problem = `has the scale ${scale}, which must be finite and not negative: the file may ` +
      "be of another layout of I2_S";
    throw new TensorFileError(problem, subject);
  }
  if (stored?.dtype === "float16") return place;
  const isSequence = variant.formatOptions.layout === "i2s-seq";
  const counts = layout.scales === 1 ? [1] : [1, layout.scales];
  const scales = await companionScales(companion!, counts, file);
  if (stored === undefined) {
    // Files with weights in sequence keep the number that divides.
    const scale = isSequence ? 1 / scales[0]! : scales.length === 1 ? scales[0]! : scales;
    return { ...place, scale };
  }
  const tail = new Uint8Array(layout.bytes - length);
  new DataView(tail.buffer).setFloat32(stored.byte - length, scales[0]!, true);
  return { ...place, tail };
}

/** The ternary format of a type id. */
function ternaryFormat(type: number, architecture: string, subject: string): TernaryFormat {
  try {
    return formatOfGguf(type, architecture);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new TensorFileError(
      `has elements of type ${type}, which is neither ternary nor floating point`,
      subject,
      { cause },
    );
  }
}
