/**
 * Compiles recorded kernels with NVRTC, many in one source: the templates are parsed once.
 *
 * @module
 */

import { cachedCompile } from "../../../src/launch/cache/kernel_cache.ts";
import { CompileError } from "../../../src/launch/compile/compile_error.ts";
import type { CompiledImage } from "../../../src/launch/compile/compiler.ts";
import { DTYPES } from "../../../src/memory/dtype.ts";
import { CUDA_OPTIONS } from "../../../src/tensor/kit/device_work.ts";
import { type KernelText, unitSourceOf } from "../../../src/tensor/kit/expression/kernel_text.ts";
import { nvrtc, request } from "../../support/nvrtc.ts";

/** Kernels of a source. More take less time in all, but leave processors without work. */
const UNIT = { ptx: 120, machine: 12 } as const;

/** A kernel that does not compile. */
export interface FailedKernel {
  readonly name: string;
  readonly template: string;
  readonly error: string;
}

/** The registers and memory of a kernel in machine code. */
export type KernelResources = CompiledImage["resources"] extends ReadonlyMap<string, infer Value>
  ? Value
  : never;

/** The kernels that were compiled, and the first one of each source that fails. */
export interface CompiledKernels {
  readonly failed: readonly FailedKernel[];
  /** Of the kernels in machine code. */
  readonly resources: ReadonlyMap<KernelText, KernelResources>;
  /** The compiler's warnings. */
  readonly warnings: readonly string[];
}

/** The instance of a template for tensor cores that a kernel calls; undefined without one. */
export function tensorCoreCall({ body }: KernelText): string | undefined {
  return /\w+_mma(?:_\w+)?<[^>]*>(?=\()/.exec(body)?.[0].replaceAll(/\s+/g, " ");
}

/** A unit, or a part of it. */
interface Unit {
  readonly kernels: readonly KernelText[];
  readonly capability: string;
  readonly isMachineCode: boolean;
}

/** The images are empty: the cache keeps that a source compiles, and the kernels' resources. */
async function compileUnit({ kernels, capability, isMachineCode }: Unit): Promise<CompiledImage> {
  const architecture = `${isMachineCode ? "sm" : "compute"}_${capability.replace(".", "")}`;
  const own = request(unitSourceOf(kernels, new Set(DTYPES), "threads"), {
    name: `${kernels[0]!.template.name}.cu`,
    target: { kind: "cuda", capability },
    options: [...CUDA_OPTIONS, `--gpu-architecture=${architecture}`],
  });
  const declarations = { kernels: [], variables: [], uncompiled: [] };
  const compiled = await cachedCompile(nvrtc!, { ...own, instances: [] }, async (signal) => {
    const image = await nvrtc!.compile(own, signal);
    return { image: { ...image, image: Uint8Array.of(0), loweredNames: new Map() }, declarations };
  });
  return compiled.image;
}

/** Compiles a unit. If that fails, its parts are compiled until one kernel is left. */
async function compiledUnit(unit: Unit): Promise<CompiledImage | FailedKernel> {
  const { kernels } = unit;
  try {
    return await compileUnit(unit);
  } catch (error) {
    if (!(error instanceof CompileError)) throw error;
    const [{ name, template }] = kernels as [KernelText];
    const failed = {
      name,
      template: template.name,
      error: error.diagnostics[0]?.message ?? error.message,
    };
    if (kernels.length === 1) return failed;
    const middle = Math.ceil(kernels.length / 2);
    for (const part of [kernels.slice(0, middle), kernels.slice(middle)]) {
      const result = await compiledUnit({ ...unit, kernels: part });
      if ("error" in result) return result;
    }
    return { ...failed, name: `${name} and ${kernels.length - 1} others, only together` };
  }
}

/** What kernels of one source have in common. */
const commonOf = ({ template, constants = {} }: KernelText) =>
  `${template.name} ${JSON.stringify(constants)}`;

/** The units of some kernels, each of one template. */
function unitsOf(
  kernels: readonly KernelText[],
  capability: string,
  isMachineCode: boolean,
): Unit[] {
  return [...Map.groupBy(kernels, commonOf).values()].flatMap((group) => {
    const count = Math.ceil(group.length / UNIT[isMachineCode ? "machine" : "ptx"]);
    const size = Math.ceil(group.length / count);
    return Array.from({ length: count }, (_, at) => ({
      kernels: group.slice(at * size, (at + 1) * size),
      capability,
      isMachineCode,
    }));
  });
}

/**
 * Compiles kernels for a compute capability.
 *
 * @param isMachineCode Whether a kernel is compiled to machine code, which takes longer than PTX: the
 * assembler checks instructions and counts registers.
 */
export async function compileKernels(
  kernels: readonly KernelText[],
  capability: string,
  isMachineCode: (text: KernelText) => boolean,
): Promise<CompiledKernels> {
  const units = [true, false].flatMap((it) =>
    unitsOf(kernels.filter((text) => isMachineCode(text) === it), capability, it)
  );
  const results = await Promise.all(units.map(compiledUnit));
  const resources = new Map<KernelText, KernelResources>();
  results.forEach((result, index) => {
    if ("error" in result) return;
    units[index]!.kernels.forEach((text, at) => {
      const own = result.resources.get(`${text.name}_${at}`);
      if (own !== undefined) resources.set(text, own);
    });
  });
  return {
    failed: results.filter((it) => "error" in it),
    resources,
    warnings: results.flatMap((it) => "error" in it || it.log === "" ? [] : [it.log]),
  };
}
