/**
 * Copies of rows between two devices. `pitched_buffer_test.ts` starts it with two fakes.
 *
 * @module
 */

import { assertEquals } from "@std/assert";
import { openDevice, PitchedBuffer } from "../../mod.ts";

using first = openDevice("host:0");
using second = openDevice("host:1");
const array = Int16Array.from({ length: 5 * 129 }, (_, i) => i);
using x = first.allocate2d("int16", 5, 129, { fill: -1 });
x.copyFrom(array);
await first.done();
using y = second.allocate2d("int16", 5, 129, { fill: -2 });
y.copyFrom(x);
assertEquals(await y.toArray(), array);
const padding = y.buffer.toArraySync().filter((_, i) => i % (y.pitchBytes / 2) >= 129);
assertEquals(new Set(padding), new Set([-2]));
using dense = first.allocate("int16", array.length);
await second.done();
new PitchedBuffer(dense, 5, 129).copyFrom(y);
assertEquals(await dense.toArray(), array);
