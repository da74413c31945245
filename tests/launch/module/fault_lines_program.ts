/**
 * Runs kernels that fault, each on a device of its own, and prints the ends of the descriptions as
 * JSON; started by `fault_lines_test.ts`.
 *
 * @module
 */

import { assertRejects } from "@std/assert";
import { CudaError, openDevice } from "../../../mod.ts";

const HEADER = `#pragma once

__device__ inline void put(int* p, long at) { p[at] = 1; }
`;
const SOURCE = `#include "own.cuh"
__global__ void direct(int* p, long at) {
  if (at == 3) p[0] = 2;
  p[at] = 5;
}
__global__ void in_header(int* p, long at) {
  p[0] = 3;
  put(p, at);
}
__global__ void in_atomic(int* p, long at) {
  atomicAdd(&p[1], 7);

  atomicAdd(&p[at], 7);
  p[2] = 9;
}
__global__ void in_trap(int* p, long at) {
  if (p[0] == 77) p[3] = 4;

  if (at > 5) __trap();
  p[2] = 9;
}
__global__ void endless(volatile int* p, long) {
  p[1] = 1;
  while (*p == 0) {}
}
`;
const directory = await Deno.makeTempDir();
const path = `${directory}/my kernels.cu`;
await Deno.writeTextFile(`${directory}/own.cuh`, HEADER);
await Deno.writeTextFile(path, SOURCE);

const places: Record<string, string[]> = {};
let ordinal = 0;
for (const name of ["direct", "in_header", "in_atomic", "in_trap", "endless"]) {
  places[name] = [];
  for (const isFile of [false, true]) {
    const device = openDevice(`host:${ordinal++}`, { kernelTimeout: 300 });
    const options = { headers: { "own.cuh": HEADER }, name: "text.cu" };
    const module = await (isFile ? device.compileFile(path) : device.compile(SOURCE, options));
    const p = device.allocate("int32", 4, { fill: 0 });
    module.kernel(name).launch({ grid: 1, block: 1 }, p, 1n << 40n);
    const { detail } = await assertRejects(() => device.done(), CudaError);
    places[name].push(/ \((?:at|near) [^()]+:\d+\)$/.exec(detail ?? "")?.[0] ?? "");
  }
}
await Deno.remove(directory, { recursive: true });
console.log(JSON.stringify(places));
