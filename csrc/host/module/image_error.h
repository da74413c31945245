// Why an image of kernels cannot be loaded.
#ifndef GRIDSTRIDE_HOST_IMAGE_ERROR_H
#define GRIDSTRIDE_HOST_IMAGE_ERROR_H

#include <stdexcept>
#include <string>

#include "gridstride/runtime_types.h"

namespace gridstride::host {

// The text is for the log that the caller of cudaLibraryLoadData gave.
class ImageError : public std::runtime_error {
 public:
  ImageError(cudaError_t code, const std::string& text) : std::runtime_error(text), code_(code) {}
  cudaError_t code() const { return code_; }

 private:
  cudaError_t code_;
};

}  // namespace gridstride::host

#endif
