/**
 * The entry `./tensor`: tensors, with the default device of `openDevice()`.
 *
 * @module
 */

import { provideDevices } from "../tensor/kit/placement.ts";
import { openDevice } from "./open_device.ts";

provideDevices(openDevice);

export * from "../tensor/mod.ts";
export { DeviceFallback } from "./device_fallback.ts";
export { validate, VALIDATED_OPERATIONS, type ValidationOptions } from "./validation.ts";
export type { ValidationRow } from "./validation/validation_row.ts";
export type { DeviceStatistics, Provider } from "./device_statistics.ts";
