/**
 * Devices that address each other's memory.
 *
 * @module
 */

import { canAccessPeer, enablePeerAccess } from "../ffi/native_device.ts";
import type { DeviceContext } from "../hardware/device_context.ts";
import { shareWith } from "../memory/pool/device_pools.ts";

/** Whether a device can address the memory of another one. */
export function canReach(context: DeviceContext, peer: DeviceContext): boolean {
  const { library, ordinal } = context;
  return library === peer.library && ordinal !== peer.ordinal &&
    canAccessPeer(library, ordinal, peer.ordinal);
}

/**
 * Lets a device address the memory of another.
 *
 * @throws {TypeError} If the devices belong to different libraries.
 * @throws {CudaError} If the hardware cannot.
 */
export function grantAccess(context: DeviceContext, peer: DeviceContext): void {
  const { library, ordinal, label } = context;
  if (library !== peer.library) {
    throw new TypeError(
      `Cannot enable peer access from ${label} to ${peer.label} as they belong to different libraries`,
    );
  }
  enablePeerAccess(library, ordinal, peer.ordinal);
  shareWith(peer, ordinal);
}
