// The names and texts of CUDA's statuses, from the list that also defines their numbers.
#include "host/runtime/errors.h"

#include "gridstride/runtime_api.h"
#include "host/device/device.h"

namespace gridstride::host {

const char* error_name(cudaError_t error) {
#define GRIDSTRIDE_NAME_CASE(name, number, text) \
  case name:                                     \
    return #name;
  switch (error) { GRIDSTRIDE_CUDA_ERROR_CODES(GRIDSTRIDE_NAME_CASE) }
#undef GRIDSTRIDE_NAME_CASE
  return "unrecognized error code";
}

const char* error_text(cudaError_t error) {
#define GRIDSTRIDE_TEXT_CASE(name, number, text) \
  case name:                                     \
    return text;
  switch (error) { GRIDSTRIDE_CUDA_ERROR_CODES(GRIDSTRIDE_TEXT_CASE) }
#undef GRIDSTRIDE_TEXT_CASE
  return "unrecognized error code";
}

// ---- the last error of each host thread, and the API functions that read it ---------------------

namespace {

thread_local cudaError_t thread_last_error = cudaSuccess;

// A fault stays until the process ends, whatever the thread did to its own last error.
cudaError_t current_error() {
  const Device* device = current_device();
  if (device != nullptr && device->fault_code() != cudaSuccess) return device->fault_code();
  return thread_last_error;
}

}  // namespace

cudaError_t last_error() { return thread_last_error; }

void clear_last_error() { thread_last_error = cudaSuccess; }

cudaError_t remember_error(cudaError_t error) {
  if (error != cudaSuccess) thread_last_error = error;
  return error;
}

}  // namespace gridstride::host

using namespace gridstride::host;

const char* cudaGetErrorName(cudaError_t error) { return error_name(error); }

const char* cudaGetErrorString(cudaError_t error) { return error_text(error); }

cudaError_t cudaGetLastError() {
  const cudaError_t error = current_error();
  clear_last_error();
  return error;
}

cudaError_t cudaPeekAtLastError() { return current_error(); }
