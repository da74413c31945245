/**
 * Kernel sources on the command line: reading, compiling, finding a kernel.
 *
 * @module
 */

import {
  type Device,
  type Kernel,
  type Module,
  readKernelFile,
  type StructTypes,
} from "../../mod.ts";
import { type Invocation, throwFileProblem, UsageError } from "./command.ts";
import { defineOptions } from "./options.ts";

/** The options of commands that compile sources. */
export const COMPILER_LISTS = {
  "-D, --define <K=V>": "define a macro",
  "-I, --include <DIR>": "search DIR for headers, after the folder of the file",
  "--option <TEXT>": "pass an option to the compiler, such as --option=--use_fast_math",
} as const;

export type KernelFile = Awaited<ReturnType<typeof readKernelFile>>;

/** The file and the kernel at the beginning of the arguments of `run` and `tune`. */
export function kernelArguments(
  command: string,
  { positional: [file, signature, ...args] }: Invocation,
): { file: string; signature: string; args: string[] } {
  if (file === undefined) {
    throw new UsageError(`Cannot run gridstride ${command} as FILE.cu is missing`);
  }
  if (signature === undefined) {
    throw new UsageError(
      `Cannot run gridstride ${command} as the signature of the kernel is missing, such as "k(int n)"`,
    );
  }
  return { file, signature, args };
}

/** Reads a source with the headers that it includes, also from the directories of `--include`. */
export async function readSource(path: string, { lists }: Invocation): Promise<KernelFile> {
  const include = lists["include"] ?? [];
  for (const directory of include) {
    try {
      for await (const _ of Deno.readDir(directory)) break;
    } catch (error) {
      throwFileProblem(`read the directory ${directory}`, error);
    }
  }
  return await readKernelFile(path, { include })
    .catch((error) => throwFileProblem(`read ${path}`, error));
}

/** The parts of a declaration before the name of the kernel. */
const HEAD = /^(?:(?:extern|"C"|static|inline|__global__|void)\s+)+/;

/**
 * The name in a signature with its template arguments: `tile<float, (1 > 0)>` for
 * `void tile<float, (1 > 0)>(const float* x)`. The library checks the signature.
 */
export function kernelExpression(signature: string): string {
  let angles = 0;
  let parentheses = 0;
  let end = signature.length;
  for (const { 0: character, index } of signature.matchAll(/[<>()]/g)) {
    // The parameters begin with the first parenthesis outside the template arguments.
    if (character === "(" && angles === 0) {
      end = index;
      break;
    }
    if (character === "(") parentheses++;
    else if (character === ")") parentheses--;
    // C++ requires parentheses around a comparison in template arguments.
    else if (parentheses === 0) angles += character === "<" ? 1 : -1;
  }
  return signature.slice(0, end).trim().replace(HEAD, "").trim();
}

/** The compiler's options for a source, and for one kernel of it if that is a template. */
export function compilerOptions(
  { name, headers }: KernelFile,
  invocation: Invocation,
  expression = "",
) {
  return {
    name,
    headers,
    defines: defineOptions(invocation),
    options: invocation.lists["option"] ?? [],
    instances: expression.includes("<") ? [expression] : [],
  };
}

export async function compileKernel(
  device: Device,
  file: KernelFile,
  invocation: Invocation,
  signature: string,
  structs: StructTypes,
  defines: Readonly<Record<string, string>> = defineOptions(invocation),
): Promise<Module<string, StructTypes>> {
  const options = compilerOptions(file, invocation, kernelExpression(signature));
  return await device.compile(file.source, { ...options, defines, structs });
}

/** Finds a kernel; the error also explains why a struct of its parameters is not supported. */
export function findKernel(
  module: Module<string, StructTypes>,
  signature: string,
  { refused }: { readonly refused: Readonly<Record<string, string>> },
): Kernel {
  try {
    return module.kernel(signature) as unknown as Kernel;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const reasons = Object.entries(refused)
      .filter(([name]) => error.message.includes(`"${name.split("::").at(-1)}"`))
      .map(([name, reason]) => `\nThe struct ${name} is not supported as ${reason}`);
    throw new SyntaxError(error.message + reasons.join(""), { cause: error });
  }
}
