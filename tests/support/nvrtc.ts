/**
 * The NVRTC of this machine, for tests that skip without one.
 *
 * @module
 */

import "./cache_directory.ts";
import { type NativeLibrary, openNativeLibrary } from "../../src/ffi/library.ts";
import { grantedEnvironment } from "../../src/ffi/granted_environment.ts";
import { CompilerUnavailableError } from "../../src/launch/compile/compiler_unavailable_error.ts";
import type { CompileRequest } from "../../src/launch/compile/compiler.ts";
import { NvrtcCompiler } from "../../src/launch/compile/nvrtc_compiler.ts";
import {
  findNvrtc,
  type NvrtcInstallation,
  openCandidate,
} from "../../src/launch/compile/nvrtc_installation.ts";
import { builtLibrary } from "./built_library.ts";

/** The host library: it opens NVRTC as the other does. */
export const library: NativeLibrary = openNativeLibrary(builtLibrary("host")!);

async function unlessAbsent<Found>(find: () => Promise<Found>): Promise<Found | undefined> {
  try {
    return await find();
  } catch (error) {
    if (error instanceof CompilerUnavailableError) return undefined;
    throw error;
  }
}

/** NVRTC, opened; undefined where there is none. */
export const installation: NvrtcInstallation | undefined = await unlessAbsent(() =>
  findNvrtc(library, grantedEnvironment)
);
if (installation !== undefined) openCandidate(library, installation.candidate);

/** NVRTC as a compiler; undefined where there is none. */
export const nvrtc: NvrtcCompiler | undefined = await unlessAbsent(() =>
  NvrtcCompiler.find(library)
);

/** What the names of tests say where there is none. */
export const withoutNvrtc: string = nvrtc === undefined ? " (skipped: no NVRTC)" : "";

/** A request for an H100, with nothing but a source unless told otherwise. */
export function request(source: string, rest: Partial<CompileRequest> = {}): CompileRequest {
  return {
    source,
    name: "kernel.cu",
    headers: new Map(),
    defines: new Map(),
    options: [],
    expressions: [],
    target: { kind: "cuda", capability: "9.0" },
    ...rest,
  };
}
