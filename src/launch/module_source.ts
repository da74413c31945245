/**
 * From a source, or machine code, to a loaded module.
 *
 * @module
 */

import { giveBackAfterFailure } from "../ffi/give_back.ts";
import type { NativeLibrary } from "../ffi/library.ts";
import { createModule, destroyModule, loadModule } from "../ffi/native_module.ts";
import type { DeviceContext } from "../hardware/device_context.ts";
import { tellCompiled } from "../stream/activity.ts";
import type { CompiledSource } from "./cache/cache_entry.ts";
import type { SourceRequest } from "./cache/cache_key.ts";
import { cachedCompile, type CachedSource } from "./cache/kernel_cache.ts";
import { CompileError } from "./compile/compile_error.ts";
import type { CompiledImage, Compiler, CompileTarget } from "./compile/compiler.ts";
import { compilerFor } from "./compile/compiler_choice.ts";
import { targetMacros } from "./compile/target_macros.ts";
import { type CompileSettings, withoutByteOrderMark } from "./compile_options.ts";
import { Module } from "./module.ts";
import {
  canonicalExpression,
  type DeclaredKernel,
  ModuleContents,
  type SourceDeclarations,
  type UncompiledKernel,
} from "./module_contents.ts";
import { type KernelSignature, parseSignature } from "./signature/signature.ts";
import { requestedKernel } from "./signature/signature_reader.ts";
import { type DeviceSource, explainHostCode, readDeviceSource } from "./source/device_source.ts";

import { type KernelDeclaration, overloadExpression } from "./source/kernels.ts";
import type { StructTypes } from "./signature/struct_type.ts";

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
  const { library } = context;
  const { name, instances } = settings;
  const begun = performance.now();
  const compiled = await compileForTarget(library, targetOf(context), source, settings);
  const { image, cached, declarations } = compiled;
  tellCompiled(context, { name, begun, ended: performance.now(), cached });
  return await loadedModule<Source, Structs>(context, name, image, () => {
    const kernels = instances.length === 0
      ? declarations.kernels
      : compiledKernels(declarations.kernels, instances);
    return new ModuleContents({ ...declarations, name, image, cached, kernels, structs }, true);
  });
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
): Promise<CachedSource> {
  const { name, headers, defines, options, instances, cache } = settings;
  const text = withoutByteOrderMark(source);
  const request = { source: text, name, headers, defines, options, instances, target };
  const compiler = await compilerFor(library, target.kind);
  const compile = () => compileSource(compiler, request);
  if (!cache) return { ...await compile(), cached: false };
  return await cachedCompile(compiler, request, compile);
}

/**
 * Loads machine code of kernels that is already there; the caller holds the context meanwhile.
 *
 * @param name How messages name the module.
 * @param contentsOf Puts together what is known of it, while another thread loads it.
 */
export async function loadedModule<Source extends string, Structs extends StructTypes>(
  context: DeviceContext,
  name: string,
  { image }: CompiledImage,
  contentsOf: () => ModuleContents<Structs>,
): Promise<Module<Source, Structs>> {
  const { library, ordinal } = context;
  const id = createModule(library, ordinal, image);
  try {
    const loading = loadModule(library, id, `load module ${name}`);
    const [contents] = await Promise.all([contentsOf(), loading]);
    return new Module<Source, Structs>(context, id, contents);
  } catch (error) {
    giveBackAfterFailure({ [Symbol.dispose]: () => destroyModule(library, id) });
    throw error;
  }
}

/** Reads a source and compiles it. */
async function compileSource(compiler: Compiler, request: SourceRequest): Promise<CompiledSource> {
  const { source: text, instances, ...inputs } = request;
  const { name, headers, target, defines } = inputs;
  const source = readDeviceSource(text, { name, headers, ...targetMacros(target, defines) });
  const declarations = declarationsOf(source);
  const expressions = [
    ...compiledKernels(declarations.kernels, instances).map(({ expression }) => expression),
    ...declarations.variables.map((variable) => `&${variable}`),
  ];
  try {
    const image = await compiler.compile({ ...inputs, source: source.text, expressions });
    return { image, declarations };
  } catch (error) {
    throw error instanceof CompileError ? explainHostCode(error, source.hostCode) : error;
  }
}

function declarationsOf({ kernels, variables }: DeviceSource): SourceDeclarations {
  return {
    kernels: compiledKernels(kernels.filter(isPlain).map(declaredKernel), []),
    // One that is managed has no address that is known when its source is compiled.
    variables: variables.filter(({ memory }) => memory !== "managed")
      .map(({ expression }) => expression),
    uncompiled: kernels.filter((kernel) => !isPlain(kernel))
      .map((kernel) => ({ expression: kernel.expression, reason: uncompiledReason(kernel) })),
  };
}

/** Whether a kernel is one that needs no instance, and that the compiler is sure to see. */
function isPlain(kernel: KernelDeclaration): boolean {
  return !kernel.isTemplate && !kernel.isConditional;
}

function declaredKernel(kernel: KernelDeclaration): DeclaredKernel {
  const { expression: name, signature, isOverloaded, parameterTypes: types } = kernel;
  const expression = isOverloaded ? overloadExpression({ name, types }) : name;
  const read = readSignature(signature);
  return { expression, signature, ...(read === undefined ? {} : { read }) };
}

/** A signature that needs no program to describe its types, as JSON can hold it. */
function readSignature(text: string): KernelSignature | undefined {
  try {
    const signature = parseSignature(text);
    const isPlain = signature.parameters.every(({ type }) => typeof type === "string");
    return isPlain ? signature : undefined;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return undefined;
  }
}

function uncompiledReason(kernel: KernelDeclaration): UncompiledKernel["reason"] {
  return kernel.isTemplate ? "template" : "condition";
}

/**
 * The kernels that are compiled, each once: an instance may be in the source too, or be named twice,
 * and a table of kernels has one of each name.
 */
function compiledKernels(
  kernels: readonly DeclaredKernel[],
  instances: readonly string[],
): DeclaredKernel[] {
  const chosen = new Map<string, DeclaredKernel>();
  for (const kernel of kernels) chosen.set(canonicalExpression(kernel.expression), kernel);
  for (const instance of instances) {
    const kernel = instanceKernel(instance);
    const name = canonicalExpression(kernel.expression);
    if (!chosen.has(name)) chosen.set(name, kernel);
  }
  return [...chosen.values()];
}

/** What a program names by its name in C++ or, where several have that, by its signature. */
function instanceKernel(text: string): DeclaredKernel {
  if (!text.trimEnd().endsWith(")")) return { expression: text };
  const { name, parameters: types = "" } = requestedKernel(text);
  return { expression: overloadExpression({ name, types }), signature: text };
}

/** What is compiled for a device. */
export function targetOf({ library, info }: DeviceContext): CompileTarget {
  return { kind: library.kind, capability: info.computeCapability };
}
