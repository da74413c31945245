// The libraries that the checks of modules load; the program is given their paths.
#pragma once

#include <string>
#include <vector>

#include "cuda_runtime.h"

namespace runtime_test {

// In the order of the program's arguments.
enum class ModuleFile {
  complete,
  // Compiled against another version of the contract.
  other_contract,
  unresolved,
  ambiguous,
  large,
  // A shared library that is no module.
  without_table,
  total,
};

void set_module_paths(std::vector<std::string> paths);

using Image = std::vector<unsigned char>;

const Image& image_of(ModuleFile file);

// cudaLibraryLoadData, with the size and a log.
struct Loading {
  cudaError_t status;
  std::string log;
  cudaLibrary_t library;
};
Loading load_image(const Image& image);

// The module `complete`, for the current device and unloaded in the end.
class LoadedLibrary {
 public:
  LoadedLibrary();
  ~LoadedLibrary();
  LoadedLibrary(const LoadedLibrary&) = delete;
  LoadedLibrary& operator=(const LoadedLibrary&) = delete;

  cudaLibrary_t handle() const { return library_; }
  cudaKernel_t kernel(const char* name) const;
  void* variable(const char* name, size_t expected_bytes) const;

 private:
  cudaLibrary_t library_ = nullptr;
};

}  // namespace runtime_test
