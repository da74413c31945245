/**
 * Compiling for a device that may not be there.
 *
 * @module
 */

import { requireObject } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import type { NativeLibrary } from "../ffi/library.ts";
import { LibraryNotFoundError } from "../ffi/locate.ts";
import { cudaLibrary, hostLibrary } from "../hardware/device_list.ts";
import type { CompiledImage, CompileTarget } from "../launch/compile/compiler.ts";
import { type CompileOptions, compileSettings } from "../launch/compile_options.ts";
import { compileForTarget } from "../launch/module_source.ts";

/** Options of {@linkcode compileImage}. */
export interface CompileImageOptions extends CompileOptions {
  /** For which device. */
  readonly target: CompileTarget;
}

const ACTION = "compile a source";

function refuse(Kind: typeof TypeError | typeof RangeError, name: string, allowed: string) {
  return (value: unknown): never => {
    throw new Kind(`Cannot ${ACTION} as ${name} must be ${allowed}: it is ${describeValue(value)}`);
  };
}

function checkedTarget(target: unknown): CompileTarget {
  requireObject(target, "options.target", ACTION);
  const { kind, capability } = target as { kind?: unknown; capability?: unknown };
  if (kind !== "cuda" && kind !== "host") {
    return refuse(TypeError, "options.target.kind", '"cuda" or "host"')(kind);
  }
  const allowed = 'a compute capability such as "9.0"';
  if (typeof capability !== "string") {
    return refuse(TypeError, "options.target.capability", allowed)(capability);
  }
  if (/^[1-9]\d?\.\d$/.test(capability)) return { kind, capability };
  return refuse(RangeError, "options.target.capability", allowed)(capability);
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

/**
 * Compiles CUDA C++ to machine code and loads it nowhere, so that it needs no device: for another
 * machine, or to look at. Does not block the event loop, and uses the compile cache.
 *
 * For CUDA it makes machine code for exactly the architecture, or PTX where the compiler is older
 * than that; `options: ["--gpu-architecture=compute_90"]` asks for PTX.
 *
 * @param source The source.
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
 * console.log(format, image.length); // library, and its bytes
 * ```
 */
export async function compileImage(
  source: string,
  options: CompileImageOptions,
): Promise<CompiledImage> {
  if (typeof source !== "string") {
    throw new TypeError(
      `Cannot ${ACTION} as source must be a text: it is ${describeValue(source)}`,
    );
  }
  requireObject(options, "options", ACTION);
  const target = checkedTarget(options.target);
  const settings = compileSettings(options);
  const { image: { loweredNames, resources, ...rest } } = await compileForTarget(
    libraryFor(target.kind),
    target,
    source,
    settings,
  );
  // The cache goes on sharing what it has, and this caller may write to what it is given.
  return {
    ...rest,
    image: rest.image.slice(),
    loweredNames: new Map(loweredNames),
    resources: new Map(resources),
  };
}
