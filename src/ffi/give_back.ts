/**
 * Giving native resources back.
 *
 * @module
 */

import { CudaError } from "./cuda_error.ts";
import type { NativeLibrary } from "./library.ts";

/** The device that a resource is of. */
export interface ResourceDevice {
  /** The library that drives the device. */
  readonly library: NativeLibrary;
  /** The device's number in that library. */
  readonly ordinal: number;
}

/**
 * Gives a native resource back and then forgets it. If that fails the resource is still there, and
 * may be given back again; but a device that is lost took all it had with it.
 *
 * That a device is lost is thrown once. When scopes end because an earlier call threw it, throwing
 * it again for each resource would bury the error that names the cause in `SuppressedError`s.
 *
 * @param device The device of the resource.
 * @param release Gives the resource back.
 * @param forget Marks it as given back.
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

/** The twin of {@linkcode giveBack} for what is given back without blocking the event loop. */
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
 * Takes the steps of giving one thing back. One that fails ends it, but a lost device only takes
 * what the step was for: the others follow, and then the loss is thrown.
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

/** Whether an error says that a device is lost. */
function isLoss(error: unknown): boolean {
  return error instanceof CudaError && error.sticky;
}

/** Gives a resource back where something has failed already, which tells more than this would. */
export function giveBackAfterFailure(resource: Disposable): void {
  try {
    resource[Symbol.dispose]();
  } catch {
    // The failure that is about to be thrown is the cause of this one, or at least came before it.
  }
}
