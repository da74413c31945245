/**
 * Templates of generated kernels: headers that include each other, joined to one text, because NVRTC
 * sees no files.
 *
 * @module
 */

import type { KernelForm } from "../../../kernels/kernel_form.ts";
import { TENSOR_HEADERS } from "./tensor_headers.ts";

/** The headers that only one form reads end in this. */
const ENDINGS: Readonly<Record<string, KernelForm>> = {
  "_loops.cuh": "block",
  "_threads.cuh": "threads",
};

/** Lines of a header that the joined text has no use for. */
const USELESS = /^#pragma once\n|^ ?\/?\*.*\n/gm;
const INCLUDE = /^#include "(kernels\/.*)"\n/gm;

/** The headers whose functions a kernel calls. */
export class KernelTemplate {
  readonly name: string;
  readonly #roots: readonly string[];
  readonly #headers: Readonly<Record<string, string>>;
  readonly #texts: Partial<Record<KernelForm, string>> = {};

  /**
   * @param roots The paths of the headers that a kernel would include.
   * @param headers The texts of these and of all that they include, by paths below `csrc/`.
   */
  constructor(name: string, roots: readonly string[], headers: Readonly<Record<string, string>>) {
    this.name = name;
    this.#roots = roots;
    this.#headers = headers;
  }

  /** The text of all headers in the order of their inclusion, each once. */
  text(form: KernelForm): string {
    return this.#texts[form] ??= this.#joined(form);
  }

  #joined(form: KernelForm): string {
    const included = new Set<string>();
    const textOf = (path: string): string => {
      const ending = Object.keys(ENDINGS).find((it) => path.endsWith(it));
      if (included.has(path) || (ending !== undefined && ENDINGS[ending] !== form)) return "";
      included.add(path);
      const header = this.#headers[path];
      if (header === undefined) throw new Error(`The template ${this.name} lacks ${path}`);
      return header.replaceAll(USELESS, "").replaceAll(INCLUDE, (_, other) => textOf(other));
    };
    return this.#roots.map(textOf).join("\n");
  }
}

const ofTensors = (name: string, ...headers: readonly string[]): KernelTemplate =>
  new KernelTemplate(name, headers.map((it) => `kernels/tensor/${it}.cuh`), TENSOR_HEADERS);

/** The templates of `csrc/kernels/tensor/`. */
export const templates = {
  map: ofTensors("map", "map"),
  reduce: ofTensors("reduce", "reduce"),
  index: ofTensors("index", "index"),
  sort: ofTensors("sort", "sort"),
  random: ofTensors("random", "random"),
  attention: ofTensors("attention", "attention/attention", "attention/attention_tiles"),
  attentionMma: ofTensors("attentionMma", "attention/attention_mma"),
  attentionDecodeMma: ofTensors("attentionDecodeMma", "attention/attention_decode_mma"),
  matmul: ofTensors("matmul", "matmul/matmul"),
  matmulInt8: ofTensors("matmulInt8", "matmul/matmul", "matmul/byte_panels"),
  matmulMma: ofTensors("matmulMma", "matmul/matmul_mma"),
  matmulMmaStaged: ofTensors("matmulMmaStaged", "matmul/matmul_mma_staged"),
} as const;
