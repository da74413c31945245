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

/** Default threads of a block: a multiple of every warp size. */
export const DEFAULT_BLOCK = 256;

/** The options of commands that compile sources. */
export const COMPILER_LISTS = {
  "-D, --define <K=V>": "define a macro",
  "-I, --include <DIR>": "search DIR for headers, after the folder of the file",
  "--instance <NAME>": 'an instance of a template, such as "tile<float, 32>"',
  "--option <TEXT>": "pass an option to the compiler, such as --option=--use_fast_math",
} as const;

export type KernelFile = Awaited<ReturnType<typeof readKernelFile>>;

/** The name or the signature of a kernel, in contrast to an argument. */
const KERNEL =
  /^(?!(?:true|false|null|nan|inf)$|(?:zeros|arange|random|out|inout):(?!:))["A-Za-z_][\w:"*\s]*(?:[(<]|$)/i;

/**
 * The file and the kernel at the beginning of the arguments of `run` and `tune`. Without a signature,
 * the file has one kernel only.
 */
export function kernelArguments(
  { positional: [file, ...words] }: Invocation,
): { file: string; signature: string | undefined; args: string[] } {
  const [first] = words;
  const isSignature = first !== undefined && KERNEL.test(first);
  const [signature] = isSignature ? words : [];
  return { file: file!, signature, args: isSignature ? words.slice(1) : words };
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
  const { instance = [], option = [] } = invocation.lists;
  return {
    name,
    headers,
    defines: defineOptions(invocation),
    options: option,
    instances: expression.includes("<") ? [...instance, expression] : instance,
  };
}

export async function compileKernel(
  device: Device,
  file: KernelFile,
  invocation: Invocation,
  signature: string | undefined,
  structs: StructTypes,
  defines: Readonly<Record<string, string>> = defineOptions(invocation),
): Promise<Module<string, StructTypes>> {
  const options = compilerOptions(file, invocation, kernelExpression(signature ?? ""));
  return await device.compile(file.source, { ...options, defines, structs });
}

/**
 * Finds a kernel, by default the only one. The error also explains why a struct of its parameters is
 * not supported.
 */
export function findKernel(
  module: Module<string, StructTypes>,
  chosen: string | undefined,
  { refused }: { readonly refused: Readonly<Record<string, string>> },
): Kernel {
  const { kernelNames: [only, ...others] } = module;
  if (chosen === undefined && (only === undefined || others.length > 0)) {
    const has = only === undefined
      ? "no kernel; name an instance of a template by --instance"
      : `the kernels ${module.kernelNames.join(", ")}`;
    throw new UsageError(`Cannot choose a kernel as the file must have exactly one: it has ${has}`);
  }
  const signature = chosen ?? only!;
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
