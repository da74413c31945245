/**
 * Which compiler there is for a kind of device.
 *
 * @module
 */

import { grantedEnvironment } from "../../ffi/granted_environment.ts";
import type { NativeLibrary } from "../../ffi/library.ts";
import type { Compiler, CompileTarget } from "./compiler.ts";
import { CompilerUnavailableError } from "./compiler_unavailable_error.ts";
import { HostCompiler } from "./host_compiler.ts";
import { NvccCompiler } from "./nvcc_compiler.ts";
import { NvrtcCompiler } from "./nvrtc_compiler.ts";
import { NVRTC_VARIABLE } from "./nvrtc_search.ts";

type Kind = CompileTarget["kind"];

const compilers = new WeakMap<NativeLibrary, Map<Kind, Promise<Compiler>>>();

/**
 * The compiler for a kind of device, found when it is first asked for: NVRTC or else nvcc for CUDA,
 * the machine's C++ compiler for the host device.
 *
 * @param library The library that opens NVRTC, which either can, or that host kernels are linked
 * with.
 * @param kind The library's own by default.
 * @throws {CompilerUnavailableError} If there is none; it says where it was looked for.
 */
export async function compilerFor(
  library: NativeLibrary,
  kind: Kind = library.kind,
): Promise<Compiler> {
  const known = compilers.get(library) ?? new Map<Kind, Promise<Compiler>>();
  compilers.set(library, known);
  const compiler = known.get(kind) ??
    (kind === "host" ? Promise.resolve(new HostCompiler(library)) : findCudaCompiler(library));
  known.set(kind, compiler);
  try {
    return await compiler;
  } catch (error) {
    // It may be installed, or permitted, until the next time.
    known.delete(kind);
    throw error;
  }
}

/**
 * NVRTC, or nvcc where there is none; where both are missing the error says so of both. An NVRTC
 * that was named has to be there.
 */
async function findCudaCompiler(library: NativeLibrary): Promise<Compiler> {
  try {
    return await NvrtcCompiler.find(library);
  } catch (error) {
    if (!(error instanceof CompilerUnavailableError) || isNvrtcNamed()) throw error;
    return await NvccCompiler.find().catch((other) => {
      if (!(other instanceof CompilerUnavailableError)) throw other;
      throw new CompilerUnavailableError(`${error.message}\n${other.message}`, { cause: error });
    });
  }
}

function isNvrtcNamed(): boolean {
  return (grantedEnvironment(NVRTC_VARIABLE) ?? "") !== "";
}
