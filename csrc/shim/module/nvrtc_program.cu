// Compiling a program with NVRTC.
#include "shim/module/nvrtc_program.h"

#include "shim/module/large_stack.h"

namespace gridstride {

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

// NVRTC's own program. It lives as long as a compilation takes: what comes of it is copied, so that
// nobody who reads that later meets another thread in NVRTC.
class Compilation {
 public:
  explicit Compilation(const NvrtcTable& nvrtc) : nvrtc_(nvrtc) {}
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;
  // Only reached with a program when something else has failed already, which is what is told.
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

  // A source that does not compile is an answer: the log comes with it.
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
