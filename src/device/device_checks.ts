/**
 * What is asked of objects that are handed to a device.
 *
 * @module
 */

import type { DeviceContext } from "../hardware/device_context.ts";

/**
 * Refuses what lies on another device.
 *
 * @param name What was passed, as the error message says it.
 * @param action What the caller is about to do, as the error message says it.
 * @throws {TypeError} If it does.
 */
export function requireOnDevice(
  context: DeviceContext,
  owner: { readonly context: DeviceContext },
  name: string,
  action: string,
): void {
  if (context.isSameDevice(owner.context)) return;
  throw new TypeError(
    `Cannot ${action} as ${name} must be of ${context.label}: it is of ${owner.context.label}`,
  );
}
