/**
 * The first thousand launches of a module's kernel in a process, before V8 has optimised anything,
 * over a native call that does nothing: prints nanoseconds as JSON. With the argument `nothing` it is
 * that call alone.
 */

import { DeviceBuffer } from "../../src/memory/device_buffer.ts";
import { moduleLaunches } from "../support/bench_module.ts";
import { nothing } from "../support/call_loop.ts";
import { standInContext } from "../support/stand_in_library.ts";

const LAUNCHES = 1000;

const context = standInContext();
const [x, y] = [0, 1].map(() => DeviceBuffer.allocate(context, "float32", 32));
const { fourArguments } = await moduleLaunches(context, { grid: 1, block: 32 }, x!, y!);
const call = Deno.args[0] === "nothing" ? nothing : fourArguments;

const begin = performance.now();
call();
const first = performance.now() - begin;

const start = performance.now();
for (let i = 0; i < LAUNCHES; i++) call();
const milliseconds = performance.now() - start;
console.log(JSON.stringify({ first: first * 1e6, following: milliseconds * 1e6 / LAUNCHES }));
