/**
 * The entry `./bitnet`: BitNet models, with the default device of `openDevice()`.
 *
 * @module
 */

import { provideDevices } from "../tensor/kit/placement.ts";
import { openDevice } from "./open_device.ts";

provideDevices(openDevice);

export * from "../bitnet/mod.ts";
