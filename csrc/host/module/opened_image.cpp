// Loading an image with the system's loader, which takes files only.
//
// The image becomes an anonymous memory file, or where there are none a temporary one, and is
// opened by a path that no library was ever opened by. Its undefined gs_host_* symbols resolve by
// its dependency on this runtime's library, which the loader knows by its soname however the
// library was opened; or, in a program that is linked with the runtime, by the program's symbols.
#include "host/module/opened_image.h"

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
#include <string>
#include <string_view>

#include "host/module/demangled_name.h"

#if defined(__ELF__)
#include <link.h>
#endif

namespace gridstride::host {
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

// "…/fd/.//7: undefined symbol: foo": the path says nothing to anybody.
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

// Kernels and runtime must agree on what they share, and be linked with each other.
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
  } catch (...) {
    dlclose(handle_);
    throw;
  }
}

OpenedImage::~OpenedImage() { dlclose(handle_); }

}  // namespace gridstride::host
