/**
 * A compiler with everything a library is compiled and linked with.
 *
 * @module
 */

import type { LibraryKind } from "../build_record.ts";

/** How one of the two libraries is made. */
export interface Toolchain {
  /** The library. */
  readonly kind: LibraryKind;
  /** The program and its first arguments. */
  readonly command: readonly string[];
  /** The compiler and its version, as the library reports them. */
  readonly compiler: string;
  /** Everything that tells this compiler from another one. */
  readonly identity: string;
  /** What the library holds code for, as it reports it. */
  readonly architectures: string;
  /** The flags that decide what an object file holds, as the library reports them. */
  readonly flags: readonly string[];
  /**
   * The arguments that compile one source.
   *
   * @param source Relative to the folder of `csrc/`, where the compiler runs.
   * @param object The file to write.
   * @param prefix A header to include before the source's first line.
   */
  compileArguments(source: string, object: string, prefix?: string): string[];
  /** The arguments that link objects into a library of this file name. */
  linkArguments(objects: readonly string[], library: string, name: string): string[];
}

/** What the user chose of both toolchains. */
export interface ToolchainOptions {
  /** Compile for a debugger instead of for speed. */
  readonly debug: boolean;
  /** Make every warning an error. */
  readonly warningsAsErrors: boolean;
}
