/**
 * `gridstride roofline`: where a kernel stands under the roofs of a device.
 *
 * @module
 */

import { type Roofline, roofline } from "../lab/analysis/mod.ts";
import { type Command, EXIT, type Invocation, printResult, UsageError } from "./command.ts";
import { FileProblem } from "./file_problem.ts";
import { pictureFile } from "./picture_file.ts";
import { type RooflinePeaks, rooflinePeaks } from "./roofline_peaks.ts";
import { textOption } from "./run_options.ts";
import { formatBandwidth, formatOperations, textTable } from "./text_table.ts";

/** What was typed of the kernel. */
interface TypedKernel {
  readonly name: string;
  readonly bytes: number;
  readonly operations: number;
  readonly milliseconds: number | undefined;
}

/** Figures that no device reaches: beyond them numbers and pictures lose their sense. */
const LEAST = 1e-30;
const MOST = 1e30;

/** A number: `0`, `1.5e9`. */
function numberOption(invocation: Invocation, name: string, least: "0" | "more than 0") {
  const text = textOption(invocation, name);
  if (text === undefined) return undefined;
  const value = /^(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text) ? Number(text) : NaN;
  if (value >= LEAST && value <= MOST || least === "0" && value === 0) return value;
  const allowed = `a number such as 1.5e9, ${least === "0" ? "0 or " : ""}in ${LEAST}..${MOST}`;
  throw new UsageError(`Cannot use --${name} as it must be ${allowed}: it is "${text}"`);
}

function kernelOf(invocation: Invocation): TypedKernel {
  const [extra] = invocation.positional;
  if (extra !== undefined) {
    throw new UsageError(`Cannot draw a roofline as it takes no arguments: there is "${extra}"`);
  }
  const bytes = numberOption(invocation, "bytes", "0");
  const operations = numberOption(invocation, "operations", "0");
  const milliseconds = numberOption(invocation, "milliseconds", "more than 0");
  if (bytes === undefined || operations === undefined) {
    throw new UsageError(
      `Cannot place a kernel under its roofline as --${
        bytes === undefined ? "bytes" : "operations"
      } is missing`,
    );
  }
  if (bytes === 0 && operations === 0) {
    throw new UsageError(
      "Cannot place a kernel under its roofline as --bytes and --operations are both 0",
    );
  }
  return { name: textOption(invocation, "name") ?? "kernel", bytes, operations, milliseconds };
}

function figuresOf(kernel: TypedKernel, peaks: RooflinePeaks, report: Roofline) {
  const { intensity, ridge, attainable, secondsAtRoof, bound } = report;
  const { achieved, achievedBandwidth, share, sentence } = report;
  return {
    subject: peaks.subject,
    precision: peaks.compute.name,
    bandwidth: peaks.memory.peak,
    throughput: peaks.compute.peak,
    intensity: intensity === Infinity ? null : intensity,
    ridge,
    attainable,
    millisecondsAtRoof: 1000 * secondsAtRoof,
    milliseconds: kernel.milliseconds ?? null,
    achieved,
    achievedBandwidth,
    bound,
    share,
    sentence,
  };
}

function decimal(value: number): string {
  return value === Infinity ? "∞" : String(Number(value.toPrecision(3)));
}

function describe(kernel: TypedKernel, peaks: RooflinePeaks, report: Roofline): string {
  const { achieved, achievedBandwidth, share, intensity, ridge } = report;
  const measured = (text: string) => kernel.milliseconds === undefined ? "–" : text;
  const table = textTable(
    ["", "roof", kernel.name],
    [
      [
        "memory",
        formatBandwidth(peaks.memory.peak),
        measured(formatBandwidth(achievedBandwidth ?? 0)),
      ],
      [
        peaks.compute.name,
        formatOperations(peaks.compute.peak),
        measured(formatOperations(achieved ?? 0)),
      ],
      ["operations per byte", decimal(ridge), decimal(intensity)],
      [
        "milliseconds",
        decimal(1000 * report.secondsAtRoof),
        measured(decimal(kernel.milliseconds ?? 0)),
      ],
      ["bound by", report.bound, share === null ? "–" : `${decimal(100 * share)} % of the roof`],
    ],
    ["left", "right", "right"],
  );
  return `${peaks.subject}\n\n${table}\n\n${report.sentence}`;
}

async function run(invocation: Invocation): Promise<void> {
  const picture = pictureFile(invocation);
  const kernel = kernelOf(invocation);
  const peaks = rooflinePeaks(invocation, {
    bandwidth: numberOption(invocation, "bandwidth", "more than 0"),
    throughput: numberOption(invocation, "throughput", "more than 0"),
  });
  const { name, bytes, operations, milliseconds } = kernel;
  const report = roofline({
    bytes,
    operations,
    bandwidth: peaks.memory.peak,
    throughput: peaks.compute.peak,
    ...(milliseconds === undefined ? {} : { seconds: milliseconds / 1000 }),
  });
  if (picture !== undefined) {
    const { rooflinePicture } = await import("./pictures/roofline_picture.ts");
    picture.write(rooflinePicture({ ...peaks, kernels: [{ name, report }] }));
  }
  printResult(
    invocation,
    figuresOf(kernel, peaks, report),
    () => describe(kernel, peaks, report),
  );
}

/** The command. */
export const ROOFLINE: Command = {
  name: "roofline",
  summary: "what bounds a kernel, and how much of the device's peak it reaches",
  help: `gridstride roofline --bytes N --operations N [--milliseconds N] [options]

Says by how many operations a kernel does for each byte whether memory or arithmetic bounds it, what
it can reach at most, and how much of that it does. A kernel that reaches 60 % of neither is bounded
by latency. Peaks are those of data sheets.

  --bytes N           bytes that the kernel moves from and to memory, such as 1.5e9
  --operations N      operations that it does; a multiply-add is two
  --milliseconds N    what it takes
  --precision NAME    float64, float32, float16, bfloat16, int32 or int8; float32 by default
  --tensor-cores      tensor cores do it: float64, tfloat32, float16, bfloat16, int8, float8, float4
  --device DEVICE     the device: cuda, cuda:N, host or host:N; of those of the host the GPU that
                      each stands for
  --capability 9.0    instead of a device a GPU of that compute capability
  --bandwidth N       a peak of memory to use instead, in bytes per second, such as that of a copy
  --throughput N      a peak of arithmetic to use instead, in operations per second
  --picture FILE      draws the roofs and the kernel, as .svg or .html
  --name TEXT         what the kernel is called there

With --json: { subject, precision, bandwidth, throughput, intensity, ridge, attainable,
millisecondsAtRoof, milliseconds, achieved, achievedBandwidth, bound, share, sentence }; rates per
second. Intensity is null where no byte is moved; what was not measured is null.
Exit code 1 when a peak is not known, or the picture cannot be written.`,
  options: {
    values: [
      "bytes",
      "operations",
      "milliseconds",
      "precision",
      "capability",
      "bandwidth",
      "throughput",
      "picture",
      "name",
    ],
    flags: ["tensor-cores"],
  },
  async run(invocation) {
    try {
      await run(invocation);
      return EXIT.done;
    } catch (error) {
      if (!(error instanceof FileProblem)) throw error;
      console.error(error.message);
      return EXIT.failed;
    }
  },
};
