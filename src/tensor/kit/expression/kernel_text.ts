/**
 * Composes the sources of generated kernels from the templates in `csrc/kernels/tensor/`.
 *
 * @module
 */

import type { VectorSet } from "../../../ffi/build/vector_sets.ts";
import type { DType } from "../../../memory/dtype.ts";
import type { KernelForm } from "../../../kernels/kernel_form.ts";
import type { KernelTemplate } from "./kernel_template.ts";
import { vectorDeclarations } from "./operations.ts";
import { hostVectors } from "./vector_set.ts";

/** The source of one kernel, which is the same for both forms but for a macro. */
export interface KernelText {
  readonly name: string;
  readonly template: KernelTemplate;
  /** The vector instructions of the block form, by default `hostVectors()`. */
  readonly vectors?: VectorSet;
  readonly dtypes: ReadonlySet<DType>;
  /** The parameters as C++ declares them. */
  readonly parameters: readonly string[];
  /** Numbers that the templates know by macros, so that they stand in TypeScript alone. */
  readonly constants?: Readonly<Record<`GS_${string}`, number>>;
  /** The threads of a block, and the blocks that share a multiprocessor: how many registers each has. */
  readonly launchBounds?: readonly [threads: number, blocks: number];
  /** Definitions before the kernel. */
  readonly definitions?: string;
  readonly body: string;
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
  { dtypes, template, vectors = hostVectors(), constants = {} }: Pick<
    KernelText,
    "dtypes" | "template" | "vectors" | "constants"
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
    ...Object.entries(constants).map(([name, value]) => `#define ${name} ${value}`),
    template.text(form),
    ...vectorDeclarations(code),
    "using namespace gridstride::tensor;",
    "",
  ].join("\n");
}

/** The kernel, and the definitions before it. */
export function kernelOf(text: KernelText): string {
  const { definitions = "", launchBounds, body } = text;
  const bounds = launchBounds === undefined ? "" : `__launch_bounds__(${launchBounds.join(", ")}) `;
  return `${definitions}\nextern "C" __global__ GS_SEPARATE ${bounds}void ${
    signatureOf(text)
  } {\n${body}\n}\n`;
}

/** The whole source. */
export function sourceOf(text: KernelText, form: KernelForm): string {
  const { definitions = "", body } = text;
  return preambleOf(text, definitions + body, form) + kernelOf(text);
}

/** A kernel as it is named beside others in one source: C++ knows no two `extern "C"` of a name. */
const numberedText = (text: KernelText, at: number) => ({ ...text, name: `${text.name}_${at}` });

/** The source of kernels with the same template and constants, each in a namespace of its own. */
export function unitSourceOf(
  texts: readonly KernelText[],
  dtypes: ReadonlySet<DType>,
  form: KernelForm,
): string {
  const code = texts.map((text, at) =>
    `namespace kernel_${at} {\n${kernelOf(numberedText(text, at))}}\n`
  ).join("");
  return preambleOf({ ...texts[0]!, dtypes }, code, form) + code;
}

/** The signature of one of these kernels. */
export function unitSignatureOf(text: KernelText, at: number): string {
  return `kernel_${at}::${signatureOf(numberedText(text, at))}`;
}
