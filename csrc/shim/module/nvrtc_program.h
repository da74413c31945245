// A program for NVRTC: what goes in, copied, and what comes out.
#ifndef GRIDSTRIDE_NVRTC_PROGRAM_H
#define GRIDSTRIDE_NVRTC_PROGRAM_H

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "shim/handle_table.h"
#include "shim/module/nvrtc_library.h"

namespace gridstride {

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

  // What a compilation has left, without the NUL at the end of texts; fails with
  // GS_ERROR_NOT_FOUND before there is any, and for what it did not make.
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
