// `gridstride roofline` with a capability, a device, and given peaks.

import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { peakThroughput } from "../../mod.ts";
import { device } from "../support/device.ts";
import { TemporaryDirectory } from "../support/temporary_file.ts";
import { assertFails, type Output, runInProcess } from "./in_process.ts";

/** Runs the command with arguments in one text. */
function run(words: string): Promise<Output> {
  return runInProcess(["roofline", ...words.split(" ")]);
}

Deno.test("`roofline` prints the peaks, the measured rates, and a sentence", async () => {
  const { code, stdout, stderr } = await run(
    "--bytes 3.2e9 --operations 1.6e9 --milliseconds 2 --bandwidth 2e12 --capability 8.0",
  );
  assertEquals([code, stderr], [0, ""]);
  assertMatch(stdout, /^A100-SXM4-40GB, compute capability 8\.0\n\n +peak +kernel\n/);
  assertMatch(stdout, /^memory +2 TB\/s +1\.6 TB\/s$/m);
  assertMatch(stdout, /^float32 +19\.5 TOP\/s +800 GOP\/s$/m);
  assertMatch(stdout, /^operations per byte +9\.75 +0\.5$/m);
  assertMatch(stdout, /^milliseconds +1\.6 +2$/m);
  assertMatch(stdout, /^bound by +memory +80 % of the peak$/m);
  assertMatch(stdout, /\n\nAt 0\.5 operations per byte, below the 9\.75 [^]* It reaches 80 % of/);
});

Deno.test("`roofline --json` prints the peaks of the capability or the device", async () => {
  const kernel = "--bytes 1e9 --operations 1e12 --milliseconds 10 --json";
  const { code, stdout } = await run(`${kernel} --capability 9.0 --tensor-cores`);
  const figures = JSON.parse(stdout);
  assertEquals(code, 0);
  assertEquals(
    Object.keys(figures).join(),
    "subject,fake,precision,bandwidth,throughput,intensity,ridge,attainable,millisecondsAtRoof," +
      "milliseconds,achieved,achievedBandwidth,bound,share,sentence",
  );
  assertEquals(figures.subject, "H100-SXM5-80GB, compute capability 9.0");
  assertEquals([figures.precision, figures.bound], ["float16 tensor cores", "latency"]);
  assertAlmostEquals(figures.throughput / 1e12, 989.4, 0.1);
  assertAlmostEquals(figures.bandwidth / 1e12, 3.352, 0.001);
  assertEquals([figures.intensity, figures.milliseconds, figures.achieved], [1000, 10, 1e14]);

  const own = JSON.parse(
    (await run(`${kernel} --device ${device.label} --precision float64`)).stdout,
  );
  assert(own.subject.startsWith(device.label));
  const peak = peakThroughput(device.info).operations.float64;
  if (device.info.kind === "cuda") assertEquals(own.throughput, peak);
  assertEquals(own.precision, "float64");
});

Deno.test("`roofline --json` prints null for unmeasured rates and an infinite intensity", async () => {
  const { stdout } = await run("--bytes 0 --operations 5 --capability 7.5 --json");
  const { intensity, milliseconds, achieved, achievedBandwidth, share, bound } = JSON.parse(stdout);
  assertEquals([intensity, milliseconds, achieved, achievedBandwidth, share], Array(5).fill(null));
  assertEquals(bound, "compute");
  const text = await run("--bytes 0 --operations 5 --capability 7.5");
  assertMatch(text.stdout, /^operations per byte +[\d.]+ +∞$/m);
  assertMatch(text.stdout, /^memory +\S+ GB\/s +–$/m);
  const newer = await run("--bytes 1 --operations 5 --capability 13.1 --json");
  assertStringIncludes(newer.stdout, "13.1, which is unknown: figures of 12.1");
});

Deno.test("`roofline` exits with 1 for an unknown peak that is not given", async () => {
  const words = "--bytes 1 --operations 5 --capability 7.5 --precision bfloat16";
  const { code, stdout, stderr } = await run(words);
  assertEquals([code, stdout], [1, ""]);
  assertMatch(stderr, /the peak of bfloat16 of Tesla T4, .* is unknown: give it by --throughput/);
  assertEquals((await run(`${words} --throughput 1e12`)).code, 0);
});

Deno.test("`roofline --picture` writes the name of the kernel", async () => {
  using folder = new TemporaryDirectory();
  for (const name of ["a.svg", "b.html"]) {
    const file = `${folder.path}/${name}`;
    const words =
      `--bytes 1e9 --operations 1e9 --milliseconds 1 --capability 8.9 --picture ${file}`;
    const { code, stderr } = await runInProcess([
      "roofline",
      ...words.split(" "),
      "--name",
      "a<b>&c",
    ]);
    assertEquals([code, stderr], [0, ""]);
    assertStringIncludes(await Deno.readTextFile(file), "a&lt;b&gt;&amp;c");
  }
});

Deno.test("`roofline` exits with 2 for invalid options", async () => {
  await assertFails(2, run, [
    ["--operations 5", "--bytes is missing"],
    ["--bytes 5", "--operations is missing"],
    ["--bytes 0 --operations 0", "--bytes and --operations are both 0"],
    ["--bytes -1 --operations 1", "Cannot use --bytes as it must be a number such as 1.5e9"],
    ["--bytes 1e999 --operations 1", 'it is "1e999"'],
    ["--bytes 0x10 --operations 1", 'it is "0x10"'],
    [
      "--bytes 1 --operations 1 --milliseconds 0",
      "Cannot use --milliseconds as it must be a number such as 1.5e9, in 1e-30..1e+30",
    ],
    ["--bytes 1 --operations 1 --milliseconds 1e-323", 'it is "1e-323"'],
    ["--bytes 1 --operations 1e31", "0 or in 1e-30..1e+30"],
    ["--bytes 1 --operations 1 --bandwidth 0", "Cannot use --bandwidth as"],
    ["--bytes 1 --operations 1 more", "too many arguments"],
    ["--bytes 1 --operations 1 --capability 9.0 --device host", "--capability and --device"],
    ["--bytes 1 --operations 1 --capability 6.1", "must be at least 7.5"],
    [
      "--bytes 1 --operations 1 --precision float4 --capability 9.0",
      "one of float64, float32, float16",
    ],
    [
      "--bytes 1 --operations 1 --precision float32 --capability 9.0 --tensor-cores",
      'float4 with --tensor-cores: it is "float32"',
    ],
    ["--bytes 1 --operations 1 --capability 9.0 --picture a.gif", "ends in .svg or .html"],
  ]);
});
