/**
 * What a build is asked for and what it reports.
 *
 * @module
 */

import type { LibraryKind } from "../build_record.ts";
import type { EnvironmentReader } from "../granted_environment.ts";
import type { LineWriter } from "./progress.ts";

/** What to build and how; everything has a default. */
export interface BuildOptions {
  /**
   * Which library. `all`, the default, builds the host library, and the CUDA library where there
   * is an nvcc; `cuda` fails where there is none.
   */
  readonly target?: LibraryKind | "all";
  /** The C++ compiler: a name on `PATH` or a path. Default: `CXX`, else g++, clang++ or c++. */
  readonly compiler?: string;
  /**
   * GPU architectures, such as `"sm_90"`, `"9.0,8.0"` or `"native"`. Default: `CUDA_ARCH`, else the
   * GPUs of this machine, else 8.0, 9.0 and PTX.
   */
  readonly architectures?: string;
  /** Build for every architecture a release supports, unless some are named. Default: false. */
  readonly release?: boolean;
  /** Where the libraries go. Default: `build/` in a checkout, else the user cache. */
  readonly output?: string;
  /** Compile everything again. Default: false. */
  readonly force?: boolean;
  /** How many sources are compiled at a time. Default: the number of processors. */
  readonly jobs?: number;
  /** Make every compiler warning an error. Default: false. */
  readonly warningsAsErrors?: boolean;
  /** Compile for a debugger instead of for speed. Default: false. */
  readonly debug?: boolean;
  /** Reads environment variables. Default: those of the process. */
  readonly environment?: EnvironmentReader;
  /** Takes the lines that say how far the build is. Default: nothing is written. */
  readonly progress?: LineWriter;
  /** Takes compiler warnings and what was decided on the way. Default: nothing is written. */
  readonly warnings?: LineWriter;
}

/** A library that a build made or found up to date. */
export interface BuiltLibrary {
  /** Which of the two. */
  readonly kind: LibraryKind;
  /** The file. */
  readonly path: string;
  /** Whether it was there already, built from the same sources in the same way. */
  readonly upToDate: boolean;
  /** How many sources were compiled. */
  readonly compiled: number;
  /** How many objects of earlier builds were used. */
  readonly reused: number;
  /** How long it took, in seconds. */
  readonly seconds: number;
  /** The compiler and its version. */
  readonly compiler: string;
  /** What the library holds code for. */
  readonly architectures: string;
  /** A digest of its sources. */
  readonly sourceHash: string;
  /** The compiler flags. */
  readonly flags: string;
}

/** A library that a build did not make. */
export interface SkippedLibrary {
  /** Which of the two. */
  readonly kind: LibraryKind;
  /** Why not. */
  readonly reason: string;
}

/** What a build did. */
export interface BuildReport {
  /** The directory the libraries are in. */
  readonly directory: string;
  /** Whether libraries are looked for in that directory without being told to. */
  readonly found: boolean;
  /** What was built, or was up to date. */
  readonly libraries: readonly BuiltLibrary[];
  /** What was not built. */
  readonly skipped: readonly SkippedLibrary[];
}
