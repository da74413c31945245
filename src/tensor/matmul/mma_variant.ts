/**
 * Matrix products on tensor cores, by `matmul_mma.cuh` and `matmul_mma_staged.cuh`.
 *
 * @module
 */

import { templates } from "../kit/expression/kernel_template.ts";
import { bytesPerElement, cTypeOf, type DType } from "../../memory/dtype.ts";
import { capability } from "../kit/precision.ts";
import { layoutOf, type OwnPlan, planOf, run } from "./own_variants.ts";
import type { MatmulProblem, MatrixOperand } from "./problem.ts";
import type { MatmulVariant } from "./variants.ts";

/** The formats of tensor cores, by the types that hold their elements. */
const FORMATS: { readonly [D in DType]?: string } = {
  float16: "f16",
  bfloat16: "bf16",
  float32: "tf32",
  float8_e4m3: "e4m3",
  float8_e5m2: "e5m2",
  int8: "s8",
  uint8: "u8",
};
/** The extent of an instruction along k, by bytes of an element. */
const DEPTHS: Readonly<Record<number, number>> = { 1: 32, 2: 16, 4: 8 };

/** The edges of tiles, largest first. */
const EDGES = [128, 64] as const;

/** The kernel of `matmul_mma_staged.cuh`, and the least stages with which copies run ahead. */
const STAGED = { tile: [128, 256], threads: 256, stages: 4, stageBytes: 48 * 1024 } as const;
const MIN_STAGES = 2;

/** The type with all values of an operand once it is rounded; undefined if there is none. */
function exactType({ dtype }: MatrixOperand, { mode, sums }: MatmulProblem): DType | undefined {
  if (sums === "int32" || sums === "uint32") return /^u?int8$/.test(dtype) ? dtype : undefined;
  if (sums !== "float32") return undefined;
  const isNarrow = dtype !== "float32" && FORMATS[dtype] !== undefined && !dtype.endsWith("int8");
  if (mode === "fp8") return "float8_e4m3";
  if (mode === "fp16") return "float16";
  if (mode === "bf16") return "bfloat16";
  // Both 16-bit types are exact in TF32.
  return isNarrow ? dtype : mode === "tf32" ? "float32" : undefined;
}

/** The types of which tensor cores take the elements, of equal size; undefined if there are none. */
function storedTypes(problem: MatmulProblem): readonly [DType, DType] | undefined {
  const a = exactType(problem.a, problem);
  const b = exactType(problem.b, problem);
  if (a === undefined || b === undefined) return undefined;
  // 8-bit types of two kinds are products of one instruction.
  if (a === b || bytesPerElement(a) === 1) return [a, b];
  return ["float32", "float32"];
}

/** The C++ of the instruction, with sums in place. */
export function multiplyText([a, b]: readonly [DType, DType]): string {
  const isInteger = a.endsWith("int8");
  const [type, kind, sums] = isInteger ? ["unsigned int", "+r", "s32"] : ["float", "+f", "f32"];
  const name = `m16n8k${DEPTHS[bytesPerElement(a)]}.row.col.${sums}.${FORMATS[a]}.${FORMATS[b]}`;
  const sum = [0, 1, 2, 3].map((at) => `"${kind}"(sum[${at}])`).join(", ");
  const left = [0, 1, 2, 3].map((at) => `"r"(a[${at}])`).join(", ");
  return `struct Multiply {
  __device__ __forceinline__ void operator()(${type} (&sum)[4], const unsigned (&a)[4],
                                             unsigned low, unsigned high) const {
    asm("mma.sync.aligned.${name}.${sums} {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : ${sum} : ${left}, "r"(low), "r"(high));
  }
};`;
}

/** A kernel for tensor cores. */
interface MmaPlan extends OwnPlan {
  /** How the operands lie. */
  readonly layouts: readonly ("along" | "across" | "any")[];
  /** The stages in shared memory of the kernel for large products; 0 for the other one. */
  readonly stages: number;
}

/**
 * The kernel for large products, if it takes the operands and there is a tile for most of the
 * multiprocessors.
 */
function planStaged(
  problem: MatmulProblem,
  stored: readonly [DType, DType],
  layouts: MmaPlan["layouts"],
): MmaPlan | undefined {
  const { m, n, context: { info } } = problem;
  const size = bytesPerElement(stored[0]);
  const isTaken = layouts.every((it) => it === "along" || (it === "across" && size === 2));
  // A part of the shared memory is reserved for each block.
  const room = Math.max(info.sharedMemoryPerBlock, info.sharedMemoryPerBlockOptIn) - 1024;
  const stages = Math.min(STAGED.stages, Math.floor(room / STAGED.stageBytes));
  const { tile } = STAGED;
  if (!isTaken || size > 2 || stages < MIN_STAGES || n <= tile[1] / 2) return undefined;
  const plan = planOf(problem, [m, n], tile, STAGED.threads);
  if (4 * plan.grid < 3 * info.multiprocessorCount) return undefined;
  return { ...plan, layouts, stages, sharedMemory: stages * STAGED.stageBytes };
}

/** Large tiles read operands less often, as long as every multiprocessor has one. */
function planMma(problem: MatmulProblem): MmaPlan {
  const { a, b, m, n, k, context } = problem;
  const stored = storedTypes(problem)!;
  const layouts = [
    layoutOf(a, [a.column, k], [a.row, m], stored[0]),
    layoutOf(b, [b.row, k], [b.column, n], stored[1]),
  ];
  const staged = planStaged(problem, stored, layouts);
  if (staged !== undefined) return staged;
  const plans = EDGES.map((edge) => planOf(problem, [m, n], [edge, edge], 2 * edge));
  const plan = plans.find(({ grid }) => grid >= context.info.multiprocessorCount) ?? plans.at(-1)!;
  return { ...plan, layouts, stages: 0 };
}

/** The lowest compute capability for a type. */
const neededFor = (stored: DType) => stored.startsWith("float8") ? "8.9" : "8.0";

/** The first NVRTC whose PTX has `mma` of float8: version 8.4. */
const FP8_NVRTC = "12.4";

/** Tensor cores by our own kernel. */
export const MMA: MatmulVariant = {
  name: "mma",
  supports(problem, isRequested) {
    const { work, context, a, b, mode } = problem;
    const no = (reason: string) => ({ supported: false, reason });
    if (work.form === "block") {
      return no("it has CUDA threads, and the host device runs vectorised loops");
    }
    const stored = storedTypes(problem);
    if (stored === undefined) {
      return no(
        `tensor cores take float16, bfloat16, float8, int8 with 32-bit sums, and float32 at a lower ` +
          `precision: the operands are ${a.dtype} and ${b.dtype} at precision ${mode}, the sums ` +
          problem.sums,
      );
    }
    const [needed, own] = [neededFor(stored[0]), context.info.computeCapability];
    if (capability(own) < capability(needed)) {
      return no(`it needs compute capability ${needed}, and ${context.label} has ${own}`);
    }
    const nvrtc = stored[0].startsWith("float8")
      ? work.compiler.nvrtcVersion(context)?.join(".")
      : undefined;
    if (nvrtc !== undefined && capability(nvrtc) < capability(FP8_NVRTC)) {
      return no(`products of float8 need NVRTC ${FP8_NVRTC} or newer: it is ${nvrtc}`);
    }
    if (context.library.kind === "host" && !isRequested) {
      return no("the host device imitates tensor cores, which takes longer");
    }
    const formats = stored.map((dtype) => FORMATS[dtype]).join(" and ");
    return { supported: true, reason: `tensor cores multiply ${formats}` };
  },
  plan: planMma,
  launch(problem, result) {
    const stored = storedTypes(problem)!;
    const { layouts, stages, ...plan } = planMma(problem);
    const name = stages > 0 ? "matmul_mma_staged" : "matmul_mma";
    const parameters = [
      "Multiply",
      ...stored.map(cTypeOf),
      ...layouts.map((layout) => `Layout::${layout}`),
      ...(stages > 0 ? [stages] : [plan.tileRows, plan.tileColumns]),
      stored[0].startsWith("float8"),
    ];
    const call = `${name}<${parameters.join(", ")}>(product, finish, tile, down, tiles);`;
    run(problem, result, call, plan, {
      template: stages > 0 ? templates.matmulMmaStaged : templates.matmulMma,
      ...(stages > 0 ? { launchBounds: [STAGED.threads, 1] as const } : {}),
      definitions: multiplyText(stored),
    });
  },
};
