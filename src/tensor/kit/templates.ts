/**
 * Runs kernels that call a template of `csrc/kernels/tensor/` themselves.
 *
 * @module
 */

import type { KernelTemplate } from "./expression/kernel_template.ts";
import { cTypeOf } from "../../memory/dtype.ts";
import type { Stream } from "../../stream/stream.ts";
import { callKernel, CHUNK, type LaunchSize, launchSizeOf } from "./kernel_call.ts";
import type { KernelText } from "./expression/kernel_text.ts";
import { storageOf, type Tensor } from "../tensor.ts";

/** A kernel and its arguments. */
export interface TemplateCall {
  readonly action: string;
  readonly template: KernelTemplate;
  readonly vectors?: KernelText["vectors"];
  readonly constants?: KernelText["constants"];
  readonly launchBounds?: KernelText["launchBounds"];
  /** The tensors to read, by the names that the body uses for pointers to their first elements. */
  readonly inputs: Readonly<Record<string, Tensor>>;
  /** The tensors to write, by the names in the body. */
  readonly results: Readonly<Record<string, Tensor>>;
  /** 64-bit integers by the names in the body. */
  readonly numbers: Readonly<Record<string, number>>;
  /** Definitions before the kernel. */
  readonly definitions?: string;
  /** C++ statements. */
  readonly body: string;
  /** Elements or jobs of `map()` and its like, and how many a block of the block form takes. */
  readonly size: number;
  readonly chunk?: number;
  /** The grid, where the kernel does not call `map()` or its like. */
  readonly grid?: LaunchSize;
  /** The error for a value that the body reports through `faults` and `operation`. */
  readonly error?: (value: bigint) => Error;
}

/** Runs a kernel on a stream. The body also has `size` and `chunk`. */
export function runTemplate(call: TemplateCall, stream: Stream): void {
  const { action, template, vectors, definitions = "", body, size, chunk = CHUNK, error } = call;
  const { constants = {}, launchBounds } = call;
  const pointers: string[] = [];
  const offsets: Record<string, number> = {};
  const buffersOf = (tensors: Readonly<Record<string, Tensor>>, qualifier: string) =>
    Object.fromEntries(
      Object.entries(tensors).map(([name, tensor]) => {
        const [buffer, offset] = [`${name}_buffer`, `${name}_offset`];
        pointers.push(
          `  ${qualifier}${cTypeOf(tensor.dtype)}* const ${name} = ${buffer} + ${offset};`,
        );
        offsets[offset] = tensor.offset;
        return [buffer, tensor];
      }),
    );
  callKernel({
    action,
    key: `${action} ${vectors} ${definitions}${body}`,
    inputs: buffersOf(call.inputs, "const "),
    results: buffersOf(call.results, ""),
    // A template need not write all elements.
    keepsElements: true,
    numbers: { ...offsets, ...call.numbers, size, chunk },
    error,
    code: () => ({
      template,
      ...(vectors === undefined ? {} : { vectors }),
      ...(launchBounds === undefined ? {} : { launchBounds }),
      constants,
      definitions,
      body: [...pointers, body].join("\n"),
    }),
    size: call.grid ??
      launchSizeOf(storageOf(Object.values(call.results)[0]!).work, size, chunk),
  }, stream);
}
