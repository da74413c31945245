// Opening NVRTC, and what it tells of itself.
#include "shim/module/nvrtc_library.h"

#include <dlfcn.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include "shim/text.h"

namespace gridstride {

namespace {

std::mutex opening;
NvrtcTable opened_table;  // guarded by the mutex until it is published
std::atomic<const NvrtcTable*> published_table{nullptr};

// A library that is closed again unless all has gone well.
class OpenLibrary {
 public:
  OpenLibrary() = default;
  OpenLibrary(const OpenLibrary&) = delete;
  OpenLibrary& operator=(const OpenLibrary&) = delete;
  ~OpenLibrary() {
    if (handle_ != nullptr) dlclose(handle_);
  }

  // Whether it could be opened; else `problem` is what the loader says.
  bool open(const char* path, std::string& problem) {
    handle_ = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) problem = dlerror();
    return handle_ != nullptr;
  }

  template <class Function>
  bool find(Function& function, const char* name, std::string& problem) const {
    function = reinterpret_cast<Function>(dlsym(handle_, name));
    if (function == nullptr) problem = std::string("it lacks the function ") + name;
    return function != nullptr;
  }

  // It stays open until the process ends: compilations may be running then.
  void keep() { handle_ = nullptr; }

 private:
  void* handle_ = nullptr;
};

bool fill(NvrtcTable& table, const OpenLibrary& library, std::string& problem) {
  return library.find(table.version, "nvrtcVersion", problem) &&
         library.find(table.architecture_count, "nvrtcGetNumSupportedArchs", problem) &&
         library.find(table.architectures, "nvrtcGetSupportedArchs", problem) &&
         library.find(table.create_program, "nvrtcCreateProgram", problem) &&
         library.find(table.destroy_program, "nvrtcDestroyProgram", problem) &&
         library.find(table.add_name_expression, "nvrtcAddNameExpression", problem) &&
         library.find(table.compile_program, "nvrtcCompileProgram", problem) &&
         library.find(table.log_size, "nvrtcGetProgramLogSize", problem) &&
         library.find(table.log, "nvrtcGetProgramLog", problem) &&
         library.find(table.ptx_size, "nvrtcGetPTXSize", problem) &&
         library.find(table.ptx, "nvrtcGetPTX", problem) &&
         library.find(table.cubin_size, "nvrtcGetCUBINSize", problem) &&
         library.find(table.cubin, "nvrtcGetCUBIN", problem) &&
         library.find(table.lowered_name, "nvrtcGetLoweredName", problem);
}

// NVRTC opens its builtins by name alone, with the first compilation; a library of that name which
// is open already is the one it gets, wherever it lies.
int32_t open_library(const char* builtins_path, const char* path, std::string& problem) {
  OpenLibrary builtins;
  OpenLibrary library;
  if (builtins_path[0] != '\0' && !builtins.open(builtins_path, problem)) return GS_ERROR_NOT_FOUND;
  if (!library.open(path, problem)) return GS_ERROR_NOT_FOUND;
  if (!fill(opened_table, library, problem)) return GS_ERROR_UNSUPPORTED;
  builtins.keep();
  library.keep();
  published_table.store(&opened_table, std::memory_order_release);
  return 0;
}

// Where the library that is open lies; a search by name does not tell beforehand.
std::string library_path(const NvrtcTable& table) {
  Dl_info information = {};
  const bool is_known = dladdr(reinterpret_cast<const void*>(table.version), &information) != 0;
  return is_known && information.dli_fname != nullptr ? information.dli_fname : "";
}

// As much of a text as there is room for: it is for people.
void write_start(std::string text, char* out, int32_t capacity) {
  if (text.size() >= static_cast<size_t>(capacity)) text.resize(static_cast<size_t>(capacity) - 1);
  write_text(text, out, capacity);
}

}  // namespace

const NvrtcTable& nvrtc_library() {
  const NvrtcTable* table = published_table.load(std::memory_order_acquire);
  require(table != nullptr, GS_ERROR_UNSUPPORTED);
  return *table;
}

}  // namespace gridstride

using namespace gridstride;

int32_t gs_nvrtc_open(const char* builtins, const char* library, char* text, int32_t capacity,
                      double* result) {
  return guarded([&] {
    require(builtins != nullptr && library != nullptr && result != nullptr, GS_ERROR_ARGUMENT);
    write_text("", text, capacity);
    const std::lock_guard<std::mutex> lock(opening);
    if (published_table.load(std::memory_order_relaxed) == nullptr) {
      std::string problem;
      const int32_t status = open_library(builtins, library, problem);
      write_start(problem, text, capacity);
      require(status == 0, status);
    }
    int major = 0;
    int minor = 0;
    const NvrtcTable& nvrtc = nvrtc_library();
    call(CallKind::nvrtcVersion, [&] { return nvrtc.version(&major, &minor); });
    write_start(library_path(nvrtc), text, capacity);
    result[0] = major;
    result[1] = minor;
  });
}

int32_t gs_nvrtc_architectures(int32_t* architectures, int32_t capacity, double* result) {
  return guarded([&] {
    require(result != nullptr && capacity >= 0, GS_ERROR_ARGUMENT);
    require(architectures != nullptr || capacity == 0, GS_ERROR_ARGUMENT);
    const NvrtcTable& nvrtc = nvrtc_library();
    int count = 0;
    call(CallKind::nvrtcGetNumSupportedArchs, [&] { return nvrtc.architecture_count(&count); });
    std::vector<int> all(static_cast<size_t>(count));
    call(CallKind::nvrtcGetSupportedArchs, [&] { return nvrtc.architectures(all.data()); });
    if (count <= capacity) std::copy(all.begin(), all.end(), architectures);
    result[0] = count;
  });
}
