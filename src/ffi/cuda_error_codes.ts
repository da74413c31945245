/**
 * What every status means and what to do about it: the CUDA runtime's codes as of CUDA 13.0, and
 * the negative codes of `csrc/gridstride.h`, NVRTC's among them.
 *
 * @module
 */

import { EXECUTION_ERROR_CODES } from "./cuda_error_codes_execution.ts";
import { MODULE_ERROR_CODES } from "./cuda_error_codes_module.ts";
import { USAGE_ERROR_CODES } from "./cuda_error_codes_usage.ts";
import type { ErrorCodeTable } from "./error_code_row.ts";
import { GRIDSTRIDE_ERROR_CODES } from "./gridstride_error_codes.ts";
import { NVRTC_ERROR_CODES } from "./nvrtc_error_codes.ts";

/** One status. */
export interface CudaErrorCode {
  /** Its number: positive from CUDA, negative from Gridstride. */
  readonly code: number;
  /** Its constant, such as `"cudaErrorMemoryAllocation"`. */
  readonly name: string;
  /** What it means, in one sentence. */
  readonly meaning: string;
  /** What to do, in one or more sentences. */
  readonly advice: string;
  /** True if every later call on the device fails with it until the process ends. */
  readonly sticky: boolean;
}

/**
 * The codes after which a context is lost. The CUDA documentation says of all but two that the
 * process must end; an uncorrectable memory (214) or NVLink (220) error leaves no usable context
 * either.
 */
const STICKY: ReadonlySet<number> = new Set([
  214,
  220,
  226,
  700,
  702,
  710,
  714,
  715,
  716,
  717,
  718,
  719,
  721,
  810,
  911,
]);

function entries(table: ErrorCodeTable): [number, CudaErrorCode][] {
  return Object.entries(table).map(([key, [name, meaning, advice]]) => {
    const code = Number(key);
    return [code, { code, name, meaning, advice, sticky: STICKY.has(code) }];
  });
}

/** All statuses by number: CUDA's 135, those of Gridstride and of NVRTC. */
export const CUDA_ERROR_CODES: ReadonlyMap<number, CudaErrorCode> = new Map(
  [
    USAGE_ERROR_CODES,
    MODULE_ERROR_CODES,
    EXECUTION_ERROR_CODES,
    GRIDSTRIDE_ERROR_CODES,
    NVRTC_ERROR_CODES,
  ].flatMap(entries)
    .sort(([a], [b]) => a - b),
);

/**
 * What a status means. A status that is not in the table, from a newer CUDA, gets a name made of
 * its number.
 *
 * @param code A status as the library returns it.
 */
export function cudaErrorCode(code: number): CudaErrorCode {
  return CUDA_ERROR_CODES.get(code) ?? {
    code,
    name: code > 0 ? "unknown CUDA error" : "unknown Gridstride error",
    meaning: "The code is newer than this version of Gridstride.",
    advice: "Look the number up under cudaError in the CUDA runtime's documentation.",
    sticky: false,
  };
}
