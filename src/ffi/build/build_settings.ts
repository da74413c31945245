/**
 * What a build does: its options with their defaults, read and checked.
 *
 * @module
 */

import { type ArchitectureRequest, parseArchitectures } from "./architectures.ts";
import { BuildError } from "./build_error.ts";
import type { BuildOptions } from "./build_options.ts";

/** The options with their defaults, and what was read from them. */
export interface BuildSettings
  extends Required<Omit<BuildOptions, "compiler" | "architectures" | "output">> {
  /** The C++ compiler asked for. */
  readonly compiler: string | undefined;
  /** The directory asked for. */
  readonly output: string | undefined;
  /** The architectures asked for. */
  readonly architectures: ArchitectureRequest | undefined;
  /** The option or variable that the architectures come from. */
  readonly architectureSource: string;
}

/**
 * Reads the options, and the environment where they leave something open.
 *
 * @throws {BuildError} If one of them cannot be read.
 */
export function readSettings(options: BuildOptions): BuildSettings {
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
