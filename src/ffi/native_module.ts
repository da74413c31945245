/**
 * Modules: machine code that is loaded at run time, with its kernels and variables.
 *
 * @module
 */

import { checkInt32 } from "./arguments.ts";
import { call, callAsync, callStatus, callText, check, cString, statusError } from "./check.ts";
import type { NativeLibrary } from "./library.ts";

/** `GS_ERROR_UNSUPPORTED`: the driver is too old. */
const UNSUPPORTED = -7;
/** `GS_ERROR_NOT_FOUND`. */
const NOT_FOUND = -9;

/**
 * Copies machine code; {@linkcode loadModule} loads it.
 *
 * @param image A cubin, a fat binary or PTX for CUDA; a shared library for the host device.
 */
export function createModule(
  library: NativeLibrary,
  device: number,
  image: Uint8Array<ArrayBuffer>,
): number {
  const context = { action: "make a module of machine code", device };
  return call(library, "gs_module_create", context, device, image, image.byteLength)[0]!;
}

/** Loads a module on another thread; once is enough. */
export async function loadModule(
  library: NativeLibrary,
  module: number,
  action: string,
): Promise<void> {
  requireLoaded(
    library,
    module,
    action,
    await callAsync(library, "gs_module_load_async", action, module),
  );
}

/** The blocking twin of {@linkcode loadModule}. */
export function loadModuleSync(library: NativeLibrary, module: number, action: string): void {
  requireLoaded(library, module, action, callStatus(library, "gs_module_load", action, module));
}

function requireLoaded(
  library: NativeLibrary,
  module: number,
  action: string,
  status: number,
): void {
  if (status === 0) return;
  const detail = moduleLog(library, module).trim();
  throw statusError(library, status, { action, call: "cudaLibraryLoadData", detail });
}

/** The messages of the driver, or of the loader of the host device, about a module. */
export function moduleLog(library: NativeLibrary, module: number): string {
  const action = "read the log of a module";
  const { status, text } = callText(library, "gs_module_log", action, module);
  check(library, status, action);
  return text;
}

/** Unloads a module with its kernels and variables. Waits for the device. */
export function destroyModule(library: NativeLibrary, module: number): void {
  call(library, "gs_module_destroy", { action: "unload a module" }, module);
}

/** The place of a compiled kernel's parameter. */
export interface CompiledParameter {
  /** Its offset among the parameters, in bytes. */
  readonly offset: number;
  readonly bytes: number;
}

/** The parameters of a module's compiled kernel; undefined if the driver is too old. */
export function moduleParameters(
  library: NativeLibrary,
  module: number,
  name: string,
): CompiledParameter[] | undefined {
  const action = `read the parameters of kernel ${name}`;
  const nameBytes = cString(name);
  const parameters: CompiledParameter[] = [];
  for (;;) {
    const index = parameters.length;
    const status = callStatus(library, "gs_module_parameter", action, module, nameBytes, index);
    if (status === UNSUPPORTED) return undefined;
    check(library, status, action);
    const [offset, bytes] = library.result as unknown as [number, number];
    if (bytes === 0) return parameters;
    parameters.push({ offset, bytes });
  }
}

export interface LaunchParameter {
  /** One of `GS_PARAMETER_*` of `csrc/gridstride_kernel.h`. */
  readonly kind: number;
  readonly bytes: number;
}

/**
 * A kernel of a module for launches with these parameters.
 *
 * @returns Its id, which is valid until the module is unloaded.
 */
export function moduleKernel(
  library: NativeLibrary,
  module: number,
  name: string,
  parameters: readonly LaunchParameter[],
): number {
  const action = `find kernel ${name}`;
  const numbers = Int32Array.from(parameters.flatMap(({ kind, bytes }) => [
    checkInt32(kind, "kind", action),
    checkInt32(bytes, "bytes", action),
  ]));
  const inputs = [module, cString(name), numbers, parameters.length] as const;
  return call(library, "gs_module_kernel", { action }, ...inputs)[0]!;
}

/**
 * The memory of a `__device__` or `__constant__` variable until the module is unloaded; undefined if
 * there is none of that name.
 */
export function moduleVariable(
  library: NativeLibrary,
  module: number,
  name: string,
): { address: number; bytes: number } | undefined {
  const action = `find variable ${name}`;
  const status = callStatus(library, "gs_module_variable", action, module, cString(name));
  if (status === NOT_FOUND) return undefined;
  check(library, status, action);
  return { address: library.result[0]!, bytes: library.result[1]! };
}
