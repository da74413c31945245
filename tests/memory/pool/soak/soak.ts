/**
 * Uses pools over a model device for long: `deno task soak [operations] [seed] [subject]`; 10^8
 * operations by default, a quarter for each subject. Everything is checked after each 10^5, and
 * the heap may not grow. Prints the seed, which makes the run the same again, and the speed.
 *
 * @module
 */

import { PoolSoak, SOAK_SUBJECTS } from "./pool_soak.ts";

const CHECK = 100_000;
/** Bytes by which the heap's least size may differ between the first half and the end. */
const NOISE = 8 * 2 ** 20;
const NAMES = Object.keys(SOAK_SUBJECTS);
const USAGE = `Usage: deno task soak [operations] [seed] [${NAMES.join("|")}]`;

function integer(text: string, name: string, least: number): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= least) return value;
  console.error(
    `Cannot soak as ${name} must be an integer of at least ${least}: it is "${text}"\n${USAGE}`,
  );
  Deno.exit(2);
}

/** Bytes of the JavaScript heap, after a collection if possible. */
function heapBytes(): number {
  (globalThis as { gc?: () => void }).gc?.();
  const { heapUsed, external } = Deno.memoryUsage();
  return heapUsed + external;
}

/** Throws where the heap of the last quarter is above that of the second. */
function checkHeap(samples: readonly number[]): void {
  const quarter = Math.floor(samples.length / 4);
  if (quarter === 0) return;
  const early = Math.max(...samples.slice(quarter, 2 * quarter));
  const late = Math.max(...samples.slice(-quarter));
  if (late <= early + NOISE) return;
  throw new Error(`The heap grew from ${early} to ${late} bytes: ${samples.join(", ")}`);
}

function soak(subject: string, operations: number, seed: number): void {
  const pool = new PoolSoak(subject, seed);
  const samples: number[] = [];
  const sampled = Math.max(CHECK, Math.floor(operations / 16));
  let milliseconds = 0;
  for (let done = 0; done < operations;) {
    const some = Math.min(CHECK, operations - done);
    const start = performance.now();
    pool.run(some);
    milliseconds += performance.now() - start;
    done += some;
    pool.check();
    if (done % sampled < CHECK) samples.push(heapBytes());
  }
  checkHeap(samples);
  const { cacheHits, cacheMisses, upstreamCalls, syncs } = pool.statistics;
  pool.finish();
  console.log(
    `${subject}: ${operations} operations, ${Math.round(operations / milliseconds * 1000)} a ` +
      `second; ${cacheHits} hits, ${cacheMisses} misses, ${upstreamCalls} upstream calls, ` +
      `${syncs} waits, ${pool.outOfMemory} out of memory; heap ${
        samples.map((bytes) => (bytes / 2 ** 20).toFixed(1)).join(" ")
      } MiB`,
  );
}

const [operationsText = "100000000", seedText, only] = Deno.args;
if (only !== undefined && !NAMES.includes(only)) {
  console.error(`Cannot soak as there is no subject "${only}"\n${USAGE}`);
  Deno.exit(2);
}
const operations = integer(operationsText, "operations", 1);
const seed = seedText === undefined ? Date.now() % 2 ** 31 : integer(seedText, "seed", 0);
const subjects = only === undefined ? NAMES : [only];
console.log(`seed ${seed}`);
try {
  for (const subject of subjects) soak(subject, Math.ceil(operations / subjects.length), seed);
} catch (error) {
  console.error(error instanceof Error ? error.stack : error);
  Deno.exit(1);
}
