// The results of NVRTC up to CUDA 13.0: their names, and what they mean, for which NVRTC itself has
// no more than the name.
#ifndef GRIDSTRIDE_NVRTC_STATUS_H
#define GRIDSTRIDE_NVRTC_STATUS_H

#include "shim/status_table.h"

namespace gridstride {

#define GS_NVRTC_STATUS(result, name, text) {GS_ERROR_NVRTC(result), #name, text}
constexpr StatusText nvrtc_statuses[] = {
    GS_NVRTC_STATUS(1, NVRTC_ERROR_OUT_OF_MEMORY, "the compiler has no memory left"),
    GS_NVRTC_STATUS(2, NVRTC_ERROR_PROGRAM_CREATION_FAILURE, "the compiler cannot take a program"),
    GS_NVRTC_STATUS(3, NVRTC_ERROR_INVALID_INPUT, "the compiler refuses an argument"),
    GS_NVRTC_STATUS(4, NVRTC_ERROR_INVALID_PROGRAM, "the compiler has no such program"),
    GS_NVRTC_STATUS(5, NVRTC_ERROR_INVALID_OPTION, "the compiler does not know an option"),
    GS_NVRTC_STATUS(6, NVRTC_ERROR_COMPILATION, "the source does not compile"),
    GS_NVRTC_STATUS(7, NVRTC_ERROR_BUILTIN_OPERATION_FAILURE,
                    "the compiler cannot use its library of builtins"),
    GS_NVRTC_STATUS(8, NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION,
                    "a name expression came after the compilation"),
    GS_NVRTC_STATUS(9, NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION,
                    "a lowered name was asked for before the compilation"),
    GS_NVRTC_STATUS(10, NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID,
                    "a name expression names no kernel or variable of the program"),
    GS_NVRTC_STATUS(11, NVRTC_ERROR_INTERNAL_ERROR, "a defect of the compiler"),
    GS_NVRTC_STATUS(12, NVRTC_ERROR_TIME_FILE_WRITE_FAILED,
                    "the compiler cannot write the file of its timings"),
    GS_NVRTC_STATUS(13, NVRTC_ERROR_NO_PCH_CREATE_ATTEMPTED,
                    "no precompiled header was to be made"),
    GS_NVRTC_STATUS(14, NVRTC_ERROR_PCH_CREATE_HEAP_EXHAUSTED,
                    "there is no room left for precompiled headers"),
    GS_NVRTC_STATUS(15, NVRTC_ERROR_PCH_CREATE, "a precompiled header cannot be made"),
    GS_NVRTC_STATUS(16, NVRTC_ERROR_CANCELLED, "the compilation was cancelled"),
    GS_NVRTC_STATUS(17, NVRTC_ERROR_TIME_TRACE_FILE_WRITE_FAILED,
                    "the compiler cannot write the file of its trace"),
};
#undef GS_NVRTC_STATUS

}  // namespace gridstride

#endif
