/**
 * Compiling the kernel that a command line names, and finding it.
 *
 * @module
 */

import type { Device, Kernel, KernelFile, Module, StructReading, StructTypes } from "../../mod.ts";
import type { Invocation } from "./command.ts";
import { kernelExpression } from "./kernel_expression.ts";
import { defineOptions } from "./run_options.ts";

/**
 * Compiles a source for the kernel of a signature, with the compiler's options that were typed.
 *
 * @param structs The structs that the kernel may take.
 * @param defines The macros; those that were typed by default.
 */
export async function compileKernel(
  device: Device,
  { name, source, headers }: KernelFile,
  invocation: Invocation,
  signature: string,
  structs: StructTypes,
  defines: Readonly<Record<string, string>> = defineOptions(invocation),
): Promise<Module<string, StructTypes>> {
  const expression = kernelExpression(signature);
  return await device.compile(source, {
    name,
    headers,
    defines,
    structs,
    options: invocation.lists["option"] ?? [],
    // A template has no instances but those that somebody names.
    instances: expression.includes("<") ? [expression] : [],
  });
}

/** Finds the kernel; where it takes a struct that cannot be described, the error says why. */
export function findKernel(
  module: Module<string, StructTypes>,
  signature: string,
  { refused }: StructReading,
): Kernel {
  try {
    return module.kernel(signature) as unknown as Kernel;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const reasons = Object.entries(refused)
      .filter(([name]) => error.message.includes(`"${name.split("::").at(-1)}"`))
      .map(([name, reason]) => `\nStruct ${name} of the source cannot be described as ${reason}`);
    throw new SyntaxError(error.message + reasons.join(""), { cause: error });
  }
}
