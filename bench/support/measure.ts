/**
 * Declaring benchmarks.
 *
 * `deno bench` times a call of its own at about 4 ns, so whatever takes less than some
 * microseconds is done many times in an iteration; see `bench/report/bench_name.ts`.
 *
 * @module
 */

import { device } from "./bench_device.ts";
import { benchName } from "../report/bench_name.ts";

/** Set to `quick` the benchmarks only show that they run: one short sample of each. */
export const QUICK: boolean = Deno.env.get("GRIDSTRIDE_BENCH") === "quick";

/** Chooses a size: a small one when the benchmarks are only to show that they run. */
export function scaled(size: number, quick: number): number {
  return QUICK ? quick : size;
}

/** Options of a benchmark. */
export interface MeasureOptions {
  /** The benchmarks to compare it with. */
  readonly group: string;
  /** Whether the others of its group are compared with it. */
  readonly baseline?: boolean;
  /** Calls in an iteration; 1 by default. */
  readonly calls?: number;
  /** Bytes that one call reads and writes. */
  readonly bytes?: number;
  /** Multiplications and additions of one call. */
  readonly operations?: number;
  /** Operations per second of a GPU by its data sheet. */
  readonly peak?: number;
}

/** What `bench/report/quick_bench.ts` runs. */
export const quickBenches: Pick<Deno.BenchDefinition, "name" | "group" | "baseline" | "fn">[] = [];

function declare(
  title: string,
  { group, baseline = false, calls = 1, bytes, ...work }: MeasureOptions,
  fn: (bench: Deno.BenchContext) => void | Promise<void>,
): void {
  const name = benchName({ title, calls, bytes: bytes ?? null, ...work });
  const definition = { name, group, baseline, fn };
  if (QUICK) quickBenches.push(definition);
  else Deno.bench(definition);
}

/**
 * Declares a benchmark; `body` does it `calls` times.
 *
 * A body that returns a promise has to be an `async` function: `deno bench` waits for no other, and
 * would time only how long it takes to make the promise.
 */
export function measure(
  title: string,
  options: MeasureOptions,
  body: () => void | Promise<void>,
): void {
  declare(title, options, body);
}

/** Declares a benchmark of a function that makes an array; freeing the array is not timed. */
export function measureNew(
  title: string,
  options: MeasureOptions,
  make: () => { readonly buffer: ArrayBufferLike },
): void {
  declare(title, options, (bench) => {
    bench.start();
    const { buffer } = make();
    bench.end();
    // What waits for the garbage collector would be collected in the middle of a later sample.
    if (buffer instanceof ArrayBuffer) buffer.transfer(0);
  });
}

/** Options of a benchmark of something that enqueues work. */
export interface EnqueueOptions extends MeasureOptions {
  /** Done before each iteration, outside the timing. */
  readonly before?: () => void;
}

/**
 * Declares a benchmark of something that enqueues work: `body` does it `calls` times, which is
 * timed, and then the device catches up, which is not. The work of one iteration has to fit the
 * device's queue, or the queue would be timed: at most some 500 launches.
 */
export function measureEnqueueing(title: string, options: EnqueueOptions, body: () => void): void {
  declare(title, options, (bench) => {
    options.before?.();
    bench.start();
    body();
    bench.end();
    device.doneSync();
  });
}
