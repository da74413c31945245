/**
 * A weight in an open file.
 *
 * @module
 */

import { bytesPerElement, type DType } from "../../memory/dtype.ts";
import { sizeOf } from "../../tensor/kit/layout.ts";
import { checkInteger } from "../../ffi/arguments.ts";
import type { FormatOptions } from "../../ternary/mod.ts";
import { BLOCK_FORMATS } from "./block_formats.ts";
import type { WeightFormat, WeightName, WeightSource } from "./model_source.ts";
import type { SourceFile } from "./source_file.ts";

/** The floating-point types of weights. */
const FLOAT_FORMATS = ["float32", "float16", "bfloat16"] as const;

/** Whether a format is a floating-point type. */
export function isFloat(format: WeightFormat | DType): format is typeof FLOAT_FORMATS[number] {
  return (FLOAT_FORMATS as readonly string[]).includes(format);
}

/** The bytes of a shape in a floating-point type or a block format; undefined for broken blocks. */
export function bytesOfShape(
  format: typeof FLOAT_FORMATS[number] | keyof typeof BLOCK_FORMATS,
  shape: readonly number[],
): number | undefined {
  const size = sizeOf(shape);
  if (isFloat(format)) return size * bytesPerElement(format);
  const { elements, bytes } = BLOCK_FORMATS[format];
  return shape.at(-1)! % elements === 0 ? size / elements * bytes : undefined;
}

/** The description of a weight in a file. */
interface Description {
  readonly name: WeightName;
  readonly fileName: string;
  readonly shape: readonly number[];
  readonly format: WeightFormat;
  readonly formatOptions?: FormatOptions;
  /** The first byte in the file, and the number of bytes. */
  readonly offset: number;
  readonly length: number;
  /** Bytes that follow, which the format has and the file keeps elsewhere. */
  readonly tail?: Uint8Array<ArrayBuffer>;
  readonly scale?: number | Float32Array<ArrayBuffer>;
  readonly quantization?: "mean" | "largest";
}

/** A weight whose bytes are a part of a file, and maybe a tail. */
export function fileWeight(file: SourceFile, description: Description): WeightSource {
  const { name, fileName, shape, format, formatOptions = {}, offset, length } = description;
  const { tail = new Uint8Array(), scale, quantization } = description;
  const byteLength = length + tail.length;
  return {
    ...{ name, fileName, shape, format, formatOptions, byteLength },
    ...scale === undefined ? {} : { scale },
    ...quantization === undefined ? {} : { quantization },
    place: tail.length === 0 ? { path: file.path, offset } : undefined,
    async readInto(target: Uint8Array, from: number): Promise<void> {
      const action = `read ${name}`;
      checkInteger(from, "offset", action, 0, byteLength);
      checkInteger(target.length, "target.length", action, 0, byteLength - from);
      const own = target.subarray(0, Math.max(0, length - from));
      if (own.length > 0) await file.readInto(own, offset + from);
      const start = from + own.length - length;
      const rest = target.subarray(own.length);
      if (rest.length > 0) rest.set(tail.subarray(start, start + rest.length));
    },
  };
}
