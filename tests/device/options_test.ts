// Options that do not exist are refused: a misspelt one would otherwise be ignored in silence.

import { assertEquals } from "@std/assert";
import { build } from "../../build.ts";
import * as G from "../../mod.ts";
import * as bitnet from "../../src/device/bitnet.ts";
import * as q from "../../src/device/ternary.ts";
import * as T from "../../src/device/tensor.ts";
import * as analysis from "../../src/lab/analysis/mod.ts";
import * as memory from "../../src/lab/memory/mod.ts";
import { DeviceTrace } from "../../src/lab/trace/mod.ts";
import * as tuning from "../../src/lab/tuning/mod.ts";
import { DeviceWork } from "../../src/tensor/kit/device_work.ts";
import { configuration, runDeno } from "../style/repository.ts";
import { device } from "../support/device.ts";
import { recordingDevice } from "../tensor/cuda/recording_device.ts";
import { smallModel } from "../bitnet/generation/model.ts";
import { smallVocabulary } from "../bitnet/tokenizer/vocabularies.ts";

const { compileImage, MemoryManager, MemoryPool, openDevice, PitchedBuffer } = G;

const { kernels } = device;
const floats = device.upload(Float32Array.of(1, 2));
const doubles = device.allocate("float64", 2);
const counts = device.allocate("uint32", 2);
const manager = new MemoryManager(device);
const pool = new MemoryPool(device);
const several = new G.MultiDeviceMemory([manager]);
const pinned = device.allocatePinned("float32", 2);
const pitched = device.allocate2d("float32", 1, 2);
const axpy = kernels.load("axpy_float32(float a, const float* x, float* y, unsigned long long n)");
const SOURCE = "__global__ void f(int n) {}";
const TRACE = "gridstride memory trace 1\nend 0\n";

// Nothing has to be compiled for tensors that are never read.
const recording = recordingDevice("9.0", { kind: "host" }).device;
const x = T.full([3, 4], 1, { device: recording });
const line = T.full([4], 1, { device: recording });
const integers = T.full([4], 1, { device: recording, dtype: "int32" });
const flags = T.full([4], true, { device: recording, dtype: "bool" });
const places = T.full([3], 0n, { device: recording, dtype: "int64" });
const heads = T.full([1, 1, 2, 4], 1, { device: recording });
const weights = q.TernaryWeights.from(x);
const cache = new T.PagedCache({ device: recording, pages: 1, heads: 1, headSize: 4 });
await DeviceWork.of(recording.context).settled();

type Call = (options: never) => unknown;

const elementwise = (name: string): Call => (options) =>
  T[name as "exp"]((/^bitwise/.test(name) ? integers : line) as T.Tensor, options);
const binary = (name: string): Call => (options) => {
  const operand = (/^bitwise/.test(name) ? integers : line) as T.Tensor;
  return T[name as "add"](operand, operand, options);
};
const shaped = (name: string): Call => (options) => T[name as "ones"]([2], options);
const reduction = (name: string): Call => (options) => T[name as "mean"](x, options);

/** The functions of tensors that have no options. */
const WITHOUT_OPTIONS = "arrayText fuse readNpy saveNpy setKernelFusion setSeed tidy writeNpy " +
  "broadcastArrays broadcastTo canCast finfo iinfo isdtype matrixTranspose moveaxis permuteDims " +
  "reshape resultType tile";

const BINARY = "add atan2 bitwiseAnd bitwiseLeftShift bitwiseOr bitwiseRightShift bitwiseXor " +
  "copySign copysign divide equal floorDivide greater greaterEqual hypot less lessEqual logAddExp logaddexp " +
  "logicalAnd logicalOr logicalXor maximum minimum multiply nextAfter nextafter notEqual pow remainder " +
  "subtract";
const REDUCTIONS = "all any argmax argmin countNonzero max mean min prod std sum var variance " +
  "softmax logSoftmax sort argsort unique uniqueAll uniqueCounts uniqueInverse uniqueValues nonzero layerNorm rmsNorm flip tril triu take topk";

/** Functions that need other arguments. */
const TENSOR_CALLS: Readonly<Record<string, Call>> = {
  ...Object.fromEntries(BINARY.split(" ").map((name) => [name, binary(name)])),
  ...Object.fromEntries(REDUCTIONS.split(" ").map((name) => [name, reduction(name)])),
  ...Object.fromEntries(
    ["ones", "zeros", "normal", "uniform", "empty"].map((name) => [name, shaped(name)]),
  ),
  full: (options) => T.full([2], 1, options),
  ...Object.fromEntries(["emptyLike", "onesLike", "zerosLike"].map((name): [string, Call] => [
    name,
    (options) => T[name as "onesLike"](x, options),
  ])),
  fullLike: (options) => T.fullLike(x, 1, options),
  asarray: (options) => T.asarray([1], options),
  expandDims: (options) => T.expandDims(x, options),
  squeeze: (options) => T.squeeze(x, options),
  unstack: (options) => T.unstack(x, options),
  meshgrid: (options) => T.meshgrid([line], options),
  outer: (options) => T.outer(line, line, options),
  einsum: (options) => T.einsum("ij->i", [x], options),
  norm: (options) => T.norm(x, options),
  matrixNorm: (options) => T.matrixNorm(x, options),
  quantile: (options) => T.quantile(x, 0.5, options),
  histogram: (options) => T.histogram(x, options),
  percentile: (options) => T.percentile(x, 50, options),
  randint: (options) => T.randint(0, 2, [2], options),
  permutation: (options) => T.permutation(x as T.Tensor, options),
  choice: (options) => T.choice(x as T.Tensor, [2], options),
  dropout: (options) => T.dropout(x, 0.5, options),
  tensordot: (options) => T.tensordot(x, x, options),
  vecdot: (options) => T.vecdot(x, x, options),
  arange: (options) => T.arange(0, 2, 1, options),
  linspace: (options) => T.linspace(0, 1, 2, options),
  eye: (options) => T.eye(2, 2, options),
  tensor: (options) => T.tensor([1], options),
  fromTypedArray: (options) => T.fromTypedArray(Float32Array.of(1), [1], options),
  fromBuffer: (options) => T.fromBuffer(floats, [2], options),
  astype: (options) => T.astype(line, "float64", options),
  clip: (options) => T.clip(line, 0, 1, options),
  where: (options) => T.where(flags, line, line, options),
  concat: (options) => T.concat([x, x], options),
  stack: (options) => T.stack([x, x], options),
  split: (options) => T.split(x, 1, options),
  roll: (options) => T.roll(x, 1, options),
  repeat: (options) => T.repeat(x, 2, options),
  diff: (options) => T.diff(x, options),
  pad: (options) => T.pad(x, 1, options),
  take: (options) => T.take(x, places, options),
  topk: (options) => T.topk(x, 1, options),
  takeAlongAxis: (options) => T.takeAlongAxis(x, places, options),
  embedding: (options) => T.embedding(x, places, options),
  scatterAdd: (options) => T.scatterAdd(x, places, x, options),
  searchsorted: (options) => T.searchsorted(line, line, options),
  cumulativeSum: (options) => T.cumulativeSum(line, options),
  cumulativeProd: (options) => T.cumulativeProd(line, options),
  matmul: (options) => T.matmul(line, line, options),
  explainMatmul: (options) => T.explainMatmul(line, line, options),
  matmulBatch: (options) => T.matmulBatch([[line, line]], options),
  layerNormBackward: (options) => T.layerNormBackward(x, x, options),
  rmsNormBackward: (options) => T.rmsNormBackward(x, x, options),
  softmaxBackward: (options) => T.softmaxBackward(x, x, options),
  logSoftmaxBackward: (options) => T.logSoftmaxBackward(x, x, options),
  crossEntropy: (options) => T.crossEntropy(x, places, options),
  crossEntropyBackward: (options) => T.crossEntropyBackward(1, x, places, options),
  attention: (options) => T.attention(heads, heads, heads, options),
  explainAttention: (options) => T.explainAttention(heads, heads, heads, options),
  attentionVariableLength: (options) =>
    T.attentionVariableLength(line as never, line as never, line as never, [0], [0], options),
  decodeAttention: (options) => T.decodeAttention(heads, 5 as never, [0], options),
  rotaryEmbedding: (options) => T.rotaryEmbedding(heads, options),
  inChunks: (options) => T.inChunks((rows) => rows, [new Float32Array(2)], options),
  setPrecision: (options) => T.setPrecision("auto", options),
  loadNpy: (options) => T.loadNpy("/none", options),
  loadNpz: (options) => T.loadNpz("/none", options),
  loadSafetensors: (options) => T.loadSafetensors("/none", options),
  saveNpz: (options) => T.saveNpz("/none/x", { x }, options),
  saveSafetensors: (options) => T.saveSafetensors("/none/x", { x }, options),
  validate: (options) => T.validate(device, options),
};

const tokenizer = new bitnet.ModelTokenizer(bitnet.ggufTokenizer(smallVocabulary()));

/** The calls of the other entries, by the names of their documentation. */
const CALLS: Readonly<Record<string, Call>> = {
  openDevice: (options) => openDevice("host", options),
  "openDevice, memory": (memory) => openDevice("host", { memory }),
  warmUpKernels: (options) => G.warmUpKernels(device, [{ source: SOURCE, ...options as object }]),
  load: (options) => G.load(options),
  openSource: (options) => bitnet.openSource("/none.gguf", options),
  describeModel: (options) => bitnet.describeModel("/none.gguf", options),
  memoryOf: (options) => bitnet.memoryOf({} as bitnet.ModelSource, options),
  fits: (options) => bitnet.fits({} as bitnet.ModelSource, options),
  configureKernelCache: (options) => G.configureKernelCache(options),
  chunksThatFit: (options) => G.chunksThatFit(1, 1, options),
  compileImage: (options) =>
    compileImage(SOURCE, {
      ...options as object,
      target: { kind: "host", capability: "9.0" },
    } as never),
  defineStruct: (options) => G.defineStruct("S", {}, options),
  readKernelFile: (options) => G.readKernelFile("/none.cu", options),
  readStructs: (options) => G.readStructs(SOURCE, options),
  timeKernel: (options) =>
    G.timeKernel(axpy, { grid: 1, block: 1 }, [1, floats, floats, 2], options),
  potentialBlockSize: (options) =>
    G.potentialBlockSize(G.occupancyLimits(device.info), {} as never, options),
  "new Event": (options) => new G.Event(device.context, options),
  "new Stream": (options) => new G.Stream(device.context, options),
  "new MemoryManager": (options) => new MemoryManager(device, options),
  "new MemoryManager, bands": (bands) => new MemoryManager(device, { bands }),
  "new MemoryPool": (options) => new MemoryPool(device, options),
  "new MultiDeviceMemory": (options) => new G.MultiDeviceMemory([manager], options),
  "new PitchedBuffer": (options) => new PitchedBuffer(floats, 1, 1, options),
  "Device.allocate": (options) => device.allocate("float32", 1, options),
  "Device.allocateAsync": (options) => device.allocateAsync("float32", 1, options),
  "Device.allocate2d": (options) => device.allocate2d("float32", 1, 1, options),
  "Device.upload": (options) => device.upload(new Float32Array(1), options),
  "Device.uploadFile": (options) => device.uploadFile("/none", options),
  "Device.uploadFileInto": (options) => device.uploadFileInto(floats, "/none", options),
  "Device.uploadStream": (options) => device.uploadStream([], options),
  "Device.prefetchFiles": (options) => device.prefetchFiles([], options),
  "Device.createUploadRing": (options) => device.createUploadRing(options),
  "Device.createStream": (options) => device.createStream(options),
  "Device.createEvent": (options) => device.createEvent(options),
  "Device.createPool": (options) => device.createPool(options),
  "Device.compile": (options) => device.compile(SOURCE, options),
  "Device.compileFile": (options) => device.compileFile("/none.cu", options),
  "Device.loadModule": (options) => device.loadModule(new Uint8Array(1), options),
  "Stream.capture": (options) => device.stream.capture(() => {}, options),
  "Stream.record": (options) => device.stream.record(options),
  "DeviceBuffer::allocate": (options) =>
    G.DeviceBuffer.allocate(device.context, "float32", 1, options),
  "DeviceBuffer::fromAddress": (options) =>
    G.DeviceBuffer.fromAddress(floats.address, 4, { device, ...options as object }),
  "DeviceBuffer.copyFrom": (options) => floats.copyFrom(new Float32Array(2), options),
  "DeviceBuffer.copyTo": (options) => floats.copyTo(new Float32Array(2), options),
  "DeviceBuffer.copyToSync": (options) => floats.copyToSync(new Float32Array(2), options),
  "DeviceBuffer.toArray": (options) => floats.toArray(options),
  "DeviceBuffer.toArraySync": (options) => floats.toArraySync(options),
  "PinnedBuffer.copyFrom": (options) => pinned.copyFrom(floats, options),
  "PinnedBuffer.copyTo": (options) => pinned.copyTo(floats, options),
  "PitchedBuffer.copyFrom": (options) => pitched.copyFrom(new Float32Array(2), options),
  "PitchedBuffer.toArray": (options) => pitched.toArray(options),
  "PitchedBuffer.toArraySync": (options) => pitched.toArraySync(options),
  "UploadRing::create": (options) => G.UploadRing.create(device.context, options),
  "DeviceKernels.fill": (options) => kernels.fill(floats, 1, options),
  "DeviceKernels.add": (options) => kernels.add(floats, floats, floats, options),
  "DeviceKernels.multiply": (options) => kernels.multiply(floats, floats, floats, options),
  "DeviceKernels.scale": (options) => kernels.scale(floats, 1, floats, options),
  "DeviceKernels.axpy": (options) => kernels.axpy(1, floats, floats, options),
  "DeviceKernels.sum": (options) => kernels.sum(floats, doubles.view(0, 1), options),
  "DeviceKernels.mean": (options) => kernels.mean(floats, doubles.view(0, 1), options),
  "DeviceKernels.max": (options) => kernels.max(floats, floats.view(0, 1), options),
  "DeviceKernels.min": (options) => kernels.min(floats, floats.view(0, 1), options),
  "DeviceKernels.moments": (options) => kernels.moments(floats, doubles, options),
  "DeviceKernels.histogram": (options) => kernels.histogram(floats, counts, options),
  "MemoryPool.allocate": (options) => pool.allocate("float32", 1, options),
  "MemoryPool.allocateAsync": (options) => pool.allocateAsync("float32", 1, options),
  "MemoryPool.checkLeaks": (options) => pool.checkLeaks(options),
  "MemoryManager.allocate": (options) => manager.allocate("float32", 1, options),
  "MemoryManager.chunksThatFit": (options) => manager.chunksThatFit(1, 1, options),
  "MultiDeviceMemory.allocate": (options) => several.allocate("float32", 1, options),
  "MultiDeviceMemory.copy": (options) => several.copy(floats, doubles as never, options),
  "MultiDeviceMemory.copyTo": (options) => several.copyTo(floats, 0, options),
  analyzeAccess: (options) => analysis.analyzeAccess([0], options),
  "new AccessAnalyzer": (options) => new analysis.AccessAnalyzer(options),
  bankConflicts: (options) => analysis.bankConflicts([0], options),
  calculateAlignment: (options) => analysis.calculateAlignment(1, options),
  optimizeLayout: (options) => analysis.optimizeLayout(new Float32Array(1), [0], options),
  pitchOf: (options) => analysis.pitchOf(1, 1, options),
  roofline: (options) => analysis.roofline(options),
  readTrace: (options) => memory.readTrace("", "x", options),
  replayTrace: (options) => memory.replayTrace(memory.parseTrace(TRACE, "x"), undefined, options),
  "new DeviceTrace": (options) => new DeviceTrace(device, options),
  "DeviceTrace.range": (options) => {
    using trace = new DeviceTrace(device);
    trace.range("x", options);
  },
  autotune: (options) => tuning.autotune(device, options),
  "new Autotuner": (options) => new tuning.Autotuner(device, options),
  "Autotuner.tune": (options) => {
    const tuner = new tuning.Autotuner(device, { name: "x", configurations: [1], store: false });
    return tuner.tune(1, options);
  },
  tuneKernels: (options) => tuning.tuneKernels(device, options),
  "TernaryWeights::from": (options) => q.TernaryWeights.from(x, options),
  "TernaryWeights::concat": (options) => q.TernaryWeights.concat([weights], options),
  "TernaryWeights.dequantize": (options) => weights.dequantize(options),
  encode: (options) => q.encode(Float32Array.of(1), [1, 1], "gridstride", options),
  decode: (options) => q.decode(new Uint8Array(16), [1, 1], "gridstride", options),
  convert: (options) => q.convert(new Uint8Array(16), [1, 1], "gridstride", "gridstride", options),
  "convert, from": (from) =>
    q.convert(new Uint8Array(16), [1, 1], "gridstride", "gridstride", { from }),
  scalesOf: (options) => q.scalesOf(new Float32Array(1), [1, 1], "gridstride", options),
  quantizeActivations: (options) => q.quantizeActivations(x, options),
  quantizeWeights: (options) => q.quantizeWeights(x, options),
  ternaryMatmul: (options) => q.ternaryMatmul(x, weights, options),
  explainTernaryMatmul: (options) => q.explainTernaryMatmul(x, weights, options),
  "new DeviceAwareQuantizer": (options) => new q.DeviceAwareQuantizer(options),
  "DeviceAwareQuantizer.quantize": (options) => {
    const quantizer = new q.DeviceAwareQuantizer({ device });
    return quantizer.quantize(new Float32Array(4), [1, 4], "i2_s", options);
  },
  build: (options) => build(options),
  // Classes of ./tensor; its functions are above.
  "Tensor.select": (options) => x.select([flags], options),
  "Tensor.set": (options) => x.set([], 1, options),
  "new PagedCache": (options) =>
    new T.PagedCache({ pages: 1, heads: 1, headSize: 4, ...options as object }),
  "PagedCache.append": (options) => cache.append([], heads, heads, options),
  openModel: (options) => bitnet.openModel("/none.gguf", options),
  "Model.generate": async (options) => {
    await using model = await smallModel();
    model.generate("hello", options);
  },
  "Model.chat": async (options) => {
    await using model = await smallModel();
    model.chat([{ role: "user", content: "hello" }], options);
  },
  "ModelTokenizer.encode": (options) => tokenizer.encode("hello", options),
  "ModelTokenizer.encodeChat": (options) =>
    tokenizer.encodeChat([{ role: "user", content: "hello" }], options),
  "ModelTokenizer.decode": (options) => tokenizer.decode([1], options),
  "ModelTokenizer.streamDecoder": (options) => tokenizer.streamDecoder(options),
  "new ModelServer": (options) => new bitnet.ModelServer({} as bitnet.ServedModel, options),
  "new DeviceFallback": (options) => new T.DeviceFallback(options),
};

/**
 * Methods of tensors call functions of the same name, errors take options of `Error`, and only
 * `defineStruct()` constructs struct types.
 */
const CHECKED_ELSEWHERE = /^Tensor(?:Methods)?\.|^new \w+Error$|^new StructType$/;

/** The action of an error: a call of a function, or at least two words, such as "make a tensor". */
const ACTION = /^Cannot (?:call \w+\(\)|\w+ (?!as )\S.*?) as /;

async function acceptors(calls: Readonly<Record<string, Call>>): Promise<string[]> {
  const accepted: string[] = [];
  for (const [name, call] of Object.entries(calls)) {
    try {
      await call({ noSuchOption: 1 } as never);
      accepted.push(name);
    } catch (error) {
      const { message } = error as Error;
      const isRefusal = error instanceof TypeError && message.includes("noSuchOption");
      if (!isRefusal || !ACTION.test(message)) {
        accepted.push(`${name}: ${message}`);
      }
    }
  }
  return accepted;
}

Deno.test("Functions of tensors refuse options that do not exist, and name themselves", async () => {
  const functions = Object.entries(T).filter(([name, value]) =>
    typeof value === "function" && !/^class\b/.test(String(value)) &&
    !WITHOUT_OPTIONS.split(" ").includes(name)
  );
  // The others are operations on each element.
  const calls = functions.map(([name]) => [name, TENSOR_CALLS[name] ?? elementwise(name)] as const);
  assertEquals(await acceptors(Object.fromEntries(calls)), []);
});

Deno.test("Everything else refuses options that do not exist", async () => {
  assertEquals(await acceptors(CALLS), []);
});

interface Parameter {
  readonly name?: string;
  readonly left?: Parameter;
  readonly tsType?: unknown;
}

interface Declaration {
  readonly kind: string;
  readonly def: {
    readonly params?: readonly Parameter[];
    readonly constructors?: readonly {
      readonly accessibility?: string;
      readonly params: readonly Parameter[];
    }[];
    readonly methods?: readonly {
      readonly name: string;
      readonly isStatic?: boolean;
      readonly functionDef: { readonly params: readonly Parameter[] };
    }[];
  };
}

/** Whether a function has a parameter of options, by its name or its type. */
const hasOptions = (parameters: readonly Parameter[] = []) =>
  parameters.some((it) => {
    const { name, tsType } = it.left ?? it;
    return name === "options" ||
      /"typeName":"\w*(?:Options|Run)"/.test(JSON.stringify(tsType ?? ""));
  });

/** The functions, constructors and methods of a documentation that take options. */
function* optionTakers(name: string, { kind, def }: Declaration): Generator<string> {
  if (kind === "function" && hasOptions(def.params)) yield name;
  if (kind !== "class") return;
  if (def.constructors?.some((it) => it.accessibility !== "private" && hasOptions(it.params))) {
    yield `new ${name}`;
  }
  for (const { name: method, isStatic, functionDef } of def.methods ?? []) {
    if (hasOptions(functionDef.params)) yield `${name}${isStatic ? "::" : "."}${method}`;
  }
}

Deno.test("Every public function, constructor and method that takes options is tested", async () => {
  const entries = Object.entries(configuration().exports)
    .filter(([name]) => name !== "./cli").map(([, path]) => path);
  const { code, output } = await runDeno("doc", "--json", ...entries);
  assertEquals(code, 0, output);
  const { nodes } = JSON.parse(output) as {
    nodes: Record<string, { symbols: { name: string; declarations: Declaration[] }[] }>;
  };
  const found = Object.values(nodes).flatMap(({ symbols }) =>
    symbols.flatMap(({ name, declarations }) =>
      declarations.flatMap((it) => [...optionTakers(name, it)])
    )
  );
  const untested = new Set(found).difference(new Set(Object.keys(CALLS)));
  assertEquals(
    [...untested].filter((name) => !(name in T) && !CHECKED_ELSEWHERE.test(name)),
    [],
  );
  // The search finds what it should.
  const stale = Object.keys(CALLS).filter((name) => !/,/.test(name) && !found.includes(name));
  assertEquals(stale, []);
});
