/**
 * Calls of the tensor and ternary functions whose kernels differ from those of
 * `validate()`: by layout, mixed element types, size, options, or tile.
 *
 * @module
 */

import { type Device, type DType, DTYPES } from "../../../mod.ts";
import * as q from "../../../src/device/ternary.ts";
import * as t from "../../../src/device/tensor.ts";
import { capability } from "../../../src/tensor/kit/precision.ts";

type Tensor = t.Tensor;

/** Makes operands on a device. */
export class Stage {
  readonly device: Device;
  readonly #made = new Map<string, Tensor>();

  constructor(device: Device) {
    this.device = device;
  }

  /** Zeros, which calls share. */
  zeros<D extends DType>(dtype: D, shape: readonly number[]): t.Tensor<D> {
    const key = `${dtype} ${shape}`;
    const made = this.#made.get(key) ?? t.zeros(shape, { dtype, device: this.device }) as Tensor;
    this.#made.set(key, made);
    return made as t.Tensor<D>;
  }

  /** A matrix in each layout that has code of its own. */
  views(dtype: DType, [rows, columns]: readonly [number, number] = [24, 40]): Tensor[] {
    return [
      this.zeros(dtype, [rows, columns]),
      this.zeros(dtype, [columns, rows]).transpose(),
      this.zeros(dtype, [rows, 2 * columns]).slice([{}, { step: 2 }]),
      this.zeros(dtype, [1, columns]).broadcastTo([rows, columns]),
      this.zeros(dtype, [rows, 1]).broadcastTo([rows, columns]),
    ];
  }
}

/** Yields results; promises among them are awaited. */
type Calls = (stage: Stage) => Iterable<unknown>;

const MATRIX = [24, 40] as const;
const WIDE = ["float32", "float16", "bfloat16", "float64"] as const;
const NARROW = ["float32", "float16", "bfloat16"] as const;
/** `int64` is that of the other calls. */
const INDEX = "int32";

/** A matrix of a type with each other type: one kernel has the casts to all of them. */
function* casts(stage: Stage) {
  const toAll = t.fuse((x: Tensor) =>
    DTYPES.map((dtype) => x.astype(dtype).astype("float64") as Tensor)
      .reduce((sum, own) => sum.add(own) as Tensor)
  );
  for (const dtype of DTYPES) yield toAll(stage.zeros(dtype, MATRIX));
  for (const dtype of ["float32", "int8", "float16", "int64"] as const) {
    for (const view of stage.views(dtype)) yield t.astype(view, dtype);
    yield t.astype(stage.zeros(dtype, [2, 3, 4, 5]).permute([3, 1, 0, 2]), dtype);
  }
}

function* layouts(stage: Stage) {
  for (const dtype of ["float32", "float16", "int64"] as const) {
    const [dense, transposed, strided] = stage.views(dtype) as [Tensor, Tensor, Tensor];
    for (const view of stage.views(dtype)) yield t.add(dense, view);
    yield t.add(dense, 2);
    yield t.add(strided, transposed);
  }
  for (const dtype of DTYPES.filter((it) => !it.startsWith("float8"))) {
    yield t.add(stage.zeros("float32", MATRIX), stage.zeros(dtype, MATRIX));
  }
}

function* fused(stage: Stage) {
  const chain = t.fuse((x: Tensor, y: Tensor) => t.gelu(t.add(t.multiply(x, y), 1)) as Tensor);
  const reduced = t.fuse((x: Tensor, y: Tensor) =>
    t.sum(t.exp(t.subtract(x, y)), { axis: 1 }) as Tensor
  );
  for (const dtype of NARROW) {
    const x = stage.zeros(dtype, MATRIX) as Tensor;
    yield chain(x, x);
    yield reduced(x, stage.zeros(dtype, [24, 1]) as Tensor);
  }
}

/** Shapes with an axis, each reduced in another way. */
const REDUCED: readonly (readonly [readonly number[], number | readonly number[] | undefined])[] = [
  [[24, 40], 0],
  [[24, 4000], 1],
  [[2, 2 ** 18], 1],
  [[2 ** 17, 8], 0],
  [[6, 50, 7], 1],
  [[6, 50, 7], [0, 2]],
  [[24, 40], undefined],
  [[2 ** 20], undefined],
  [[4096, 8], 1],
];

const reducing = (names: readonly ("sum" | "max" | "argmax" | "variance")[]): Calls =>
  function* (stage) {
    for (const name of names) {
      const isPlaced = name === "argmax";
      for (
        const dtype of name === "sum"
          ? ["float32", "float16", "int32"] as const
          : ["float32"] as const
      ) {
        for (const [shape, axis] of REDUCED) {
          if (isPlaced && typeof axis === "object") continue;
          const options = axis === undefined ? {} : { axis };
          yield (t[name] as (x: Tensor, options: object) => Tensor)(
            stage.zeros(dtype, shape) as Tensor,
            options,
          );
        }
      }
    }
  };

/** Rows of each length that has code of its own, and an axis that is not the last. */
const ROWS: readonly (readonly [readonly number[], number])[] = [
  [[24, 4000], -1],
  [[2, 10_001], -1],
  [[2, 2 ** 18], -1],
  [[24, 40], 0],
];

function* softmaxes(stage: Stage) {
  for (const dtype of ["float32", "float16"] as const) {
    for (const [shape, axis] of ROWS) {
      const x = stage.zeros(dtype, shape);
      yield t.softmax(x, { axis });
      yield t.logSoftmax(x, { axis });
      yield t.softmaxBackward(x, x, { axis });
    }
    yield t.softmaxBackward(stage.zeros("float32", MATRIX), stage.zeros(dtype, MATRIX));
  }
}

function* losses(stage: Stage) {
  for (const dtype of ["float32", "bfloat16"] as const) {
    for (const reduction of ["mean", "sum"] as const) {
      const [x, labels] = [stage.zeros(dtype, MATRIX), stage.zeros(INDEX, [24])];
      yield t.crossEntropy(x, labels, { reduction });
      yield t.crossEntropyBackward(1, x, labels, { reduction });
    }
  }
}

function* normalisations(stage: Stage) {
  for (const dtype of NARROW) {
    for (const columns of [40, 4000]) {
      const x = stage.zeros(dtype, [24, columns]);
      const weight = stage.zeros("float32", [columns]);
      for (const quantize of ["int8", "float8_e4m3"] as const) {
        yield Object.values(t.rmsNorm(x, { weight, quantize, residual: x }));
        yield Object.values(t.layerNorm(x, { weight, bias: weight, quantize }));
      }
      yield t.layerNorm(x, { weight, bias: stage.zeros(dtype, [columns]) });
      yield Object.values(t.rmsNorm(x, { weight: stage.zeros(dtype, [columns]), residual: x }));
      yield Object.values(t.layerNormBackward(x, x, { weight }));
      yield Object.values(t.rmsNormBackward(x, x, { weight }));
    }
  }
}

function* norms(stage: Stage) {
  for (const dtype of WIDE) {
    for (const axis of [0, 1]) yield t.norm(stage.zeros(dtype, MATRIX), { axis });
  }
}

function* sorts(stage: Stage) {
  for (const dtype of ["float32", "float16", "int64", "uint8"] as const) {
    for (const shape of [[24, 40], [3, 5000], [100_000]]) {
      const x = stage.zeros(dtype, shape);
      yield t.sort(x, { descending: true });
      yield t.argsort(x, { descending: true });
    }
    yield t.sort(stage.zeros(dtype, MATRIX), { axis: 0 });
    yield Object.values(t.topk(stage.zeros(dtype, [2, 5000]), 3));
    yield t.cumulativeSum(stage.zeros(dtype, [3, 50_000]), { axis: 1, includeInitial: true });
    yield t.cumulativeSum(stage.zeros(dtype, MATRIX), { axis: 0 });
    yield t.cumulativeProd(stage.zeros(dtype, [3, 50_000]), { axis: 1, includeInitial: true });
    const sorted = stage.zeros(dtype, [40]) as Tensor;
    yield t.searchsorted(sorted, stage.zeros("float32", MATRIX) as Tensor, { side: "right" });
  }
}

function* indexing(stage: Stage) {
  const [x, last] = [stage.zeros("float32", MATRIX), stage.zeros("float32", [24, 10])];
  const at = stage.zeros(INDEX, [10]);
  yield t.take(x, at, { axis: 1 });
  yield t.takeAlongAxis(x, stage.zeros(INDEX, MATRIX), { axis: 0 });
  yield t.embedding(x, stage.zeros(INDEX, [3, 4]));
  yield t.scatterAdd(x, at, last, { axis: 1 });
  const transposed = stage.zeros("float16", [40, 24]).transpose();
  yield t.take(transposed, stage.zeros("int64", [2]), { axis: 0 });
  const mask = stage.zeros("bool", [24]);
  const changed = t.zeros(MATRIX, { device: stage.device });
  changed.set([{ step: 2 }, 1], 2);
  changed.set([mask], 2);
  changed.set([mask], last.slice([{}, { stop: 1 }]));
  changed.transpose().set([{ start: 1, stop: 5 }, mask], stage.zeros("float32", [4, 3]));
  yield changed;
}

function* manipulations(stage: Stage) {
  for (const dtype of ["float32", "int8"] as const) {
    const x = stage.zeros(dtype, MATRIX);
    yield t.concat([x, stage.zeros("float16", MATRIX)]);
    yield t.stack([x, x], { axis: 2 });
    yield t.roll(x, 3);
    yield t.repeat(x, Array.from({ length: 24 }, (_, at) => at % 3), { axis: 0 });
    yield t.pad(x, 2);
    yield t.triu(stage.zeros(dtype, [3, ...MATRIX]), { k: 1 });
  }
}

function* randoms(stage: Stage) {
  const { device } = stage;
  for (const dtype of ["int8", "int64"] as const) yield t.randint(0, 9, [100], { dtype, device });
  for (const dtype of WIDE) {
    yield t.uniform([100], { dtype, device: stage.device, low: 1, high: 5 });
    yield t.normal([100], { dtype, device: stage.device, mean: 1, deviation: 2 });
    yield t.dropout(stage.zeros(dtype, MATRIX));
  }
}

/** How an operand of a product lies: along k, across it, or at addresses no tile can copy. */
type Lie = "along" | "across" | "any";
type Lies = readonly [Lie, Lie];

function operand(stage: Stage, dtype: DType, rows: number, columns: number, isAlongRows: boolean) {
  if (isAlongRows) return stage.zeros(dtype, [rows, columns]) as Tensor;
  return stage.zeros(dtype, [columns, rows]).transpose() as Tensor;
}

/** Operands of a product of edge × 64 by 64 × edge that lie in a way. */
function operands(stage: Stage, [a, b]: readonly [DType, DType], edge: number, lies: Lies) {
  const odd = (x: Tensor) => x.slice([{ start: 1 }, { start: 1 }]) as Tensor;
  const left = lies[0] === "any"
    ? odd(stage.zeros(a, [edge + 1, 65]) as Tensor)
    : operand(stage, a, edge, 64, lies[0] === "along");
  const right = lies[1] === "any"
    ? odd(stage.zeros(b, [65, edge + 1]) as Tensor)
    : operand(stage, b, 64, edge, lies[1] === "across");
  return [left, right] as const;
}

const LIES: readonly Lie[] = ["along", "across", "any"];
const ALL_LIES = LIES.flatMap((a) => LIES.map((b): Lies => [a, b]));
const COPIED: Lies = ["along", "across"];
const TURNED: Lies = ["across", "along"];
const LOADED: Lies = ["any", "any"];

/** Products of matrices, as they lie for small tiles and for large ones. */
interface Products {
  readonly dtypes: readonly [DType, DType];
  readonly options?: t.MatmulOptions;
  readonly small: readonly Lies[];
  readonly large?: readonly Lies[];
}

const PRODUCTS: readonly Products[] = [
  { dtypes: ["float16", "float16"], small: ALL_LIES, large: [COPIED, LOADED] },
  { dtypes: ["bfloat16", "bfloat16"], small: [COPIED], large: [TURNED] },
  { dtypes: ["int8", "int8"], small: [COPIED, TURNED, LOADED], large: [COPIED] },
  { dtypes: ["int8", "uint8"], small: [COPIED] },
  { dtypes: ["uint8", "uint8"], small: [LOADED] },
  { dtypes: ["float8_e4m3", "float8_e4m3"], small: [COPIED, TURNED], large: [COPIED] },
  { dtypes: ["float8_e5m2", "float8_e5m2"], small: [LOADED], large: [LOADED] },
];
/** These need compute capability 8.0, or 8.9. */
const PRECISE_PRODUCTS: readonly (Products & { readonly needs: number })[] = [
  {
    needs: 800,
    dtypes: ["float32", "float32"],
    options: { precision: "tf32" },
    small: [COPIED, TURNED, LOADED],
    large: [COPIED],
  },
  { needs: 800, dtypes: ["float32", "float32"], options: { precision: "fp16" }, small: [COPIED] },
  { needs: 800, dtypes: ["float32", "float32"], options: { precision: "bf16" }, small: [LOADED] },
  { needs: 800, dtypes: ["float16", "bfloat16"], options: { precision: "tf32" }, small: [COPIED] },
  {
    needs: 809,
    dtypes: ["bfloat16", "bfloat16"],
    options: { precision: "fp8" },
    small: [COPIED],
    large: [LOADED],
  },
];

/** Edges of results that large tiles fill, and that they do not. */
const EDGES = { small: 64, large: 512 } as const;

function* products(stage: Stage) {
  const own = capability(stage.device.info.computeCapability);
  const all = [...PRODUCTS, ...PRECISE_PRODUCTS.filter(({ needs }) => needs <= own)];
  for (const { dtypes, options = {}, ...lies } of all) {
    const isNarrow = /int8|float8/.test(dtypes[0]);
    const sums = isNarrow
      ? { dtype: dtypes[0].includes("int8") ? "int32" : "float32" } as const
      : {};
    for (const size of ["small", "large"] as const) {
      for (const each of lies[size] ?? []) {
        yield t.matmul(...operands(stage, dtypes, EDGES[size], each), { ...sums, ...options });
      }
    }
  }
  for (const dtype of ["float32", "float16", "int32", "float64"] as const) {
    const [left, right] = operands(stage, [dtype, dtype], 64, ["along", "across"]);
    yield t.matmul(left, right, { variant: "simt" });
    // By columns, and with batches that do and do not merge with the rows.
    yield t.matmul(right, stage.zeros(dtype, [64, 1]) as Tensor);
    const batch = stage.zeros(dtype, [2, 3, 64, 64]) as Tensor;
    yield t.matmul(batch.permute([1, 0, 2, 3]), batch.permute([1, 0, 3, 2]));
    yield t.matmul(batch.permute([1, 0, 2, 3]), left);
  }
  for (const activation of ["relu", "gelu", "geluTanh", "silu", "sigmoid", "tanh"] as const) {
    for (const dtype of ["float32", "float16"] as const) {
      const x = stage.zeros(dtype, [64, 64]) as Tensor;
      const options = { activation, bias: stage.zeros(dtype, [64]), residual: x, scale: 2 };
      yield t.matmul(x, x, options as t.MatmulOptions);
    }
  }
}

const HEADS = 2;

function* attentions(stage: Stage) {
  const call = (
    dtype: t.AttentionDType,
    [size, value = size]: readonly [number, number?],
    queries: number,
    options: t.AttentionOptions & { readonly logSumExp?: boolean } = {},
  ) => {
    const keys = (width: number) => stage.zeros(dtype, [1, 1, 256, width]);
    const own = stage.zeros(dtype, [1, HEADS, queries, size]);
    return Object.values([t.attention(own, keys(size), keys(value), options as object)]);
  };
  // Tiles of 16 and of 64 queries.
  for (const queries of [4, 256]) {
    for (const size of queries > 16 ? [16, 64, 128, 192, 256] : [64, 256]) {
      yield call("float16", [size], queries);
    }
    for (const size of [64, 256]) yield call("bfloat16", [size], queries);
    for (const size of [64, 128, 256]) yield call("float32", [size], queries);
    yield call("float16", [64], queries, { variant: "simt" });
  }
  for (const size of [[64, 128], [256, 16]] as const) yield call("float16", size, 256);
  for (const dtype of ["float16", "float32"] as const) {
    for (const type of ["bool", "float32", "float16"] as const) {
      yield call(dtype, [128], 256, { mask: stage.zeros(type, [256, 256]) as Tensor });
    }
    const mask = stage.zeros("bool", [4, 4]);
    yield call(dtype, [64], 256, { blockMask: { mask, blockSize: 64 }, logSumExp: true });
    // Few queries of many keys: parts, which a second kernel merges.
    const [own, keys] = [[1, HEADS, 4, 64], [1, 1, 4096, 64]].map((it) => stage.zeros(dtype, it));
    yield t.attention(own!, keys!, keys!);
    yield Object.values(t.attention(own!, keys!, keys!, { logSumExp: true }));
    if (dtype === "float32") continue;
    yield t.attention(own!, keys!, keys!, { variant: "simt" });
    // Enough tiles for 32 rows of a warp.
    const many = stage.zeros(dtype, [1, 264, 128, 128]);
    for (const blockSize of [64, 128]) {
      const blocks = stage.zeros("bool", [128 / blockSize, 128 / blockSize]);
      yield t.attention(many, many, many, { blockMask: { mask: blocks, blockSize } });
    }
  }
}

function* packedAttentions(stage: Stage) {
  for (const dtype of NARROW) {
    for (const size of dtype === "bfloat16" ? [64] : [64, 256]) {
      for (const ends of [[0, 4, 8], [0, 200, 512]]) {
        const rows = ends.at(-1)!;
        const keys = stage.zeros(dtype, [rows, 1, size]);
        yield t.attentionVariableLength(
          stage.zeros(dtype, [rows, HEADS, size]),
          keys,
          keys,
          ends,
          ends,
        );
      }
    }
  }
}

function* pagedAttentions(stage: Stage) {
  for (const dtype of NARROW) {
    for (const headSize of dtype === "bfloat16" ? [64] : [64, 256]) {
      const cache = new t.PagedCache({
        pages: 64,
        heads: 1,
        headSize,
        dtype,
        device: stage.device,
      });
      const sequence = cache.add();
      const keys = stage.zeros(dtype, [1, 1, 600, headSize]);
      cache.append([sequence], keys, keys);
      for (const queries of [1, 300]) {
        yield t.decodeAttention(stage.zeros(dtype, [1, HEADS, queries, headSize]), cache, [
          sequence,
        ]);
      }
    }
  }
}

function* rotations(stage: Stage) {
  for (const dtype of NARROW) {
    const x = stage.zeros(dtype, [2, 4, 8, 32]);
    const positions = stage.zeros("int64", [8]);
    for (const interleaved of [false, true]) yield t.rotaryEmbedding(x, { interleaved, positions });
  }
}

function* ternaryProducts(stage: Stage) {
  const weights = q.TernaryWeights.from(stage.zeros("float32", [256, 512]));
  const segmented = q.TernaryWeights.from(stage.zeros("float16", [256, 512]), {
    segments: [128, 128],
  });
  const bias = stage.zeros("float32", [256]);
  const tall = q.TernaryWeights.from(stage.zeros("float32", [1024, 512]));
  for (const rows of [1, 4, 48]) {
    yield q.ternaryMatmul(stage.zeros("int8", [rows, 512]), tall, { dtype: "int32" });
  }
  // Too few rows for tensor cores, few and many of them.
  for (const rows of [2, 16, 256]) {
    for (const dtype of ["int32", "float32", "float16", "bfloat16"] as const) {
      const x = stage.zeros("int8", [rows, 512]);
      yield q.ternaryMatmul(x, weights, { dtype });
      if (dtype === "int32") continue;
      const scale = t.ones([rows], { device: stage.device });
      yield q.ternaryMatmul(x, segmented, { dtype, bias, scale });
    }
  }
  for (const dtype of WIDE) yield q.ternaryMatmul(stage.zeros(dtype, [16, 512]), weights);
}

function* ternaryFormats(stage: Stage) {
  for (const dtype of [...NARROW, "int8"] as const) {
    for (const format of ["i2_s", "tq1_0", "tq2_0", "gridstride"] as const) {
      yield q.encode(stage.zeros(dtype, [3, 256]) as never, [3, 256], format, {});
    }
  }
  const bytes = q.encode(stage.zeros("float32", [3, 256]), [3, 256], "tq2_0");
  yield q.convert(bytes, [3, 256], "tq2_0", "tq1_0");
}

function* quantisations(stage: Stage) {
  for (const dtype of WIDE) {
    yield Object.values(
      q.quantizeWeights(stage.zeros(dtype, [256, 512]), { segments: [128, 128] }),
    );
    yield Object.values(q.quantizeActivations(stage.zeros(dtype, MATRIX)));
  }
}

function* restoredWeights(stage: Stage) {
  const weights = q.TernaryWeights.from(stage.zeros("float32", [256, 512]));
  for (const dtype of [...WIDE, "int8"] as const) yield weights.dequantize({ dtype });
}

/** The calls by the function that they are of. */
export const CALLS: Readonly<Record<string, Calls>> = {
  astype: casts,
  add: layouts,
  fuse: fused,
  sum: reducing(["sum", "max", "argmax", "variance"]),
  softmax: softmaxes,
  crossEntropy: losses,
  layerNorm: normalisations,
  sort: sorts,
  cumulativeProd: sorts,
  take: indexing,
  concat: manipulations,
  uniform: randoms,
  randint: randoms,
  dropout: randoms,
  norm: norms,
  matmul: products,
  attention: attentions,
  attentionVariableLength: packedAttentions,
  decodeAttention: pagedAttentions,
  PagedCache: pagedAttentions,
  rotaryEmbedding: rotations,
  ternaryMatmul: ternaryProducts,
  encode: ternaryFormats,
  convert: ternaryFormats,
  quantizeWeights: quantisations,
  TernaryWeights: restoredWeights,
};

/** Functions that run no kernels of their own, each with the reason. */
export const WITHOUT_KERNELS: Readonly<Record<string, string>> = {
  Tensor: "its methods call the functions",
  DeviceFallback: "it runs operations of the program",
  validate: "its cases are the calls",
  inChunks: "it runs operations of the program",
  tidy: "it runs operations of the program",
  TensorFileError: "an error",
  arrayText: "JavaScript",
  formatOfGguf: "JavaScript",
  readNpy: "JavaScript",
  scalesOf: "JavaScript",
  writeNpy: "JavaScript",
  saveNpy: "it copies",
  saveNpz: "it copies",
  saveSafetensors: "it copies",
  fromBuffer: "a view",
  ...Object.fromEntries(
    ("broadcastArrays broadcastTo expandDims matrixTranspose meshgrid moveaxis permuteDims " +
      "squeeze unstack").split(" ").map((name) => [name, "views"]),
  ),
  ...Object.fromEntries(
    "asarray reshape tile".split(" ").map((name) => [name, "it copies"]),
  ),
  ...Object.fromEntries(
    "empty emptyLike fullLike onesLike zerosLike".split(" ").map((name) => [name, "it fills"]),
  ),
  ...Object.fromEntries(
    "canCast finfo iinfo isdtype resultType".split(" ").map((name) => [name, "JavaScript"]),
  ),
  diff: "subtract()",
  ...Object.fromEntries(
    "unique uniqueAll uniqueCounts uniqueInverse".split(" ").map((
      name,
    ) => [name, "uniqueValues()"]),
  ),
  ...Object.fromEntries(
    "copySign isFinite isInfinite isNaN logAddExp nextAfter signBit var".split(" ")
      .map((name) => [name, "another name"]),
  ),
  outer: "multiply()",
  einsum: "matmul()",
  quantile: "sort()",
  percentile: "sort()",
  histogram: "a built-in kernel",
  permutation: "argsort()",
  choice: "take()",
  tensordot: "matmul()",
  vecdot: "matmul()",
  matrixNorm: "norm(), max() and min()",
  explainAttention: "it plans",
  explainMatmul: "it plans",
  explainTernaryMatmul: "it plans",
  setKernelFusion: "a setting",
  setPrecision: "a setting",
  setSeed: "a setting",
};
