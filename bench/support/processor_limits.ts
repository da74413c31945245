/**
 * Limits of the processor, measured in C loops: `bench/native/processor_limits.cpp`.
 *
 * @module
 */

import { compiledSource } from "./compiled_source.ts";
import { device, ON_GPU } from "./bench_device.ts";
import { measure, measureOnDevice, scaled } from "./measure.ts";

const SYMBOLS = {
  bench_product_lanes: { parameters: ["i32"], result: "i32" },
  bench_products: { parameters: ["i32", "i32", "f64"], result: "i32" },
  bench_read: { parameters: ["i32", "f64", "f64"], result: "i32" },
} as const;

const ELEMENT_BYTES = { int8: 1, float32: 4, float64: 8 } as const;
const BYTE_PRODUCTS: Readonly<Record<number, string>> = { 64: "vpdpbusd", 32: "vpmaddubsw" };
/** Vectors that a thread multiplies in a round. */
const VECTORS = 10;
const ROUNDS = scaled(2 ** 20, 2 ** 10);

const symbols = ON_GPU
  ? undefined
  : Deno.dlopen(await compiledSource("processor_limits"), SYMBOLS).symbols;
const threads = device.info.multiprocessorCount;

function requireSuccess(status: number): void {
  if (status !== 0) throw new Error(`Cannot measure the processor: the loop returned ${status}`);
}

/**
 * Declares the baseline of a group: products in registers, on all processors.
 *
 * @returns Whether there is one, which is on the host device.
 */
export function measureProducts(group: string, dtype: keyof typeof ELEMENT_BYTES): boolean {
  if (symbols === undefined) return false;
  const element = ELEMENT_BYTES[dtype];
  const lanes = symbols.bench_product_lanes(element);
  const operations = 2 * lanes * VECTORS * ROUNDS * threads;
  const vectors = element === 1 && BYTE_PRODUCTS[lanes] || `vectors of ${lanes}`;
  const title = `products in registers (${dtype}, ${vectors})`;
  measure(title, { group, baseline: true, operations }, () => {
    requireSuccess(symbols.bench_products(element, threads, ROUNDS));
  });
  return true;
}

/**
 * Declares the baseline of a group: a read of memory on all processors, or a copy on a GPU.
 *
 * @param copies How many pieces of memory are read in turn.
 */
export function measureRead(group: string, bytes: number, copies = 1): void {
  const buffers = Array.from(
    { length: copies },
    () => device.allocate("uint8", bytes, { fill: 1 }),
  );
  const next = (call: number) => buffers[call % copies]!;
  if (symbols !== undefined) {
    let call = 0;
    measure("read", { group, baseline: true, bytes }, () => {
      requireSuccess(symbols.bench_read(threads, next(call++).address, bytes));
    });
    return;
  }
  const copy = device.allocate("uint8", bytes);
  const options = { group, baseline: true, bytes: 2 * bytes, footprint: (copies + 1) * bytes };
  measureOnDevice("copy", options, (call) => copy.copyFrom(next(call)));
}
