/**
 * What ptxas, the assembler inside NVRTC and nvcc, says of the kernels that it has made.
 *
 * @module
 */

import type { KernelResources } from "./compiler.ts";

const LINE = /^ptxas (?:info {4}:|\s+\.)/;
const KERNEL = /^ptxas info {4}: Compiling entry function '([^']*)'/;
const STACK = /^ptxas\s+\.\s+(\d+) bytes stack frame/;
const USED = /^ptxas info {4}: Used (\d+) registers(.*)/;

/** A report that is being read. */
interface Reading {
  readonly name: string;
  localMemory: number;
}

/**
 * The resources of each kernel, by its name in the machine code, out of what `--ptxas-options=-v`
 * prints. Of a device function that is not inlined there is a stack frame, but no such line.
 */
export function ptxasResources(log: string): Map<string, KernelResources> {
  const resources = new Map<string, KernelResources>();
  let kernel: Reading | undefined;
  let inside: string | undefined;
  for (const line of log.split("\n")) {
    const name = KERNEL.exec(line)?.[1];
    if (name !== undefined) kernel = { name, localMemory: 0 };
    inside = /Function properties for (\S+)/.exec(line)?.[1] ?? inside;
    if (kernel === undefined) continue;
    const stack = STACK.exec(line)?.[1];
    if (stack !== undefined && inside === kernel.name) kernel.localMemory = Number(stack);
    const used = USED.exec(line);
    if (used === null) continue;
    resources.set(kernel.name, {
      registers: Number(used[1]),
      sharedMemory: Number(/(\d+) bytes smem/.exec(used[2]!)?.[1] ?? 0),
      localMemory: kernel.localMemory,
    });
    kernel = undefined;
  }
  return resources;
}

/** A log without these reports. */
export function withoutReports(log: string): string {
  return log.split("\n").filter((line) => !LINE.test(line)).join("\n");
}
