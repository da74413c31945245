/**
 * The compiler for CUDA.
 *
 * @module
 */

import type { NativeLibrary } from "../../ffi/library.ts";
import type { Compiler } from "./compiler.ts";
import { CompilerUnavailableError } from "./compiler_unavailable_error.ts";
import { NvccCompiler } from "./nvcc_compiler.ts";
import { NvrtcCompiler } from "./nvrtc_compiler.ts";

/**
 * Finds NVRTC, or else nvcc, which takes five times as long.
 *
 * @throws {CompilerUnavailableError} If there is neither; it says where each was looked for.
 */
export async function findCudaCompiler(library: NativeLibrary): Promise<Compiler> {
  const problems: string[] = [];
  for (const find of [() => NvrtcCompiler.find(library), () => NvccCompiler.find()]) {
    try {
      return await find();
    } catch (error) {
      if (!(error instanceof CompilerUnavailableError)) throw error;
      problems.push(error.message);
    }
  }
  throw new CompilerUnavailableError(problems.join("\n"));
}
