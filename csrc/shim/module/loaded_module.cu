// Modules: checking and loading machine code, and finding its kernels and variables.
#include <cuda_runtime.h>  // defines __CUDASIM__ where the runtime is the host device's

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "shim/device/device.h"
#include "shim/device/driver_table.h"
#include "shim/guard.h"
#include "shim/module/module.h"
#include "shim/stream/stream.h"

namespace gridstride {

// ---- headers of cubins and fat binaries --------------------------------------------------------

#ifdef __CUDASIM__

// The host device receives the size and checks the image itself.
void require_loadable(const char*, size_t) {}

#else

namespace {

// Reads the numbers of an image, which all formats here have in the processor's byte order.
class ImageReader {
 public:
  explicit ImageReader(std::string_view image) : image_(image) {}

  // All of [offset, offset + bytes) must be there.
  void require_part(uint64_t offset, uint64_t bytes) const {
    require(offset <= image_.size() && bytes <= image_.size() - offset, GS_ERROR_IMAGE);
  }

  template <class Number>
  Number at(uint64_t offset) const {
    require_part(offset, sizeof(Number));
    Number number;
    std::memcpy(&number, image_.data() + offset, sizeof(number));
    return number;
  }

 private:
  std::string_view image_;
};

// ---- cubins: ELF of 64 bits --------------------------------------------------------------------

void require_whole_sections(const ImageReader& image) {
  constexpr uint64_t header_bytes = 64;
  constexpr uint32_t no_bits = 8;
  const uint64_t table = image.at<uint64_t>(40);
  if (table == 0) return;
  image.require_part(table, header_bytes);
  require(image.at<uint16_t>(58) == header_bytes, GS_ERROR_IMAGE);
  uint64_t count = image.at<uint16_t>(60);
  // The first section counts them where the header's 16 bits are too few.
  if (count == 0) count = image.at<uint64_t>(table + 32);
  for (uint64_t index = 0; index < count; index++) {
    const uint64_t section = table + index * header_bytes;
    image.require_part(section, header_bytes);
    if (index == 0 || image.at<uint32_t>(section + 4) == no_bits) continue;
    image.require_part(image.at<uint64_t>(section + 24), image.at<uint64_t>(section + 32));
  }
}

void require_whole_segments(const ImageReader& image) {
  constexpr uint64_t header_bytes = 56;
  const uint64_t table = image.at<uint64_t>(32);
  const uint64_t count = image.at<uint16_t>(56);
  require(count == 0 || image.at<uint16_t>(54) == header_bytes, GS_ERROR_IMAGE);
  for (uint64_t index = 0; index < count; index++) {
    const uint64_t segment = table + index * header_bytes;
    image.require_part(segment, header_bytes);
    image.require_part(image.at<uint64_t>(segment + 8), image.at<uint64_t>(segment + 32));
  }
}

void require_whole_cubin(const ImageReader& image) {
  constexpr uint8_t class_64 = 2;
  constexpr uint8_t little_endian = 1;
  constexpr uint16_t cuda = 190;
  constexpr uint64_t header_bytes = 64;
  image.require_part(0, header_bytes);
  require(image.at<uint8_t>(4) == class_64 && image.at<uint8_t>(5) == little_endian &&
              image.at<uint16_t>(18) == cuda,
          GS_ERROR_IMAGE);
  require_whole_sections(image);
  require_whole_segments(image);
}

// ---- the others --------------------------------------------------------------------------------

void require_whole_fat_binary(const ImageReader& image) {
  constexpr uint64_t min_header_bytes = 16;
  const uint64_t header_bytes = image.at<uint16_t>(6);
  require(header_bytes >= min_header_bytes, GS_ERROR_IMAGE);
  image.require_part(0, header_bytes);
  image.require_part(header_bytes, image.at<uint64_t>(8));
}

// Also what keeps out the struct by which a compiled program points to its fat binary: CUDA would
// follow the pointer.
void require_ptx(std::string_view image) {
  while (!image.empty() && image.back() == '\0') image.remove_suffix(1);
  const bool is_text = image.find('\0') == std::string_view::npos;
  require(is_text && image.find(".version") != std::string_view::npos, GS_ERROR_IMAGE);
}

}  // namespace

// Throws GS_ERROR_IMAGE unless the image is PTX, a cubin or a fat binary, and whole. CUDA takes no
// size and trusts the headers, so the headers are checked against the size. A damaged byte between
// them is for the owner of the image to detect, as the compile cache does.
void require_loadable(const char* image, size_t bytes) {
  constexpr uint32_t elf = 0x464C457F;
  constexpr uint32_t fat_binary = 0xBA55ED50;
  const std::string_view text(image, bytes);
  const ImageReader reader(text);
  const uint32_t magic = reader.at<uint32_t>(0);
  if (magic == elf) {
    require_whole_cubin(reader);
  } else if (magic == fat_binary) {
    require_whole_fat_binary(reader);
  } else {
    require_ptx(text);
  }
}

#endif

// ---- loading -----------------------------------------------------------------------------------

HandleTable<ModuleKernel> module_kernels;

namespace {

std::vector<char> copied(const void* image, size_t bytes) {
  const char* const first = static_cast<const char*>(image);
  std::vector<char> copy(first, first + bytes);
  copy.push_back('\0');  // ends PTX
  return copy;
}

bool are_alike(const std::vector<Parameter>& one, const std::vector<Parameter>& other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](const Parameter& left, const Parameter& right) {
                      return left.kind == right.kind && left.bytes == right.bytes;
                    });
}

// Throws GS_ERROR_UNSUPPORTED where the driver is older than the function, which CUDA 12.4 brought.
std::vector<cudaKernel_t> kernels_of(cudaLibrary_t library) {
  unsigned int count = 0;
  const int32_t status = GS_ATTEMPT(cudaLibraryGetKernelCount, &count, library);
  require(status != cudaErrorCallRequiresNewerDriver, GS_ERROR_UNSUPPORTED);
  if (status != 0) fail_call(CallKind::cudaLibraryGetKernelCount, status);
  std::vector<cudaKernel_t> kernels(count);
  if (count > 0) GS_CALL(cudaLibraryEnumerateKernels, kernels.data(), count, library);
  return kernels;
}

CUfunction function_of(cudaKernel_t kernel) {
  CUfunction function = nullptr;
  call(CallKind::cuKernelGetFunction,
       [&] { return driver_table().kernel_get_function(&function, kernel); });
  return function;
}

// With lazy loading, CUDA's default, PTX is compiled and kernels are loaded when they are first
// needed. That is to be now, where waiting is allowed and the log is read.
void load_kernels(cudaLibrary_t library) {
  // A module without kernels is compiled as well, and a damaged one found out.
  if (driver_table().library_get_module != nullptr) {
    CUmodule module = nullptr;
    call(CallKind::cuLibraryGetModule,
         [&] { return driver_table().library_get_module(&module, library); });
  }
  std::vector<cudaKernel_t> kernels;
  try {
    kernels = kernels_of(library);
  } catch (const Failure& failure) {
    if (failure.status != GS_ERROR_UNSUPPORTED) throw;
  }
  for (const cudaKernel_t kernel : kernels) load_kernel(kernel);
}

std::string name_of(cudaKernel_t kernel) {
  const DriverTable& driver = driver_table();
  require(driver.kernel_get_name != nullptr, GS_ERROR_UNSUPPORTED);
  const char* name = nullptr;
  call(CallKind::cuKernelGetName, [&] { return driver.kernel_get_name(&name, kernel); });
  return name;
}

// A name that is not in a library has its own status here.
void require_found(CallKind kind, int32_t status) {
  require(status != cudaErrorSymbolNotFound, GS_ERROR_NOT_FOUND);
  if (status != 0) fail_call(kind, status);
}

}  // namespace

void load_kernel(cudaKernel_t kernel) {
  if (driver_table().has_kernel_loading()) {
    const CUfunction function = function_of(kernel);
    call(CallKind::cuFuncLoad, [&] { return driver_table().function_load(function); });
  } else {
    cudaFuncAttributes attributes = {};
    GS_CALL(cudaFuncGetAttributes, &attributes, static_cast<const void*>(kernel));
  }
}

bool is_kernel_loaded(cudaKernel_t kernel) {
  require(driver_table().has_kernel_loading(), GS_ERROR_UNSUPPORTED);
  const CUfunction function = function_of(kernel);
  CUfunctionLoadingState state = CU_FUNCTION_LOADING_STATE_UNLOADED;
  call(CallKind::cuFuncIsLoaded,
       [&] { return driver_table().function_is_loaded(&state, function); });
  return state == CU_FUNCTION_LOADING_STATE_LOADED;
}

// The log of the driver's compiler, or of the loader of the host device: as much as fits, and a
// NUL. The driver may use these buffers until the library is unloaded.
class JitLog {
 public:
  cudaLibrary_t load(const std::vector<char>& image) {
    add(cudaJitErrorLogBuffer, errors_);
    add(cudaJitErrorLogBufferSizeBytes, as_value(sizeof(errors_)));
    add(cudaJitInfoLogBuffer, remarks_);
    add(cudaJitInfoLogBufferSizeBytes, as_value(sizeof(remarks_)));
#ifdef __CUDASIM__
    add(gridstrideJitImageBytes, as_value(image.size() - 1));
#endif
    cudaLibrary_t library = nullptr;
    GS_CALL(cudaLibraryLoadData, &library, image.data(), options_, values_, option_count_, nullptr,
            nullptr, 0u);
    return library;
  }

  std::string text() const {
    std::string both(errors_);
    if (!both.empty() && both.back() != '\n' && remarks_[0] != '\0') both += '\n';
    return both + remarks_;
  }

 private:
  static void* as_value(size_t number) { return reinterpret_cast<void*>(number); }

  void add(cudaJitOption option, void* value) {
    options_[option_count_] = option;
    values_[option_count_++] = value;
  }

  cudaJitOption options_[5] = {};
  void* values_[5] = {};
  unsigned int option_count_ = 0;
  char errors_[8192] = {};
  char remarks_[4096] = {};
};

LoadedModule::LoadedModule(int device, const void* image, size_t bytes)
    : device_(device), image_(copied(image, bytes)) {
  // Of the copy: the caller's memory may be another thread's as well.
  require_loadable(image_.data(), bytes);
}

LoadedModule::~LoadedModule() {
  const cudaLibrary_t library = library_.load(std::memory_order_relaxed);
  if (library != nullptr) GS_ATTEMPT(cudaLibraryUnload, library);
}

void LoadedModule::load() {
  const std::lock_guard<std::mutex> lock(load_mutex_);
  if (library_.load(std::memory_order_relaxed) != nullptr) return;
  make_current(device_);
  const RelaxedCapture relaxed;
  jit_log_ = std::make_unique<JitLog>();
  cudaLibrary_t library = nullptr;
  try {
    library = jit_log_->load(image_);
    load_kernels(library);
  } catch (...) {
    set_log(jit_log_->text());
    if (library != nullptr) GS_ATTEMPT(cudaLibraryUnload, library);
    throw;
  }
  set_log(jit_log_->text());
  library_.store(library, std::memory_order_release);
  image_ = {};
}

void LoadedModule::set_log(std::string text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  log_ = std::move(text);
}

std::string LoadedModule::log() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return log_;
}

cudaLibrary_t LoadedModule::loaded_library() const {
  const cudaLibrary_t library = library_.load(std::memory_order_acquire);
  require(library != nullptr, cudaErrorIllegalState);
  make_current(device_);
  return library;
}

std::string LoadedModule::kernel_name(int32_t index) {
  const cudaLibrary_t library = loaded_library();
  const std::lock_guard<std::mutex> lock(mutex_);
  if (kernel_names_.empty()) {
    std::vector<std::string> names;
    for (const cudaKernel_t kernel : kernels_of(library)) names.push_back(name_of(kernel));
    kernel_names_ = std::move(names);
  }
  require(static_cast<size_t>(index) < kernel_names_.size(), GS_ERROR_NOT_FOUND);
  return kernel_names_[static_cast<size_t>(index)];
}

cudaKernel_t LoadedModule::kernel(const char* name) const {
  const cudaLibrary_t library = loaded_library();
  cudaKernel_t found = nullptr;
  require_found(CallKind::cudaLibraryGetKernel,
                GS_ATTEMPT(cudaLibraryGetKernel, &found, library, name));
  return found;
}

LoadedModule::Variable LoadedModule::variable(const char* name) const {
  const cudaLibrary_t library = loaded_library();
  Variable found;
  require_found(CallKind::cudaLibraryGetGlobal,
                GS_ATTEMPT(cudaLibraryGetGlobal, &found.address, &found.bytes, library, name));
  return found;
}

LoadedModule::Place LoadedModule::parameter(cudaKernel_t kernel, size_t index) const {
  const DriverTable& driver = driver_table();
  require(driver.kernel_get_param_info != nullptr, GS_ERROR_UNSUPPORTED);
  Place place;
  const int32_t status = attempt(CallKind::cuKernelGetParamInfo, [&] {
    return driver.kernel_get_param_info(kernel, index, &place.offset, &place.bytes);
  });
  if (status == cudaErrorInvalidValue) return {};
  if (status != 0) fail_call(CallKind::cuKernelGetParamInfo, status);
  return place;
}

// CUDA reads as many bytes of an argument as the kernel's parameter has.
void LoadedModule::require_compiled(cudaKernel_t kernel,
                                    const std::vector<Parameter>& parameters) const {
  for (size_t index = 0; index < parameters.size(); index++) {
    require(parameter(kernel, index).bytes == parameters[index].bytes, GS_ERROR_LAUNCH);
  }
  require(parameter(kernel, parameters.size()).bytes == 0, GS_ERROR_LAUNCH);
}

int32_t LoadedModule::launchable_kernel(cudaKernel_t kernel, std::vector<Parameter> parameters) {
  require_compiled(kernel, parameters);
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const LaunchableKernel& made : kernels_) {
    if (made.kernel == kernel && are_alike(made.parameters, parameters)) return made.handle;
  }
  HandleTable<ModuleKernel>::Reservation reserved = module_kernels.reserve();
  kernels_.push_back({kernel, std::move(parameters), 0});
  LaunchableKernel& made = kernels_.back();
  reserved->device = device_;
  reserved->launchable = {kernel, made.parameters.data(), static_cast<int>(made.parameters.size())};
  made.handle = reserved.publish();
  return made.handle;
}

void LoadedModule::wait() const {
  if (library_.load(std::memory_order_relaxed) == nullptr) return;
  make_current(device_);
  GS_CALL(cudaDeviceSynchronize);
}

void LoadedModule::end_kernels() {
  std::vector<LaunchableKernel> ended;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended.swap(kernels_);
  }
  // Their parameters go after the last launch that reads them.
  for (const LaunchableKernel& kernel : ended) module_kernels.destroy_after_users(kernel.handle);
}

void LoadedModule::unload() {
  wait();
  const cudaLibrary_t library = library_.load(std::memory_order_relaxed);
  if (library != nullptr) GS_CALL(cudaLibraryUnload, library);
  library_.store(nullptr, std::memory_order_relaxed);
}

}  // namespace gridstride
