// NVRTC: opening the library, and compiling programs.
#include "shim/module/nvrtc.h"

#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <mutex>
#include <string>
#include <vector>

#include "shim/guard.h"

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

// The path of the open library, which a search by name does not reveal beforehand.
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

namespace gridstride {

// ---- programs ----------------------------------------------------------------------------------

// A compiler descends as deep as its source nests, and where its stack ends the process does. NVRTC
// 13.0 takes some 3 KiB for a pair of parentheses and 8 for an instance of a template; threads of
// Deno have 2 MiB. Pages that are not reached cost only addresses, so the stack is far larger than
// sources need, or as large as the system allows.
constexpr size_t most_stack_bytes = size_t{1} << 30;
constexpr size_t least_stack_bytes = size_t{1} << 23;

template <class Body>
struct StackedCall {
  const Body& body;
  std::exception_ptr exception;

  static void* run(void* argument) {
    StackedCall& self = *static_cast<StackedCall*>(argument);
    try {
      self.body();
    } catch (...) {
      self.exception = std::current_exception();
    }
    return nullptr;
  }
};

inline bool start_thread(pthread_t& thread, size_t stack_bytes, void* (*run)(void*),
                         void* argument) {
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
  StackedCall<Body> call{body, nullptr};
  pthread_t thread;
  size_t bytes = most_stack_bytes;
  while (!start_thread(thread, bytes, &StackedCall<Body>::run, &call)) {
    bytes /= 2;
    require(bytes >= least_stack_bytes, GS_ERROR_SYSTEM);
  }
  pthread_join(thread, nullptr);
  if (call.exception) std::rethrow_exception(call.exception);
}

HandleTable<HeldNvrtcProgram> nvrtc_programs;

namespace {

// Cuts NUL-terminated texts that lie one behind the other.
class TextReader {
 public:
  explicit TextReader(const std::string& texts) : texts_(texts) {}

  const char* next() {
    const size_t end = texts_.find('\0', start_);
    require(end != std::string::npos, GS_ERROR_ARGUMENT);
    const char* text = texts_.data() + start_;
    start_ = end + 1;
    return text;
  }

  bool is_at_end() const { return start_ == texts_.size(); }

 private:
  const std::string& texts_;
  size_t start_ = 0;
};

// NVRTC's own program. It lives as long as a compilation takes. The results are copied: later
// readers do not enter NVRTC.
class Compilation {
 public:
  explicit Compilation(const NvrtcTable& nvrtc) : nvrtc_(nvrtc) {}
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;
  // Only reached with a program when a step has failed already. The caller gets that failure.
  ~Compilation() {
    if (program_ != nullptr) nvrtc_.destroy_program(&program_);
  }

  void create(const char* source, const char* name, const std::vector<const char*>& headers,
              const std::vector<const char*>& header_names) {
    const int count = static_cast<int>(headers.size());
    call(CallKind::nvrtcCreateProgram, [&] {
      return nvrtc_.create_program(&program_, source, name, count, headers.data(),
                                   header_names.data());
    });
  }

  void add_expression(const char* expression) {
    call(CallKind::nvrtcAddNameExpression,
         [&] { return nvrtc_.add_name_expression(program_, expression); });
  }

  // A source that does not compile is a result with a log.
  int32_t compile(const std::vector<const char*>& options) {
    const int count = static_cast<int>(options.size());
    return attempt(CallKind::nvrtcCompileProgram,
                   [&] { return nvrtc_.compile_program(program_, count, options.data()); });
  }

  std::string log() {
    return text(CallKind::nvrtcGetProgramLogSize, nvrtc_.log_size, CallKind::nvrtcGetProgramLog,
                nvrtc_.log);
  }

  std::string ptx() {
    return text(CallKind::nvrtcGetPTXSize, nvrtc_.ptx_size, CallKind::nvrtcGetPTX, nvrtc_.ptx);
  }

  // Empty for a virtual architecture.
  std::string cubin() {
    return bytes(CallKind::nvrtcGetCUBINSize, nvrtc_.cubin_size, CallKind::nvrtcGetCUBIN,
                 nvrtc_.cubin);
  }

  std::string lowered_name(const char* expression) {
    const char* name = nullptr;
    call(CallKind::nvrtcGetLoweredName,
         [&] { return nvrtc_.lowered_name(program_, expression, &name); });
    return name;
  }

  void destroy() {
    call(CallKind::nvrtcDestroyProgram, [&] { return nvrtc_.destroy_program(&program_); });
    program_ = nullptr;
  }

 private:
  std::string bytes(CallKind size_kind, NvrtcResult (*size)(NvrtcProgramHandle, size_t*),
                    CallKind kind, NvrtcResult (*get)(NvrtcProgramHandle, char*)) {
    size_t count = 0;
    call(size_kind, [&] { return size(program_, &count); });
    std::string read(count, '\0');
    if (count > 0) call(kind, [&] { return get(program_, read.data()); });
    return read;
  }

  std::string text(CallKind size_kind, NvrtcResult (*size)(NvrtcProgramHandle, size_t*),
                   CallKind kind, NvrtcResult (*get)(NvrtcProgramHandle, char*)) {
    std::string read = bytes(size_kind, size, kind, get);
    while (!read.empty() && read.back() == '\0') read.pop_back();
    return read;
  }

  const NvrtcTable& nvrtc_;
  NvrtcProgramHandle program_ = nullptr;
};

}  // namespace

NvrtcProgram::NvrtcProgram(const char* texts, size_t bytes, const NvrtcProgramCounts& counts)
    : texts_(texts, bytes) {
  TextReader reader(texts_);
  source_ = reader.next();
  name_ = reader.next();
  for (int32_t index = 0; index < counts.options; index++) options_.push_back(reader.next());
  for (int32_t index = 0; index < counts.headers; index++) {
    header_names_.push_back(reader.next());
    headers_.push_back(reader.next());
  }
  for (int32_t index = 0; index < counts.expressions; index++) {
    expressions_.push_back(reader.next());
  }
  require(reader.is_at_end(), GS_ERROR_ARGUMENT);
}

void NvrtcProgram::compile() {
  const NvrtcTable& nvrtc = nvrtc_library();
  const std::lock_guard<std::mutex> lock(compiling_);
  if (!is_compiled_.load(std::memory_order_relaxed)) {
    on_large_stack([&] { compile_with(nvrtc); });
    is_compiled_.store(true, std::memory_order_release);
  }
  if (failure_.status != 0) throw failure_;
}

void NvrtcProgram::compile_with(const NvrtcTable& nvrtc) {
  Compilation compilation(nvrtc);
  compilation.create(source_, name_, headers_, header_names_);
  for (const char* expression : expressions_) compilation.add_expression(expression);
  const int32_t status = compilation.compile(options_);
  std::string log = compilation.log();
  std::string ptx;
  std::string cubin;
  std::vector<std::string> lowered_names;
  if (status == 0) {
    ptx = compilation.ptx();
    cubin = compilation.cubin();
    for (const char* expression : expressions_) {
      lowered_names.push_back(compilation.lowered_name(expression));
    }
  }
  compilation.destroy();
  // Nothing fails from here on: there is all of it or nothing.
  log_.swap(log);
  ptx_.swap(ptx);
  cubin_.swap(cubin);
  lowered_names_.swap(lowered_names);
  if (status != 0) {
    failure_ = Failure{status, static_cast<int32_t>(CallKind::nvrtcCompileProgram), no_device};
  }
}

const std::string& NvrtcProgram::output(int32_t kind) const {
  require(is_compiled_.load(std::memory_order_acquire), GS_ERROR_NOT_FOUND);
  if (kind == GS_NVRTC_LOG) return log_;
  require(kind == GS_NVRTC_PTX || kind == GS_NVRTC_CUBIN, GS_ERROR_ARGUMENT);
  const std::string& image = kind == GS_NVRTC_PTX ? ptx_ : cubin_;
  require(!image.empty(), GS_ERROR_NOT_FOUND);
  return image;
}

const std::string& NvrtcProgram::lowered_name(int32_t expression) const {
  require(is_compiled_.load(std::memory_order_acquire), GS_ERROR_NOT_FOUND);
  require(expression >= 0 && static_cast<size_t>(expression) < lowered_names_.size(),
          GS_ERROR_NOT_FOUND);
  return lowered_names_[static_cast<size_t>(expression)];
}

}  // namespace gridstride

int32_t gs_nvrtc_create(const char* texts, double bytes, int32_t options, int32_t headers,
                        int32_t expressions, double* result) {
  return guarded([&] {
    require(texts != nullptr && result != nullptr, GS_ERROR_ARGUMENT);
    require(options >= 0 && headers >= 0 && expressions >= 0, GS_ERROR_ARGUMENT);
    const size_t size = static_cast<size_t>(checked_integer(bytes));
    HandleTable<HeldNvrtcProgram>::Reservation made = nvrtc_programs.reserve();
    const NvrtcProgramCounts counts = {options, headers, expressions};
    made->program = new NvrtcProgram(texts, size, counts);
    result[0] = made.publish();
  });
}

int32_t gs_nvrtc_compile(int32_t program) {
  return guarded([&] { nvrtc_programs.use(program)->program->compile(); });
}

int32_t gs_nvrtc_output(int32_t program, int32_t kind, void* output, double capacity,
                        double* result) {
  return guarded([&] {
    require(result != nullptr, GS_ERROR_ARGUMENT);
    const uint64_t room = checked_integer(capacity);
    require(output != nullptr || room == 0, GS_ERROR_ARGUMENT);
    const auto use = nvrtc_programs.use(program);
    const std::string& made = use->program->output(kind);
    if (made.size() <= room && !made.empty()) std::memcpy(output, made.data(), made.size());
    result[0] = static_cast<double>(made.size());
  });
}

int32_t gs_nvrtc_lowered_name(int32_t program, int32_t expression, char* text, int32_t capacity) {
  return guarded([&] {
    const auto use = nvrtc_programs.use(program);
    write_text(use->program->lowered_name(expression), text, capacity);
  });
}

int32_t gs_nvrtc_destroy(int32_t program) {
  return guarded([&] { nvrtc_programs.destroy(program); });
}
