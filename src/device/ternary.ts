/**
 * The entry `./ternary`: ternary weights, with the default device of `openDevice()`.
 *
 * @module
 */

import { provideDevices } from "../tensor/kit/placement.ts";
import { openDevice } from "./open_device.ts";

provideDevices(openDevice);

export * from "../ternary/mod.ts";
export { DeviceAwareQuantizer, type QuantizedFormat, type QuantizedValues } from "./quantizer.ts";
