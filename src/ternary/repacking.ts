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

/** Bytes that a block of the block form takes. */
const BYTES = 2 ** 17;

/**
 * Bytes that hold the weights of some groups of 64 and no others. A group is 16 bytes with four fields,
 * and each field of all of them is a field of 16 neighbouring bytes of the source.
 */
interface Unit {
  /** The number of the 16 bytes in the source, and of groups that come of them. */
  readonly parts: number;
  readonly groups: number;
  /** The C++ of the place of unit `i` in the source. */
  readonly from: string;
  /** The C++ of the place of its first group, and of the step to the next. */
  readonly to: string;
  readonly step: string;
  /** The part that holds a field of a group, and the lowest bit there. */
  readonly place: (group: number, field: number) => readonly [part: number, bit: number];
}

/** Of `i2_s` and `tq2_0`: 32 bytes have 128 weights, the first 32 of them in one field. */
const blocked = (from: string, bitOf: (quarter: number) => number): Unit => ({
  ...{ parts: 2, groups: 2, from, to: "i * 32", step: "16" },
  place: (group, field) => [field % 2, bitOf(2 * group + (field >> 1))],
});

const UNITS: Readonly<Record<string, Unit>> = {
  i2_s: blocked("i * 32", (quarter) => 6 - 2 * quarter),
  tq2_0: blocked("i / 2 * 66 + i % 2 * 32", (quarter) => 2 * quarter),
  // The four rows of a byte.
  "hf-quarters": {
    ...{ parts: 4, groups: 4, from: "i * 64", to: "i * 16", step: "units * 16" },
    place: (group, field) => [field, 2 * group],
  },
};

/** Whether the bytes of a layout can be packed in one pass: of whole units. */
export function canRepack({ format, shape, sections }: Layout): boolean {
  const [rows, columns] = shape as readonly [number, number];
  if (shape.length !== 2 || rows * columns === 0) return false;
  // `i2_s` in its order of blocks of 128.
  if (format === "i2_s") return columns % 128 === 0 && sections[0]!.columnStep === -32;
  return columns % 64 === 0 && UNITS[format] !== undefined;
}

/** The C++ that makes a word of each group of the words of the parts. */
function wordText({ groups, place, step }: Unit): string {
  return Array.from({ length: groups }, (_, group) => {
    const fields = [0, 1, 2, 3].map((field) => {
      const [part, bit] = place(group, field);
      return `(parts[${part}] >> ${bit} & ones * 3) << ${2 * field}`;
    });
    return `      {
        const Word codes = ${fields.join(" |\n          ")};
        memcpy(&out[to + ${group} * (${step})], &codes, sizeof codes);
        wrong |= codes & codes >> 1 & ones * 0x55;
      }`;
  }).join("\n");
}

/** The C++ that reports the byte of each code that is none. */
function reportText({ groups, place, step }: Unit): string {
  return Array.from(
    { length: groups },
    (_, group) =>
      [0, 1, 2, 3].map((field) =>
        `    for (int k = 0; k < 16; ++k) {
      if ((out[first + ${group} * (${step}) + k] >> ${2 * field} & 3) == 3) {
        report(faults, operation, from + ${16 * place(group, field)[0]} + k);
      }
    }`
      ),
  ).flat().join("\n");
}

/** Packs bytes; one without a meaning is an error when the result is read. */
export function repack(
  bytes: Tensor<"uint8">,
  { format, shape }: Layout,
  out: Tensor<"uint8">,
  action: string,
): void {
  const unit = UNITS[format]!;
  const [rows, columns] = shape as readonly [number, number];
  const units = rows * columns / 64 / unit.groups;
  runTemplate({
    action: `ternary repack ${format}`,
    ...CODEC_TEMPLATE,
    inputs: { bytes: bytes as Tensor },
    results: { out: out as Tensor },
    numbers: { units },
    body: `  using namespace ternary;
#if defined(GS_BLOCK_FORM)
  typedef unsigned long long Word __attribute__((vector_size(16)));
#else
  using Word = unsigned long long;
#endif
  map(Space<1, 1>{}, size, chunk, [=](const i64*, i64 i) {
    const i64 from = ${unit.from};
    const i64 first = ${unit.to};
    const Word ones = Word{} + 0x0101010101010101ull;
    Word wrong = {};
    for (int half = 0; half < 16; half += static_cast<int>(sizeof(Word))) {
      const i64 to = first + half;
      Word parts[${unit.parts}];
      for (int part = 0; part < ${unit.parts}; ++part) {
        memcpy(&parts[part], &bytes[from + 16 * part + half], sizeof(Word));
      }
${wordText(unit)}
    }
    unsigned long long any[sizeof(Word) / 8];
    memcpy(any, &wrong, sizeof any);
    if ((any[0] | any[sizeof(Word) / 8 - 1]) == 0) return;
${reportText(unit)}
  });`,
    size: units,
    chunk: BYTES / 16 / unit.parts,
    error: (index) => byteError(action, format, index),
  }, streamFor(bytes.context, undefined));
}
