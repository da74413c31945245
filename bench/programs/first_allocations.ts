/**
 * The first thousand pairs of allocate and free of a process, before V8 has optimised anything:
 * prints nanoseconds as JSON. The very first takes memory from the device and is not among them.
 */

import { openDevice } from "../../mod.ts";

const PAIRS = 1000;

using device = openDevice();
const begin = performance.now();
device.allocate("uint8", 4096).free();
const first = performance.now() - begin;

const start = performance.now();
for (let i = 0; i < PAIRS; i++) device.allocate("uint8", 4096).free();
const milliseconds = performance.now() - start;
console.log(JSON.stringify({ first: first * 1e6, following: milliseconds * 1e6 / PAIRS }));
