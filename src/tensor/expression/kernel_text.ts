/**
 * Composes the sources of generated kernels from the templates in `csrc/kernels/tensor/`.
 *
 * @module
 */

import ATTENTION from "../../../csrc/kernels/tensor/attention.cuh" with { type: "text" };
import ATTENTION_LOOPS from "../../../csrc/kernels/tensor/attention_loops.cuh" with {
  type: "text",
};
import ATTENTION_MMA from "../../../csrc/kernels/tensor/attention_mma.cuh" with { type: "text" };
import ATTENTION_TILES from "../../../csrc/kernels/tensor/attention_tiles.cuh" with {
  type: "text",
};
import BYTE_PANELS from "../../../csrc/kernels/tensor/byte_panels.cuh" with { type: "text" };
import ELEMENT from "../../../csrc/kernels/tensor/element.cuh" with { type: "text" };
import INDEX from "../../../csrc/kernels/tensor/index.cuh" with { type: "text" };
import MAP from "../../../csrc/kernels/tensor/map.cuh" with { type: "text" };
import MATMUL from "../../../csrc/kernels/tensor/matmul.cuh" with { type: "text" };
import MATMUL_MMA from "../../../csrc/kernels/tensor/matmul_mma.cuh" with { type: "text" };
import RANDOM from "../../../csrc/kernels/tensor/random.cuh" with { type: "text" };
import REDUCE from "../../../csrc/kernels/tensor/reduce.cuh" with { type: "text" };
import SORT from "../../../csrc/kernels/tensor/sort.cuh" with { type: "text" };
import TENSOR_CORE from "../../../csrc/kernels/tensor/tensor_core.cuh" with { type: "text" };
import TERNARY from "../../../csrc/kernels/tensor/ternary.cuh" with { type: "text" };
import TERNARY_MATMUL from "../../../csrc/kernels/tensor/ternary_matmul.cuh" with { type: "text" };
import TERNARY_MMA from "../../../csrc/kernels/tensor/ternary_mma.cuh" with { type: "text" };
import type { VectorSet } from "../../ffi/build/vector_sets.ts";
import type { DType } from "../../memory/dtype.ts";
import { vectorDeclarations } from "./operations.ts";
import { hostVectors } from "./vector_set.ts";

const TEMPLATES = {
  map: [MAP],
  reduce: [MAP, REDUCE],
  index: [MAP, INDEX],
  sort: [MAP, SORT],
  random: [MAP, RANDOM],
  ternary: [MAP, TERNARY],
  ternaryMatmul: [MAP, BYTE_PANELS, TERNARY_MATMUL],
  ternaryMma: [MAP, MATMUL, TENSOR_CORE, MATMUL_MMA, TERNARY_MMA],
  attention: [MAP, ATTENTION, ATTENTION_LOOPS, ATTENTION_TILES],
  attentionMma: [MAP, ATTENTION, TENSOR_CORE, ATTENTION_MMA],
  matmul: [MAP, MATMUL],
  matmulInt8: [MAP, MATMUL, BYTE_PANELS],
  matmulMma: [MAP, MATMUL, TENSOR_CORE, MATMUL_MMA],
} as const;

/** The way in which a kernel runs: a block is one thread with a loop, or it has CUDA threads. */
export type KernelForm = "block" | "threads";

/** The source of one kernel, which is the same for both forms but for a macro. */
export interface KernelText {
  readonly name: string;
  readonly template: keyof typeof TEMPLATES;
  /** The vector instructions of the block form, by default `hostVectors()`. */
  readonly vectors?: VectorSet;
  readonly dtypes: ReadonlySet<DType>;
  /** The parameters as C++ declares them. */
  readonly parameters: readonly string[];
  /** Definitions before the kernel. */
  readonly definitions?: string;
  readonly body: string;
}

const plainTexts = new Map<string, string>();

/** A template without the lines that are for a compiler that sees files. */
function withoutIncludes(text: string): string {
  let plain = plainTexts.get(text);
  if (plain === undefined) {
    plain = text.replaceAll(/^#pragma once\n|^#include "kernels\/.*\n|^ ?\/?\*.*\n/gm, "");
    plainTexts.set(text, plain);
  }
  return plain;
}

/** The name of the kernel of an operation. */
export function kernelName(action: string): string {
  return `tensor_${action.replaceAll(/\W+/g, "_")}`;
}

/** The signature of a kernel. */
export function signatureOf({ name, parameters }: KernelText): string {
  return `${name}(${parameters.join(", ")})`;
}

/** The text before kernels of a template, whose definitions and bodies are `code`. */
export function preambleOf(
  { dtypes, template, vectors = hostVectors() }: Pick<
    KernelText,
    "dtypes" | "template" | "vectors"
  >,
  code: string,
  form: KernelForm,
): string {
  const flags = [
    ...(form === "block" ? ["GS_BLOCK_FORM"] : []),
    ...(form === "block" && vectors === "portable" ? ["GS_PORTABLE"] : []),
    ...(dtypes.has("float16") ? ["GS_USES_FLOAT16"] : []),
    ...(dtypes.has("bfloat16") ? ["GS_USES_BFLOAT16"] : []),
    ...(dtypes.has("float8_e4m3") || dtypes.has("float8_e5m2") ? ["GS_USES_FLOAT8"] : []),
  ];
  return [
    ...flags.map((flag) => `#define ${flag} 1`),
    withoutIncludes(ELEMENT),
    ...TEMPLATES[template].map(withoutIncludes),
    ...vectorDeclarations(code),
    "using namespace gridstride::tensor;",
    "",
  ].join("\n");
}

/** The kernel, and the definitions before it. */
export function kernelOf(text: KernelText): string {
  const { definitions = "", body } = text;
  return `${definitions}\nextern "C" __global__ GS_SEPARATE void ${
    signatureOf(text)
  } {\n${body}\n}\n`;
}

/** The whole source. */
export function sourceOf(text: KernelText, form: KernelForm): string {
  const { definitions = "", body } = text;
  return preambleOf(text, definitions + body, form) + kernelOf(text);
}
