/**
 * The expected command block of a launch, computed from scratch in the plainest way.
 *
 * @module
 */

import { ARGUMENT, DEVICE, OPERAND, STREAM } from "../../src/ffi/command_block.ts";
import { narrowFloatBits } from "../../src/memory/element_bits.ts";

/** Where the dynamic shared memory is among the slots from the device's on; it is never negative. */
const SHARED_MEMORY = OPERAND + 7 - DEVICE;

/** The encoding of an argument. */
export type ArgumentRule = "number" | "wide" | "truth" | "pointer" | "half" | "float4" | "weights";

/** The launched kernels: their parameters and the encodings of the arguments. */
export const KERNELS: readonly { signature: string; rules: readonly ArgumentRule[] }[] = [
  { signature: "none()", rules: [] },
  { signature: "one(const float* x)", rules: ["pointer"] },
  {
    signature: "four(double a, unsigned long long n, const float* x, float* y)",
    rules: ["number", "wide", "pointer", "pointer"],
  },
  {
    signature: "five(int i, float4 v, bool b, Weights w, const float* x)",
    rules: ["number", "float4", "truth", "weights", "pointer"],
  },
  {
    signature: "eight(void* p, half h, float a, int i, float* x, long long n, Weights w, bool b)",
    rules: ["pointer", "half", "number", "number", "pointer", "wide", "weights", "truth"],
  },
  {
    signature:
      "nine(float* x, bool b, size_t n, float a, float4 v, int i, int j, half h, const float* y)",
    rules: ["pointer", "truth", "wide", "number", "float4", "number", "number", "half", "pointer"],
  },
  {
    signature: `pointers(${
      Array.from({ length: 9 }, (_, index) => `float* p${index}`).join(", ")
    })`,
    rules: new Array<ArgumentRule>(9).fill("pointer"),
  },
];

/** `struct Weights { float scale; int shift[2]; }`. */
export interface Weights {
  readonly scale: number;
  readonly shift: readonly [number, number];
}

export interface ReferenceLaunch {
  readonly device: number;
  readonly stream: number;
  readonly kernel: number;
  readonly rules: readonly ArgumentRule[];
  readonly config: Readonly<Record<string, unknown>>;
  readonly args: readonly unknown[];
}

function sides(extents: unknown): number[] {
  const list = typeof extents === "number" ? [extents] : extents as number[];
  return [list[0]!, list[1] ?? 1, list[2] ?? 1];
}

function argumentSlots(rule: ArgumentRule, value: unknown): [Float64Array, boolean] {
  switch (rule) {
    case "wide":
      if (typeof value === "number") return [Float64Array.of(value), false];
      return [
        new Float64Array(BigUint64Array.of(BigInt.asUintN(64, value as bigint)).buffer),
        true,
      ];
    case "half": {
      const bits = narrowFloatBits("float16", value as number);
      return [new Float64Array(BigUint64Array.of(BigInt(bits)).buffer), true];
    }
    case "pointer":
      return [Float64Array.of((value as { address: number } | null)?.address ?? 0), false];
    case "float4":
      return [new Float64Array(Float32Array.from(value as number[]).buffer), false];
    case "weights": {
      const { scale, shift } = value as Weights;
      const bytes = new DataView(new ArrayBuffer(16));
      bytes.setFloat32(0, scale, true);
      shift.forEach((one, i) => bytes.setInt32(4 + 4 * i, one, true));
      return [new Float64Array(bytes.buffer), false];
    }
    default:
      return [Float64Array.of(Number(value)), false];
  }
}

/** The slots from the device's on, as bits. */
export function referenceBlock(launch: ReferenceLaunch): bigint[] {
  const { config, rules } = launch;
  const slots: number[] = [launch.device, launch.stream];
  const operands = new Float64Array(ARGUMENT - OPERAND);
  operands.set([launch.kernel, ...sides(config.grid), ...sides(config.block)]);
  operands[7] = Math.abs((config.sharedMemory as number | undefined) ?? 0);
  operands[8] = rules.length;
  operands[11] = config.cooperative === true ? 1 : 0;
  if (config.cluster !== undefined) {
    const [x, y, z] = sides(config.cluster);
    operands[12] = x! + 256 * y! + 65536 * z!;
  }
  const passed: Float64Array[] = [];
  rules.forEach((rule, index) => {
    const [bytes, isRaw] = argumentSlots(rule, launch.args[index]);
    if (isRaw) operands[9]! += 2 ** index;
    passed.push(bytes);
  });
  const all = [Float64Array.from(slots), operands, ...passed];
  return all.flatMap((part) => [...new BigUint64Array(part.buffer)]);
}

/** As much of a command block that was recorded. */
export function usedSlots(block: BigUint64Array, reference: readonly bigint[]): bigint[] {
  if (STREAM !== DEVICE + 1 || OPERAND !== STREAM + 1) throw new Error("the block is another");
  const used = [...block.subarray(DEVICE, DEVICE + reference.length)];
  // Of no bytes of shared memory both zeros say the same.
  return used.with(SHARED_MEMORY, BigInt.asUintN(63, used[SHARED_MEMORY]!));
}
