/**
 * The results of NVRTC as statuses of `csrc/gridstride.h`, as of CUDA 13.0.
 *
 * @module
 */

import type { ErrorCodeTable } from "./error_code_row.ts";

const REPORT = "This is a defect of Gridstride: report it with the source that caused it.";
const WITHOUT_FILES = "Leave out the option that has the compiler write files.";

/** The codes: -1000 minus the result. */
export const NVRTC_ERROR_CODES: ErrorCodeTable = {
  [-1001]: [
    "NVRTC_ERROR_OUT_OF_MEMORY",
    "The compiler has no memory left.",
    "Free memory of this machine, or compile less at a time.",
  ],
  [-1002]: [
    "NVRTC_ERROR_PROGRAM_CREATION_FAILURE",
    "The compiler cannot take the program.",
    "Compile it again; if it fails alone too, use another version of NVRTC.",
  ],
  [-1003]: ["NVRTC_ERROR_INVALID_INPUT", "The compiler refuses an argument.", REPORT],
  [-1004]: ["NVRTC_ERROR_INVALID_PROGRAM", "The compiler has no such program.", REPORT],
  [-1005]: [
    "NVRTC_ERROR_INVALID_OPTION",
    "The compiler does not know an option.",
    "Compare the options with the documentation of this version of NVRTC.",
  ],
  [-1006]: [
    "NVRTC_ERROR_COMPILATION",
    "The source does not compile.",
    "Correct what the compiler says about it.",
  ],
  [-1007]: [
    "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE",
    "The compiler cannot use its library of builtins.",
    "Install libnvrtc-builtins of the same version beside libnvrtc.",
  ],
  [-1008]: [
    "NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION",
    "A name expression came after the compilation.",
    REPORT,
  ],
  [-1009]: [
    "NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
    "A lowered name was asked for before the compilation.",
    REPORT,
  ],
  [-1010]: [
    "NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID",
    "A name expression names no kernel or variable of the program.",
    "Name kernels as C++ does, with their namespaces and template arguments.",
  ],
  [-1011]: [
    "NVRTC_ERROR_INTERNAL_ERROR",
    "Something went wrong inside the compiler.",
    "Use another version of NVRTC, or change the part of the source that it stumbles over.",
  ],
  [-1012]: [
    "NVRTC_ERROR_TIME_FILE_WRITE_FAILED",
    "The compiler cannot write the file of its timings.",
    WITHOUT_FILES,
  ],
  [-1013]: [
    "NVRTC_ERROR_NO_PCH_CREATE_ATTEMPTED",
    "No precompiled header was to be made.",
    WITHOUT_FILES,
  ],
  [-1014]: [
    "NVRTC_ERROR_PCH_CREATE_HEAP_EXHAUSTED",
    "The compiler has no room left for precompiled headers.",
    WITHOUT_FILES,
  ],
  [-1015]: [
    "NVRTC_ERROR_PCH_CREATE",
    "The compiler cannot make a precompiled header.",
    WITHOUT_FILES,
  ],
  [-1016]: [
    "NVRTC_ERROR_CANCELLED",
    "The compilation was cancelled.",
    "Compile again.",
  ],
  [-1017]: [
    "NVRTC_ERROR_TIME_TRACE_FILE_WRITE_FAILED",
    "The compiler cannot write the file of its trace.",
    WITHOUT_FILES,
  ],
};
