/**
 * Limits of the processor, measured in C loops: `bench/native/processor_limits.cpp`.
 *
 * @module
 */

import { peakThroughput } from "../../mod.ts";
import type { DType } from "../../src/memory/dtype.ts";
import { compiledSource } from "./compiled_source.ts";
import { device, ON_GPU } from "./bench_device.ts";
import { measure, scaled } from "./measure.ts";

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

/** The peak of a GPU's products by its data sheet, as an option of a benchmark; nothing on the host device. */
export function peakOf(dtype: DType): { readonly peak?: number } {
  if (!ON_GPU) return {};
  const { operations, tensorOperations } = peakThroughput(device.info);
  const find = (peaks: Readonly<Record<string, number | null>>) => peaks[dtype] ?? undefined;
  const peak = find(tensorOperations) ?? find(operations);
  return peak === undefined ? {} : { peak: Math.round(peak) };
}

/** Declares the baseline of a group: a read of memory on all processors, or a copy on a GPU. */
export function measureRead(group: string, bytes: number): void {
  const buffer = device.allocate("uint8", bytes, { fill: 1 });
  if (symbols !== undefined) {
    measure("read", { group, baseline: true, bytes }, () => {
      requireSuccess(symbols.bench_read(threads, buffer.address, bytes));
    });
    return;
  }
  const copy = device.allocate("uint8", bytes);
  measure("copy", { group, baseline: true, bytes: 2 * bytes }, () => {
    copy.copyFrom(buffer);
    device.stream.doneSync();
  });
}
