// CUDA driver functions that the runtime lacks. A device's ordinal in the runtime is its CUdevice.
#pragma once

#include <cuda.h>
#include <dlfcn.h>

#include <cstddef>
#include <initializer_list>

namespace gridstride {

// A member is null where the driver lacks the function.
struct DriverTable {
  CUresult (*memset_d16_async)(CUdeviceptr address, unsigned short value, size_t count,
                               CUstream stream) = nullptr;
  CUresult (*memset_d32_async)(CUdeviceptr address, unsigned int value, size_t count,
                               CUstream stream) = nullptr;
  CUresult (*device_get_attribute)(int* value, CUdevice_attribute attribute,
                                   CUdevice device) = nullptr;
  CUresult (*mem_get_allocation_granularity)(size_t* bytes, const CUmemAllocationProp* properties,
                                             CUmemAllocationGranularity_flags option) = nullptr;
  CUresult (*mem_address_reserve)(CUdeviceptr* address, size_t bytes, size_t alignment,
                                  CUdeviceptr wanted, unsigned long long flags) = nullptr;
  CUresult (*mem_address_free)(CUdeviceptr address, size_t bytes) = nullptr;
  CUresult (*mem_create)(CUmemGenericAllocationHandle* handle, size_t bytes,
                         const CUmemAllocationProp* properties, unsigned long long flags) = nullptr;
  CUresult (*mem_release)(CUmemGenericAllocationHandle handle) = nullptr;
  CUresult (*mem_map)(CUdeviceptr address, size_t bytes, size_t offset,
                      CUmemGenericAllocationHandle handle, unsigned long long flags) = nullptr;
  CUresult (*mem_unmap)(CUdeviceptr address, size_t bytes) = nullptr;
  CUresult (*mem_set_access)(CUdeviceptr address, size_t bytes, const CUmemAccessDesc* accesses,
                             size_t count) = nullptr;
  CUresult (*library_get_module)(CUmodule* module, CUlibrary library) = nullptr;
  CUresult (*kernel_get_name)(const char** name, CUkernel kernel) = nullptr;
  CUresult (*kernel_get_param_info)(CUkernel kernel, size_t index, size_t* offset,
                                    size_t* bytes) = nullptr;
  CUresult (*kernel_get_function)(CUfunction* function, CUkernel kernel) = nullptr;
  CUresult (*function_load)(CUfunction function) = nullptr;
  CUresult (*function_is_loaded)(CUfunctionLoadingState* state, CUfunction function) = nullptr;
  CUresult (*context_get_current)(CUcontext* context) = nullptr;
  CUresult (*context_record_event)(CUcontext context, CUevent event) = nullptr;

  // The functions for loading kernels came with CUDA 12.4.
  bool has_kernel_loading() const {
    return kernel_get_function != nullptr && function_load != nullptr &&
           function_is_loaded != nullptr;
  }

  // The functions of virtual memory management came with one version of the driver.
  bool has_virtual_memory() const {
    return mem_get_allocation_granularity != nullptr && mem_address_reserve != nullptr &&
           mem_address_free != nullptr && mem_create != nullptr && mem_release != nullptr &&
           mem_map != nullptr && mem_unmap != nullptr && mem_set_access != nullptr;
  }
};

// Filled by the first call.
const DriverTable& driver_table();

// The first of the libraries that opens, or null. Not to find one is an answer, not a failure: the
// machine has no such driver.
inline void* open_first_library(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

// Null where the library is null or lacks the symbol.
inline void* library_symbol(void* library, const char* symbol) {
  return library == nullptr ? nullptr : dlsym(library, symbol);
}

}  // namespace gridstride
