/**
 * What `nvidia-smi` says of the GPU.
 *
 * @module
 */

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

/** Clocks and power while something ran, one value per second. */
export interface LoadSamples {
  /** Megahertz of the multiprocessors. */
  readonly sm: readonly number[];
  /** Megahertz of the memory. */
  readonly memory: readonly number[];
  /** Watts. */
  readonly power: readonly number[];
}

/** Prints what {@linkcode readLoadSamples} reads, once a second until it is ended. */
export const WATCH_LOAD: readonly string[] = [
  "nvidia-smi",
  "--query-gpu=clocks.sm,clocks.mem,power.draw",
  "--format=csv,noheader,nounits",
  "--loop=1",
];

/** Reads the lines of nvidia-smi that are whole and about its first GPU. */
export function readLoadSamples(csv: string): LoadSamples {
  const lines = csv.split("\n").map((line) => line.split(",").map(Number))
    .filter((values) => values.length === 3 && values.every(Number.isFinite));
  const column = (index: number) => lines.map((values) => values[index]!);
  return { sm: column(0), memory: column(1), power: column(2) };
}
