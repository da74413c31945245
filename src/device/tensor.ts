/**
 * The entry `./tensor`: tensors, with the default device of `openDevice()`.
 *
 * @module
 */

import { provideDefaultDevice } from "../tensor/creation.ts";
import { openDevice } from "./open_device.ts";

provideDefaultDevice(openDevice);

export * from "../tensor/mod.ts";
