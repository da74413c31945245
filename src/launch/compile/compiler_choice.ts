/**
 * Which compiler a device has.
 *
 * @module
 */

import type { NativeLibrary } from "../../ffi/library.ts";
import type { Compiler } from "./compiler.ts";
import { HostCompiler } from "./host_compiler.ts";

const compilers = new WeakMap<NativeLibrary, Promise<Compiler>>();

/**
 * The compiler for the devices of a library, found when it is first asked for: NVRTC or else nvcc
 * for CUDA, the machine's C++ compiler for the host device. Nothing is started.
 *
 * @throws {CompilerUnavailableError} If there is none; it says where it was looked for.
 */
export async function compilerFor(library: NativeLibrary): Promise<Compiler> {
  let compiler = compilers.get(library);
  if (compiler === undefined) {
    compiler = findCompiler(library);
    compilers.set(library, compiler);
  }
  try {
    return await compiler;
  } catch (error) {
    // It may be installed, or permitted, until the next time.
    compilers.delete(library);
    throw error;
  }
}

async function findCompiler(library: NativeLibrary): Promise<Compiler> {
  return new HostCompiler(library);
}
