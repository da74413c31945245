/**
 * What a kernel of a file takes of an NVIDIA GPU, on the command line: compiled, not run.
 *
 * @module
 */

import { type CompiledImage, compileImage, type CompileImageOptions } from "../../mod.ts";
import type { Invocation } from "./command.ts";
import { FileProblem } from "./file_problem.ts";
import { kernelExpression } from "./kernel_expression.ts";
import { readKernelSource } from "./kernel_source.ts";
import { defineOptions } from "./run_options.ts";

/** What a kernel takes, and how large its blocks may be. */
export interface KernelFigures {
  /** Registers of a thread. */
  readonly registersPerThread: number;
  /** Shared memory that it declares, in bytes. */
  readonly staticSharedMemory: number;
  /** Most threads of a block by its launch bounds; absent where it has none. */
  readonly maxThreadsPerBlock?: number;
}

/** As many bytes of PTX as a kernel's parameters and directives take at most. */
const LONGEST_HEAD = 65_536;

/**
 * Most threads of a block, by the directive that PTX has of launch bounds; machine code has no
 * documented form of it. `undefined` where there is none.
 */
function launchBounds({ image }: CompiledImage, lowered: string): number | undefined {
  const ptx = new TextDecoder().decode(image);
  const begin = ptx.indexOf(`.entry ${lowered}(`);
  if (begin < 0) return undefined;
  const [head] = ptx.slice(begin, begin + LONGEST_HEAD).split("\n{", 1);
  const extents = /\.(?:max|req)ntid\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?/.exec(head!);
  if (extents === null) return undefined;
  const [, x, y = 1, z = 1] = extents;
  return Number(x) * Number(y) * Number(z);
}

/**
 * Compiles a file for a compute capability and finds what one of its kernels takes.
 *
 * @param signature The kernel's signature or name; with template arguments it is an instance.
 * @param invocation Has macros, directories of headers and options for the compiler.
 * @throws {FileProblem} If the file cannot be read, or has no such kernel.
 */
export async function kernelResources(
  file: string,
  signature: string,
  capability: string,
  invocation: Invocation,
): Promise<KernelFigures> {
  const expression = kernelExpression(signature);
  const { name, source, headers } = await readKernelSource(file, invocation.lists["include"] ?? []);
  const options: CompileImageOptions & { readonly options: readonly string[] } = {
    name,
    headers,
    target: { kind: "cuda", capability },
    defines: defineOptions(invocation),
    options: invocation.lists["option"] ?? [],
    instances: expression.includes("<") ? [expression] : [],
  };
  const compiled = await compileImage(source, options);
  if (compiled.log.trim() !== "") console.error(compiled.log.trimEnd());
  const lowered = compiled.loweredNames.get(expression);
  const resources = lowered === undefined ? undefined : compiled.resources.get(lowered);
  if (lowered !== undefined && resources !== undefined) {
    const virtual = `--gpu-architecture=compute_${capability.replace(".", "")}`;
    const ptx = await compileImage(source, { ...options, options: [...options.options, virtual] });
    const bounds = launchBounds(ptx, lowered);
    return {
      registersPerThread: resources.registers,
      staticSharedMemory: resources.sharedMemory,
      ...(bounds === undefined ? {} : { maxThreadsPerBlock: bounds }),
    };
  }
  const known = [...compiled.loweredNames]
    .filter(([, other]) => compiled.resources.has(other))
    .map(([other]) => other);
  const isTemplate = !expression.includes("<") && /\btemplate\s*</.test(source);
  const hint = isTemplate ? `; an instance of a template is named as ${expression}<…>` : "";
  throw new FileProblem(
    known.length === 0
      ? `Cannot find out what ${expression} takes as the compiler says it of no kernel of ${file}` +
        hint
      : `Cannot find out what ${expression} takes as ${file} must have such a kernel: it has ` +
        known.join(", ") + hint,
  );
}
