/**
 * The NVRTC of this machine, for tests that skip without one.
 *
 * @module
 */

import "./cache_directory.ts";
import { grantedEnvironment } from "../../src/ffi/granted_environment.ts";
import { type NativeLibrary, openNativeLibrary } from "../../src/ffi/library.ts";
import { CompilerUnavailableError } from "../../src/launch/compile/compile_error.ts";
import type { CompileRequest } from "../../src/launch/compile/compiler.ts";
import { NvrtcCompiler } from "../../src/launch/compile/nvrtc_compiler.ts";
import { findNvrtc, type NvrtcInstallation } from "../../src/launch/compile/nvrtc_search.ts";
import { request as hostRequest } from "../launch/compile/host_request.ts";
import { builtLibrary } from "./built_library.ts";

/** The host library, which opens NVRTC as the CUDA library does. */
export const library: NativeLibrary = openNativeLibrary(builtLibrary("host")!);

function unlessAbsent<Found>(find: () => Found): Found | undefined {
  try {
    return find();
  } catch (error) {
    if (error instanceof CompilerUnavailableError) return undefined;
    throw error;
  }
}

/** NVRTC, opened; undefined where there is none. */
export const installation: NvrtcInstallation | undefined = unlessAbsent(() =>
  findNvrtc(library, grantedEnvironment)
);

/** NVRTC as a compiler; undefined where there is none. */
export const nvrtc: NvrtcCompiler | undefined = unlessAbsent(() => new NvrtcCompiler(library));

/** The suffix of test names without NVRTC. */
export const withoutNvrtc: string = nvrtc === undefined ? " (skipped: no NVRTC)" : "";

/** A request for an H100. */
export function request(source: string, rest: Partial<CompileRequest> = {}): CompileRequest {
  const target = { kind: "cuda", capability: "9.0" } as const;
  return hostRequest(source, { name: "kernel.cu", target, ...rest });
}
