/**
 * Matrix products, attention and ternary products, with references.
 *
 * @module
 */

import { bytesPerElement, type DType, isFloatDType } from "../../memory/dtype.ts";
import { attention } from "../../tensor/attention/attention.ts";
import { decodeAttention, PagedCache } from "../../tensor/attention/paged_cache.ts";
import { rotaryEmbedding } from "../../tensor/attention/rotary.ts";
import { attentionVariableLength } from "../../tensor/attention/variable_length.ts";
import { full, tensor } from "../../tensor/creation.ts";
import { astype } from "../../tensor/elementwise.ts";
import { concat, pad } from "../../tensor/manipulation.ts";
import { sizeOf } from "../../tensor/kit/layout.ts";
import { matmulBatch } from "../../tensor/matmul/batch.ts";
import { matmul, type MatmulOptions } from "../../tensor/matmul/matmul.ts";
import { VARIANT_NAMES } from "../../tensor/matmul/variants.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { decode, encode } from "../../ternary/formats.ts";
import type { FormatOptions, TernaryFormat } from "../../ternary/layouts.ts";
import { TERNARY_VARIANTS, ternaryMatmul } from "../../ternary/ternary_matmul.ts";
import { TernaryWeights } from "../../ternary/weights.ts";
import type { MatrixOperation } from "./matrix_operations.ts";
import { rounded, roundToEven, UNARY } from "./tensor_references.ts";

type Row = readonly number[];
type Matrix = readonly Row[];

/** Elements of a head; the first `HEADS` of a row are queries, the first of those keys and values. */
const HEAD = 32;
const HEADS = 2;
/** Keeps the exponents of the scores in a range where errors are bounded. */
const SCALE = 1 / 64;

const dot = (x: Row, y: Row) => x.reduce((sum, it, at) => sum + it * y[at]!, 0);

/** Heads of rows: [rows, heads, HEAD]. */
const packedHeads = (x: Tensor, heads: number) =>
  x.slice([{}, { stop: heads * HEAD }]).reshape([-1, heads, HEAD]) as Tensor<"float32">;

/** Heads of rows: [1, heads, rows, HEAD]. */
const headsOf = (x: Tensor, heads: number) =>
  packedHeads(x, heads).permute([1, 0, 2]).expandDims(0);

/**
 * Attention of query heads to one head of keys that are also the values, which `isSeen` limits; they
 * are the rows, or these several times.
 */
const attending = (
  run: MatrixOperation["run"],
  isSeen: (query: number, key: number) => boolean,
  times = 1,
): MatrixOperation => ({
  dtypes: ["float32", "float16", "bfloat16"],
  bound: 16,
  isCentred: true,
  run,
  reference: (x: Matrix) => {
    const keys = Array(times).fill(x).flat().map((row: Row) => row.slice(0, HEAD));
    return Array.from({ length: HEADS }, (_, head) =>
      x.map((row, at) => {
        const query = row.slice(head * HEAD, (head + 1) * HEAD);
        const weights = keys.map((key, k) => isSeen(at, k) ? Math.exp(SCALE * dot(query, key)) : 0);
        const sum = weights.reduce((total, weight) => total + weight, 0);
        return keys[0]!.map((_, column) => dot(weights, keys.map((key) => key[column]!)) / sum);
      })).flat();
  },
});

const attend = (x: Tensor, options: Parameters<typeof attention>[3]) => {
  const keys = headsOf(x, 1);
  return attention(headsOf(x, HEADS), keys, keys, { ...options, scale: SCALE } as object);
};

/** Keys of a block of a mask, and the times of the rows that fill more than one. */
const BLOCK = 64;
const TIMES = 6;

/** Attention to the second block of the keys. */
function attendBlocks(x: Tensor): Tensor {
  const keys = concat(Array<Tensor>(TIMES).fill(headsOf(x, 1)), { axis: 2 });
  const mask = tensor([[false, true]], { device: x });
  const blockMask = { mask, blockSize: BLOCK };
  const options = { scale: SCALE, blockMask };
  return attention(headsOf(x, HEADS), keys as Tensor<"float32">, keys as never, options) as Tensor;
}

/** The kernel for tensor cores, which takes rows at multiples of 16 bytes. */
function attendOnTensorCores(x: Tensor): Tensor | undefined {
  const padded = pad(x, [[0, 0], [0, -x.shape[1]! & 7]]);
  return ifSupported(() => attend(padded, { variant: "mma" }) as Tensor);
}

/** Rows of which the first `BORDER` are a sequence. */
const BORDER = 5;

function attendPacked(x: Tensor): Tensor {
  const ends = [0, BORDER, x.shape[0]!];
  const keys = packedHeads(x, 1);
  const options = { scale: SCALE };
  return attentionVariableLength(packedHeads(x, HEADS), keys, keys, ends, ends, options)
    .permute([1, 0, 2]) as Tensor;
}

function attendCached(x: Tensor): Tensor {
  const keys = headsOf(x, 1);
  const { dtype } = keys;
  using cache = new PagedCache({
    ...{ device: x, dtype, pages: 8, pageSize: 3, heads: 1, headSize: HEAD },
  });
  const sequence = cache.add();
  cache.append([sequence], keys, keys);
  return decodeAttention(headsOf(x, HEADS), cache, [sequence], { scale: SCALE }) as Tensor;
}

/** The rotation of pairs of a row, whose partners are half a row apart or neighbours. */
const rotating = (interleaved: boolean): MatrixOperation => ({
  dtypes: ["float32", "float16", "bfloat16"],
  // Products below 8 are rounded before they cancel.
  bound: 8,
  isCentred: true,
  run: (x) =>
    rotaryEmbedding(x.slice([{}, { stop: 2 * HEAD }]) as Tensor<"float32">, {
      interleaved,
    }) as Tensor,
  reference: (x: Matrix) =>
    x.map((row, position) =>
      Array.from({ length: 2 * HEAD }, (_, at) => {
        const pair = interleaved ? at >> 1 : at % HEAD;
        const isSecond = interleaved ? at % 2 === 1 : at >= HEAD;
        const angle = position * 10000 ** (-pair / HEAD);
        const [a, b] = interleaved ? [row[2 * pair]!, row[2 * pair + 1]!] : [
          row[pair]!,
          row[pair + HEAD]!,
        ];
        return isSecond
          ? a * Math.sin(angle) + b * Math.cos(angle)
          : a * Math.cos(angle) - b * Math.sin(angle);
      })
    ),
});

/** Ternary formats, with a shape that each has; the elements are the first of a matrix. */
const FORMATS: readonly (readonly [TernaryFormat, readonly number[], FormatOptions?])[] = [
  ["i2_s", [3, 256]],
  ["i2_s", [3, 256], { layout: "i2s-64" }],
  ["i2_s", [3, 256], { layout: "i2s-seq" }],
  ["bn32-twos", [12, 64]],
  ["bn32-offset2", [12, 64]],
  ["tl1", [32, 24], { tile: { bm: 32, bk: 24, bmm: 32 } }],
  ["tl2", [32, 24], { tile: { bm: 32, bk: 24, bmm: 32 } }],
  ["tq1_0", [3, 256]],
  ["tq2_0", [3, 256]],
  ["hf-quarters", [12, 64]],
  ["ms-w2a8", [16, 32]],
  ["gridstride", [12, 64]],
];

/** The bytes of ternary weights, compared with those of JavaScript, and the weights of the bytes. */
function codecs(): [string, MatrixOperation][] {
  return FORMATS.flatMap(([format, shape, options = {}]) => {
    const name = [format, ...(options.layout === undefined ? [] : [options.layout])].join(" ");
    const size = sizeOf(shape);
    const bytesOf = (x: Tensor) => {
      const own = x.slice([{ stop: 12 }, { stop: 64 }]).flatten().slice([{ stop: size }]);
      const sum = own.greater(1).astype("float32").add(own.greater(3).astype("float32"));
      return encode(sum.add(-1).reshape(shape), shape, format, options);
    };
    const referenceBytes = (x: Matrix) => {
      const own = x.slice(0, 12).flatMap((row) => row.slice(0, 64)).slice(0, size).map(weightOf);
      return encode(Float32Array.from(own), shape, format, options);
    };
    const exact = { dtypes: ["float32"], bound: 0 } as const;
    return [
      [`encode ${name}`, {
        ...exact,
        run: (x) => bytesOf(x) as Tensor,
        reference: (x) => [[...referenceBytes(x)]],
      }],
      [`decode ${name}`, {
        ...exact,
        run: (x) => decode(bytesOf(x), shape, format, options) as Tensor,
        // The scale of some formats differs from 1.
        reference: (x) => [[...decode(referenceBytes(x), shape, format, options)]],
      }],
    ] as [string, MatrixOperation][];
  });
}

/** The operation, or undefined if the device does not run its variant. */
function ifSupported<Result>(run: () => Result): Result | undefined {
  try {
    return run();
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Products of 8-bit integers with ternary weights, of few rows and of more, which are exact. */
const ternaryProduct = (variant: (typeof TERNARY_VARIANTS)[number]): MatrixOperation => ({
  dtypes: ["float32"],
  bound: 0,
  run(x) {
    const codes = x.greater(1).astype("int8").add(x.greater(3).astype("int8")).add(-1);
    const weights = TernaryWeights.from({ codes, scale: full([1], 1, { device: x }) } as never);
    const q = x.multiply(8).astype("int8") as Tensor as Tensor<"int8">;
    const options = { dtype: "int32", variant } as const;
    const all = ifSupported(() => ternaryMatmul(q, weights, options));
    if (all === undefined) return undefined;
    const few = ternaryMatmul(q.slice([{ stop: BORDER }]), weights, options);
    return astype(concat([all, few]), "float32") as Tensor;
  },
  reference: (x) =>
    [...x, ...x.slice(0, BORDER)].map((row) =>
      x.map((other) => dot(row.map((it) => Math.trunc(8 * it)), other.map(weightOf)))
    ),
});

const weightOf = (it: number) => it > 3 ? 1 : it > 1 ? 0 : -1;

/** The element types of variants, if not float32 only; those of 8-bit integers are exact. */
const PRODUCT_DTYPES: Readonly<Record<string, readonly DType[]>> = {
  // On a GPU, `rows` takes the products without a variant, which are of all types.
  simt: ["float32", "float64", "float16", "bfloat16", "int64", "int32"],
  mma: ["float16", "bfloat16", "float8_e4m3", "float8_e5m2", "int8", "uint8"],
  int8: ["int8"],
};

/** A number rounded to the 10 bits of the fraction of TF32. */
const tf32 = (it: number) => {
  const step = 2 ** (Math.floor(Math.log2(it)) - 10);
  return it === 0 ? 0 : roundToEven(it / step) * step;
};

/** The rounding of operands of 32 bits to fewer, by the precision. */
const PRECISIONS = { tf32, fp8: (it: number) => rounded("float8_e4m3", it) } as const;

/** A product by a variant: with a vector, or with the matrix's own transpose. */
function product(
  variant: string,
  precision?: keyof typeof PRECISIONS,
): MatrixOperation {
  const options = { variant, ...(precision === undefined ? {} : { precision }) };
  const round = precision === undefined ? (it: number) => it : PRECISIONS[precision];
  return {
    dtypes: precision === undefined ? PRODUCT_DTYPES[variant] ?? ["float32"] : ["float32"],
    // The elements are positive.
    bound: 64,
    run(x) {
      const y = variant === "vector" ? x.at(0) : x.transpose();
      const isNarrow = bytesPerElement(x.dtype) === 1;
      const sums = isFloatDType(x.dtype) ? "float32" : "int32";
      const dtype = isNarrow ? { dtype: sums } as const : {};
      return ifSupported(() => matmul(x, y, { ...options, ...dtype }) as Tensor);
    },
    reference(x) {
      const own = x.map((row) => row.map(round));
      return own.map((row) => (variant === "vector" ? [own[0]!] : own).map((it) => dot(row, it)));
    },
  };
}

/** A product that is finished with a scale, a bias, an activation and a residual. */
const finished = (activation: NonNullable<MatmulOptions["activation"]>): MatrixOperation => ({
  dtypes: ["float32"],
  bound: 64,
  isCentred: true,
  run(x) {
    const own = x.slice([{}, { stop: x.shape[0]! }]);
    const options = { scale: SCALE, bias: own.at(0), activation, residual: own };
    return matmul(x, x.transpose(), options) as Tensor;
  },
  reference: (x) =>
    x.map((row, at) =>
      x.map((other, column) =>
        UNARY[activation]![0](SCALE * dot(row, other) + x[0]![column]!, 0) + x[at]![column]!
      )
    ),
});

/** A product of integers that is scaled by a power of 2 and rounded to an integer of 8 bits. */
const quantizedProduct: MatrixOperation = {
  dtypes: ["float32"],
  bound: 0,
  run(x) {
    const own = x.round();
    return matmul(own, own.transpose(), { scale: 1 / 4, dtype: "int8" }) as Tensor;
  },
  reference(x) {
    const own = x.map((row) => row.map(roundToEven));
    return own.map((row) => own.map((it) => Math.min(127, roundToEven(dot(row, it) / 4))));
  },
};

/** Products of two shapes, of which the second is of a part of the rows. */
const batchedProducts: MatrixOperation = {
  dtypes: ["float32"],
  bound: 64,
  run(x) {
    const y = x.transpose();
    return concat(matmulBatch([[x, y], [x.slice([{ stop: BORDER }]), y]], { maxInFlight: 2 }));
  },
  reference: (x) => [...x, ...x.slice(0, BORDER)].map((row) => x.map((other) => dot(row, other))),
};

/** With one element type: the others differ in how elements are read and written only. */
const once = (operation: MatrixOperation): MatrixOperation => ({
  ...operation,
  dtypes: ["float32"],
});

/** The operations by name; a word after the name is the variant. */
export const PRODUCT_OPERATIONS: Readonly<Record<string, MatrixOperation>> = {
  attention: attending((x) => attend(x, {}) as Tensor, () => true),
  "attention causal": once(
    attending((x) => attend(x, { causal: true }) as Tensor, (q, k) => k <= q),
  ),
  "attention window": once(
    attending((x) => attend(x, { window: [3, 2] }) as Tensor, (q, k) => k >= q - 3 && k <= q + 2),
  ),
  "attention blocks": once(
    attending(attendBlocks, (_q, k) => k >= BLOCK, TIMES),
  ),
  "attention mma": {
    ...attending(attendOnTensorCores, () => true),
    dtypes: ["float16", "bfloat16"],
  },
  "matmul relu": finished("relu"),
  "matmul gelu": finished("gelu"),
  "matmul quantized": quantizedProduct,
  matmulBatch: batchedProducts,
  attentionVariableLength: once(attending(attendPacked, (q, k) => q < BORDER === k < BORDER)),
  decodeAttention: once(attending(attendCached, (q, k) => k <= q)),
  rotaryEmbedding: once(rotating(false)),
  "rotaryEmbedding interleaved": once(rotating(true)),
  "matmul mma tf32": product("mma", "tf32"),
  "matmul mma fp8": product("mma", "fp8"),
  ...Object.fromEntries(codecs()),
  ...Object.fromEntries(
    TERNARY_VARIANTS.map((variant) => [`ternaryMatmul ${variant}`, ternaryProduct(variant)]),
  ),
  ...Object.fromEntries(VARIANT_NAMES.map((variant) => [`matmul ${variant}`, product(variant)])),
};
