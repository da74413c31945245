/**
 * The device that is measured: that of `GRIDSTRIDE_DEVICE`, else the best there is.
 *
 * @module
 */

import { type Device, openDevice } from "../../mod.ts";

/** The device. */
export const device: Device = openDevice();

/** Whether it is a GPU; the host device is measured with smaller problems. */
export const ON_GPU: boolean = device.context.library.kind === "cuda";
