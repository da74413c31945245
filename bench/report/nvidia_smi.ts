/**
 * What `nvidia-smi` says of the GPU.
 *
 * @module
 */

import type { Sample } from "./figure.ts";

/** The GPU that is measured. */
export interface GpuDescription {
  /** Its marketing name. */
  readonly name: string;
  /** Compute capability, such as "9.0". */
  readonly computeCapability: string;
  /** The driver's version. */
  readonly driver: string;
  /** Total memory, as nvidia-smi prints it. */
  readonly memory: string;
  /** The most power it may draw, as nvidia-smi prints it. */
  readonly powerLimit: string;
  /** Clocks before anything ran on it, as nvidia-smi prints them. */
  readonly clocks: {
    /** Of the multiprocessors. */
    readonly sm: string;
    /** Of the memory. */
    readonly memory: string;
    /** The most the multiprocessors can have. */
    readonly smMaximum: string;
  };
}

/** The queried properties, in this order. */
const PROPERTIES = [
  "name",
  "compute_cap",
  "driver_version",
  "memory.total",
  "power.limit",
  "clocks.sm",
  "clocks.mem",
  "clocks.max.sm",
] as const;

/** The command that prints the input of {@linkcode readGpuDescription}. */
export const DESCRIBE_GPU: readonly string[] = [
  "nvidia-smi",
  `--query-gpu=${PROPERTIES.join(",")}`,
  "--format=csv,noheader",
];

/**
 * Reads the first line of what nvidia-smi answers.
 *
 * @throws {Error} If it is not one value for each property.
 */
export function readGpuDescription(csv: string): GpuDescription {
  const values = csv.split("\n", 1)[0]!.split(",").map((value) => value.trim());
  if (values.length !== PROPERTIES.length || values.includes("")) {
    throw new Error(`Cannot read what nvidia-smi says of the GPU: ${JSON.stringify(csv)}`);
  }
  const value = (name: (typeof PROPERTIES)[number]) => values[PROPERTIES.indexOf(name)]!;
  return {
    name: value("name"),
    computeCapability: value("compute_cap"),
    driver: value("driver_version"),
    memory: value("memory.total"),
    powerLimit: value("power.limit"),
    clocks: {
      sm: value("clocks.sm"),
      memory: value("clocks.mem"),
      smMaximum: value("clocks.max.sm"),
    },
  };
}

/** Clocks and power at a time. */
export interface ClockReading {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Megahertz of the multiprocessors. */
  readonly sm: number;
  /** Megahertz of the memory. */
  readonly memory: number;
  /** Watts. */
  readonly power: number;
}

/** Milliseconds between two readings. */
const INTERVAL = 200;

/** Prints what {@linkcode readClocks} reads, until it is ended. */
export const WATCH_CLOCKS: readonly string[] = [
  "nvidia-smi",
  "--query-gpu=timestamp,clocks.sm,clocks.mem,power.draw",
  "--format=csv,noheader,nounits",
  `--loop-ms=${INTERVAL}`,
];

/** A time of this machine, as nvidia-smi prints it: `2030/01/31 23:59:59.123`. */
const TIME = /^(\d+)\/(\d+)\/(\d+) (\d+):(\d+):(\d+)\.(\d+)$/;

/** Reads the lines of nvidia-smi that are whole; others are cut off, or lack a figure. */
export function readClocks(csv: string): ClockReading[] {
  return csv.split("\n").flatMap((line) => {
    const [time = "", ...figures] = line.split(",").map((cell) => cell.trim());
    const [, ...parts] = TIME.exec(time) ?? [];
    const [year, month, day, hour, minute, second, millisecond] = parts.map(Number);
    const [sm, memory, power] = figures.map(Number);
    if (year === undefined || figures.length !== 3 || ![sm, memory, power].every(Number.isFinite)) {
      return [];
    }
    const date = new Date(year, month! - 1, day, hour, minute, second, millisecond);
    return [{ at: date.getTime(), sm: sm!, memory: memory!, power: power! }];
  });
}

/** The least share of the highest clock at which a sample counts. */
const LEAST_CLOCK = 0.95;

/** The time of a sample. */
type Timed = Pick<Sample, "begin" | "end">;

/** The reading nearest to the middle of a sample; undefined if none is near. */
function nearest(
  readings: readonly ClockReading[],
  { begin, end }: Timed,
): ClockReading | undefined {
  const middle = (begin + end) / 2;
  // Readings are in order: the first one after the middle, and the one before it.
  let [low, high] = [0, readings.length];
  while (low < high) {
    const half = (low + high) >> 1;
    if (readings[half]!.at < middle) low = half + 1;
    else high = half;
  }
  const distance = ({ at }: ClockReading) => Math.abs(at - middle);
  const [first] = [readings[low - 1], readings[low]].filter((it) => it !== undefined)
    .toSorted((one, other) => distance(one) - distance(other));
  return first !== undefined && distance(first) <= INTERVAL + (end - begin) / 2 ? first : undefined;
}

/**
 * The highest clock of the multiprocessors while some work ran; undefined if there is no reading of that
 * time.
 */
export function highestClock(
  readings: readonly ClockReading[],
  samples: readonly Timed[],
): number | undefined {
  const clocks = samples.flatMap((sample) => nearest(readings, sample)?.sm ?? []);
  return clocks.length === 0 ? undefined : Math.max(...clocks);
}

/**
 * Drops the samples during which the multiprocessors had less than 95 % of a clock. A sample of which
 * there is no reading counts.
 *
 * @returns The others, and their clocks at least and at most; undefined without readings.
 */
export function dropSlowSamples<S extends Timed>(
  samples: readonly S[],
  readings: readonly ClockReading[],
  highest: number | undefined,
): { readonly samples: S[]; readonly clocks: readonly [number, number] | undefined } {
  const known = samples.map((sample) => [sample, nearest(readings, sample)?.sm] as const)
    .filter(([, clock]) =>
      clock === undefined || highest === undefined || clock >= LEAST_CLOCK * highest
    );
  const clocks = known.flatMap(([, clock]) => clock ?? []);
  return {
    samples: known.map(([sample]) => sample),
    clocks: clocks.length === 0 ? undefined : [Math.min(...clocks), Math.max(...clocks)],
  };
}
