/**
 * `gridstride roofline`: compares a kernel with the peak rates of a device.
 *
 * @module
 */

import { capabilityLimits, openDevice, peakThroughput } from "../../mod.ts";
import { roofline } from "../lab/analysis/mod.ts";
import {
  type Command,
  FileProblem,
  type Invocation,
  labelOf,
  printResult,
  UsageError,
} from "./command.ts";
import { formatNumber, formatRate, textTable, wrapText } from "./format.ts";
import { refuseOption, requireNotBoth, textOption } from "./options.ts";
import { pictureFile } from "./picture_file.ts";
import type { NamedPeak } from "./pictures/roofline_picture.ts";

/** Numbers beyond all devices, which the picture could not show. */
const MIN_NUMBER = 1e-30;
const MAX_NUMBER = 1e30;

/** A number: `0`, `1.5e9`. */
function numberOption(invocation: Invocation, name: string, allowsZero = false) {
  const text = textOption(invocation, name);
  if (text === undefined) return undefined;
  const value = /^(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text) ? Number(text) : NaN;
  if (value >= MIN_NUMBER && value <= MAX_NUMBER || allowsZero && value === 0) return value;
  const range = `${allowsZero ? "0 or " : ""}in ${MIN_NUMBER}..${MAX_NUMBER}`;
  return refuseOption(name, `a number such as 1.5e9, ${range}`, text);
}

/** The GPU that represents a compute capability. */
function capabilitySubject(capability: string) {
  const { representative, source } = capabilityLimits(capability);
  const { memoryClockMegahertz, memoryBusWidth, name } = representative;
  const peaks = peakThroughput({
    ...representative,
    computeCapability: capability,
    peakBandwidth: memoryClockMegahertz * 1e6 * 2 * memoryBusWidth / 8,
  });
  const unknown = source === capability ? "" : `, which is unknown: figures of ${source}`;
  return { fake: false, subject: `${name}, compute capability ${capability}${unknown}`, peaks };
}

function subjectOf(invocation: Invocation) {
  const capability = textOption(invocation, "capability");
  if (capability !== undefined) {
    if (invocation.device !== undefined) requireNotBoth("roofline", "capability", "device");
    return capabilitySubject(capability);
  }
  using device = openDevice(invocation.device);
  const { info } = device;
  const label = labelOf(device);
  const { fake } = info;
  if (info.kind === "cuda") {
    return { fake, subject: `${label}, ${info.name}`, peaks: peakThroughput(info) };
  }
  // A host device has no GPU clock.
  const { subject, peaks } = capabilitySubject(info.computeCapability);
  return { fake, subject: `${label} as ${subject}`, peaks };
}

/** Precisions that the picture compares with the chosen one. */
const COMPARED = [
  ...["float64", "float32", "tfloat32 tensor cores", "float16 tensor cores"],
  ...["float8 tensor cores", "float4 tensor cores"],
];

/** The chosen peaks of memory and arithmetic, and further ones to compare with. */
function rooflinePeaks(invocation: Invocation) {
  const typed = {
    bandwidth: numberOption(invocation, "bandwidth"),
    throughput: numberOption(invocation, "throughput"),
  };
  const { subject, fake, peaks } = subjectOf(invocation);
  const usesTensorCores = invocation.options["tensor-cores"] === true;
  const table: Readonly<Record<string, number | null>> = usesTensorCores
    ? peaks.tensorOperations
    : peaks.operations;
  const precision = textOption(invocation, "precision") ??
    (usesTensorCores ? "float16" : "float32");
  if (!Object.hasOwn(table, precision)) {
    const option = usesTensorCores ? " with --tensor-cores" : "";
    refuseOption("precision", `one of ${Object.keys(table).join(", ")}${option}`, precision);
  }
  const name = usesTensorCores ? `${precision} tensor cores` : precision;
  const bandwidth = typed.bandwidth ?? peaks.bandwidth;
  const throughput = typed.throughput ?? table[precision]!;
  if (bandwidth === null || throughput === null) {
    const [rate, option] = bandwidth === null ? ["bandwidth", "bandwidth"] : [name, "throughput"];
    throw new FileProblem(
      `Cannot run gridstride roofline as the peak of ${rate} of ${subject} is unknown: give it by --${option}`,
    );
  }
  const others = [
    ...Object.entries<number | null>(peaks.operations),
    ...Object.entries<number | null>(peaks.tensorOperations)
      .map(([format, peak]) => [`${format} tensor cores`, peak] as const),
  ].flatMap(([other, peak]): NamedPeak[] =>
    peak !== null && other !== name && COMPARED.includes(other) ? [{ name: other, peak }] : []
  );
  return {
    subject,
    fake,
    memory: { name: "memory", peak: bandwidth },
    compute: { name, peak: throughput },
    others,
  };
}

async function run(invocation: Invocation): Promise<void> {
  const writePicture = pictureFile(invocation);
  const bytes = numberOption(invocation, "bytes", true);
  const operations = numberOption(invocation, "operations", true);
  if (bytes === undefined || operations === undefined) {
    const option = bytes === undefined ? "bytes" : "operations";
    throw new UsageError(`Cannot run gridstride roofline as --${option} is missing`);
  }
  if (bytes === 0 && operations === 0) {
    throw new UsageError("Cannot run gridstride roofline as --bytes and --operations are both 0");
  }
  const milliseconds = numberOption(invocation, "milliseconds");
  const name = textOption(invocation, "name") ?? "kernel";
  const peaks = rooflinePeaks(invocation);
  const { memory, compute, subject, fake } = peaks;
  const report = roofline({
    bytes,
    operations,
    bandwidth: memory.peak,
    throughput: compute.peak,
    ...(milliseconds === undefined ? {} : { seconds: milliseconds / 1000 }),
  });
  if (writePicture !== undefined) {
    const { rooflinePicture } = await import("./pictures/roofline_picture.ts");
    await writePicture(rooflinePicture({ ...peaks, kernel: { name, report } }));
  }
  const { intensity, ridge, attainable, secondsAtRoof, bound } = report;
  const { achieved, achievedBandwidth, share, sentence } = report;
  const figures = {
    ...{ subject, fake, precision: compute.name, bandwidth: memory.peak, throughput: compute.peak },
    intensity: intensity === Infinity ? null : intensity,
    ...{ ridge, attainable, millisecondsAtRoof: 1000 * secondsAtRoof },
    ...{ milliseconds: milliseconds ?? null, achieved, achievedBandwidth, bound, share, sentence },
  };
  printResult(invocation, figures, () => {
    const rate = (value: number | null, unit: "B/s" | "OP/s") =>
      value === null ? "–" : formatRate(value, unit);
    const table = textTable(["", "peak", name], [
      ["memory", formatRate(memory.peak, "B/s"), rate(achievedBandwidth, "B/s")],
      [compute.name, formatRate(compute.peak, "OP/s"), rate(achieved, "OP/s")],
      ["operations per byte", formatNumber(ridge), formatNumber(intensity)],
      [
        "milliseconds",
        formatNumber(1000 * secondsAtRoof),
        milliseconds === undefined ? "–" : formatNumber(milliseconds),
      ],
      ["bound by", bound, share === null ? "–" : `${formatNumber(100 * share)} % of the peak`],
    ], "<>>");
    return `${subject}\n\n${table}\n\n${wrapText(sentence)}`;
  });
}

export const ROOFLINE: Command = {
  name: "roofline",
  summary: "find out whether memory or arithmetic limits a kernel",
  description: `Compares a kernel with the roofline of a device. The number of operations per byte
determines whether memory or arithmetic limits the kernel, and its shortest possible time. A
kernel that reaches less than 60 % of both peaks is limited by latency. The peaks are those of
data sheets.`,
  options: {
    "--bytes <N>": "bytes that the kernel transfers from and to memory, such as 1.5e9",
    "--operations <N>": "operations of the kernel; a multiply-add counts as two",
    "--milliseconds <N>": "measured time of the kernel",
    "--precision <NAME>": "float64, float32, float16, bfloat16, int32 or int8; float32 by default",
    "--tensor-cores": "use the peak of tensor cores; also for tfloat32, float8 and float4",
    "--device <DEVICE>": "as in other commands; a host device stands for a GPU",
    "--capability <9.0>": "use a GPU of this compute capability instead of the device",
    "--bandwidth <N>": "use this peak of memory in bytes per second, such as that of a copy",
    "--throughput <N>": "use this peak of arithmetic in operations per second",
    "--picture <FILE>": "draw the roofline to an .svg or .html file",
    "--name <TEXT>": "name of the kernel in the table and the picture",
  },
  details: `With --json: { subject, fake, precision, bandwidth, throughput, intensity, ridge,
attainable, millisecondsAtRoof, milliseconds, achieved, achievedBandwidth, bound, share, sentence
} with rates per second. The intensity is null if no bytes are transferred. Without --milliseconds
the measured figures are null.

Exit code 1 if a peak is unknown, or if the picture cannot be written.`,
  run,
};
