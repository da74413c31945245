/**
 * The options and the report of a build.
 *
 * @module
 */

import { requireOptions } from "../arguments.ts";
import type { EnvironmentReader } from "../granted_environment.ts";
import { type ArchitectureRequest, parseArchitectures } from "./architectures.ts";
import { BuildError } from "./build_error.ts";

/**
 * Takes a line, without its end.
 * @category Building
 */
export type LineWriter = (line: string) => void;

/**
 * The options of a build; everything has a default.
 * @category Building
 */
export interface BuildOptions {
  /**
   * The library. `all`, the default, builds the host library, and the CUDA library if there is an
   * nvcc; `cuda` fails if there is none.
   */
  readonly target?: "cuda" | "host" | "all";
  /** The C++ compiler: a name on `PATH` or a path. Default: `CXX`, else g++, clang++ or c++. */
  readonly compiler?: string;
  /**
   * GPU architectures, such as `"sm_90"`, `"9.0,8.0"` or `"native"`. Default: `CUDA_ARCH`, else the
   * GPUs of this machine, else 8.0, 9.0 and PTX.
   */
  readonly architectures?: string;
  /** Build for every architecture a release supports, unless some are named. Default: false. */
  readonly release?: boolean;
  /** The output directory. Default: `build/` in a checkout, else the user cache. */
  readonly output?: string;
  /** Compile everything again. Default: false. */
  readonly force?: boolean;
  /** Sources to compile at a time. Default: the number of processors. */
  readonly jobs?: number;
  /** Make every compiler warning an error. Default: false. */
  readonly warningsAsErrors?: boolean;
  /** Compile for a debugger instead of for speed. Default: false. */
  readonly debug?: boolean;
  /** Reads environment variables. Default: those of the process. */
  readonly environment?: EnvironmentReader;
  /** Takes lines of progress. Default: nothing is written. */
  readonly progress?: LineWriter;
  /** Takes compiler warnings and notes on decisions. Default: nothing is written. */
  readonly warnings?: LineWriter;
}

/**
 * A library that a build made or found up to date.
 * @category Building
 */
export interface BuiltLibrary {
  /** Its kind. */
  readonly kind: "cuda" | "host";
  /** The file. */
  readonly path: string;
  /** Whether it was there already, built from the same sources in the same way. */
  readonly upToDate: boolean;
  /** The number of compiled sources. */
  readonly compiled: number;
  /** The number of reused objects of earlier builds. */
  readonly reused: number;
  /** The duration in seconds. */
  readonly seconds: number;
  /** The compiler and its version. */
  readonly compiler: string;
  /** The architectures of its code. */
  readonly architectures: string;
  /** A digest of its sources. */
  readonly sourceHash: string;
  /** The compiler flags. */
  readonly flags: string;
}

/**
 * A library that a build did not make.
 * @category Building
 */
export interface SkippedLibrary {
  /** Its kind. */
  readonly kind: "cuda" | "host";
  /** The reason. */
  readonly reason: string;
}

/**
 * The result of a build.
 * @category Building
 */
export interface BuildReport {
  /** The directory of the libraries. */
  readonly directory: string;
  /** Whether the package finds libraries in that directory by itself. */
  readonly found: boolean;
  /** The libraries that were built, or were up to date. */
  readonly libraries: readonly BuiltLibrary[];
  /** The libraries that were not built. */
  readonly skipped: readonly SkippedLibrary[];
}

/** The options with their defaults, parsed. */
export interface BuildSettings
  extends Required<Omit<BuildOptions, "compiler" | "architectures" | "output">> {
  readonly compiler: string | undefined;
  readonly output: string | undefined;
  readonly architectures: ArchitectureRequest | undefined;
  readonly architectureSource: string;
}

const NAMES = [
  "target",
  "compiler",
  "architectures",
  "release",
  "output",
  "force",
  "jobs",
  "warningsAsErrors",
  "debug",
  "environment",
  "progress",
  "warnings",
];

/** Reads the options, and the environment for missing ones. */
export function readSettings(options: BuildOptions): BuildSettings {
  requireOptions(options, NAMES, "build the native libraries");
  const environment = options.environment ?? ((name) => Deno.env.get(name));
  const { jobs = navigator.hardwareConcurrency } = options;
  if (!Number.isSafeInteger(jobs) || jobs < 1) {
    throw new BuildError(`Cannot build as jobs must be an integer of 1 or more: it is ${jobs}`, 2);
  }
  const architectureSource = options.architectures === undefined ? "CUDA_ARCH" : "--arch";
  const architectures = options.architectures ?? environment("CUDA_ARCH");
  return {
    target: options.target ?? "all",
    compiler: options.compiler,
    architectures: architectures === undefined
      ? undefined
      : parseArchitectures(architectures, architectureSource),
    architectureSource,
    release: options.release ?? false,
    output: options.output,
    force: options.force ?? false,
    jobs,
    warningsAsErrors: options.warningsAsErrors ?? false,
    debug: options.debug ?? false,
    environment,
    progress: options.progress ?? (() => {}),
    warnings: options.warnings ?? (() => {}),
  };
}
