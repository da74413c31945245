/**
 * The entry `./ternary`: ternary weights, with the default device of `openDevice()`.
 *
 * @module
 */

import { provideDefaultDevice } from "../tensor/creation.ts";
import { openDevice } from "./open_device.ts";

provideDefaultDevice(openDevice);

export * from "../ternary/mod.ts";
export { DeviceAwareQuantizer, type QuantizedFormat, type QuantizedValues } from "./quantizer.ts";
