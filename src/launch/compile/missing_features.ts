/**
 * Features of CUDA that the host device does not have, with the replacements.
 *
 * @module
 */

import type { Diagnostic } from "./compile_error.ts";

/** A compiler's words for something that it does not find. */
const ABSENCE =
  /No such file|file not found|not (?:been )?declared|undeclared|not name a t|unknown type|no (?:type|template|member) named|not a (?:member|template)|no matching function|undefined reference/;

/** Names in such messages, and the sentences about them. */
const FEATURES: readonly (readonly [names: RegExp, sentence: string])[] = [
  [/\bcub\b/, "CUB: reduce and scan with <cooperative_groups/reduce.h> and <…/scan.h>"],
  [/\bthrust\b/, "Thrust: write the loop, or call an operation of device.kernels before or after"],
  [
    /\bwmma::experimental\b|\bexperimental\b.*\bnvcuda::wmma\b|\bbmma\w+/,
    "matrices of 1 and 4 bits: unpack them to signed char, and multiply those",
  ],
  [
    /\bcuda_pipeline|\bcuda_awbarrier|\bcuda\/pipeline|\bpipeline\b|__pipeline_/,
    "asynchronous pipelines: copy with cooperative_groups::memcpy_async() and wait()",
  ],
  [
    /(?<![\w/])(?:cuda\/[\w/]+|nv\/target)/,
    "headers of libcu++: add their directory with the option -I, such as include/cccl of a CUDA " +
    "toolkit",
  ],
  [
    /\bcurandState(?!Philox)|\bcurand_(?:mtgp|mrg|precalc)\w*\.h|\bcurandDirectionVectors/,
    "generator but Philox: use curandStatePhilox4_32_10_t, which gives the same words on a GPU",
  ],
  [
    /\bcurand_(?:poisson|discrete|log_normal)/,
    "other distributions than uniform and normal: transform their numbers",
  ],
  [
    /\btexture\b|\bcudaTexture\w+|\btexture_\w+\.h/,
    "textures: read a buffer, and interpolate in the kernel",
  ],
  [/\bsurface\b|\bsurface_\w+\.h|\bcudaBoundaryMode|\bsurf[123]D/, "surfaces: write a buffer"],
  [
    /\bcudaStream(?:FireAndForget|TailLaunch)|undefined reference to 'cuda[A-Z]/,
    "dynamic parallelism: return the sizes, and launch from TypeScript",
  ],
  [
    /\bcudaGraph(?:SetConditional|Conditional\w*)/,
    "conditional graph nodes: launch graphs from TypeScript, which decides between them",
  ],
  [/\bthis_cluster\b|\bcluster_\w+|__cluster/, "clusters: use blocks, and global memory"],
  [/\bcuda_fp[46]\.h|__nv_fp[46]/, "floats of 4 and 6 bits: the smallest are those of cuda_fp8.h"],
];

/**
 * Explains errors about features that the host device does not have. One error for each feature
 * stands for all errors of the source, which follow from it or show once it is replaced.
 */
export function explainMissingFeatures(diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
  const explained = new Map<string, Diagnostic>();
  for (const diagnostic of diagnostics) {
    const { severity, message } = diagnostic;
    if (severity !== "error" || !ABSENCE.test(message)) continue;
    const [, sentence] = FEATURES.find(([names]) => names.test(message)) ?? [];
    if (sentence === undefined || explained.has(sentence)) continue;
    const text = `the host device has no ${sentence} (${message})`;
    explained.set(sentence, { ...diagnostic, message: text });
  }
  if (explained.size === 0) return diagnostics;
  return [...explained.values(), ...diagnostics.filter(({ severity }) => severity !== "error")];
}
