// Loading images, and finding their kernels, variables and shared memory.
#include "host/module/loaded_module.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>

#include "host/module/elf_image.h"

namespace gridstride::host {

// The symbol itself where it is no C++ function or variable.
inline std::string demangled(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && text != nullptr ? std::string(text.get()) : symbol;
}

}  // namespace gridstride::host

#if defined(__ELF__)
#include <link.h>
#endif

namespace gridstride::host {

// Loading an image with the system's loader, which takes files only.
//
// The image becomes an anonymous memory file, or where there are none a temporary one, and is
// opened by a path that no library was ever opened by. Its undefined gs_host_* symbols resolve by
// its dependency on this runtime's library, which the loader knows by its soname however the
// library was opened; or, in a program that is linked with the runtime, by the program's symbols.

namespace {

[[noreturn]] void refuse_system(const std::string& action) {
  const int reason = errno;
  throw ImageError(reason == ENOMEM ? cudaErrorMemoryAllocation : cudaErrorOperatingSystem,
                   action + ": " + std::strerror(reason));
}

// A file that is open, closed in the end, and where it has a name of its own deleted.
class ImageFile {
 public:
  explicit ImageFile(const ImageView& image) {
    // Writing beyond this limit does not just fail but raises a signal.
    rlimit limit = {};
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < image.bytes) {
      errno = EFBIG;
      refuse_system("Cannot keep the image in a file");
    }
    if (!open_memory_file()) open_temporary_file();
    try {
      write_all(image);
    } catch (...) {
      close_file();
      throw;
    }
  }
  ~ImageFile() { close_file(); }
  ImageFile(const ImageFile&) = delete;
  ImageFile& operator=(const ImageFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  bool open_memory_file();
  void open_temporary_file();
  void write_all(const ImageView& image);
  void close_file();

  int file_ = -1;
  std::string path_;
  bool is_named_ = false;
};

#if defined(__linux__)

// The loader takes a path that a loaded library was opened by for that library, and the number of a
// descriptor comes back as soon as it is closed: each path counts on in steps that lead nowhere.
std::string unused_path(int file) {
  static std::atomic<std::uint64_t> opened{0};
  std::string path = "/proc/self/fd/";
  for (std::uint64_t number = ++opened; number != 0; number /= 2) {
    path += number % 2 == 1 ? "./" : "/";
  }
  return path + std::to_string(file);
}

bool ImageFile::open_memory_file() {
  file_ = memfd_create("gridstride-kernels", MFD_CLOEXEC);
  if (file_ < 0) return false;
  path_ = unused_path(file_);
  // Where /proc is missing.
  if (access(path_.c_str(), R_OK) == 0) return true;
  close(file_);
  return false;
}

#else

bool ImageFile::open_memory_file() { return false; }

#endif

void ImageFile::open_temporary_file() {
  const char* const directory = std::getenv("TMPDIR");
  path_ = directory == nullptr || *directory == '\0' ? "/tmp" : directory;
  path_ += "/gridstride-kernels-XXXXXX";
  file_ = mkstemp(path_.data());
  if (file_ < 0) refuse_system("Cannot make a temporary file " + path_ + " for the image");
  is_named_ = true;
  (void)fcntl(file_, F_SETFD, FD_CLOEXEC);
}

void ImageFile::write_all(const ImageView& image) {
  std::size_t written = 0;
  while (written < image.bytes) {
    const ssize_t count = write(file_, image.data + written, image.bytes - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) refuse_system("Cannot write the image to " + path_);
    written += static_cast<std::size_t>(count);
  }
}

void ImageFile::close_file() {
  close(file_);
  if (is_named_) unlink(path_.c_str());
}

// "…/fd/.//7: undefined symbol: foo": the path means nothing to a reader.
std::string loader_text(const std::string& path) {
  const char* const text = dlerror();
  std::string reason = text == nullptr ? "no reason was given" : text;
  for (std::size_t at = reason.find(path); at != std::string::npos; at = reason.find(path)) {
    reason.replace(at, path.size(), "the image");
  }
  return reason;
}

// The text with the name behind the words as it stands in the source.
std::string with_readable_symbol(std::string text) {
  constexpr std::string_view words = "undefined symbol: ";
  const std::size_t found = text.find(words);
  if (found == std::string::npos) return text;
  const std::size_t start = found + words.size();
  const std::size_t end = std::min(text.find_first_of(" ,\n\t", start), text.size());
  return text.replace(start, end - start, demangled(text.substr(start, end - start)));
}

void* open_library(const std::string& path) {
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) return handle;
  const std::string reason = with_readable_symbol(loader_text(path));
  const bool lacks_symbol = reason.find("undefined symbol") != std::string::npos ||
                            reason.find("ymbol not found") != std::string::npos;
  throw ImageError(
      lacks_symbol ? cudaErrorSharedObjectSymbolNotFound : cudaErrorSharedObjectInitFailed,
      "Cannot load " + reason);
}

std::string library_of(void (*function)()) {
  Dl_info information = {};
  if (dladdr(reinterpret_cast<void*>(function), &information) == 0 ||
      information.dli_fname == nullptr) {
    return "an unknown library";
  }
  return information.dli_fname;
}

// Kernels and runtime must agree on their shared layout, and be linked with each other.
void check_table(const ModuleTable& table) {
  if (table.contract != kernel_contract) {
    throw ImageError(
        cudaErrorNoKernelImageForDevice,
        "the image must be compiled against version " + std::to_string(kernel_contract) +
            " of the host device's headers: it is of version " + std::to_string(table.contract));
  }
  if (table.finish_thread != &gs_host_finish_thread) {
    throw ImageError(cudaErrorSharedObjectInitFailed,
                     "two copies of the host library are loaded, and the image was linked with " +
                         library_of(table.finish_thread) + ", not with " +
                         library_of(&gs_host_finish_thread) + ", which loads it");
  }
}

std::uintptr_t find_base(void* handle) {
#if defined(__ELF__)
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0) return map->l_addr;
#else
  (void)handle;
#endif
  return 0;
}

}  // namespace

OpenedImage::OpenedImage(const ImageView& image) {
  const ImageFile file(image);
  handle_ = open_library(file.path());
  base_ = find_base(handle_);
  table_ = static_cast<const ModuleTable*>(dlsym(handle_, "gs_host_module_table"));
  try {
    if (table_ == nullptr) {
      throw ImageError(cudaErrorInvalidKernelImage,
                       "the image is a shared library, but has no table of kernels "
                       "(gs_host_module_table)");
    }
    check_table(*table_);
    const ImageView lines = elf_line_table(image);
    lines_.emplace(base_, lines.data, lines.bytes);
  } catch (...) {
    dlclose(handle_);
    throw;
  }
}

OpenedImage::~OpenedImage() {
  lines_.reset();
  dlclose(handle_);
}

// ---- reading a module's table -------------------------------------------------------------------

namespace {

// An address as the library's headers count it.
std::uint64_t relative(std::uintptr_t address, std::uintptr_t base) { return address - base; }

int protection_of(const std::vector<ElfSegment>& segments, std::uint64_t address) {
  int protection = 0;
  // What the loader made read-only comes last.
  for (const ElfSegment& segment : segments) {
    if (address >= segment.address && address - segment.address < segment.bytes) {
      protection = segment.protection;
    }
  }
  return protection;
}

void add_write_permission(const ModuleVariable& variable, int protection) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t start = variable.address / page * page;
  const std::size_t bytes = variable.address + variable.bytes - start;
  if (mprotect(reinterpret_cast<void*>(start), bytes, protection | PROT_WRITE) == 0) return;
  throw ImageError(cudaErrorOperatingSystem, "Cannot make the constant " +
                                                 std::string(variable.name) +
                                                 " writable: " + std::strerror(errno));
}

}  // namespace

LoadedModule::LoadedModule(const ImageView& image, Device& device)
    : opened_(image), device_(device) {
  read_table();
  check_names();
  measure_shared_memory(image);
  make_writable(image);
  charge();
}

LoadedModule::~LoadedModule() {
  for (const KernelDescriptor& kernel : kernels_) device_.forget(kernel);
  device_.memory().discharge(charged_);
}

void LoadedModule::read_table() {
  const ModuleTable& table = opened_.table();
  for (std::uint32_t i = 0; i < table.entry_count; ++i) {
    const ModuleEntry& entry = table.entries[i];
    if (entry.kernel == nullptr) {
      variables_.push_back(
          {entry.name, reinterpret_cast<std::uintptr_t>(entry.variable), entry.variable_bytes});
      continue;
    }
    kernels_.push_back(*entry.kernel);
    kernels_.back().name = entry.name;
  }
}

void LoadedModule::check_names() const {
  std::unordered_set<std::string_view> names;
  const auto check = [&](const char* kind, const char* name) {
    if (names.insert(name).second) return;
    throw ImageError(cudaErrorInvalidKernelImage,
                     "the image has two " + std::string(kind) + " of the name " + name);
  };
  for (const KernelDescriptor& kernel : kernels_) check("kernels", kernel.name);
  names.clear();
  for (const ModuleVariable& variable : variables_) check("variables", variable.name);
}

void LoadedModule::measure_shared_memory(const ImageView& image) {
  std::vector<std::uintptr_t> functions;
  for (const KernelDescriptor& kernel : kernels_) {
    const auto address = reinterpret_cast<std::uintptr_t>(kernel.run_threads);
    functions.push_back(relative(address, opened_.base()));
  }
  const std::vector<std::uint32_t> bytes = static_shared_bytes(image, functions);
  for (std::size_t i = 0; i < kernels_.size(); ++i) kernels_[i].static_shared_bytes = bytes[i];
}

// A constant that is const in C++ too lies among the read-only data, where a copy to it, which CUDA
// allows, would crash the process.
void LoadedModule::make_writable(const ImageView& image) const {
  const std::vector<ElfSegment> segments = elf_segments(image);
  if (segments.empty()) return;
  for (const ModuleVariable& variable : variables_) {
    const int protection = protection_of(segments, relative(variable.address, opened_.base()));
    if (protection == 0) {
      throw ImageError(cudaErrorInvalidKernelImage,
                       "the image does not define its variable " + std::string(variable.name));
    }
    if ((protection & PROT_WRITE) == 0) add_write_permission(variable, protection);
  }
}

void LoadedModule::charge() {
  std::uint64_t bytes = 0;
  for (const ModuleVariable& variable : variables_) {
    bytes += (variable.bytes + DeviceMemory::granularity - 1) / DeviceMemory::granularity *
             DeviceMemory::granularity;
  }
  if (!device_.memory().charge(bytes)) {
    throw ImageError(cudaErrorMemoryAllocation,
                     "the variables of the image take " + std::to_string(bytes) +
                         " bytes of the device, which has " +
                         std::to_string(device_.memory().free_bytes()) + " left");
  }
  charged_ = bytes;
}

// ---- variables by address -----------------------------------------------------------------------

ModuleVariables& ModuleVariables::instance() {
  static ModuleVariables& only = *new ModuleVariables;
  return only;
}

// A variable under two names is one range.
void ModuleVariables::add(const std::shared_ptr<LoadedModule>& module) {
  const std::unique_lock<std::shared_mutex> lock(lock_);
  for (const ModuleVariable& variable : module->variables()) {
    ranges_.emplace(variable.address, Range{variable.bytes, module});
  }
  count_.store(ranges_.size(), std::memory_order_relaxed);
}

void ModuleVariables::remove(const LoadedModule& module) {
  const std::unique_lock<std::shared_mutex> lock(lock_);
  for (const ModuleVariable& variable : module.variables()) ranges_.erase(variable.address);
  count_.store(ranges_.size(), std::memory_order_relaxed);
}

std::shared_ptr<LoadedModule> ModuleVariables::hold(const void* address, std::size_t bytes) const {
  if (count_.load(std::memory_order_relaxed) == 0) return nullptr;
  const auto first = reinterpret_cast<std::uintptr_t>(address);
  const std::shared_lock<std::shared_mutex> lock(lock_);
  auto entry = ranges_.upper_bound(first);
  if (entry == ranges_.begin()) return nullptr;
  --entry;
  const std::size_t offset = first - entry->first;
  const Range& range = entry->second;
  return offset < range.bytes && bytes <= range.bytes - offset ? range.module : nullptr;
}

// The name of a __shared__ array, a thread-local variable, begins with the function that declares
// it; the name of a kernel's run_threads names the kernel as the argument of a template:
//
//   tile<float, 32>(float*)::values
//   gridstride::host::KernelThunk<&(void tile<float, 32>(float*)), float*>::run_threads(void**)

namespace {

// What a kernel may declare on any GPU.
constexpr std::uint64_t max_static_bytes = 48 * 1024;

bool begins_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

void drop_prefix(std::string_view& text, std::string_view start) {
  if (begins_with(text, start)) text.remove_prefix(start.size());
}

// "tile<float, 32>(float*)" of the array's name above; empty for one of a namespace.
std::string_view declaring_function(std::string_view array) {
  const std::size_t end = array.rfind("::");
  return end == std::string_view::npos ? std::string_view() : array.substr(0, end);
}

// The name without its parameters: "tile<float, 32>".
std::string_view without_parameters(std::string_view function) {
  if (function.empty() || function.back() != ')') return function;
  int depth = 0;
  for (std::size_t i = function.size(); i-- > 0;) {
    depth += function[i] == ')' ? 1 : function[i] == '(' ? -1 : 0;
    if (depth == 0) return function.substr(0, i);
  }
  return function;
}

// From the kernel on: "tile<float, 32>(float*)), float*>::run_threads(void**)".
std::string_view from_kernel(std::string_view thunk) {
  constexpr std::string_view start = "KernelThunk<&";
  const std::size_t at = thunk.find(start);
  if (at == std::string_view::npos) return {};
  thunk.remove_prefix(at + start.size());
  if (!begins_with(thunk, "(anonymous namespace)")) drop_prefix(thunk, "(");
  drop_prefix(thunk, "void ");
  return thunk;
}

bool ends_name(std::string_view rest) {
  return !rest.empty() && (rest[0] == ')' || rest[0] == ',' || rest[0] == '>');
}

// Compilers leave the parameters away where the name is one function's alone.
bool is_function_of(std::string_view kernel, std::string_view function) {
  for (const std::string_view name : {function, without_parameters(function)}) {
    if (!name.empty() && begins_with(kernel, name) && ends_name(kernel.substr(name.size()))) {
      return true;
    }
  }
  return false;
}

struct Array {
  std::string name;
  std::uint64_t bytes;
  bool is_a_kernels = false;
};

std::vector<Array> find_arrays(const std::vector<ElfSymbol>& symbols) {
  std::vector<Array> arrays;
  for (const ElfSymbol& symbol : symbols) {
    if (symbol.kind != ElfSymbol::Kind::thread_local_variable) continue;
    // clang++ divides an array with constant indices: "values.0", "values.1".
    const std::string_view undivided = symbol.name.substr(0, symbol.name.find('.'));
    std::string name = demangled(std::string(undivided));
    if (begins_with(name, "gridstride::host::")) continue;  // the module's anchor
    arrays.push_back({std::move(name), symbol.bytes});
  }
  return arrays;
}

std::string find_thunk(const std::vector<ElfSymbol>& symbols, std::uintptr_t address) {
  for (const ElfSymbol& symbol : symbols) {
    if (symbol.kind != ElfSymbol::Kind::function || symbol.address != address) continue;
    std::string name = demangled(std::string(symbol.name));
    if (!from_kernel(name).empty()) return name;
  }
  return {};
}

std::uint64_t own_bytes(std::string_view kernel, std::vector<Array>& arrays) {
  std::uint64_t bytes = 0;
  for (Array& array : arrays) {
    if (!is_function_of(kernel, declaring_function(array.name))) continue;
    array.is_a_kernels = true;
    bytes += array.bytes;
  }
  return bytes;
}

std::uint32_t bounded(std::uint64_t bytes) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, UINT32_MAX));
}

std::uint32_t bytes_of_library(const ImageView& image) {
  constexpr std::uint64_t anchor_bytes = 128;
  const std::uint64_t all = elf_thread_local_bytes(image);
  const std::uint64_t arrays = all > anchor_bytes ? all - anchor_bytes : 0;
  return arrays <= max_static_bytes ? bounded(arrays) : 0;
}

}  // namespace

std::vector<std::uint32_t> static_shared_bytes(const ImageView& image,
                                               const std::vector<std::uintptr_t>& run_threads) {
  const std::vector<ElfSymbol> symbols = elf_symbols(image);
  if (symbols.empty()) {
    return std::vector<std::uint32_t>(run_threads.size(), bytes_of_library(image));
  }
  std::vector<Array> arrays = find_arrays(symbols);
  std::vector<std::uint64_t> own;
  for (const std::uintptr_t address : run_threads) {
    const std::string thunk = find_thunk(symbols, address);
    own.push_back(own_bytes(from_kernel(thunk), arrays));
  }
  std::uint64_t shared_by_all = 0;
  for (const Array& array : arrays) shared_by_all += array.is_a_kernels ? 0 : array.bytes;
  std::vector<std::uint32_t> bytes;
  for (const std::uint64_t one : own) {
    bytes.push_back(bounded(one + shared_by_all <= max_static_bytes ? one + shared_by_all : one));
  }
  return bytes;
}

}  // namespace gridstride::host
