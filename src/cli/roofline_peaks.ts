/**
 * The roofs that `gridstride roofline` compares with: of a device, of a compute capability, or typed.
 *
 * @module
 */

import {
  capabilityLimits,
  type DeviceSpeed,
  openDevice,
  type PeakThroughput,
  peakThroughput,
} from "../../mod.ts";
import { type Invocation, UsageError } from "./command.ts";
import { FileProblem } from "./file_problem.ts";
import { textOption } from "./run_options.ts";

/** A roof by its name. */
export interface NamedPeak {
  /** What it is of. */
  readonly name: string;
  /** Operations per second; of memory bytes per second. */
  readonly peak: number;
}

/** The roofs over a kernel. */
export interface RooflinePeaks {
  /** What they are of. */
  readonly subject: string;
  /** Memory's. */
  readonly memory: NamedPeak;
  /** That of the precision that was asked for. */
  readonly compute: NamedPeak;
  /** Those of other precisions. */
  readonly others: readonly NamedPeak[];
}

/** Peaks that were typed. */
export interface TypedPeaks {
  /** Bytes per second. */
  readonly bandwidth: number | undefined;
  /** Operations per second. */
  readonly throughput: number | undefined;
}

/** A device or a capability, and its peaks. */
interface Subject {
  readonly subject: string;
  readonly peaks: PeakThroughput;
}

function deviceSubject(invocation: Invocation): Subject {
  using device = openDevice(invocation.device);
  const { info, label } = device;
  if (info.kind === "cuda") {
    return { subject: `${label}, ${info.name}`, peaks: peakThroughput(info) };
  }
  // The clock of a CPU says nothing of a GPU, and a host device has no other.
  const { subject, peaks } = capabilitySubject(info.computeCapability);
  return { subject: `${label} as ${subject}`, peaks };
}

/** The GPU that stands for a compute capability. */
function capabilitySubject(capability: string): Subject {
  try {
    const { representative, source } = capabilityLimits(capability);
    const { memoryClockMegahertz, memoryBusWidth } = representative;
    const speed: DeviceSpeed = {
      ...representative,
      computeCapability: capability,
      peakBandwidth: memoryClockMegahertz * 1e6 * 2 * memoryBusWidth / 8,
    };
    const known = source === capability ? "" : `, which is not known: figures of ${source}`;
    return {
      subject: `${representative.name}, compute capability ${capability}${known}`,
      peaks: peakThroughput(speed),
    };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new UsageError(`Cannot use --capability: ${error.message}`);
  }
}

function subjectOf(invocation: Invocation): Subject {
  const capability = textOption(invocation, "capability");
  if (capability === undefined) return deviceSubject(invocation);
  if (invocation.device === undefined) return capabilitySubject(capability);
  throw new UsageError(
    "Cannot draw a roofline as --capability and --device exclude each other",
  );
}

/** The names of a table of peaks, as they are shown: those of tensor cores say so. */
function named(peaks: PeakThroughput, hasTensorCores: boolean): [string, number | null][] {
  const table = hasTensorCores ? peaks.tensorOperations : peaks.operations;
  return Object.entries<number | null>(table).map(([format, peak]) => [
    hasTensorCores ? `${format} tensor cores` : format,
    peak,
  ]);
}

function known(entries: readonly [string, number | null][]): NamedPeak[] {
  return entries.flatMap(([name, peak]) => peak === null ? [] : [{ name, peak }]);
}

/** What a picture compares with: floating-point arithmetic of threads, and by tensor cores. */
const COMPARED = ["float64", "float32", "tfloat32 tensor cores", "float16 tensor cores"];
const COMPARED_NARROW = ["float8 tensor cores", "float4 tensor cores"];

/** The precision that was asked for, checked. */
function precisionOf(invocation: Invocation, peaks: PeakThroughput): string {
  const hasTensorCores = invocation.options["tensor-cores"] === true;
  const table = hasTensorCores ? peaks.tensorOperations : peaks.operations;
  const precision = textOption(invocation, "precision") ?? (hasTensorCores ? "float16" : "float32");
  const names = Object.keys(table);
  if (names.includes(precision)) return hasTensorCores ? `${precision} tensor cores` : precision;
  throw new UsageError(
    `Cannot use --precision as it must be one of ${names.join(", ")}${
      hasTensorCores ? " with --tensor-cores" : ""
    }: it is "${precision}"`,
  );
}

/**
 * The roofs that were asked for.
 *
 * @throws {UsageError} If there is no such capability or precision.
 * @throws {FileProblem} If a peak is not known and was not typed.
 */
export function rooflinePeaks(invocation: Invocation, typed: TypedPeaks): RooflinePeaks {
  const { subject, peaks } = subjectOf(invocation);
  const name = precisionOf(invocation, peaks);
  const all = [...named(peaks, false), ...named(peaks, true)];
  const bandwidth = typed.bandwidth ?? peaks.bandwidth;
  const throughput = typed.throughput ?? all.find(([other]) => other === name)![1];
  if (bandwidth === null || throughput === null) {
    const [what, option] = bandwidth === null ? ["bandwidth", "bandwidth"] : [name, "throughput"];
    throw new FileProblem(
      `Cannot draw a roofline as the peak of ${what} must be known: ${subject} has or says none; ` +
        `give it by --${option}`,
    );
  }
  return {
    subject,
    memory: { name: "memory", peak: bandwidth },
    compute: { name, peak: throughput },
    others: known(all).filter((other) =>
      other.name !== name && [...COMPARED, ...COMPARED_NARROW].includes(other.name)
    ),
  };
}
