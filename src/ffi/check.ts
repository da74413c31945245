/**
 * From a status to an error: the one place where native failures become exceptions.
 *
 * @module
 */

import { CudaError } from "./cuda_error.ts";
import type { NativeLibrary } from "./library.ts";
import { readText } from "./text.ts";

/** What a failed call was about, for the error's message. */
export interface FailureContext {
  /** What was being done, as in "Cannot <action>". */
  readonly action: string;
  /** The ordinal of the device concerned. */
  readonly device?: number;
  /** The CUDA call a nonblocking function stands for: its failure is recorded on another thread. */
  readonly call?: string;
}

/** The number of the CUDA call that failed last on this thread, and its name. */
function failedCall(library: NativeLibrary): string | undefined {
  const { result, symbols } = library;
  if (symbols.gs_error_last(result) !== 0) return undefined;
  const call = result[1]!;
  if (call === 0) return undefined;
  const { status, text } = readText((bytes, capacity) =>
    symbols.gs_call_name(call, bytes, capacity)
  );
  return status === 0 ? text : undefined;
}

/** What the library knows of the fault that made a device unusable; empty when nothing. */
export function faultDescription(library: NativeLibrary, device: number): string {
  const { status, text } = readText((bytes, capacity) =>
    library.symbols.gs_device_fault(device, bytes, capacity)
  );
  return status === 0 ? text : "";
}

/**
 * The error for a status other than 0.
 *
 * @param library The library whose call returned the status.
 * @param status A positive CUDA code or a negative code of `csrc/gridstride.h`.
 */
export function statusError(
  library: NativeLibrary,
  status: number,
  context: FailureContext,
): CudaError {
  const call = context.call ?? failedCall(library);
  const { device } = context;
  const detail = device === undefined ? "" : faultDescription(library, device);
  const error = new CudaError({
    action: context.action,
    code: status,
    ...(call === undefined ? {} : { call }),
    ...(device === undefined ? {} : { device: `${library.kind}:${device}` }),
    ...(detail === "" ? {} : { detail }),
  });
  if (error.sticky && device !== undefined && !library.lostDevices.has(device)) {
    library.lostDevices.add(device);
    library.losses++;
  }
  return error;
}

/**
 * Does nothing for status 0 and throws for any other.
 *
 * @throws {CudaError} If the status is not 0.
 */
export function check(
  library: NativeLibrary,
  status: number,
  action: string,
  device?: number,
): void {
  if (status === 0) return;
  throw statusError(library, status, device === undefined ? { action } : { action, device });
}
