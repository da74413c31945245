// An image in the process: loaded, linked with this runtime, and found to be a library of kernels.
#ifndef GRIDSTRIDE_HOST_OPENED_IMAGE_H
#define GRIDSTRIDE_HOST_OPENED_IMAGE_H

#include <cstdint>

#include "gridstride/module_table.h"
#include "host/module/module_image.h"

namespace gridstride::host {

// Every object has a copy of the library of its own, with variables of its own, also of one image.
class OpenedImage {
 public:
  // The image passed check_image. Throws ImageError.
  explicit OpenedImage(const ImageView& image);
  ~OpenedImage();
  OpenedImage(const OpenedImage&) = delete;
  OpenedImage& operator=(const OpenedImage&) = delete;

  const ModuleTable& table() const { return *table_; }

  // Where the library's address 0 is.
  std::uintptr_t base() const { return base_; }

 private:
  void* handle_;
  const ModuleTable* table_ = nullptr;
  std::uintptr_t base_ = 0;
};

}  // namespace gridstride::host

#endif
