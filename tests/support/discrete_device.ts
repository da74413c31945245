/**
 * The host device as a device with memory of its own, whose large copies to arrays pass through a ring.
 *
 * @module
 */

import type { Device } from "../../mod.ts";
import type { DeviceInfo } from "../../src/hardware/device_information.ts";

/** Makes a device count as not integrated, until it is disposed. */
export function asDiscrete({ context }: Device): Disposable {
  const holder: { info: DeviceInfo } = context;
  const { info } = context;
  holder.info = { ...info, integrated: false };
  return { [Symbol.dispose]: () => void (holder.info = info) };
}
