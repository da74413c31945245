/**
 * What the environment says to C++ compilers besides what it says to us.
 *
 * @module
 */

import type { EnvironmentReader } from "../granted_environment.ts";

/** Variables that have compilers take other programs, options or headers than they would. */
const AMBIENT: readonly string[] = [
  "GCC_EXEC_PREFIX",
  "COMPILER_PATH",
  "CCC_OVERRIDE_OPTIONS",
  "SOURCE_DATE_EPOCH",
  "SDKROOT",
  "MACOSX_DEPLOYMENT_TARGET",
];

/** Those of these variables that are set, as far as they may be read. */
export function ambientSettings(environment: EnvironmentReader): string[] {
  return AMBIENT.flatMap((variable) => {
    const value = environment(variable);
    return value === undefined ? [] : [`${variable}=${value}`];
  });
}

/**
 * Has a compiler search no directories that the environment adds for kernels: the compile cache
 * does not know what is in them.
 */
export const NO_SEARCH_PATHS = { CPATH: "", C_INCLUDE_PATH: "", CPLUS_INCLUDE_PATH: "" } as const;
