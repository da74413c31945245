// NVRTC, the library that compiles CUDA C++ at run time: opened on request, from where the caller
// has found it, and never closed.
#ifndef GRIDSTRIDE_NVRTC_LIBRARY_H
#define GRIDSTRIDE_NVRTC_LIBRARY_H

#include "shim/call.h"

namespace gridstride {

// What is needed of nvrtc.h; the toolkit need not be there to build this.
enum class NvrtcResult : int {
  success = 0,
};

using NvrtcProgramHandle = struct NvrtcProgramTag*;

struct NvrtcTable {
  NvrtcResult (*version)(int* major, int* minor);
  NvrtcResult (*architecture_count)(int* count);
  NvrtcResult (*architectures)(int* architectures);
  NvrtcResult (*create_program)(NvrtcProgramHandle* program, const char* source, const char* name,
                                int header_count, const char* const* headers,
                                const char* const* header_names);
  NvrtcResult (*destroy_program)(NvrtcProgramHandle* program);
  NvrtcResult (*add_name_expression)(NvrtcProgramHandle program, const char* expression);
  NvrtcResult (*compile_program)(NvrtcProgramHandle program, int option_count,
                                 const char* const* options);
  NvrtcResult (*log_size)(NvrtcProgramHandle program, size_t* bytes);
  NvrtcResult (*log)(NvrtcProgramHandle program, char* text);
  NvrtcResult (*ptx_size)(NvrtcProgramHandle program, size_t* bytes);
  NvrtcResult (*ptx)(NvrtcProgramHandle program, char* text);
  NvrtcResult (*cubin_size)(NvrtcProgramHandle program, size_t* bytes);
  NvrtcResult (*cubin)(NvrtcProgramHandle program, char* image);
  NvrtcResult (*lowered_name)(NvrtcProgramHandle program, const char* expression,
                              const char** name);
};

inline int32_t status_of(NvrtcResult result) {
  return result == NvrtcResult::success ? 0 : GS_ERROR_NVRTC(static_cast<int32_t>(result));
}

// Fails with GS_ERROR_UNSUPPORTED until NVRTC is open.
const NvrtcTable& nvrtc_library();

}  // namespace gridstride

#endif
