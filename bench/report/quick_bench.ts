/**
 * Runs each benchmark once and prints what `deno bench --json` prints: for `deno task gpu --dry`, which
 * only shows that they run. `deno bench` itself repeats even that for half a second where it is short.
 *
 * Arguments: names of files of `bench/` to leave out.
 *
 * @module
 */

import { quickBenches } from "../support/measure.ts";

const folder = new URL("../", import.meta.url);
const files = [...Deno.readDirSync(folder)].map(({ name }) => name)
  .filter((name) => name.endsWith("_bench.ts") && !Deno.args.includes(name)).sort();

/** Runs a benchmark; returns its nanoseconds between `start()` and `end()`, by default all of them. */
async function timed(fn: (bench: Deno.BenchContext) => void | Promise<void>): Promise<number> {
  let end: number | undefined;
  let start = performance.now();
  const context = {
    start: () => start = performance.now(),
    end: () => end = performance.now(),
  };
  await fn(context as unknown as Deno.BenchContext);
  end ??= performance.now();
  // The clock may have a resolution of a microsecond.
  return Math.max(1, (end - start) * 1e6);
}

const benches = [];
for (const file of files) {
  const origin = new URL(file, folder).href;
  await import(origin);
  for (const { fn, name, group, baseline } of quickBenches.splice(0)) {
    const time = await timed(fn);
    const ok = { n: 1, avg: time, min: time, p75: time, p99: time };
    benches.push({ origin, group, name, baseline, results: [{ ok }] });
  }
}
console.log(JSON.stringify({ benches }));
