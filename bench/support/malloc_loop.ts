/**
 * `malloc` and `free` called from C loops: `bench/native/malloc_loop.cpp`.
 *
 * @module
 */

import { compiledSource } from "./compiled_source.ts";
import type { Replacements } from "./replacements.ts";

const { symbols } = Deno.dlopen(await compiledSource("malloc_loop"), {
  bench_malloc_pairs: { parameters: ["f64", "i32"], result: "i32" },
  bench_malloc_replace: { parameters: ["buffer", "buffer", "buffer", "i32"], result: "i32" },
  bench_malloc_free: { parameters: ["buffer", "i32"], result: "i32" },
});

/** Allocates and frees so often, one after the other. */
export function mallocPairs(bytes: number, count: number): void {
  requireMemory(symbols.bench_malloc_pairs(bytes, count));
}

/** Live blocks of random sizes that replace each other. */
export class MallocBlocks implements Disposable {
  readonly #work: Replacements;
  readonly #live: Float64Array<ArrayBuffer>;

  /** Allocates as many as the work keeps. */
  constructor(work: Replacements) {
    this.#work = work;
    this.#live = new Float64Array(work.live);
    const all = Int32Array.from(this.#live, (_, index) => index);
    const sizes = Float64Array.from(this.#live, (_, index) => work.firstSize(index));
    requireMemory(symbols.bench_malloc_replace(sizes, all, this.#live, work.live));
  }

  /** Replaces so many. */
  replace(count: number): void {
    const { sizes, order } = this.#work.next(count);
    requireMemory(symbols.bench_malloc_replace(sizes, order, this.#live, count));
  }

  /** Frees them all. */
  [Symbol.dispose](): void {
    symbols.bench_malloc_free(this.#live, this.#live.length);
  }
}

function requireMemory(status: number): void {
  if (status !== 0) throw new Error("Cannot measure malloc as there is no memory");
}
