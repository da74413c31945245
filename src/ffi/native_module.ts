/**
 * Modules: machine code that is loaded at run time, its kernels and variables.
 *
 * @module
 */

import { check, statusError } from "./check.ts";
import { checkInt32 } from "./integers.ts";
import type { NativeLibrary } from "./library.ts";
import { cString, readText } from "./text.ts";

/** `GS_ERROR_UNSUPPORTED`: the driver is older than the question. */
const UNSUPPORTED = -7;
/** `GS_ERROR_NOT_FOUND`. */
const NOT_FOUND = -9;

/**
 * Takes a copy of machine code; {@linkcode loadModule} loads it.
 *
 * @param image A cubin, a fat binary or PTX for CUDA; a shared library for the host device.
 * @returns The module's handle.
 * @throws {CudaError} If the device does not exist, or the image is none of these or is cut off.
 */
export function createModule(
  library: NativeLibrary,
  device: number,
  image: Uint8Array<ArrayBuffer>,
): number {
  const action = "make a module of machine code";
  checkInt32(device, "device", action);
  const { result, symbols } = library;
  const status = symbols.gs_module_create(device, image, image.byteLength, result);
  check(library, status, action, device);
  return result[0]!;
}

/**
 * Loads a module on another thread; once is enough.
 *
 * @param action What the caller is doing, as the error message says it.
 * @throws {CudaError} If the machine code is not for the device, or PTX does not compile; its
 * `detail` is what the driver or the loader says.
 */
export async function loadModule(
  library: NativeLibrary,
  module: number,
  action: string,
): Promise<void> {
  checkInt32(module, "handle", action);
  const status = await library.symbols.gs_module_load_async(module);
  if (status === 0) return;
  // Another thread made the call: what failed last on this one has nothing to do with it.
  const detail = moduleLog(library, module).trim();
  throw statusError(library, status, { action, call: "cudaLibraryLoadData", detail });
}

/** What the driver, or the loader of the host device, said when a module was loaded. */
export function moduleLog(library: NativeLibrary, module: number): string {
  const action = "read the log of a module";
  checkInt32(module, "handle", action);
  const { status, text } = readText((bytes, capacity) =>
    library.symbols.gs_module_log(module, bytes, capacity)
  );
  check(library, status, action);
  return text;
}

/** Gives a module back with its kernels and variables. Waits for the device. */
export function destroyModule(library: NativeLibrary, module: number): void {
  const action = "give a module back";
  checkInt32(module, "handle", action);
  check(library, library.symbols.gs_module_destroy(module), action);
}

/** The names of a module's kernels in its machine code; `undefined` where the driver is too old. */
export function moduleKernelNames(library: NativeLibrary, module: number): string[] | undefined {
  const action = "list the kernels of a module";
  checkInt32(module, "handle", action);
  const names: string[] = [];
  for (;;) {
    const { status, text } = readText((bytes, capacity) =>
      library.symbols.gs_module_kernel_name(module, names.length, bytes, capacity)
    );
    if (status === NOT_FOUND) return names;
    if (status === UNSUPPORTED) return undefined;
    check(library, status, action);
    names.push(text);
  }
}

/** Where a kernel's parameter is, as it was compiled. */
export interface CompiledParameter {
  /** Its offset among the parameters, in bytes. */
  readonly offset: number;
  /** Its size. */
  readonly bytes: number;
}

/**
 * The parameters of a module's kernel, as it was compiled; `undefined` where the driver is too old
 * to tell.
 *
 * @param name The kernel's name in the machine code.
 * @throws {CudaError} If there is no such kernel.
 */
export function moduleParameters(
  library: NativeLibrary,
  module: number,
  name: string,
): CompiledParameter[] | undefined {
  const action = `read the parameters of kernel ${name}`;
  checkInt32(module, "handle", action);
  const { result, symbols } = library;
  const nameBytes = cString(name);
  const parameters: CompiledParameter[] = [];
  for (;;) {
    const status = symbols.gs_module_parameter(module, nameBytes, parameters.length, result);
    if (status === UNSUPPORTED) return undefined;
    check(library, status, action);
    const [offset, bytes] = result as unknown as [number, number];
    if (bytes === 0) return parameters;
    parameters.push({ offset, bytes });
  }
}

/** A parameter as launches are to pass it. */
export interface LaunchParameter {
  /** One of `GS_PARAMETER_*` of `csrc/gridstride_kernel.h`. */
  readonly kind: number;
  /** Its size in bytes. */
  readonly bytes: number;
}

/**
 * A kernel of a module, for launches with these parameters.
 *
 * @param name Its name in the machine code.
 * @returns Its id, which ends with the module.
 * @throws {CudaError} If there is no such kernel, or it was compiled with other parameters.
 */
export function moduleKernel(
  library: NativeLibrary,
  module: number,
  name: string,
  parameters: readonly LaunchParameter[],
): number {
  const action = `find kernel ${name}`;
  checkInt32(module, "handle", action);
  const numbers = Int32Array.from(parameters.flatMap(({ kind, bytes }) => [
    checkInt32(kind, "kind", action),
    checkInt32(bytes, "bytes", action),
  ]));
  const { result, symbols } = library;
  const count = parameters.length;
  const status = symbols.gs_module_kernel(module, cString(name), numbers, count, result);
  check(library, status, action);
  return result[0]!;
}

/** The memory of a module's variable. */
export interface ModuleVariable {
  /** Its address, until the module is given back. */
  readonly address: number;
  /** Its size. */
  readonly bytes: number;
}

/**
 * A `__device__` or `__constant__` variable of a module; `undefined` when there is none of the name.
 *
 * @param name Its name in the machine code.
 */
export function moduleVariable(
  library: NativeLibrary,
  module: number,
  name: string,
): ModuleVariable | undefined {
  const action = `find variable ${name}`;
  checkInt32(module, "handle", action);
  const { result, symbols } = library;
  const status = symbols.gs_module_variable(module, cString(name), result);
  if (status === NOT_FOUND) return undefined;
  check(library, status, action);
  return { address: result[0]!, bytes: result[1]! };
}
