/**
 * Where modules come from: a text, a file, or machine code.
 *
 * @module
 */

import { requireObject } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import type { DeviceContext } from "../hardware/device_context.ts";
import type { ImageFormat } from "../launch/compile/compiler.ts";
import { type CompileOptions, compileSettings } from "../launch/compile_options.ts";
import type { Module } from "../launch/module.ts";
import { ModuleContents } from "../launch/module_contents.ts";
import { compileModule, loadedModule } from "../launch/module_source.ts";
import type { StructTypes } from "../launch/signature/struct_type.ts";
import { readNamedKernel, withFileHeaders } from "./kernel_file.ts";
import { namedFile, readNamedBytes } from "./named_file.ts";

/** The structs that signatures of a module name. */
export interface ModuleStructs<Structs extends StructTypes> {
  /** The structs, as `defineStruct()` has described them. */
  readonly structs?: Structs;
}

/** Options of `device.loadModule()`. */
export interface LoadModuleOptions {
  /** How messages name the module; the file's name, or `module`, by default. */
  readonly name?: string;
  /** The names of kernels in the machine code, by how signatures name them: `{ "tile<float>": "_Z4…" }`. */
  readonly names?: Readonly<Record<string, string>>;
}

const COMPILE = "compile a source";
const LOAD = "load a module";

/** Compiles a text. */
export async function compileText<Source extends string, Structs extends StructTypes>(
  context: DeviceContext,
  source: Source,
  options: CompileOptions & ModuleStructs<Structs>,
): Promise<Module<Source, Structs>> {
  if (typeof source !== "string") {
    throw new TypeError(
      `Cannot ${COMPILE} as source must be a text: it is ${describeValue(source)}`,
    );
  }
  requireObject(options, "options", COMPILE);
  return await compileModule(context, source, compileSettings(options), structsOf(options));
}

/** Compiles a file, which diagnostics call by its name. */
export async function compileFile<Structs extends StructTypes>(
  context: DeviceContext,
  path: string | URL,
  options: CompileOptions & ModuleStructs<Structs>,
): Promise<Module<string, Structs>> {
  requireObject(options, "options", COMPILE);
  const file = namedFile(path, COMPILE);
  const settings = compileSettings({ ...options, name: options.name ?? file.name });
  const { source, headers } = await readNamedKernel(file, COMPILE);
  const all = { ...settings, headers: withFileHeaders(settings, headers) };
  return await compileModule<string, Structs>(context, source, all, structsOf(options));
}

/** Loads machine code: bytes, or a file of them. */
export async function loadImage<Structs extends StructTypes>(
  context: DeviceContext,
  image: Uint8Array | string | URL,
  options: LoadModuleOptions & ModuleStructs<Structs>,
): Promise<Module<string, Structs>> {
  requireObject(options, "options", LOAD);
  const file = image instanceof Uint8Array ? undefined : namedFile(image, LOAD, "image");
  const { name = file?.name ?? "module", names = {} } = options;
  requireText(name, "name");
  requireObject(names, "options.names", LOAD);
  for (const [key, text] of Object.entries(names)) {
    requireText(text, `names[${describeValue(key)}]`);
  }
  const bytes = file === undefined
    ? Uint8Array.from(image as Uint8Array)
    : await readNamedBytes(file, LOAD);
  if (bytes.length === 0) {
    throw new RangeError(`Cannot ${LOAD} as image must be machine code: it is empty`);
  }
  const parts = {
    name,
    image: {
      format: formatOf(bytes),
      image: bytes,
      loweredNames: new Map(Object.entries(names)),
      resources: new Map<string, never>(),
      log: "",
    },
    cached: false,
    kernels: Object.keys(names).map((expression) => ({ expression })),
    variables: [],
    uncompiled: [],
    structs: structsOf(options),
  };
  const contentsOf = () => new ModuleContents(parts, false);
  return await loadedModule<string, Structs>(context, name, parts.image, contentsOf);
}

function requireText(value: unknown, field: string): void {
  if (typeof value === "string") return;
  throw new TypeError(
    `Cannot ${LOAD} as options.${field} must be a text: it is ${describeValue(value)}`,
  );
}

/** What bytes are by how they begin; the driver makes sure. */
function formatOf(bytes: Uint8Array): ImageFormat {
  const word = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const magic = bytes.length < 20 ? 0 : word.getUint32(0, true);
  // NVIDIA's fat binaries begin with this word; of ELF files, machine 190 is CUDA.
  if (magic === 0xba55ed50) return "fatbin";
  if (magic !== 0x464c457f) return bytes[0] === 0xcf || bytes[0] === 0xca ? "library" : "ptx";
  return word.getUint16(18, true) === 190 ? "cubin" : "library";
}

function structsOf<Structs extends StructTypes>(options: ModuleStructs<Structs>): Structs {
  return options.structs ?? ([] as unknown as Structs);
}
