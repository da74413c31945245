/**
 * Giving native resources back.
 *
 * @module
 */

import { CudaError } from "./cuda_error.ts";

/**
 * Gives a native resource back and then forgets it. If that fails the resource is still there, and
 * may be given back again; but a device that is lost took all it had with it.
 *
 * @param release Gives the resource back.
 * @param forget Marks it as given back.
 */
export function giveBack(release: () => void, forget: () => void): void {
  try {
    release();
  } catch (error) {
    if (error instanceof CudaError && error.sticky) forget();
    throw error;
  }
  forget();
}
