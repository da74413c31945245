/**
 * The ternary formats as data: which digit of which byte holds a weight, and where the scales are.
 *
 * The bytes of a section are numbered by digits of mixed radix, outermost first: each digit adds to
 * the address of the byte and to the row and column of its first weight. The further weights of a
 * byte follow at a fixed step. Host and device read the same numbers.
 *
 * Sources: ggml (TQ1_0, TQ2_0), microsoft/BitNet 16da220 (I2_S, TL1, TL2, the GPU's W2A8 order),
 * BitNet.rs f2ae3ad (blocks of 32), transformers (quarters of rows).
 *
 * @module
 */

import { cannot, requireObject } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import type { Shape } from "../tensor/mod.ts";
import { requireShape, shapeText, sizeOf } from "../tensor/kit/layout.ts";
import { tileFor } from "./tiles.ts";

/**
 * The name of a format of ternary weights:
 *
 * - `i2_s`: of bitnet.cpp: 2 bits, one scale behind the data.
 * - `tl1` and `tl2`: of bitnet.cpp's lookup kernels: pairs and triples of weights in tiles.
 * - `tq1_0` and `tq2_0`: of ggml: blocks of 256 with a scale each, 1.6875 and 2.0625 bits.
 * - `bn32-twos` and `bn32-offset2`: of BitNet.rs: blocks of 32.
 * - `hf-quarters`: of Hugging Face's transformers: four quarters of the rows in a byte. The scale is
 *   `weight_scale` of a model with `linear_class: autobitlinear`, and 1 / `weight_scale` of `bitlinear`.
 * - `ms-w2a8`: of the GPU kernels of microsoft/BitNet: tiles of 16 × 32.
 * - `gridstride`: of `TernaryWeights`: rows of 16-byte groups of 64 weights.
 *
 * @category Formats
 */
export type TernaryFormat =
  | "i2_s"
  | "bn32-twos"
  | "bn32-offset2"
  | "tl1"
  | "tl2"
  | "tq1_0"
  | "tq2_0"
  | "hf-quarters"
  | "ms-w2a8"
  | "gridstride";

/**
 * The names of all formats of ternary weights.
 * @category Formats
 */
export const TERNARY_FORMATS: readonly TernaryFormat[] = [
  "i2_s",
  "bn32-twos",
  "bn32-offset2",
  "tl1",
  "tl2",
  "tq1_0",
  "tq2_0",
  "hf-quarters",
  "ms-w2a8",
  "gridstride",
];

/**
 * The tile of `tl1` and `tl2`, as bitnet.cpp's kernel_config.ini has it for the matrix: `bm` rows
 * and `bk` columns of a tile, `bmm` rows of a part of it.
 * @category Formats
 */
export interface TernaryTile {
  /** Rows of a tile. */
  readonly bm: number;
  /** Columns of a tile. */
  readonly bk: number;
  /** Rows of a part of a tile: 32, or also 64 with `tl1`. */
  readonly bmm: number;
}

/**
 * Options that complete a format.
 * @category Formats
 */
export interface FormatOptions {
  /**
   * The order of `i2_s`: `i2s-128` by default, as official files have it; `i2s-64` of builds for ARM
   * processors; `i2s-seq` in sequence, without a scale in the data.
   */
  readonly layout?: "i2s-128" | "i2s-64" | "i2s-seq";
  /**
   * Where `bn32-…` has its scales: `inline` (the default), as `float16` behind each block, or
   * `apart`, which leaves them to the caller.
   */
  readonly scales?: "inline" | "apart";
  /** The tile of `tl1` and `tl2`; that of bitnet.cpp's preset for the shape by default. */
  readonly tile?: TernaryTile;
}

/** How the weights of a byte are coded: kernels name an enumerator of `Codec` by it. */
export const CODECS = ["quarters", "trits", "pairs", "triples"] as const;

/** A digit of the number of a byte. */
export interface Digit {
  readonly extent: number;
  readonly byte: number;
  readonly row: number;
  readonly column: number;
  /** The step of the byte of signs, in `triples`. */
  readonly sign: number;
}

/** Bytes of one kind. */
export interface Section {
  readonly codec: typeof CODECS[number];
  readonly digits: readonly Digit[];
  /** The first byte, the first byte of signs, and the column of the first weight. */
  readonly byte: number;
  readonly sign: number;
  readonly column: number;
  /** Weights of a byte, and the step from one to the next; `triples` have an order of their own. */
  readonly slots: number;
  readonly rowStep: number;
  readonly columnStep: number;
}

/** How a weight becomes -1, 0 or 1. */
export const ROUNDINGS = ["exact", "reciprocal", "aboveHalf", "fromHalf"] as const;

/** A format for a shape. */
export interface Layout {
  readonly format: TernaryFormat;
  readonly shape: Shape;
  /** The matrix that sections address; formats of a flat sequence have one row. */
  readonly rows: number;
  readonly columns: number;
  readonly sections: readonly Section[];
  readonly bytes: number;
  /** Added to the digits 0, 1 and 2 of `quarters`, modulo 4, to give the code. */
  readonly bias: number;
  readonly rounding: typeof ROUNDINGS[number];
  /** Scales among the bytes: the first one's place and the step; none if they are kept apart. */
  readonly stored?: {
    readonly dtype: "float16" | "float32";
    readonly byte: number;
    readonly step: number;
  };
  /** The number of scales; formats with scales apart also take one scale for all. */
  readonly scales: number;
}

const size = (value: number, column: number, byte: number): Digit => ({
  extent: value,
  byte,
  row: 0,
  column,
  sign: 0,
});
const rowsOf = (value: number, row: number, byte: number): Digit => ({
  ...size(value, 0, byte),
  row,
});
const signed = (digit: Digit, sign: number): Digit => ({ ...digit, sign });

/** A section of bytes with weights in the columns that follow at a step. */
function section(
  digits: readonly Digit[],
  columnStep: number,
  more: Partial<Section> = {},
): Section {
  const plain = { codec: "quarters", byte: 0, sign: 0, column: 0, slots: 4, rowStep: 0 } as const;
  return { ...plain, digits, columnStep, ...more };
}

/** What a format makes of a shape. */
type Plan = Omit<Layout, "format" | "shape" | "bias" | "rounding"> & Partial<Layout>;

type Describe = (rows: number, columns: number, options: FormatOptions, action: string) => Plan;

/** The scale behind the data, in the first of 32 bytes. */
const tail = (byte: number) =>
  ({ bytes: byte + 32, stored: { dtype: "float32", byte, step: 4 }, scales: 1 }) as const;

/** A sequence of blocks of as many weights. */
function blocks(elements: number, bytes: number, scale: number) {
  return (
    sections: (outer: Digit) => readonly Section[],
    rounding: Layout["rounding"],
    bias: number,
    isInline = true,
  ): Describe =>
  (rows, columns) => {
    const count = rows * columns / elements;
    const step = isInline ? bytes : scale;
    return {
      rows: 1,
      columns: rows * columns,
      sections: sections(size(count, elements, step)),
      bytes: count * step,
      scales: count,
      rounding,
      bias,
      ...(isInline ? { stored: { dtype: "float16", byte: scale, step } } : {}),
    };
  };
}

const trits = (digits: readonly Digit[], step: number, byte: number, column: number, slots = 5) =>
  section(digits, step, { codec: "trits", byte, column, slots });

const bitnetRs = (rounding: Layout["rounding"], bias: number): Describe => (...given) =>
  blocks(32, 10, 8)(
    (outer) => [section([outer, size(8, 4, 1)], 1)],
    rounding,
    bias,
    given[2].scales !== "apart",
  )(...given);

/** Weights in the order of `i2_s`: the first of a block in the highest bits. */
function i2s(group: number): Describe {
  return (rows, columns) => {
    const digits = [size(rows * columns / (4 * group), 4 * group, group), size(group, 1, 1)];
    return {
      rows: 1,
      columns: rows * columns,
      sections: [section(digits, -group, { column: 3 * group })],
      ...tail(rows * columns / 4),
    };
  };
}

const sequence: Describe = (rows, columns) => ({
  rows: 1,
  columns: rows * columns,
  sections: [section([size(rows * columns / 4, 4, 1)], 1)],
  bytes: rows * columns / 4,
  scales: 1,
});

/** Rows of a part of 32 rows of `tl2`: its second and third groups of eight are exchanged. */
const EXCHANGED = [rowsOf(8, 1, 1), rowsOf(2, 8, 16)];

const tl1: Describe = (rows, columns, options, action) => {
  const { bm, bk, bmm } = tileFor("tl1", rows, columns, options.tile, action);
  const by = 256 / bmm;
  const digits = [
    rowsOf(rows / bm, bm, columns * bm / 4),
    size(columns / bk, bk, bm * bk / 4),
    rowsOf(bm / bmm, bmm, bk * bmm / 4),
    size(bk / by, by, 64),
    rowsOf(bmm / 16, 16, 4 * by),
    size(by / 4, 4, 16),
    rowsOf(16, 1, 1),
  ];
  const sections = [section(digits, 1, { codec: "pairs" })];
  return { rows, columns, sections, ...tail(rows * columns / 4) };
};

const tl2: Describe = (rows, columns, options, action) => {
  const { bm, bk } = tileFor("tl2", rows, columns, options.tile, action);
  // Columns that fill no tile are coded as pairs.
  const rest = columns % bk;
  const width = columns - rest;
  const triples = section(
    [
      signed(rowsOf(rows / bm, bm, width * bm / 6), width * bm / 24),
      signed(size(width / bk, bk, bm * bk / 6), bm * bk / 24),
      signed(rowsOf(bm / 32, 32, 32 * bk / 6), 32 * bk / 24),
      signed(size(bk / 24, 24, 128), 32),
      signed(size(2, 12, 64), -1),
      ...EXCHANGED.map((digit) => signed(digit, 2 * digit.row)),
    ],
    0,
    { codec: "triples", sign: rows * width / 6 + 1, slots: 24 },
  );
  const pairs = section(
    [
      rowsOf(rows / bm, bm, rest * bm / 4),
      size(rest / 32, 32, bm * 8),
      rowsOf(bm / 32, 32, 256),
      size(8, 4, 32),
      ...EXCHANGED,
      rowsOf(2, 16, 8),
    ],
    1,
    { codec: "pairs", byte: rows * width * 5 / 24, column: width },
  );
  // bitnet.cpp reserves space as if 256 columns were coded as pairs.
  const reserved = Math.floor(Math.floor((columns - 256) * rows / 3) * 5 / 8) + 64 * rows;
  const data = Math.max(reserved, rows * width * 5 / 24 + rows * rest / 4);
  return { rows, columns, sections: [triples, pairs], ...tail(Math.ceil(data / 32) * 32) };
};

const quarters: Describe = (rows, columns) => ({
  rows,
  columns,
  sections: [
    section([rowsOf(rows / 4, 1, columns), size(columns, 1, 1)], 0, { rowStep: rows / 4 }),
  ],
  bytes: rows / 4 * columns,
  scales: rows,
});

const tiles16x32: Describe = (rows, columns) => ({
  rows,
  columns,
  sections: [section([
    rowsOf(rows / 16, 16, 4 * columns),
    size(columns / 32, 32, 128),
    rowsOf(2, 8, 64),
    size(2, 16, 32),
    rowsOf(8, 1, 4),
    size(4, 1, 1),
  ], 4)],
  bytes: rows * columns / 4,
  scales: rows,
});

const groups64: Describe = (rows, columns) => {
  const groups = Math.ceil(columns / 64);
  const digits = [rowsOf(rows, 1, 16 * groups), size(groups, 64, 16), size(16, 1, 1)];
  const sections = [section(digits, 16)];
  return { rows, columns, sections, bytes: 16 * groups * rows, scales: rows };
};

/** A format: the multiples that its rows, its columns or all its elements must have, and its plan. */
interface Format {
  readonly multiples: readonly [rows: number, columns: number, elements: number];
  readonly describe: Describe;
  readonly bias?: number;
}

const tq1 = (outer: Digit) => [
  trits([outer, size(32, 1, 1)], 32, 0, 0),
  trits([outer, size(16, 1, 1)], 16, 32, 160),
  trits([outer, size(4, 1, 1)], 4, 48, 240, 4),
];
const tq2 = (outer: Digit) => [section([outer, size(2, 128, 32), size(32, 1, 1)], 32)];

const TABLE: Readonly<Record<TernaryFormat | "i2s-64" | "i2s-seq", Format>> = {
  "i2_s": { multiples: [1, 1, 128], describe: i2s(32) },
  "i2s-64": { multiples: [1, 1, 64], describe: i2s(16) },
  "i2s-seq": { multiples: [1, 1, 4], describe: sequence },
  "bn32-twos": { multiples: [1, 1, 32], describe: bitnetRs("aboveHalf", 3) },
  "bn32-offset2": { multiples: [1, 1, 32], describe: bitnetRs("fromHalf", 1) },
  // Tiles have multiples of their own.
  "tl1": { multiples: [1, 1, 1], describe: tl1 },
  "tl2": { multiples: [1, 1, 1], describe: tl2 },
  "tq1_0": { multiples: [1, 256, 1], describe: blocks(256, 54, 52)(tq1, "reciprocal", 0) },
  "tq2_0": { multiples: [1, 256, 1], describe: blocks(256, 66, 64)(tq2, "reciprocal", 0) },
  "hf-quarters": { multiples: [4, 1, 1], describe: quarters },
  "ms-w2a8": { multiples: [16, 32, 1], describe: tiles16x32, bias: 1 },
  "gridstride": { multiples: [1, 1, 1], describe: groups64 },
};

/** The options that a format has, with their values. */
const OPTIONS: Readonly<Record<string, readonly [formats: RegExp, values?: readonly string[]]>> = {
  layout: [/^i2_s$/, ["i2s-128", "i2s-64", "i2s-seq"]],
  scales: [/^bn32/, ["inline", "apart"]],
  tile: [/^tl/],
};

/** Refuses options that a format does not have, and their wrong values. */
function checkFormatOptions(format: TernaryFormat, options: FormatOptions, action: string): void {
  requireObject(options, "options", action);
  for (const [name, value] of Object.entries(options)) {
    const [formats, values] = OPTIONS[name] ?? [];
    if (value === undefined || formats === undefined) continue;
    if (!formats.test(format)) {
      throw new TypeError(`${cannot(action)} as ${format} has no options.${name}`);
    }
    if (values === undefined || values.includes(value)) continue;
    throw new TypeError(
      `${cannot(action)} as options.${name} must be ${values.join(" or ")}: it is ${
        describeValue(value)
      }`,
    );
  }
}

/** The layout of a format for a shape, whose last axis is that of columns. */
export function layoutOf(
  format: TernaryFormat,
  shape: Shape,
  options: FormatOptions,
  action: string,
): Layout {
  if (!TERNARY_FORMATS.includes(format)) {
    throw new TypeError(
      `${cannot(action)} as format must be one of ${TERNARY_FORMATS.join(", ")}: it is ${
        describeValue(format)
      }`,
    );
  }
  checkFormatOptions(format, options, action);
  const extents = requireShape(shape, action);
  if (extents.length === 0) {
    throw new RangeError(`${cannot(action)} as shape must have dimensions: it has none`);
  }
  const columns = extents.at(-1)!;
  const rows = sizeOf(extents.slice(0, -1));
  const { layout } = options;
  const isOther = layout === "i2s-64" || layout === "i2s-seq";
  const { multiples, describe, bias = 0 } = TABLE[isOther ? layout : format];
  const counts = [[rows, "rows"], [columns, "columns"], [rows * columns, "elements"]] as const;
  counts.forEach(([count, name], index) => {
    const multiple = multiples[index]!;
    if (count % multiple === 0) return;
    throw new RangeError(
      `${cannot(action)} as ${
        layout ?? format
      } needs a multiple of ${multiple} ${name}: the shape ${shapeText(extents)} has ${count}`,
    );
  });
  const plan = describe(rows, columns, options, action);
  return { bias, rounding: "exact", ...plan, format, shape: extents };
}

/**
 * The format of a type id in a GGUF file. The ids of ggml and of bitnet.cpp overlap: 39 is `tl2`
 * in files of bitnet.cpp, and MXFP4 in others.
 *
 * @param type The type id of a tensor.
 * @param architecture The file's `general.architecture`, which decides about 39.
 * @throws {RangeError} If the id is no ternary format, or ambiguous.
 *
 * @example
 * ```ts
 * import { formatOfGguf } from "@gridstride/cuda/ternary";
 *
 * console.log(formatOfGguf(34)); // tq1_0
 * ```
 * @category Formats
 */
export function formatOfGguf(type: number, architecture?: string): TernaryFormat {
  const action = "find the format of a GGUF type";
  const known: Readonly<Record<number, TernaryFormat>> = {
    34: "tq1_0",
    35: "tq2_0",
    36: "i2_s",
    38: "tl1",
    39: "tl2",
  };
  const format = known[type];
  if (format === undefined || !Object.hasOwn(known, type)) {
    throw new RangeError(
      `${cannot(action)} as type must be one of ${Object.keys(known).join(", ")}: it is ${
        describeValue(type)
      }`,
    );
  }
  if (type === 39 && !/^bitnet/.test(String(architecture))) {
    throw new RangeError(
      `${
        cannot(action)
      } as type 39 is tl2 in files of bitnet.cpp and MXFP4 in others: architecture ` +
        `must begin with bitnet for tl2, and is ${describeValue(architecture)}`,
    );
  }
  return format;
}
