/**
 * The first copies of a process between arrays and the device, each of which may register memory of the
 * host: prints nanoseconds as JSON.
 */

import { openDevice } from "../../mod.ts";

const BYTES = Number(Deno.args[0]);

using device = openDevice();
const buffer = device.allocate("uint8", BYTES, { fill: 1 });
const array = new Uint8Array(BYTES).fill(2);
await device.done();

const begin = performance.now();
buffer.copyFrom(array);
await device.done();
const up = performance.now();
await buffer.copyTo(array);
const down = performance.now();
console.log(JSON.stringify({ up: (up - begin) * 1e6, down: (down - up) * 1e6 }));
