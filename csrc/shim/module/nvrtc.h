// NVRTC, the library that compiles CUDA C++ at run time: opened on request, from where the caller
// has found it, and never closed.
#ifndef GRIDSTRIDE_NVRTC_H
#define GRIDSTRIDE_NVRTC_H

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "shim/call.h"
#include "shim/handle_table.h"

namespace gridstride {

// The declarations of nvrtc.h that are needed; this builds without the toolkit.
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

// ---- programs ----------------------------------------------------------------------------------

struct NvrtcProgramCounts {
  int32_t options;
  int32_t headers;
  int32_t expressions;
};

class NvrtcProgram {
 public:
  // The texts as gs_nvrtc_create has them.
  NvrtcProgram(const char* texts, size_t bytes, const NvrtcProgramCounts& counts);
  NvrtcProgram(const NvrtcProgram&) = delete;
  NvrtcProgram& operator=(const NvrtcProgram&) = delete;

  // Compiles where that has not been done yet, and fails as the compilation did.
  void compile();

  // An output of the compilation, without the NUL at the end of texts; fails with
  // GS_ERROR_NOT_FOUND before the compilation, and for an output that it does not have.
  const std::string& output(int32_t kind) const;
  const std::string& lowered_name(int32_t expression) const;

 private:
  void compile_with(const NvrtcTable& nvrtc);

  std::string texts_;
  const char* source_ = nullptr;
  const char* name_ = nullptr;
  std::vector<const char*> options_;
  std::vector<const char*> header_names_;
  std::vector<const char*> headers_;
  std::vector<const char*> expressions_;

  std::mutex compiling_;
  // The rest is written by the one compilation, and read by others once this is true.
  std::atomic<bool> is_compiled_{false};
  Failure failure_;
  std::string log_;
  std::string ptx_;
  std::string cubin_;
  std::vector<std::string> lowered_names_;
};

// What a handle stands for.
struct HeldNvrtcProgram {
  NvrtcProgram* program = nullptr;

  void end() const { delete program; }
};

extern HandleTable<HeldNvrtcProgram> nvrtc_programs;

}  // namespace gridstride

#endif
