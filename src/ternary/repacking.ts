/**
 * Packs bytes that hold four weights each as those of `TernaryWeights` in one pass: the formats of
 * the files of BitNet 2B4T.
 *
 * @module
 */

import { streamFor } from "../memory/buffer_copy.ts";
import { runTemplate } from "../tensor/kit/templates.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { byteError } from "./codec.ts";
import { CODEC_TEMPLATE } from "./device_codec.ts";
import type { Layout } from "./layouts.ts";

/** Groups of 64 weights that a block of the block form takes. */
const GROUPS = 4096;

/**
 * Where the weights of a group are: a weight k of it, of 64, is a field of byte `first + k % 32` or
 * `first + k`. Groups of a format in blocks have 32 bytes in common with a neighbour.
 */
interface Places {
  /** The C++ of the byte of the group's first weight. */
  readonly first: string;
  /** The C++ of the shift of weight 16 · quarter, and of its byte from the first. */
  readonly shift: (quarter: number) => string;
  readonly byte: (quarter: number) => number;
}

/** Of `i2_s` and `tq2_0`: 128 weights in 32 bytes, 32 for each field. */
const blocked = (first: string, sign: "6 - " | ""): Places => ({
  first,
  shift: (quarter) => `${sign}2 * (i % 2 * 2 + ${quarter >> 1})`,
  byte: (quarter) => 16 * (quarter & 1),
});

const PLACES: Readonly<Record<string, Places>> = {
  i2_s: blocked("i / 2 * 32", "6 - "),
  tq2_0: blocked("i / 4 * 66 + i / 2 % 2 * 32", ""),
  "hf-quarters": {
    first: "i / groups % quarter * (groups * 64) + i % groups * 64",
    shift: () => "i / groups / quarter * 2",
    byte: (quarter) => 16 * quarter,
  },
};

/** Whether the bytes of a layout can be packed in one pass: of whole groups, or whole blocks. */
export function canRepack({ format, shape, sections }: Layout): boolean {
  const [rows, columns] = shape as readonly [number, number];
  if (shape.length !== 2 || rows * columns === 0) return false;
  // `i2_s` in its order of blocks of 128.
  if (format === "i2_s") return columns % 128 === 0 && sections[0]!.columnStep === -32;
  return columns % 64 === 0 && PLACES[format] !== undefined;
}

/** Packs bytes; one without a meaning is an error when the result is read. */
export function repack(
  bytes: Tensor<"uint8">,
  { format, shape }: Layout,
  out: Tensor<"uint8">,
  action: string,
): void {
  const { first, shift, byte } = PLACES[format]!;
  const [rows, columns] = shape as readonly [number, number];
  const groups = columns / 64;
  const quarters = [0, 1, 2, 3];
  runTemplate({
    action: `ternary repack ${format}`,
    ...CODEC_TEMPLATE,
    inputs: { bytes: bytes as Tensor },
    results: { out: out as Tensor },
    numbers: { groups, quarter: rows / 4 },
    body: `  using namespace ternary;
  map(Space<1, 1>{}, size, chunk, [=](const i64*, i64 i) {
    const i64 first = ${first};
    unsigned wrong = 0;
    for (int j = 0; j < 16; ++j) {
      const unsigned codes = ${
      quarters.map((k) => `(bytes[first + ${byte(k)} + j] >> (${shift(k)}) & 3u) << ${2 * k}`).join(
        " |\n        ",
      )
    };
      out[i * 16 + j] = static_cast<u8>(codes);
      wrong |= codes & codes >> 1 & 0x55u;
    }
    if (wrong == 0) return;
    for (int k = 0; k < 64; ++k) {
      if ((out[i * 16 + k % 16] >> k / 16 * 2 & 3) != 3) continue;
      const int bytes_from[4] = {${quarters.map(byte).join(", ")}};
      report(faults, operation, first + bytes_from[k / 16] + k % 16);
    }
  });`,
    size: rows * groups,
    chunk: GROUPS,
    error: (index) => byteError(action, format, index),
  }, streamFor(bytes.context, undefined));
}
