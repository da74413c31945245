// Reading and loading modules.
#include "module_files.h"

#include <fstream>
#include <iterator>
#include <utility>

#include "check.h"

namespace runtime_test {
namespace {

std::vector<Image>& images() {
  static std::vector<Image> all;
  return all;
}

}  // namespace

void set_module_paths(std::vector<std::string> paths) {
  for (const std::string& path : paths) {
    std::ifstream file(path, std::ios::binary);
    images().emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    CHECK(file.good() || file.eof(), path + " can be read");
  }
}

const Image& image_of(ModuleFile file) {
  static const Image none;
  const auto index = static_cast<std::size_t>(file);
  return index < images().size() ? images()[index] : none;
}

Loading load_image(const Image& image) {
  char log[1000] = "?";
  cudaJitOption options[] = {cudaJitErrorLogBuffer, cudaJitErrorLogBufferSizeBytes,
                             gridstrideJitImageBytes};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log),
                    reinterpret_cast<void*>(image.size())};
  Loading loading = {cudaSuccess, {}, nullptr};
  loading.status =
      cudaLibraryLoadData(&loading.library, image.data(), options, values, 3, nullptr, nullptr, 0);
  loading.log = log;
  return loading;
}

LoadedLibrary::LoadedLibrary() {
  const Loading loading = load_image(image_of(ModuleFile::complete));
  CHECK_STATUS(loading.status, cudaSuccess, "a module loads " + loading.log);
  library_ = loading.library;
}

LoadedLibrary::~LoadedLibrary() { REQUIRE(cudaLibraryUnload(library_)); }

cudaKernel_t LoadedLibrary::kernel(const char* name) const {
  cudaKernel_t kernel = nullptr;
  REQUIRE(cudaLibraryGetKernel(&kernel, library_, name));
  return kernel;
}

void* LoadedLibrary::variable(const char* name, size_t expected_bytes) const {
  void* address = nullptr;
  size_t bytes = 0;
  REQUIRE(cudaLibraryGetGlobal(&address, &bytes, library_, name));
  CHECK(bytes == expected_bytes, std::string(name) + " has its size");
  return address;
}

}  // namespace runtime_test
