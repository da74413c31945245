/**
 * The GPU architectures of the CUDA library: their names, the default choice, and nvcc's flags.
 *
 * @module
 */

import { BuildError } from "./build_error.ts";

export interface Architecture {
  /** Ten times the compute capability: 90 for 9.0. */
  readonly number: number;
  /** "a" for code of exactly this architecture's features, "f" for its family's, else "". */
  readonly suffix: "" | "a" | "f";
  /** Code for the driver to compile (PTX) instead of machine code. */
  readonly virtual: boolean;
}

export interface ArchitectureRequest {
  readonly listed: readonly Architecture[];
  /** Whether `native` is among the names. */
  readonly native: boolean;
}

/** The default without a GPU: the commonest, and PTX for others. */
const DEFAULT_NUMBERS: readonly number[] = [80, 90];

const RELEASE_NUMBERS: readonly number[] = [75, 80, 86, 89, 90, 100, 120];

const FORMS = '"sm_90", "90", "9.0", "90a", "compute_90", "native", or a list of them';

/** Parses a list of architectures separated by commas, semicolons or spaces. */
export function parseArchitectures(text: string, source: string): ArchitectureRequest {
  const names = text.trim().split(/\s*[,;]\s*|\s+/);
  if (text.trim() === "") {
    throw new BuildError(`Cannot read ${source} as it must be ${FORMS}: it is empty`, 2);
  }
  const listed: Architecture[] = [];
  let native = false;
  for (const name of names) {
    if (name.toLowerCase() === "native") native = true;
    else listed.push(parseArchitecture(name, text, source));
  }
  return { listed, native };
}

function parseArchitecture(name: string, text: string, source: string): Architecture {
  const match = /^(?:(sm|compute)_)?(?:(\d{2,3})|(\d{1,2})\.(\d))([af]?)$/.exec(name);
  if (match === null) {
    const whole = name === text ? "" : ` in ${JSON.stringify(text)}`;
    throw new BuildError(
      `Cannot read ${source} as it must be ${FORMS}: it is ${JSON.stringify(name)}${whole}`,
      2,
    );
  }
  const [, prefix, digits, major, minor, suffix] = match;
  return {
    number: digits === undefined ? Number(major) * 10 + Number(minor) : Number(digits),
    suffix: suffix as Architecture["suffix"],
    virtual: prefix === "compute",
  };
}

/** nvcc's name of the architecture, such as `sm_90a` or `compute_90`. */
export function architectureName(architecture: Architecture): string {
  const { number, suffix, virtual } = architecture;
  return `${virtual ? "compute" : "sm"}_${number}${suffix}`;
}

export interface ArchitectureContext {
  readonly request: ArchitectureRequest | undefined;
  /** The variable or option of the request, for errors. */
  readonly source: string;
  readonly release: boolean;
  /** The compute capabilities of the GPUs of this machine, times ten. */
  readonly present: readonly number[];
  readonly supported: readonly number[];
  /** The compiler, for errors. */
  readonly compiler: string;
}

/**
 * Chooses the architectures: the named ones, else the GPUs of this machine, else a default; always
 * with PTX of the newest, which newer GPUs can run. The notes are lines for the user.
 */
export function chooseArchitectures(
  context: ArchitectureContext,
): { architectures: Architecture[]; notes: string[] } {
  const { request, source, release, present, supported, compiler } = context;
  const notes: string[] = [];
  const chosen: Architecture[] = [...request?.listed ?? []];
  for (const architecture of chosen) {
    if (supported.includes(architecture.number)) continue;
    throw new BuildError(
      `Cannot build for ${architectureName(architecture)} as ${source} says: ${compiler} ` +
        `compiles for ${supported.join(", ")}`,
      2,
    );
  }
  if (request?.native === true && present.length === 0) {
    throw new BuildError(
      `Cannot build for "native" as ${source} says: nvidia-smi reports no GPU on this machine`,
      2,
    );
  }
  if (request === undefined && (release || present.length === 0)) {
    const wanted = release ? RELEASE_NUMBERS : DEFAULT_NUMBERS;
    for (const number of wanted) {
      if (supported.includes(number)) chosen.push({ number, suffix: "", virtual: false });
      else notes.push(`${compiler} does not compile for sm_${number}: left out`);
    }
  } else if (request === undefined || request.native) {
    chosen.push(...nativeArchitectures(present, supported, compiler, notes));
  }
  return { architectures: withPtx(chosen), notes };
}

function nativeArchitectures(
  present: readonly number[],
  supported: readonly number[],
  compiler: string,
  notes: string[],
): Architecture[] {
  const oldest = Math.min(...supported);
  const newest = Math.max(...supported);
  const chosen: Architecture[] = [];
  for (const number of present) {
    if (supported.includes(number)) {
      chosen.push({ number, suffix: "", virtual: false });
    } else if (number < oldest) {
      throw new BuildError(
        `Cannot build for the GPU of this machine as ${compiler} compiles for compute capability ` +
          `${oldest / 10} and newer: it has ${number / 10}. Install an older CUDA toolkit`,
      );
    } else {
      // Newer than the compiler, or between two architectures: PTX of an older one runs on it.
      const base = Math.max(...supported.filter((candidate) => candidate < number));
      chosen.push({ number: base, suffix: "", virtual: true });
      notes.push(
        `${compiler} (newest: sm_${newest}) does not compile for sm_${number}: ` +
          `PTX for compute_${base} is built instead`,
      );
    }
  }
  return chosen;
}

/** Sorted, each once, and with PTX of the newest architecture that newer GPUs can use. */
function withPtx(chosen: readonly Architecture[]): Architecture[] {
  const portable = chosen.filter(({ suffix }) => suffix === "").map(({ number }) => number);
  const all = [...chosen];
  if (portable.length > 0) all.push({ number: Math.max(...portable), suffix: "", virtual: true });
  const unique = new Map(all.map((entry) => [architectureName(entry), entry]));
  return [...unique.values()].sort((a, b) =>
    Number(a.virtual) - Number(b.virtual) || a.number - b.number || (a.suffix < b.suffix ? -1 : 1)
  );
}

/** The flags that make nvcc compile for the architectures. */
export function architectureFlags(architectures: readonly Architecture[]): string[] {
  return architectures.flatMap((architecture) => {
    const base = `compute_${architecture.number}${architecture.suffix}`;
    return ["-gencode", `arch=${base},code=${architectureName(architecture)}`];
  });
}
