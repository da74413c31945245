// NVRTC, the library that compiles CUDA C++ at run time: opened on request from a path of the
// caller's, and never closed.
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "shim/call.h"
#include "shim/handle_table.h"
#include "shim/module/module.h"
#include "shim/open_library.h"

namespace gridstride {

namespace {

// The declarations of nvrtc.h that are needed; this builds without the toolkit.
enum class NvrtcResult : int {
  success = 0,
};

using NvrtcHandle = struct NvrtcProgramTag*;
using NvrtcSize = NvrtcResult (*)(NvrtcHandle program, size_t* bytes);
using NvrtcGet = NvrtcResult (*)(NvrtcHandle program, char* output);

#define GS_NVRTC_FUNCTIONS(FUNCTION)                                                             \
  FUNCTION(nvrtcVersion, (int* major, int* minor))                                               \
  FUNCTION(nvrtcGetNumSupportedArchs, (int* count))                                              \
  FUNCTION(nvrtcGetSupportedArchs, (int* architectures))                                         \
  FUNCTION(nvrtcCreateProgram,                                                                   \
           (NvrtcHandle * program, const char* source, const char* name, int header_count,       \
            const char* const* headers, const char* const* header_names))                        \
  FUNCTION(nvrtcDestroyProgram, (NvrtcHandle * program))                                         \
  FUNCTION(nvrtcAddNameExpression, (NvrtcHandle program, const char* expression))                \
  FUNCTION(nvrtcCompileProgram, (NvrtcHandle program, int count, const char* const* options))    \
  FUNCTION(nvrtcGetProgramLogSize, (NvrtcHandle program, size_t* bytes))                         \
  FUNCTION(nvrtcGetProgramLog, (NvrtcHandle program, char* text))                                \
  FUNCTION(nvrtcGetPTXSize, (NvrtcHandle program, size_t* bytes))                                \
  FUNCTION(nvrtcGetPTX, (NvrtcHandle program, char* text))                                       \
  FUNCTION(nvrtcGetCUBINSize, (NvrtcHandle program, size_t* bytes))                              \
  FUNCTION(nvrtcGetCUBIN, (NvrtcHandle program, char* image))                                    \
  FUNCTION(nvrtcGetLoweredName, (NvrtcHandle program, const char* expression, const char** name))

// Newer than the others: absent before CUDA 12.9.
using NvrtcSetFlowCallback = NvrtcResult (*)(NvrtcHandle program, int (*callback)(void*, void*),
                                             void* payload);

struct Nvrtc {
  NvrtcSetFlowCallback nvrtcSetFlowCallback = nullptr;
#define GS_NVRTC_MEMBER(function, parameters) NvrtcResult(*function) parameters = nullptr;
  GS_NVRTC_FUNCTIONS(GS_NVRTC_MEMBER)
#undef GS_NVRTC_MEMBER
};

int32_t status_of(NvrtcResult result) {
  return result == NvrtcResult::success ? 0 : GS_ERROR_NVRTC(static_cast<int32_t>(result));
}

#define GS_NVRTC_CALL(nvrtc, function, ...) \
  call(CallKind::function, [&] { return (nvrtc).function(__VA_ARGS__); })

// ---- the library -------------------------------------------------------------------------------

std::mutex opening;
Nvrtc opened_nvrtc;  // guarded by the mutex until it is published
std::atomic<const Nvrtc*> published_nvrtc{nullptr};

// Fails with GS_ERROR_UNSUPPORTED until NVRTC is open.
const Nvrtc& nvrtc_library() {
  const Nvrtc* nvrtc = published_nvrtc.load(std::memory_order_acquire);
  require(nvrtc != nullptr, GS_ERROR_UNSUPPORTED);
  return *nvrtc;
}

// The oldest version with the headers and functions that sources may use: cuda_fp8.h, C++17 and
// machine code of the GPUs from compute capability 8.9 on.
constexpr int min_major_version = 12;

// NVRTC opens its builtins by name alone, with the first compilation. If a library of that name is
// open already, NVRTC uses it, whatever its path.
int32_t open_nvrtc(const char* builtins_path, const char* path, std::string& problem) {
  OpenLibrary builtins(nullptr, &dlclose);
  if (builtins_path[0] != '\0') {
    builtins = open_library(builtins_path, problem);
    if (builtins == nullptr) return GS_ERROR_NOT_FOUND;
  }
  OpenLibrary library = open_library(path, problem);
  if (library == nullptr) return GS_ERROR_NOT_FOUND;
#define GS_NVRTC_FIND(function, parameters) \
  find_function(library, #function, opened_nvrtc.function, problem);
  GS_NVRTC_FUNCTIONS(GS_NVRTC_FIND)
#undef GS_NVRTC_FIND
  if (!problem.empty()) return GS_ERROR_UNSUPPORTED;
  int major = 0;
  int minor = 0;
  GS_NVRTC_CALL(opened_nvrtc, nvrtcVersion, &major, &minor);
  if (major < min_major_version) {
    problem = "it is NVRTC " + std::to_string(major) + "." + std::to_string(minor) + ", and " +
              std::to_string(min_major_version) + ".0 is the oldest supported version";
    return GS_ERROR_UNSUPPORTED;
  }
  opened_nvrtc.nvrtcSetFlowCallback =
      reinterpret_cast<NvrtcSetFlowCallback>(dlsym(library.get(), "nvrtcSetFlowCallback"));
  // Both stay open until the process ends: compilations may be running then.
  builtins.release();
  library.release();
  published_nvrtc.store(&opened_nvrtc, std::memory_order_release);
  return 0;
}

// ---- programs ----------------------------------------------------------------------------------

// A compiler descends as deep as its source nests, and the process ends with its stack. NVRTC 13.0
// takes some 3 KiB for a pair of parentheses and 8 for an instance of a template; threads of Deno
// have 2 MiB. Pages that are not reached cost only addresses, so the stack is far larger than
// sources need, or as large as the system allows.
constexpr size_t max_stack_bytes = size_t{1} << 30;
constexpr size_t min_stack_bytes = size_t{1} << 23;

bool start_thread(pthread_t& thread, size_t stack_bytes, void* (*run)(void*), void* argument) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  const bool is_started = pthread_attr_setstacksize(&attributes, stack_bytes) == 0 &&
                          pthread_create(&thread, &attributes, run, argument) == 0;
  pthread_attr_destroy(&attributes);
  return is_started;
}

// Runs the body in a thread of its own, waits for its end, and rethrows its exception.
template <class Body>
void on_large_stack(const Body& body) {
  struct StackedCall {
    const Body& body;
    std::exception_ptr exception;
  } stacked{body, nullptr};
  const auto run = [](void* argument) -> void* {
    StackedCall& self = *static_cast<StackedCall*>(argument);
    try {
      self.body();
    } catch (...) {
      self.exception = std::current_exception();
    }
    return nullptr;
  };
  pthread_t thread;
  size_t bytes = max_stack_bytes;
  while (!start_thread(thread, bytes, run, &stacked)) {
    bytes /= 2;
    require(bytes >= min_stack_bytes, GS_ERROR_SYSTEM);
  }
  pthread_join(thread, nullptr);
  if (stacked.exception) std::rethrow_exception(stacked.exception);
}

// The results of a compilation, without the NUL at the end of texts.
struct CompiledProgram {
  std::string log;
  std::string ptx;
  std::string cubin;  // empty for a virtual architecture
  std::vector<std::string> lowered_names;
};

// The input of a compilation, copied, and its results. NVRTC's own program lives only as long as
// the compilation: later readers do not enter NVRTC.
class NvrtcProgram {
 public:
  // The texts as gs_nvrtc_create takes them.
  NvrtcProgram(const char* texts, size_t bytes, int32_t options, int32_t headers,
               int32_t expressions)
      : texts_(texts, bytes) {
    size_t start = 0;
    const auto next = [&] {
      const size_t end = texts_.find('\0', start);
      require(end != std::string::npos, GS_ERROR_ARGUMENT);
      const char* text = texts_.data() + start;
      start = end + 1;
      return text;
    };
    source_ = next();
    name_ = next();
    for (int32_t index = 0; index < options; index++) options_.push_back(next());
    for (int32_t index = 0; index < headers; index++) {
      header_names_.push_back(next());
      headers_.push_back(next());
    }
    for (int32_t index = 0; index < expressions; index++) expressions_.push_back(next());
    require(start == texts_.size(), GS_ERROR_ARGUMENT);
  }
  NvrtcProgram(const NvrtcProgram&) = delete;
  NvrtcProgram& operator=(const NvrtcProgram&) = delete;

  // Compiles once; a later call fails as the compilation did.
  void compile() {
    const Nvrtc& nvrtc = nvrtc_library();
    const std::lock_guard<std::mutex> lock(compiling_);
    if (!is_compiled_.load(std::memory_order_relaxed)) {
      on_large_stack([&] { compile_with(nvrtc); });
      is_compiled_.store(true, std::memory_order_release);
    }
    if (failure_.status != 0) throw failure_;
  }

  void cancel() { is_cancelled_.store(true, std::memory_order_relaxed); }

  // Fails with GS_ERROR_NOT_FOUND before the compilation, and for an output that it does not have.
  const std::string& output(int32_t kind) const {
    const CompiledProgram& compiled = result();
    if (kind == GS_NVRTC_LOG) return compiled.log;
    require(kind == GS_NVRTC_PTX || kind == GS_NVRTC_CUBIN, GS_ERROR_ARGUMENT);
    const std::string& image = kind == GS_NVRTC_PTX ? compiled.ptx : compiled.cubin;
    require(!image.empty(), GS_ERROR_NOT_FOUND);
    return image;
  }

  const std::string& lowered_name(int32_t expression) const {
    const std::vector<std::string>& names = result().lowered_names;
    require(expression >= 0 && static_cast<size_t>(expression) < names.size(), GS_ERROR_NOT_FOUND);
    return names[static_cast<size_t>(expression)];
  }

 private:
  const CompiledProgram& result() const {
    require(is_compiled_.load(std::memory_order_acquire), GS_ERROR_NOT_FOUND);
    return result_;
  }

  void compile_with(const Nvrtc& nvrtc) {
    NvrtcHandle program = nullptr;
    GS_NVRTC_CALL(nvrtc, nvrtcCreateProgram, &program, source_, name_,
                  static_cast<int>(headers_.size()), headers_.data(), header_names_.data());
    int32_t status = 0;
    CompiledProgram compiled;
    try {
      for (const char* expression : expressions_) {
        GS_NVRTC_CALL(nvrtc, nvrtcAddNameExpression, program, expression);
      }
      if (nvrtc.nvrtcSetFlowCallback != nullptr) {
        const auto is_cancelled = [](void* self, void*) -> int {
          return static_cast<NvrtcProgram*>(self)->is_cancelled_.load(std::memory_order_relaxed);
        };
        // Without it the compilation ends later.
        (void)nvrtc.nvrtcSetFlowCallback(program, is_cancelled, this);
      }
      // A source that does not compile is a result with a log.
      status = attempt(CallKind::nvrtcCompileProgram, [&] {
        return nvrtc.nvrtcCompileProgram(program, static_cast<int>(options_.size()),
                                         options_.data());
      });
      compiled = results_of(nvrtc, program, status == 0);
    } catch (...) {
      nvrtc.nvrtcDestroyProgram(&program);
      throw;
    }
    GS_NVRTC_CALL(nvrtc, nvrtcDestroyProgram, &program);
    // Nothing fails from here on: there are all results or none.
    result_ = std::move(compiled);
    if (status != 0) {
      failure_ = Failure{status, static_cast<int32_t>(CallKind::nvrtcCompileProgram), no_device};
    }
  }

  CompiledProgram results_of(const Nvrtc& nvrtc, NvrtcHandle program, bool is_success) const {
    const auto bytes = [&](CallKind size_kind, NvrtcSize size, CallKind kind, NvrtcGet get) {
      size_t count = 0;
      call(size_kind, [&] { return size(program, &count); });
      std::string read(count, '\0');
      if (count > 0) call(kind, [&] { return get(program, read.data()); });
      return read;
    };
    const auto text = [](std::string read) {
      while (!read.empty() && read.back() == '\0') read.pop_back();
      return read;
    };
    CompiledProgram compiled;
    compiled.log = text(bytes(CallKind::nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLogSize,
                              CallKind::nvrtcGetProgramLog, nvrtc.nvrtcGetProgramLog));
    if (!is_success) return compiled;
    compiled.ptx = text(bytes(CallKind::nvrtcGetPTXSize, nvrtc.nvrtcGetPTXSize,
                              CallKind::nvrtcGetPTX, nvrtc.nvrtcGetPTX));
    compiled.cubin = bytes(CallKind::nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBINSize,
                           CallKind::nvrtcGetCUBIN, nvrtc.nvrtcGetCUBIN);
    for (const char* expression : expressions_) {
      const char* name = nullptr;
      GS_NVRTC_CALL(nvrtc, nvrtcGetLoweredName, program, expression, &name);
      compiled.lowered_names.push_back(name);
    }
    return compiled;
  }

  std::string texts_;
  const char* source_ = nullptr;
  const char* name_ = nullptr;
  std::vector<const char*> options_;
  std::vector<const char*> header_names_;
  std::vector<const char*> headers_;
  std::vector<const char*> expressions_;

  std::atomic<bool> is_cancelled_{false};
  std::mutex compiling_;
  // The rest is written by the one compilation, and read by others once this is true.
  std::atomic<bool> is_compiled_{false};
  Failure failure_;
  CompiledProgram result_;
};

struct HeldProgram {
  NvrtcProgram* program = nullptr;

  void end() const { delete program; }
};

HandleTable<HeldProgram> programs;

}  // namespace

int64_t live_nvrtc_programs() { return programs.live(); }

void destroy_programs(int32_t isolate) {
  for (const int32_t handle : programs.handles_of(isolate)) gs_nvrtc_destroy(handle);
}

}  // namespace gridstride

using namespace gridstride;

int32_t gs_nvrtc_open(const char* builtins, const char* library, char* text, int32_t capacity,
                      double* result) {
  return guarded([&] {
    require(builtins != nullptr && library != nullptr && result != nullptr, GS_ERROR_ARGUMENT);
    write_text("", text, capacity);
    const std::lock_guard<std::mutex> lock(opening);
    if (published_nvrtc.load(std::memory_order_relaxed) == nullptr) {
      std::string problem;
      const int32_t status = open_nvrtc(builtins, library, problem);
      write_start(problem, text, capacity);
      require(status == 0, status);
    }
    int major = 0;
    int minor = 0;
    const Nvrtc& nvrtc = nvrtc_library();
    GS_NVRTC_CALL(nvrtc, nvrtcVersion, &major, &minor);
    write_start(library_path(reinterpret_cast<const void*>(nvrtc.nvrtcVersion)), text, capacity);
    result[0] = major;
    result[1] = minor;
  });
}

int32_t gs_nvrtc_architectures(int32_t* architectures, int32_t capacity, double* result) {
  return guarded([&] {
    require(result != nullptr && capacity >= 0, GS_ERROR_ARGUMENT);
    require(architectures != nullptr || capacity == 0, GS_ERROR_ARGUMENT);
    const Nvrtc& nvrtc = nvrtc_library();
    int count = 0;
    GS_NVRTC_CALL(nvrtc, nvrtcGetNumSupportedArchs, &count);
    std::vector<int> all(static_cast<size_t>(count));
    GS_NVRTC_CALL(nvrtc, nvrtcGetSupportedArchs, all.data());
    if (count <= capacity) std::copy(all.begin(), all.end(), architectures);
    result[0] = count;
  });
}

int32_t gs_nvrtc_create(const char* texts, double bytes, int32_t options, int32_t headers,
                        int32_t expressions, double* result) {
  return guarded([&] {
    require(texts != nullptr && result != nullptr, GS_ERROR_ARGUMENT);
    require(options >= 0 && headers >= 0 && expressions >= 0, GS_ERROR_ARGUMENT);
    const size_t size = static_cast<size_t>(checked_integer(bytes));
    HandleTable<HeldProgram>::Reservation made = programs.reserve();
    made->program = new NvrtcProgram(texts, size, options, headers, expressions);
    result[0] = made.publish();
  });
}

int32_t gs_nvrtc_compile(int32_t program) {
  return guarded([&] { programs.use(program)->program->compile(); });
}

int32_t gs_nvrtc_cancel(int32_t program) {
  return guarded([&] { programs.use(program)->program->cancel(); });
}

int32_t gs_nvrtc_output(int32_t program, int32_t kind, void* output, double capacity,
                        double* result) {
  return guarded([&] {
    require(result != nullptr, GS_ERROR_ARGUMENT);
    const uint64_t room = checked_integer(capacity);
    require(output != nullptr || room == 0, GS_ERROR_ARGUMENT);
    const auto use = programs.use(program);
    const std::string& made = use->program->output(kind);
    if (made.size() <= room && !made.empty()) std::memcpy(output, made.data(), made.size());
    result[0] = static_cast<double>(made.size());
  });
}

int32_t gs_nvrtc_lowered_name(int32_t program, int32_t expression, char* text, int32_t capacity) {
  return guarded([&] {
    const auto use = programs.use(program);
    write_text(use->program->lowered_name(expression), text, capacity);
  });
}

int32_t gs_nvrtc_destroy(int32_t program) {
  return guarded([&] { programs.destroy(program); });
}
