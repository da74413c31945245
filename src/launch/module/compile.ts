/**
 * Compiles and loads modules: from a text, a file, or machine code.
 *
 * @module
 */

import { refuseOption, requireObject, requireOptions } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import { giveBackAfterFailure } from "../../ffi/give_back.ts";
import type { NativeLibrary } from "../../ffi/library.ts";
import { LibraryNotFoundError } from "../../ffi/locate.ts";
import {
  createModule,
  destroyModule,
  loadModule,
  loadModuleSync,
} from "../../ffi/native_module.ts";
import type { DeviceContext } from "../../hardware/device_context.ts";
import { cudaLibrary, hostLibrary } from "../../hardware/device_list.ts";
import { tellCompiled } from "../../stream/activity.ts";
import { cachedCompile, type CachedSource } from "../cache/kernel_cache.ts";
import { CompileError } from "../compile/compile_error.ts";
import {
  type CompiledImage,
  type Compiler,
  type CompileTarget,
  targetMacros,
} from "../compile/compiler.ts";
import { readOptions } from "../compile/compiler_options.ts";
import { isSealed } from "../compile/host_image.ts";
import { requestedKernel } from "../signature/signature_reader.ts";
import type { NoStructs, StructTypes } from "../signature/struct_type.ts";
import type { DeviceSource } from "../source/device_source.ts";
import {
  instanceSignature,
  type KernelDeclaration,
  overloadExpression,
  overloadIn,
} from "../source/kernels.ts";
import {
  type CompileOptions,
  type CompileSettings,
  compileSettings,
  withoutByteOrderMark,
} from "./compile_options.ts";
import { headersInDirectories, readNamedKernel } from "./kernel_file.ts";
import { Module } from "./module.ts";
import {
  canonicalExpression,
  type DeclaredKernel,
  ModuleContents,
  type SourceDeclarations,
} from "./module_contents.ts";
import { namedFile, readNamed } from "./named_file.ts";

/**
 * Options of `device.loadModule()`.
 * @category Launching kernels
 */
export interface LoadModuleOptions<Structs extends StructTypes = StructTypes> {
  /** The name in messages; the file's name, or `module`, by default. */
  readonly name?: string;
  /** The names of kernels in the machine code, by their names in signatures: `{ "tile<float>": "_Z4…" }`. */
  readonly names?: Readonly<Record<string, string>>;
  /** The structs in signatures, from `defineStruct()`. */
  readonly structs?: Structs;
}

const COMPILE = "compile a source";
const LOAD = "load a module";

const compilers = new WeakMap<NativeLibrary, Map<CompileTarget["kind"], Compiler>>();

/** Compiles a text for a device, which the caller holds meanwhile, and loads it there. */
export async function compileText<Source extends string, Structs extends StructTypes>(
  context: DeviceContext,
  source: Source,
  options: CompileOptions<Structs>,
): Promise<Module<Source, Structs>> {
  requireSource(source);
  requireObject(options, "options", COMPILE);
  return await compileModule(context, source, compileSettings(options), options.structs);
}

/** Compiles a file likewise; diagnostics have its name. */
export async function compileFile<Structs extends StructTypes>(
  context: DeviceContext,
  path: string | URL,
  options: CompileOptions<Structs>,
): Promise<Module<string, Structs>> {
  requireObject(options, "options", COMPILE);
  const file = namedFile(path, COMPILE);
  const settings = compileSettings({ ...options, name: options.name ?? file.name });
  const { source, headers } = await readNamedKernel(file, COMPILE);
  // Headers in the options take precedence over files.
  const all = { ...settings, headers: new Map([...Object.entries(headers), ...settings.headers]) };
  return await compileModule(context, source, all, options.structs);
}

async function compileModule<Source extends string, Structs extends StructTypes>(
  context: DeviceContext,
  source: Source,
  settings: CompileSettings,
  structs = [] as unknown as Structs,
): Promise<Module<Source, Structs>> {
  const begun = performance.now();
  const compiled = await compileForTarget(context.library, targetOf(context), source, settings);
  return await load(context, compiledContents(context, compiled, settings, structs, begun));
}

/** The contents of a compiled source, which listeners are notified of. */
function compiledContents<Structs extends StructTypes>(
  context: DeviceContext,
  { image, cached, declarations }: CachedSource,
  { name, instances }: CompileSettings,
  structs: Structs,
  begun: number,
): ModuleContents<Structs> {
  tellCompiled(context, { name, begun, ended: performance.now(), cached });
  const kernels = compiledKernels(declarations, instances);
  if (kernels.length === 0) {
    throw new RangeError(
      `Cannot compile ${name} as it must have a kernel: it has none. Kernels are functions with ` +
        "__global__; name one that a macro declares in options.instances",
    );
  }
  const parts = { ...declarations, name, image, cached, kernels, structs };
  return new ModuleContents(parts, true);
}

/** Loads a compiled source with this thread blocked. */
export function loadCompiledSync(
  context: DeviceContext,
  compiled: CachedSource,
  settings: CompileSettings,
  begun: number,
): Module<string, NoStructs> {
  const contents = compiledContents(context, compiled, settings, [] as NoStructs, begun);
  const { library, ordinal } = context;
  const id = createModule(library, ordinal, contents.parts.image.image);
  try {
    loadModuleSync(library, id, `load module ${contents.parts.name}`);
    return new Module<string, NoStructs>(context, id, contents);
  } catch (error) {
    giveBackAfterFailure({ [Symbol.dispose]: () => destroyModule(library, id) });
    throw error;
  }
}

/** Loads machine code: bytes, or a file of them. */
export async function loadImage<Structs extends StructTypes>(
  context: DeviceContext,
  image: Uint8Array | string | URL,
  options: LoadModuleOptions<Structs>,
): Promise<Module<string, Structs>> {
  requireOptions(options, ["name", "names", "structs"], LOAD);
  const file = image instanceof Uint8Array ? undefined : namedFile(image, LOAD, "image");
  const { name = file?.name ?? "module", names = {}, structs } = options;
  requireObject(names, "options.names", LOAD);
  const texts = Object.entries<unknown>(names).map(([key, text]) =>
    [`names[${describeValue(key)}]`, text] as const
  );
  for (const [field, text] of [["name", name] as const, ...texts]) {
    if (typeof text === "string") continue;
    refuseOption(TypeError, LOAD, field, "a text", text);
  }
  const bytes = file === undefined
    ? Uint8Array.from(image as Uint8Array)
    : await readNamed(file, LOAD, Deno.readFile);
  if (bytes.length === 0) {
    throw new RangeError(`Cannot ${LOAD} as image must be machine code: it is empty`);
  }
  const format = formatOf(bytes);
  if (format === "library" && context.library.kind === "host" && !isSealed(bytes)) {
    // The system's loader would run its code, and a damaged one would end the process.
    throw new TypeError(
      `Cannot ${LOAD} as image must be compiled by this package for the host device: ${name} is ` +
        "a shared library without its seal",
    );
  }
  const contents = new ModuleContents({
    name,
    image: {
      format,
      image: bytes,
      loweredNames: new Map(Object.entries(names)),
      resources: new Map(),
      log: "",
    },
    cached: false,
    kernels: Object.keys(names).map((expression) => ({ expression })),
    variables: [],
    uncompiled: [],
    structs: structs ?? [] as unknown as Structs,
  }, false);
  return await load(context, contents);
}

/** The format of machine code, by its first bytes; the driver verifies it. */
function formatOf(bytes: Uint8Array<ArrayBuffer>): CompiledImage["format"] {
  const word = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const magic = bytes.length < 20 ? 0 : word.getUint32(0, true);
  // NVIDIA's fat binaries begin with this word; machine 190 of ELF files is CUDA.
  if (magic === 0xba55ed50) return "fatbin";
  if (magic !== 0x464c457f) return bytes[0] === 0xcf || bytes[0] === 0xca ? "library" : "ptx";
  return word.getUint16(18, true) === 190 ? "cubin" : "library";
}

async function load<Source extends string, Structs extends StructTypes>(
  context: DeviceContext,
  contents: ModuleContents<Structs>,
): Promise<Module<Source, Structs>> {
  const { library, ordinal } = context;
  const id = createModule(library, ordinal, contents.parts.image.image);
  try {
    await loadModule(library, id, `load module ${contents.parts.name}`);
    return new Module<Source, Structs>(context, id, contents);
  } catch (error) {
    giveBackAfterFailure({ [Symbol.dispose]: () => destroyModule(library, id) });
    throw error;
  }
}

/**
 * Compiles CUDA C++ to machine code without a device: for another machine, or for inspection. Does
 * not block the event loop, and uses the compile cache.
 *
 * For CUDA the result is machine code for exactly the architecture, or PTX where the compiler is
 * older than that; `options: ["--gpu-architecture=compute_90"]` requests PTX.
 *
 * @param source The source.
 * @param options The target, and those of `device.compile()`.
 * @throws {CompileError} If it does not compile; the message marks the lines.
 * @throws {CompilerUnavailableError} If there is no compiler for the target.
 * @throws {LibraryNotFoundError} If no native library is built.
 * @throws {TypeError | RangeError} If an option is wrong.
 *
 * @example
 * ```ts
 * import { compileImage } from "@gridstride/cuda";
 *
 * const { format, image } = await compileImage(
 *   "__global__ void zero(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] = 0; }",
 *   { target: { kind: "host", capability: "8.9" } },
 * );
 * console.log(format, image.length > 0); // library true
 * ```
 * @category Launching kernels
 */
export async function compileImage(
  source: string,
  options: CompileOptions & {
    /** The kind and the compute capability, such as `"9.0"`, of the device to compile for. */
    readonly target: { readonly kind: "cuda" | "host"; readonly capability: string };
  },
): Promise<CompiledImage> {
  requireSource(source);
  requireObject(options, "options", COMPILE);
  const { target: wanted, ...others } = options;
  const target = checkedTarget(wanted);
  const settings = compileSettings(others);
  const compiled = await compileForTarget(libraryFor(target.kind), target, source, settings);
  const { loweredNames, resources, image, ...rest } = compiled.image;
  // The cache shares its copy, and the caller may write to the result.
  return {
    ...rest,
    image: image.slice(),
    loweredNames: new Map(loweredNames),
    resources: new Map(resources),
  };
}

function requireSource(source: unknown): void {
  if (typeof source === "string") return;
  throw new TypeError(`Cannot ${COMPILE} as source must be a text: it is ${describeValue(source)}`);
}

function checkedTarget(target: unknown): CompileTarget {
  requireObject(target, "options.target", COMPILE);
  const { kind, capability } = target as { kind?: unknown; capability?: unknown };
  if (kind !== "cuda" && kind !== "host") {
    refuseOption(TypeError, COMPILE, "target.kind", '"cuda" or "host"', kind);
  }
  const isText = typeof capability === "string";
  if (isText && /^[1-9]\d?\.\d$/.test(capability)) return { kind, capability };
  const allowed = 'a compute capability such as "9.0"';
  refuseOption(isText ? RangeError : TypeError, COMPILE, "target.capability", allowed, capability);
}

/** A library that can compile for a kind of device: both can for CUDA. */
function libraryFor(kind: CompileTarget["kind"]): NativeLibrary {
  try {
    return hostLibrary();
  } catch (error) {
    if (kind === "host" || !(error instanceof LibraryNotFoundError)) throw error;
    return cudaLibrary();
  }
}

/** The target of a device. */
export function targetOf({ library, info }: DeviceContext): CompileTarget {
  return { kind: library.kind, capability: info.computeCapability };
}

/**
 * Compiles a source without loading it, unless the result is in the cache.
 *
 * @param library The library that opens NVRTC, or that host kernels are linked with.
 */
export async function compileForTarget(
  library: NativeLibrary,
  target: CompileTarget,
  source: string,
  { cache, instances, kernels, timeout, signal, ...settings }: CompileSettings,
): Promise<CachedSource> {
  const text = withoutByteOrderMark(source);
  const compiler = await compilerFor(library, target.kind);
  const compile = async (ending: AbortSignal) => {
    const { name, defines } = settings;
    const { directories } = readOptions(
      { ...settings, source: text, target },
      compiler.label,
      target.kind === "host" ? "host" : "nvrtc",
    );
    const own = headersInDirectories(text, settings.headers, directories);
    const headers = new Map([...own, ...settings.headers]);
    const { explainHostCode, readDeviceSource } = await import("../source/device_source.ts");
    const chosen = kernels && [...kernels, ...instances];
    const macros = targetMacros(target, defines);
    const read = readDeviceSource(text, { name, headers, chosen, ...macros });
    const declarations = declarationsOf(read, kernels);
    requireKernels(name, declarations, kernels, instances);
    const expressions = [
      ...compiledKernels(declarations, instances).map(({ expression }) => expression),
      ...declarations.variables.map((variable) => `&${variable}`),
    ];
    try {
      const request = {
        ...settings,
        target,
        source: read.text,
        headers: read.headers,
        expressions,
      };
      return { image: await compiler.compile(request, ending), declarations };
    } catch (error) {
      if (!(error instanceof CompileError)) throw error;
      throw explainHostCode(read.uses.explain(error, expressions), read);
    }
  };
  const limit = new AbortController();
  const timer = setTimeout(() => {
    const reason = `${compiler.label} has not finished within options.timeout: ${timeout} ms`;
    limit.abort(new DOMException(`Cannot compile ${settings.name} as ${reason}`, "TimeoutError"));
  }, timeout);
  try {
    const ending = signal === undefined ? limit.signal : AbortSignal.any([limit.signal, signal]);
    const request = { ...settings, source: text, instances, kernels, target };
    return await cachedCompile(cache ? compiler : undefined, request, compile, ending);
  } finally {
    clearTimeout(timer);
  }
}

/** The compiler for a kind of device, loaded and created on first use. */
async function compilerFor(
  library: NativeLibrary,
  kind: CompileTarget["kind"],
): Promise<Compiler> {
  const Compiler = kind === "host"
    ? (await import("../compile/host_compiler.ts")).HostCompiler
    : (await import("../compile/nvrtc_compiler.ts")).NvrtcCompiler;
  const known = compilers.get(library) ?? new Map<CompileTarget["kind"], Compiler>();
  compilers.set(library, known);
  const compiler = known.get(kind) ?? new Compiler(library);
  known.set(kind, compiler);
  return compiler;
}

function declarationsOf(
  { kernels, variables }: DeviceSource,
  chosen: readonly string[] | undefined,
): SourceDeclarations {
  const names = chosen && new Set(chosen.map(canonicalExpression));
  // Other kernels need an instance, or only the compiler knows whether it sees them.
  const isPlain = ({ expression, isTemplate, isConditional }: KernelDeclaration) =>
    !isTemplate && (names?.has(canonicalExpression(expression)) ?? !isConditional);
  const plain = kernels.filter(isPlain).map((kernel): DeclaredKernel => {
    const { expression: name, signature, isOverloaded, parameterTypes: types } = kernel;
    return { expression: isOverloaded ? overloadExpression({ name, types }) : name, signature };
  });
  const uncompiled = kernels.filter((kernel) => !isPlain(kernel)).map((
    { expression, signature, templateParameters, isTemplate, isConditional },
  ) => ({
    ...{ expression, signature, templateParameters },
    reason: isTemplate
      ? "template" as const
      : isConditional
      ? "condition" as const
      : "option" as const,
  }));
  return {
    kernels: compiledKernels({ kernels: plain, uncompiled }, []),
    // The address of a managed variable is not known after compilation.
    variables: variables.filter(({ memory }) => memory !== "managed")
      .map(({ expression }) => expression),
    uncompiled,
  };
}

/** Requires the kernels of the options, and of a source with nothing but templates an instance. */
function requireKernels(
  name: string,
  { kernels, variables, uncompiled }: SourceDeclarations,
  chosen: readonly string[] = [],
  instances: readonly string[],
): void {
  const found = kernels.map(({ expression }) =>
    canonicalExpression(overloadIn(expression)?.name ?? expression)
  );
  const absent = chosen.find((kernel) => !found.includes(canonicalExpression(kernel)));
  const templates = uncompiled.filter(({ reason }) => reason === "template")
    .map(({ expression }) => expression);
  if (absent !== undefined) {
    const known = [...found, ...uncompiled.map(({ expression }) => expression)].join(", ");
    const isTemplate = templates.includes(absent.replace(/<.*/s, ""));
    throw new TypeError(
      `Cannot compile ${name} as options.kernels must name its kernels, and options.instances ` +
        `those of templates: ${absent} is ${isTemplate ? "a template" : "none of them"}; it has ` +
        (known || "no kernel"),
    );
  }
  const isEmpty = kernels.length + variables.length + instances.length === 0;
  if (!isEmpty || templates.length === 0 || uncompiled.length > templates.length) return;
  const message = `it has no kernels but templates: name an instance by the option instances, or ` +
    `--instance on the command line, such as "${templates[0]}<…>" (it has ${templates.join(", ")})`;
  throw new CompileError(name, "Gridstride", [{ severity: "error", message }], "");
}

/** The compiled kernels, each once: an instance may be in the source too, or be named twice. */
function compiledKernels(
  { kernels, uncompiled }: Pick<SourceDeclarations, "kernels" | "uncompiled">,
  instances: readonly string[],
): DeclaredKernel[] {
  const chosen = new Map<string, DeclaredKernel>();
  // A definition replaces its declaration.
  for (const kernel of kernels) chosen.set(canonicalExpression(kernel.expression), kernel);
  for (const kernel of instances.map((text) => instanceKernel(text, uncompiled))) {
    const name = canonicalExpression(kernel.expression);
    if (!chosen.has(name)) chosen.set(name, kernel);
  }
  return [...chosen.values()];
}

/** An instance, named by its name in C++ or, where several kernels share that, by its signature. */
function instanceKernel(
  text: string,
  uncompiled: SourceDeclarations["uncompiled"],
): DeclaredKernel {
  if (text.trimEnd().endsWith(")")) {
    const { name, parameters: types = "" } = requestedKernel(text);
    return { expression: overloadExpression({ name, types }), signature: text };
  }
  const name = canonicalExpression(text);
  const [kernel, ...others] = uncompiled.filter(({ expression }) =>
    canonicalExpression(expression) === name.replace(/<.*/s, "")
  );
  if (kernel === undefined || others.length > 0) return { expression: text };
  const signature = kernel.reason === "template"
    ? instanceSignature(kernel, text.trim())
    : kernel.signature;
  return { expression: text, ...(signature === undefined ? {} : { signature }) };
}
