// Options that do not exist are refused: a misspelt one would otherwise be ignored in silence.

import { assertEquals } from "@std/assert";
import { compileImage, MemoryManager, MemoryPool, openDevice, PitchedBuffer } from "../../mod.ts";
import * as T from "../../src/device/tensor.ts";
import { device } from "../support/device.ts";

const { kernels } = device;
const x = T.full([3, 4], 1, { device });
const line = T.full([4], 1, { device });
const integers = T.full([4], 1, { device, dtype: "int32" });
const flags = T.full([4], true, { device, dtype: "bool" });
const places = T.full([3], 0n, { device, dtype: "int64" });
const heads = T.full([1, 1, 2, 4], 1, { device });
const floats = device.upload(Float32Array.of(1, 2));
const doubles = device.allocate("float64", 2);
const counts = device.allocate("uint32", 2);
const manager = new MemoryManager(device);
const pool = new MemoryPool(device);
const SOURCE = "__global__ void f(int n) {}";

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
const WITHOUT_OPTIONS =
  "arrayText fuse readNpy saveNpy setKernelFusion setSeed tidy writeNpy validateOperations";

const BINARY = "add atan2 bitwiseAnd bitwiseLeftShift bitwiseOr bitwiseRightShift bitwiseXor " +
  "copySign divide equal floorDivide greater greaterEqual hypot less lessEqual logAddExp " +
  "logicalAnd logicalOr logicalXor maximum minimum multiply nextAfter notEqual pow remainder " +
  "subtract";
const REDUCTIONS = "all any argmax argmin countNonzero max mean min prod std sum variance " +
  "softmax logSoftmax sort argsort unique nonzero layerNorm rmsNorm flip tril triu take topk";

/** Functions that need other arguments. */
const TENSOR_CALLS: Readonly<Record<string, Call>> = {
  ...Object.fromEntries(BINARY.split(" ").map((name) => [name, binary(name)])),
  ...Object.fromEntries(REDUCTIONS.split(" ").map((name) => [name, reduction(name)])),
  ...Object.fromEntries(["ones", "zeros", "normal", "uniform"].map((name) => [name, shaped(name)])),
  full: (options) => T.full([2], 1, options),
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
  pad: (options) => T.pad(x, 1, options),
  take: (options) => T.take(x, places, options),
  topk: (options) => T.topk(x, 1, options),
  takeAlongAxis: (options) => T.takeAlongAxis(x, places, options),
  embedding: (options) => T.embedding(x, places, options),
  scatterAdd: (options) => T.scatterAdd(x, places, x, options),
  searchsorted: (options) => T.searchsorted(line, line, options),
  cumulativeSum: (options) => T.cumulativeSum(line, options),
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
};

const RUNTIME_CALLS: Readonly<Record<string, Call>> = {
  openDevice: (options) => openDevice("host", options),
  "openDevice, memory": (memory) => openDevice("host", { memory }),
  allocate: (options) => device.allocate("float32", 1, options),
  allocateAsync: (options) => device.allocateAsync("float32", 1, options),
  allocate2d: (options) => device.allocate2d("float32", 1, 1, options),
  upload: (options) => device.upload(new Float32Array(1), options),
  createStream: (options) => device.createStream(options),
  createEvent: (options) => device.createEvent(options),
  compile: (options) => device.compile(SOURCE, options),
  compileFile: (options) => device.compileFile("/none.cu", options),
  compileImage: (options) =>
    compileImage(SOURCE, {
      ...options as object,
      target: { kind: "host", capability: "9.0" },
    } as never),
  loadModule: (options) => device.loadModule(new Uint8Array(1), options),
  capture: (options) => device.stream.capture(() => {}, options),
  copyFrom: (options) => floats.copyFrom(new Float32Array(2), options),
  copyTo: (options) => floats.copyTo(new Float32Array(2), options),
  copyToSync: (options) => floats.copyToSync(new Float32Array(2), options),
  fill: (options) => kernels.fill(floats, 1, options),
  add: (options) => kernels.add(floats, floats, floats, options),
  multiply: (options) => kernels.multiply(floats, floats, floats, options),
  scale: (options) => kernels.scale(floats, 1, floats, options),
  axpy: (options) => kernels.axpy(1, floats, floats, options),
  sum: (options) => kernels.sum(floats, doubles.view(0, 1), options),
  mean: (options) => kernels.mean(floats, doubles.view(0, 1), options),
  moments: (options) => kernels.moments(floats, doubles, options),
  histogram: (options) => kernels.histogram(floats, counts, options),
  "pool.allocate": (options) => pool.allocate("float32", 1, options),
  "pool.allocateAsync": (options) => pool.allocateAsync("float32", 1, options),
  checkLeaks: (options) => pool.checkLeaks(options),
  createPool: (options) => device.createPool(options),
  "manager.allocate": (options) => manager.allocate("float32", 1, options),
  MemoryManager: (options) => new MemoryManager(device, options),
  PitchedBuffer: (options) => new PitchedBuffer(floats, 1, 1, options),
  DeviceFallback: (options) => new T.DeviceFallback(options),
};

async function acceptors(calls: Readonly<Record<string, Call>>): Promise<string[]> {
  const accepted: string[] = [];
  for (const [name, call] of Object.entries(calls)) {
    try {
      await call({ noSuchOption: 1 } as never);
      accepted.push(name);
    } catch (error) {
      const { message } = error as Error;
      if (!(error instanceof TypeError) || !message.includes("noSuchOption")) {
        accepted.push(`${name}: ${message}`);
      }
    }
  }
  return accepted;
}

Deno.test("Functions of tensors refuse options that do not exist", async () => {
  const functions = Object.entries(T).filter(([name, value]) =>
    typeof value === "function" && !/^class\b/.test(String(value)) &&
    !WITHOUT_OPTIONS.split(" ").includes(name)
  );
  // The others are operations on each element.
  const calls = functions.map(([name]) => [name, TENSOR_CALLS[name] ?? elementwise(name)] as const);
  assertEquals(await acceptors(Object.fromEntries(calls)), []);
});

Deno.test("Devices, buffers, pools, kernels and compilers refuse options that do not exist", async () => {
  assertEquals(await acceptors(RUNTIME_CALLS), []);
});
