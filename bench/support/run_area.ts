/**
 * Runs the benchmarks of one file on request, one JSON object a line: `bench/report/area_process.ts`
 * starts it. It prints `{"ready": true}` when the file is loaded, and again for a line `prepare` of its input,
 * when their kernels are compiled. For a line `forward` or `reverse` it runs the benchmarks in that order
 * and prints each as it ends, then `{"end": true}`.
 *
 * Arguments: the area, such as `launch`, and a regular expression of titles and groups.
 *
 * @module
 */

import { TextLineStream } from "deno-std/streams/text_line_stream.js";
import { device, ON_GPU } from "./bench_device.ts";
import { type Bench, declared, QUICK } from "./measure.ts";
import { DeviceWork } from "../../src/tensor/kit/device_work.ts";
import { compileAhead, GPU_PLAN, HOST_PLAN, QUICK_PLAN, sampleBench } from "./sampling.ts";

const [area, filter = ""] = Deno.args;
const plan = QUICK ? QUICK_PLAN : ON_GPU ? GPU_PLAN : HOST_PLAN;
const encoder = new TextEncoder();

/** Prints a line at once; benchmarks print to standard error. */
async function print(line: unknown): Promise<void> {
  const bytes = encoder.encode(`${JSON.stringify(line)}\n`);
  for (let at = 0; at < bytes.length;) at += await Deno.stdout.write(bytes.subarray(at));
}

/** Runs a benchmark. A failure is that of the benchmark, and the others follow. */
async function run(bench: Bench): Promise<unknown> {
  try {
    return { figure: { area, ...await sampleBench(bench, device, plan) } };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { failed: `${bench.options.group}: ${bench.title}: ${message}` };
  }
}

await import(new URL(`../${area}_bench.ts`, import.meta.url).href);
const wanted = new RegExp(filter);
const benches = declared.filter(({ title, options }) => wanted.test(`${options.group}: ${title}`));
await print({ ready: true });
const lines = Deno.stdin.readable.pipeThrough(new TextDecoderStream()).pipeThrough(
  new TextLineStream(),
);
for await (const order of lines) {
  if (order === "prepare") {
    await compileAhead(benches, DeviceWork.of(device.context));
    await device.done();
    await print({ ready: true });
    continue;
  }
  for (const bench of order === "reverse" ? benches.toReversed() : benches) {
    await print(await run(bench));
  }
  await print({ end: true });
}
// Benchmarks leave devices open, and their programs of other languages.
Deno.exit();
