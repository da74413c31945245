/**
 * From a source, or machine code, to a loaded module.
 *
 * @module
 */

import { giveBackAfterFailure } from "../ffi/give_back.ts";
import type { NativeLibrary } from "../ffi/library.ts";
import { createModule, destroyModule, loadModule } from "../ffi/native_module.ts";
import type { DeviceContext } from "../hardware/device_context.ts";
import { cachedCompile } from "./cache/kernel_cache.ts";
import { CompileError } from "./compile/compile_error.ts";
import type { CompiledImage, Compiler, CompileRequest, CompileTarget } from "./compile/compiler.ts";
import { compilerFor } from "./compile/compiler_choice.ts";
import { targetMacros } from "./compile/target_macros.ts";
import type { CompileSettings } from "./compile_options.ts";
import { Module } from "./module.ts";
import {
  canonicalExpression,
  type DeclaredKernel,
  ModuleContents,
  type UncompiledKernel,
} from "./module_contents.ts";
import { type DeviceSource, explainHostCode, readDeviceSource } from "./source/device_source.ts";
import type { KernelDeclaration } from "./source/kernels.ts";
import type { StructTypes } from "./struct_type.ts";

/** A source, cut up, and the request to compile it. */
interface Preparation {
  readonly source: DeviceSource;
  readonly kernels: readonly DeclaredKernel[];
  readonly request: CompileRequest;
}

/** Machine code, and whether the compile cache had it. */
export interface PreparedImage {
  /** The machine code. */
  readonly image: CompiledImage;
  /** Whether no compiler was needed. */
  readonly cached: boolean;
}

/**
 * Compiles a source for a device, which the caller holds meanwhile, and loads it there.
 *
 * @throws {CompileError} If it does not compile.
 */
export async function compileModule<Source extends string, Structs extends StructTypes>(
  context: DeviceContext,
  source: Source,
  settings: CompileSettings,
  structs: Structs,
): Promise<Module<Source, Structs>> {
  const prepared = prepare(targetOf(context), source, settings);
  const compiler = await compilerFor(context.library);
  const { image, cached } = await compiledImage(compiler, prepared, settings);
  const { name } = settings;
  const { kernels, source: { variables } } = prepared;
  const parts = {
    name,
    image,
    cached,
    kernels,
    variables: variables.map(({ expression }) => expression),
    uncompiled: prepared.source.kernels.filter((kernel) => !isPlain(kernel))
      .map((kernel) => ({ expression: kernel.expression, reason: uncompiledReason(kernel) })),
    structs,
  };
  return await loadedModule<Source, Structs>(context, new ModuleContents(parts, true));
}

/**
 * Compiles a source without loading it, such as for a device that is not there.
 *
 * @param library Any library for CUDA; that of the host device for the host device.
 * @throws {CompileError} If it does not compile.
 */
export async function compileForTarget(
  library: NativeLibrary,
  target: CompileTarget,
  source: string,
  settings: CompileSettings,
): Promise<PreparedImage> {
  const prepared = prepare(target, source, settings);
  const compiler = await compilerFor(library, target.kind);
  return await compiledImage(compiler, prepared, settings);
}

/** Loads machine code of kernels that is already there; the caller holds the context meanwhile. */
export async function loadedModule<Source extends string, Structs extends StructTypes>(
  context: DeviceContext,
  contents: ModuleContents<Structs>,
): Promise<Module<Source, Structs>> {
  const { library, ordinal } = context;
  const id = createModule(library, ordinal, contents.image.image);
  try {
    await loadModule(library, id, `load module ${contents.name}`);
    return new Module<Source, Structs>(context, id, contents);
  } catch (error) {
    giveBackAfterFailure({ [Symbol.dispose]: () => destroyModule(library, id) });
    throw error;
  }
}

async function compiledImage(
  compiler: Compiler,
  { request, source }: Preparation,
  settings: CompileSettings,
): Promise<PreparedImage> {
  try {
    if (!settings.cache) return { image: await compiler.compile(request), cached: false };
    const { cached, ...image } = await cachedCompile(compiler, request);
    return { image, cached };
  } catch (error) {
    throw error instanceof CompileError ? explainHostCode(error, source.hostCode) : error;
  }
}

/** Whether a kernel is one that its name alone names, and that the compiler is sure to see. */
function isPlain(kernel: KernelDeclaration): boolean {
  return !kernel.isTemplate && !kernel.isConditional && !kernel.isOverloaded;
}

function uncompiledReason(kernel: KernelDeclaration): UncompiledKernel["reason"] {
  if (kernel.isTemplate) return "template";
  return kernel.isOverloaded ? "overload" : "condition";
}

/**
 * The kernels to compile, each once: an instance may be in the source too, or be named twice, and a
 * table of kernels has one of each name.
 */
function kernelsToCompile(
  { kernels }: DeviceSource,
  instances: readonly string[],
): DeclaredKernel[] {
  const chosen = new Map<string, DeclaredKernel>();
  for (const { expression, signature } of kernels.filter(isPlain)) {
    chosen.set(canonicalExpression(expression), { expression, signature });
  }
  for (const expression of instances) {
    const name = canonicalExpression(expression);
    if (!chosen.has(name)) chosen.set(name, { expression });
  }
  return [...chosen.values()];
}

/** What is compiled for a device. */
export function targetOf({ library, info }: DeviceContext): CompileTarget {
  return { kind: library.kind, capability: info.computeCapability };
}

function prepare(target: CompileTarget, text: string, settings: CompileSettings): Preparation {
  const { name, headers, defines, options, instances } = settings;
  const source = readDeviceSource(text, { name, headers, ...targetMacros(target, defines) });
  const kernels = kernelsToCompile(source, instances);
  return {
    source,
    kernels,
    request: {
      source: source.text,
      name,
      headers,
      defines,
      options,
      expressions: [
        ...kernels.map(({ expression }) => expression),
        ...source.variables.map(({ expression }) => `&${expression}`),
      ],
      target,
    },
  };
}
