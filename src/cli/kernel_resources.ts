/**
 * What a kernel of a file takes of an NVIDIA GPU, on the command line: compiled, not run.
 *
 * @module
 */

import { compileImage, type KernelResources } from "../../mod.ts";
import type { Invocation } from "./command.ts";
import { FileProblem } from "./file_problem.ts";
import { kernelExpression } from "./kernel_expression.ts";
import { readKernelSource } from "./kernel_source.ts";
import { defineOptions } from "./run_options.ts";

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
): Promise<KernelResources> {
  const expression = kernelExpression(signature);
  const { name, source, headers } = await readKernelSource(file, invocation.lists["include"] ?? []);
  const compiled = await compileImage(source, {
    name,
    headers,
    target: { kind: "cuda", capability },
    defines: defineOptions(invocation),
    options: invocation.lists["option"] ?? [],
    instances: expression.includes("<") ? [expression] : [],
  });
  if (compiled.log.trim() !== "") console.error(compiled.log.trimEnd());
  const lowered = compiled.loweredNames.get(expression);
  const resources = lowered === undefined ? undefined : compiled.resources.get(lowered);
  if (resources !== undefined) return resources;
  const known = [...compiled.loweredNames]
    .filter(([, other]) => compiled.resources.has(other))
    .map(([other]) => other);
  throw new FileProblem(
    known.length === 0
      ? `Cannot find out what ${expression} takes as the compiler says it of no kernel of ${file}`
      : `Cannot find out what ${expression} takes as ${file} must have such a kernel: it has ` +
        known.join(", "),
  );
}
