/**
 * Releases native resources.
 *
 * @module
 */

import { CudaError } from "./cuda_error.ts";
import type { NativeLibrary } from "./library.ts";

export interface ResourceDevice {
  readonly library: NativeLibrary;
  readonly ordinal: number;
}

/**
 * Releases a native resource and marks it as released. If that fails, the resource still exists and
 * can be released again, except on a lost device, which has lost all its resources.
 *
 * The loss of a device is thrown once. Scopes end because of that error: throwing it again for each
 * resource would hide the cause in `SuppressedError`s.
 */
export function giveBack(device: ResourceDevice, release: () => void, forget: () => void): void {
  const isKnownLost = device.library.lostDevices.has(device.ordinal);
  try {
    release();
  } catch (error) {
    if (!isLoss(error)) throw error;
    forget();
    if (isKnownLost) return;
    throw error;
  }
  forget();
}

/** {@linkcode giveBack} for a release that does not block the event loop. */
export async function giveBackAsync(
  device: ResourceDevice,
  release: () => Promise<void>,
  forget: () => void,
): Promise<void> {
  const isKnownLost = device.library.lostDevices.has(device.ordinal);
  try {
    await release();
  } catch (error) {
    if (!isLoss(error)) throw error;
    forget();
    if (isKnownLost) return;
    throw error;
  }
  forget();
}

/**
 * Runs the steps of a release. A failure ends it, except for the loss of a device, which is thrown
 * after the remaining steps.
 */
export function takeSteps(steps: Iterable<() => void>): void {
  const losses: unknown[] = [];
  for (const step of steps) {
    try {
      step();
    } catch (error) {
      if (!isLoss(error)) throw error;
      losses.push(error);
    }
  }
  if (losses.length > 0) throw losses[0];
}

/** Whether an error reports a lost device. */
function isLoss(error: unknown): boolean {
  return error instanceof CudaError && error.sticky;
}

/** Releases a resource after a failure; an error of the release would hide that of the failure. */
export function giveBackAfterFailure(resource: Disposable): void {
  try {
    resource[Symbol.dispose]();
  } catch {
    // The earlier failure, which the caller throws, is the likely cause.
  }
}
