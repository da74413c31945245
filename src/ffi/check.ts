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
  /** What else is known of it; by default what the device says of a fault. */
  readonly detail?: string;
}

/** Where the last failure on this thread happened. */
interface FailurePlace {
  /** The CUDA call that failed, if one did. */
  readonly call?: string;
  /** The device that it concerned, if that is known. */
  readonly device?: number;
}

function failurePlace(library: NativeLibrary): FailurePlace {
  const { result, symbols } = library;
  if (symbols.gs_error_last(result) !== 0) return {};
  const call = result[1]!;
  const device = result[2]!;
  const place = device < 0 ? {} : { device };
  if (call === 0) return place;
  const { status, text } = readText((bytes, capacity) =>
    symbols.gs_call_name(call, bytes, capacity)
  );
  return status === 0 ? { ...place, call: text } : place;
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
  const place: FailurePlace = context.call === undefined ? failurePlace(library) : context;
  const { call } = place;
  // An event or a stream may be of another device than the caller's: that one has failed then.
  const device = context.device === undefined ? undefined : place.device ?? context.device;
  const detail = context.detail ?? (device === undefined ? "" : faultDescription(library, device));
  const error = new CudaError({
    action: context.action,
    code: status,
    ...(call === undefined ? {} : { call }),
    ...(device === undefined ? {} : { device: `${library.kind}:${device}` }),
    ...(detail === "" ? {} : { detail }),
  });
  if (error.sticky && device !== undefined && !library.lostDevices.has(device)) {
    library.lostDevices.add(device);
    library.interruptions++;
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
