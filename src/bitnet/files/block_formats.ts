/**
 * The block formats of ggml that embeddings and heads have, as numbers: bit for bit as ggml
 * dequantises them.
 *
 * Source: ggml-quants.c of ggml d99724f.
 *
 * @module
 */

import { requireInstance } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";

/**
 * The name of a block format: `q8_0` has blocks of 32 elements, `q4_k` and `q6_k` of 256.
 * @category Files
 */
export type BlockFormat = "q8_0" | "q4_k" | "q6_k";

type Decode = (
  bytes: DataView,
  at: number,
  values: Float32Array<ArrayBuffer>,
  first: number,
) => void;

const round = Math.fround;

/** A scale, and 32 signed bytes. */
const q8: Decode = (bytes, at, values, first) => {
  const scale = bytes.getFloat16(at, true);
  for (let i = 0; i < 32; i++) values[first + i] = scale * bytes.getInt8(at + 2 + i);
};

/**
 * A scale and a minimum, 8 pairs of 6-bit scales and minima in 12 bytes, and 4-bit numbers: of 64
 * elements, the first 32 are in the low halves of 32 bytes.
 */
const q4k: Decode = (bytes, at, values, first) => {
  const scale = bytes.getFloat16(at, true);
  const minimum = bytes.getFloat16(at + 2, true);
  const packed = (index: number) => bytes.getUint8(at + 4 + index);
  for (let part = 0; part < 8; part++) {
    // The last four pairs have their upper two bits in those of the first four.
    const [low, high] = part < 4 ? [packed(part) & 63, packed(part + 4) & 63] : [
      packed(part + 4) & 15 | packed(part - 4) >> 6 << 4,
      packed(part + 4) >> 4 | packed(part) >> 6 << 4,
    ];
    const [factor, offset] = [round(scale * low), round(minimum * high)];
    const shift = part % 2 * 4;
    for (let i = 0; i < 32; i++) {
      const code = bytes.getUint8(at + 16 + (part >> 1) * 32 + i) >> shift & 15;
      values[first + part * 32 + i] = round(factor * code) - offset;
    }
  }
};

/** 4 low bits, 2 high bits, signed scales of 16 elements each, and their scale at the end. */
const q6k: Decode = (bytes, at, values, first) => {
  const scale = bytes.getFloat16(at + 208, true);
  for (let i = 0; i < 256; i++) {
    const half = i >> 7;
    const quarter = i >> 5 & 3;
    const place = i & 31;
    const low = bytes.getUint8(at + half * 64 + (quarter & 1) * 32 + place) >> (quarter >> 1) * 4;
    const high = bytes.getUint8(at + 128 + half * 32 + place) >> quarter * 2;
    const code = (low & 15 | (high & 3) << 4) - 32;
    values[first + i] = round(scale * bytes.getInt8(at + 192 + (i >> 4))) * code;
  }
};

/** The formats by name: elements and bytes of a block, and how to decode it. */
export const BLOCK_FORMATS: Readonly<
  Record<
    BlockFormat,
    { readonly elements: number; readonly bytes: number; readonly decode: Decode }
  >
> = {
  q8_0: { elements: 32, bytes: 34, decode: q8 },
  q4_k: { elements: 256, bytes: 144, decode: q4k },
  q6_k: { elements: 256, bytes: 210, decode: q6k },
};

/**
 * The elements of whole blocks.
 *
 * @param bytes The blocks.
 * @param format Their format.
 * @throws {TypeError} If `bytes` are none, or the format is unknown.
 * @throws {RangeError} If the bytes are not whole blocks.
 *
 * @example
 * ```ts
 * import { decodeBlocks } from "@gridstride/cuda/bitnet";
 *
 * const block = new Uint8Array(34).fill(1);
 * block.set([0x00, 0x38]); // the scale, 0.5
 * console.log(decodeBlocks(block, "q8_0")[31]); // 0.5
 * ```
 * @category Files
 */
export function decodeBlocks(bytes: Uint8Array, format: BlockFormat): Float32Array<ArrayBuffer> {
  const action = "decode blocks";
  requireInstance(bytes, Uint8Array, "bytes", action);
  if (!Object.hasOwn(BLOCK_FORMATS, format)) {
    throw new TypeError(
      `Cannot ${action} as format must be one of ${Object.keys(BLOCK_FORMATS).join(", ")}: it is ${
        describeValue(format)
      }`,
    );
  }
  const { elements, bytes: size, decode } = BLOCK_FORMATS[format];
  const count = bytes.length / size;
  if (!Number.isInteger(count)) {
    throw new RangeError(
      `Cannot ${action} as bytes must be blocks of ${size} bytes of ${format}: it has ${bytes.length}`,
    );
  }
  const values = new Float32Array(count * elements);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let block = 0; block < count; block++) decode(view, block * size, values, block * elements);
  return values;
}
