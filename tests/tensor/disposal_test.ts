// Every public function of `./tensor` gives back all memory but its result's: also if there is none for
// one of its steps. Which memory an operation takes is decided before its kernel runs, so kernels are
// neither compiled nor launched; they seem to write the integer 1.

import { assertEquals } from "@std/assert";
import { OutOfMemoryError } from "../../mod.ts";
import * as module from "../../src/device/tensor.ts";
import { DeviceBuffer } from "../../src/memory/device_buffer.ts";
import { TemporaryDirectory } from "../support/temporary_file.ts";
import { recordingDevice } from "./cuda/recording_device.ts";

const {
  arange,
  fromTypedArray,
  full,
  normal,
  ones,
  PagedCache,
  Tensor,
  tensor,
  zeros,
} = module;

/** The planners of both kinds of devices choose other steps. */
const DEVICES = (["host", "cuda"] as const).map((kind) =>
  [kind, recordingDevice("9.0", { kind, integer: 1n }).device] as const
);

/** The device of the calls. */
const place = { device: DEVICES[0]![1] };

/**
 * Operands of several layouts. Each call gets new ones, because a view that a function forgets holds
 * their memory.
 */
function operands() {
  const matrix = normal([6, 6], place);
  const line = arange(0, 40, 1, place);
  const integers = arange(0, 6, 1, { ...place, dtype: "int32" });
  const heads = normal([1, 2, 5, 16], place);
  const row = heads.slice([{}, {}, { stop: 1 }]);
  const cache = new PagedCache({ ...place, pages: 4, heads: 2, headSize: 16 });
  const sequence = cache.add();
  cache.append([sequence], row, row);
  return {
    // Reductions along axis 1 read it through views.
    cube: normal([8, 16, 4], place),
    matrix,
    turned: matrix.permute([1, 0]),
    line,
    odd: line.slice([{ step: 3 }]),
    integers,
    flags: integers.greater(2),
    places: tensor([3n, 0n, 1n], place),
    none: zeros([0, 3], place),
    heads,
    row,
    cache,
    sequence,
    packed: normal([5, 2, 16], place),
  };
}

type Operands = ReturnType<typeof operands>;

const folder = new TemporaryDirectory();
const path = (name: string) => `${folder.path}/${name}`;

type Call = (operands: Operands) => unknown;

const unary = (name: string): [string, Call[]] => {
  const f = module[name as "exp"];
  return [name, [({ line }) => f(line)]];
};
const unaryInteger = (name: string): [string, Call[]] => [name, [
  ({ integers }) => module[name as "bitwiseInvert"](integers),
]];
const binary = (name: string): [string, Call[]] => {
  const f = module[name as "add"];
  return [name, [({ line }) => f(line, line)]];
};
const binaryInteger = (name: string): [string, Call[]] => [name, [
  ({ integers }) => module[name as "bitwiseAnd"](integers, integers),
]];
const reduction = (name: string): [string, Call[]] => {
  const f = module[name as "mean"];
  return [name, [
    ({ cube }) => f(cube, { axis: 1 }),
    ({ cube }) => f(cube, { axis: [0, 2], keepDims: true }),
    ({ cube }) => f(cube),
    ({ turned }) => f(turned, { axis: 0 }),
  ]];
};
const position = (name: string): [string, Call[]] => {
  const f = module[name as "argmax"];
  return [name, [
    ({ cube }) => f(cube, { axis: 1 }),
    ({ cube }) => f(cube),
    ({ turned }) => f(turned, { axis: 0 }),
  ]];
};

/** The calls of each function; `null` for functions that make no tensors. */
const CALLS: Readonly<Record<string, readonly Call[] | null>> = {
  ...Object.fromEntries(
    ("abs acos acosh asin asinh atan atanh ceil cos cosh erf exp exp2 expm1 floor gelu geluTanh " +
      "isFinite isInfinite isNaN isfinite isinf isnan log log10 log1p log2 logicalNot negative positive reciprocal relu " +
      "round rsqrt sigmoid sign signBit signbit silu sin sinh softplus sqrt square tan tanh trunc")
      .split(" ").map(unary),
  ),
  ...Object.fromEntries(["bitwiseInvert"].map(unaryInteger)),
  ...Object.fromEntries(
    ("add atan2 copySign copysign divide equal floorDivide greater greaterEqual hypot less lessEqual " +
      "logAddExp logaddexp logicalAnd logicalOr logicalXor maximum minimum multiply nextAfter nextafter notEqual pow " +
      "remainder subtract").split(" ").map(binary),
  ),
  ...Object.fromEntries(
    "bitwiseAnd bitwiseLeftShift bitwiseOr bitwiseRightShift bitwiseXor".split(" ")
      .map(binaryInteger),
  ),
  ...Object.fromEntries(
    "all any countNonzero max mean min prod std sum var variance".split(" ").map(reduction),
  ),
  ...Object.fromEntries(["argmax", "argmin"].map(position)),
  astype: [({ turned }) => module.astype(turned, "float64")],
  clip: [
    ({ turned }) => module.clip(turned, 0, 1),
    ({ matrix }) => module.clip(matrix, 0),
    ({ matrix }) => module.clip(matrix),
    ({ matrix, turned }) => module.clip(matrix, turned, 2),
  ],
  where: [({ integers, flags }) => module.where(flags, integers, 0)],
  arange: [() => arange(0, 10, 1, place)],
  eye: [() => module.eye(5, 4, { ...place, k: -1 })],
  fromBuffer: [() => module.fromBuffer(place.device.upload(Float32Array.of(1, 2)))],
  fromTypedArray: [() => fromTypedArray(Float32Array.of(1, 2), [2], place)],
  full: [() => full([9], 2, place)],
  linspace: [() => module.linspace(0, 1, 5, place)],
  ones: [() => ones([9], place)],
  zeros: [() => zeros([9], place)],
  tensor: [() => tensor([[1, 2], [3, 4]], place)],
  normal: [() => normal([9], place)],
  uniform: [() => module.uniform([9], place)],
  randint: [() => module.randint(0, 5, [9], place)],
  permutation: [
    () => module.permutation(40, place),
    ({ turned }) => module.permutation(turned, { axis: 1 }),
  ],
  choice: [
    () => module.choice(40, [2, 3], { ...place, replace: false }),
    ({ turned }) => module.choice(turned, [3]),
    ({ turned }) => module.choice(turned, [3], { probabilities: [1, 2, 3, 4, 5, 6] }),
  ],
  dropout: [({ turned }) => module.dropout(turned)],
  concat: [
    ({ matrix, turned }) => module.concat([matrix, turned], { axis: 1 }),
    ({ matrix, none }) => module.concat([matrix, none], { axis: null }),
    ({ turned }) => module.concat([turned, turned], { axis: null }),
  ],
  stack: [({ matrix, turned }) => module.stack([matrix, turned], { axis: 1 })],
  split: [({ turned }) => module.split(turned, 3)],
  flip: [({ matrix }) => module.flip(matrix)],
  roll: [
    ({ turned }) => module.roll(turned, [1, 2], { axis: [0, 1] }),
    ({ turned }) => module.roll(turned, 4),
    ({ matrix }) => module.roll(matrix, [], { axis: [] }),
  ],
  repeat: [
    ({ turned }) => module.repeat(turned, 2, { axis: 0 }),
    ({ turned }) => module.repeat(turned, [1, 0, 2, 1, 1, 1], { axis: 1 }),
  ],
  pad: [({ turned }) => module.pad(turned, [[1, 2], [0, 1]], { value: 3 })],
  diff: [
    ({ turned }) => module.diff(turned),
    ({ turned, matrix }) => module.diff(turned, { n: 2, axis: 0, append: matrix }),
    ({ turned }) => module.diff(turned, { n: 0 }),
  ],
  tril: [({ turned }) => module.tril(turned)],
  triu: [({ turned }) => module.triu(turned, { k: 1 })],
  broadcastArrays: [({ matrix, line }) => {
    using six = line.slice([{ stop: 6 }]);
    return module.broadcastArrays([matrix, six]);
  }],
  broadcastTo: [({ turned }) => module.broadcastTo(turned, [2, 6, 6])],
  expandDims: [({ turned }) => module.expandDims(turned)],
  matrixTranspose: [({ turned }) => module.matrixTranspose(turned)],
  meshgrid: [({ line, odd }) => module.meshgrid([line, odd])],
  moveaxis: [({ cube }) => module.moveaxis(cube, 0, 2)],
  permuteDims: [({ cube }) => module.permuteDims(cube, [2, 0, 1])],
  reshape: [({ turned }) => module.reshape(turned, [4, 9])],
  squeeze: [({ matrix }) => module.squeeze(matrix)],
  tile: [({ turned }) => module.tile(turned, [2, 1, 3])],
  unstack: [({ turned }) => module.unstack(turned, { axis: 1 })],
  asarray: [
    () => module.asarray([[1, 2]], place),
    () => module.asarray(Float64Array.of(1, 2), { ...place, dtype: "float32" }),
    ({ turned }) => module.asarray(turned),
    ({ turned }) => module.asarray(turned, { dtype: "float64" }),
  ],
  empty: [() => module.empty([9], place)],
  emptyLike: [({ turned }) => module.emptyLike(turned)],
  fullLike: [({ turned }) => module.fullLike(turned, 2)],
  onesLike: [({ turned }) => module.onesLike(turned)],
  zerosLike: [({ turned }) => module.zerosLike(turned)],
  outer: [({ line, odd }) => module.outer(line, odd)],
  tensordot: [
    ({ matrix, turned }) => module.tensordot(matrix, turned, { axes: [[0], [1]] }),
    ({ cube }) => module.tensordot(cube, cube, { axes: 3 }),
  ],
  einsum: [
    ({ matrix, turned, cube }) => module.einsum("ij,jk,abc->ikc", [matrix, turned, cube]),
    ({ matrix }) => module.einsum("ii->i", [matrix]),
    ({ matrix, integers }) => module.einsum("ij,i->j", [matrix, integers]),
  ],
  norm: [
    ...[1, 2, 3, 0, Infinity].map((ord): Call => ({ cube }) => module.norm(cube, { ord, axis: 1 })),
    ({ integers }) => module.norm(integers, { ord: -1, keepDims: true }),
  ],
  matrixNorm: [
    ({ cube }) => module.matrixNorm(cube, { ord: Infinity, keepDims: true }),
    ({ turned }) => module.matrixNorm(turned, { ord: -1 }),
    ({ matrix }) => module.matrixNorm(matrix),
  ],
  quantile: [
    ({ cube }) => module.quantile(cube, [0, 0.3], { axis: [0, 2], keepDims: true }),
    ({ turned }) => module.quantile(turned, 1, { method: "lower" }),
  ],
  histogram: [
    ({ cube }) => module.histogram(cube, { low: 0, high: 5 }),
    ({ turned }) => module.histogram(turned, { bins: 3, low: 0, high: 5 }),
  ],
  percentile: [({ integers }) => module.percentile(integers, 30)],
  vecdot: [({ matrix, turned }) => module.vecdot(matrix, turned, { axis: -2 })],
  take: [
    ({ turned, places }) => module.take(turned, places),
    ({ turned, places }) => module.take(turned, places, { axis: 1 }),
  ],
  takeAlongAxis: [({ turned }) => {
    using order = module.argsort(turned);
    return module.takeAlongAxis(turned, order);
  }],
  embedding: [({ turned, places }) => module.embedding(turned, places)],
  scatterAdd: [({ turned, places }) => {
    using updates = turned.slice([{ stop: 3 }]);
    return module.scatterAdd(turned, places, updates);
  }],
  sort: [
    ({ cube }) => module.sort(cube, { axis: 1 }),
    ({ line }) => module.sort(line, { descending: true }),
  ],
  argsort: [({ cube }) => module.argsort(cube, { axis: 1 }), ({ line }) => module.argsort(line)],
  topk: [({ cube }) => module.topk(cube, 3, { axis: 1 }), ({ line }) => module.topk(line, 3)],
  searchsorted: [({ odd }) => module.searchsorted(odd, odd)],
  unique: [({ turned }) => module.unique(turned)],
  uniqueAll: [({ turned }) => module.uniqueAll(turned)],
  uniqueCounts: [({ turned }) => module.uniqueCounts(turned)],
  uniqueInverse: [({ turned }) => module.uniqueInverse(turned)],
  uniqueValues: [({ turned }) => module.uniqueValues(turned)],
  nonzero: [({ turned }) => module.nonzero(turned)],
  cumulativeSum: [
    ({ cube }) => module.cumulativeSum(cube, { axis: 1, includeInitial: true }),
    ({ line }) => module.cumulativeSum(line),
  ],
  cumulativeProd: [
    ({ cube }) => module.cumulativeProd(cube, { axis: 1, includeInitial: true, dtype: "int8" }),
  ],
  matmul: [
    ({ matrix, turned }) => module.matmul(matrix, turned),
    ({ matrix, turned }) =>
      module.matmul(turned, turned, { scale: 2, activation: "relu", bias: matrix }),
  ],
  matmulBatch: [({ matrix, turned }) => module.matmulBatch([[matrix, turned], [turned, turned]])],
  explainMatmul: [({ matrix, turned }) => void module.explainMatmul(matrix, turned)],
  layerNorm: [
    ({ turned }) => module.layerNorm(turned),
    ({ matrix, turned }) => module.layerNorm(turned, { residual: matrix, quantize: "int8" }),
  ],
  layerNormBackward: [({ matrix, turned }) => module.layerNormBackward(turned, matrix)],
  rmsNorm: [
    ({ turned }) => module.rmsNorm(turned),
    ({ matrix, turned }) => module.rmsNorm(turned, { residual: matrix }),
  ],
  rmsNormBackward: [({ matrix, turned }) => module.rmsNormBackward(turned, matrix)],
  softmax: [
    ({ cube }) => module.softmax(cube, { axis: 0 }),
    ({ cube }) => module.softmax(cube, { axis: 1 }),
    ({ cube }) => module.softmax(cube),
  ],
  softmaxBackward: [({ cube }) => module.softmaxBackward(cube, cube, { axis: 0 })],
  logSoftmax: [({ cube }) => module.logSoftmax(cube, { axis: 1 })],
  logSoftmaxBackward: [({ cube }) => module.logSoftmaxBackward(cube, cube, { axis: 0 })],
  crossEntropy: [
    ({ turned, integers }) => module.crossEntropy(turned, integers),
    ({ turned, integers }) => module.crossEntropy(turned, integers, { reduction: "none" }),
  ],
  crossEntropyBackward: [
    ({ turned, integers }) => module.crossEntropyBackward(1, turned, integers),
  ],
  attention: [
    ({ heads }) => module.attention(heads, heads, heads, { causal: true, logSumExp: true }),
    ({ heads }) => {
      using short = heads.permute([0, 2, 1, 3]);
      return module.attention(short, short, short);
    },
  ],
  attentionVariableLength: [
    ({ packed }) =>
      module.attentionVariableLength(packed, packed, packed, [0, 2, 5], [0, 2, 5], {
        logSumExp: true,
      }),
  ],
  decodeAttention: [
    // The constructor of the cache has two allocations.
    () => new PagedCache({ ...place, pages: 2, heads: 1, headSize: 2 }),
    ({ cache, sequence, row }) => cache.append([sequence], row, row),
    ({ cache, sequence, row }) =>
      module.decodeAttention(row, cache, [sequence], { logSumExp: true }),
  ],
  explainAttention: [({ heads }) => void module.explainAttention(heads, heads, heads)],
  rotaryEmbedding: [
    ({ heads }) => module.rotaryEmbedding(heads),
    ({ turned }) => module.rotaryEmbedding(turned),
  ],
  fuse: [
    ({ turned }) => module.fuse((x: module.Tensor) => x.add(1).multiply(x))(turned),
    ({ cube }) => module.fuse((x: module.Tensor) => x.add(1).sum({ axis: 1 }))(cube),
    ({ turned }) => void module.fuse((x: module.Tensor) => x.add(1).multiply(x)).explain(turned),
  ],
  inChunks: [() =>
    module.inChunks((x) => x.add(1).sum({ axis: 1 }), [{
      data: new Float32Array(40),
      shape: [10, 4],
    }], { ...place, maxRows: 5 })],
  tidy: [({ matrix }) => module.tidy(() => matrix.add(1).multiply(matrix))],
  saveNpy: [({ turned }) => module.saveNpy(path("x.npy"), turned)],
  saveNpz: [({ turned }) => module.saveNpz(path("x.npz"), { turned })],
  saveSafetensors: [({ turned }) => module.saveSafetensors(path("x.safetensors"), { turned })],
  loadNpy: [() => module.loadNpy(path("x.npy"), place)],
  loadNpz: [() => module.loadNpz(path("x.npz"), place)],
  loadSafetensors: [async () => {
    const { tensors } = await module.loadSafetensors(path("x.safetensors"), place);
    return tensors;
  }],
  // Text, bytes and settings.
  arrayText: null,
  readNpy: null,
  writeNpy: null,
  setKernelFusion: null,
  setPrecision: null,
  setSeed: null,
  canCast: null,
  finfo: null,
  iinfo: null,
  isdtype: null,
  resultType: null,
  // Runs all kernels of the package; tests/device/operation_validation_test.ts has it.
  validate: null,
};

/** The methods that make tensors or read them; the others call functions of the same name. */
const METHODS: Readonly<Record<string, readonly Call[]>> = {
  to: [({ turned }) => turned.to(place.device)],
  slice: [({ turned }) => turned.slice([{ start: 1 }, 0])],
  select: [
    ({ turned, flags }) => turned.select([flags, { start: 1 }]),
    async ({ cube, flags }) => {
      using mask = flags.slice([{ stop: 4 }]);
      return await cube.select([{ start: 2 }, 1, mask]);
    },
    async ({ cube, flags }) => {
      using mask = flags.slice([{ stop: 4 }]);
      return await cube.select([1, {}, mask]);
    },
  ],
  set: [
    ({ turned, line }) => {
      using column = line.slice([{ stop: 5 }]);
      turned.set([{ start: 1 }, 0], column);
    },
    ({ turned }) => {
      using reversed = turned.flip();
      turned.set([], reversed);
    },
    ({ turned, flags }) => turned.set([{}, flags], 1),
    ({ matrix, flags, line }) => {
      using values = line.slice([{ stop: 3 }]);
      matrix.set([flags, 0], values);
    },
    ({ matrix, flags, none }) => {
      using values = none.permute([1, 0]);
      matrix.set([{ stop: 3 }, flags], values);
    },
  ],
  at: [({ turned }) => turned.at(1)],
  permute: [({ turned }) => turned.permute([1, 0])],
  transpose: [({ cube }) => cube.transpose()],
  reshape: [({ turned }) => turned.reshape([4, 9]), ({ matrix }) => matrix.reshape([4, 9])],
  flatten: [({ turned }) => turned.flatten()],
  squeeze: [({ matrix }) => matrix.squeeze()],
  expandDims: [({ turned }) => turned.expandDims(0)],
  broadcastTo: [({ line }) => line.broadcastTo([2, 40])],
  flip: [({ cube }) => cube.flip(1)],
  toArray: [({ turned }) => turned.toArray(), ({ none }) => none.toArray()],
  toNested: [({ turned }) => turned.toNested()],
  toJSON: [({ turned }) => turned.toJSON()],
  toString: [({ turned }: Operands) => String(turned)],
  toText: [({ turned }) => turned.toText()],
  item: [async ({ line }) => {
    using one = line.slice([3]);
    return await one.item();
  }],
  ready: [({ turned }) => turned.ready()],
};

/** Disposes all tensors of a result. */
function dispose(result: unknown): void {
  if (result instanceof Tensor) result.dispose();
  else if (Array.isArray(result)) result.forEach(dispose);
  else if (typeof result === "object" && result !== null && !ArrayBuffer.isView(result)) {
    Object.values(result).forEach(dispose);
  }
}

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

const live = () => place.device.memory.memoryAllocated();

/** Makes the nth allocation between its begin and its end fail. */
function failingAllocation(nth: number) {
  const { allocate } = DeviceBuffer;
  let count = 0;
  const replacement = (...given: Parameters<typeof allocate>) => {
    if (++count === nth) {
      throw new OutOfMemoryError({ action: "test", requested: 1, free: 0, total: 0 });
    }
    return Reflect.apply(allocate, DeviceBuffer, given);
  };
  return {
    begin: () => void (DeviceBuffer.allocate = replacement as typeof allocate),
    end: () => void (DeviceBuffer.allocate = allocate),
    failed: () => count >= nth,
  };
}

/** The names of calls that leave memory in use, with the bytes. */
async function leaks(calls: Readonly<Record<string, readonly Call[] | null>>): Promise<string[]> {
  const found: string[] = [];
  using probe = ones([1], place);
  using first = tensor([0n], place);
  // The first check of positions takes a page of reports, which stays.
  using taken = module.take(probe, first);
  await taken.toArray();
  const leftBy = async (call: Call) => {
    const before = live();
    const given = operands();
    try {
      dispose(await call(given));
    } catch (error) {
      if (!(error instanceof OutOfMemoryError)) throw error;
    }
    dispose(given);
    await probe.toArray();
    // A full page of reports is read and freed in the background.
    for (let turn = 0; live() !== before && turn < 20; turn++) await pause(1);
    return live() - before;
  };
  for (const [name, list] of Object.entries(calls)) {
    for (const [index, call] of list?.entries() ?? []) {
      // Operations wait until their kernels are compiled, and hold their operands.
      await leftBy(call);
      const bytes = await leftBy(call);
      if (bytes !== 0) found.push(`${name} ${index} leaves ${bytes} bytes`);
      for (let nth = 1, isOver = false; !isOver; nth++) {
        const failing = failingAllocation(nth);
        const failed = await leftBy((given) => {
          failing.begin();
          return call(given);
        }).finally(failing.end);
        isOver = !failing.failed();
        if (failed !== 0) found.push(`${name} ${index} leaves ${failed} bytes if ${nth} fails`);
      }
    }
  }
  return found;
}

Deno.test("Every public function of tensors has calls to test", () => {
  const functions = Object.entries(module).filter(([, value]) =>
    typeof value === "function" && !/^class\b/.test(String(value))
  ).map(([name]) => name);
  assertEquals(Object.keys(CALLS).sort(), functions.sort());
  const methods = Object.entries(Object.getOwnPropertyDescriptors(Tensor.prototype))
    .filter(([name, { value }]) =>
      typeof value === "function" && !(name in CALLS) &&
      name !== "constructor"
    )
    .map(([name]) => name);
  const others = ["requireUsable", "dispose"];
  const tested = Object.keys(METHODS).filter((name) => !(name in CALLS));
  assertEquals(methods.sort(), [...tested, ...others].sort());
});

Deno.test("A disposed result leaves no memory in use, nor does a failing call", async (t) => {
  using _ = folder;
  for (const [kind, device] of DEVICES) {
    place.device = device;
    await t.step(`with the planners of ${kind}`, async () => {
      assertEquals(await leaks(CALLS), []);
      assertEquals(await leaks(METHODS), []);
    });
  }
});
