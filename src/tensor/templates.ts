/**
 * Runs kernels that call a template of `csrc/kernels/tensor/` themselves.
 *
 * @module
 */

import { cTypeOf, type DType } from "../memory/dtype.ts";
import type { Stream } from "../stream/stream.ts";
import { CHUNK, enqueueKernel, gridFor } from "./apply.ts";
import { kernelName, type KernelText } from "./expression/kernel_text.ts";
import { refuseCapture } from "./operation/reports.ts";
import { storageOf, type Tensor } from "./tensor.ts";

/** A kernel and its arguments. */
export interface TemplateCall {
  readonly action: string;
  readonly template: KernelText["template"];
  readonly vectors?: KernelText["vectors"];
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
  readonly grid?: ReturnType<typeof gridFor>;
  /** The error for a value that the body reports through `faults` and `operation`. */
  readonly error?: (value: bigint) => Error;
}

/** Runs a kernel on a stream. The body also has `size` and `chunk`. */
export function runTemplate(call: TemplateCall, stream: Stream): void {
  const { action, template, inputs, results, numbers, body, size, chunk = CHUNK, error } = call;
  const { definitions = "", vectors } = call;
  const entries = [...Object.entries(inputs), ...Object.entries(results)];
  const tensors = entries.map(([, tensor]) => tensor);
  const written = Object.values(results);
  const { work } = storageOf(written[0]!);
  if (error !== undefined) refuseCapture(action);
  const dtypes = tensors.map(({ dtype }) => dtype);
  const isRead = (name: string) => name in inputs;
  const type = (name: string, dtype: DType) => `${isRead(name) ? "const " : ""}${cTypeOf(dtype)}*`;
  const kernel = work.kernel(`${action} ${vectors} ${dtypes} ${definitions}${body}`, () => ({
    name: kernelName(action),
    template,
    ...(vectors === undefined ? {} : { vectors }),
    dtypes: new Set(dtypes),
    parameters: [
      ...entries.map(([name, { dtype }]) => `${type(name, dtype)} ${name}_buffer`),
      ...entries.map(([name]) => `long long ${name}_offset`),
      ...Object.keys({ ...numbers, size, chunk }).map((name) => `long long ${name}`),
      ...(error === undefined ? [] : ["long long operation", "long long* faults"]),
    ],
    definitions,
    body: [
      ...entries.map(([name, { dtype }]) =>
        `  ${type(name, dtype)} const ${name} = ${name}_buffer + ${name}_offset;`
      ),
      body,
    ].join("\n"),
  }));
  const fixed = [
    ...tensors.map((tensor) => storageOf(tensor).buffer),
    ...tensors.map(({ offset }) => offset),
    ...Object.values({ ...numbers, size, chunk }),
  ];
  const grid = call.grid ?? gridFor(work, size, chunk);
  const launchArguments = error === undefined ? fixed : () => {
    const { report, words } = work.reports.open(error, stream);
    return { report, values: [...fixed, 1, words] };
  };
  // The results are inputs, too: a template need not write all elements.
  enqueueKernel(kernel, tensors, written, stream, grid, launchArguments);
}
