// Fills the table of driver functions: from the driver of the machine, each function by the version
// that has the declared signature, or from the host device, which is linked in.
#include "shim/device/driver_table.h"

#include <cuda_runtime.h>  // defines __CUDASIM__ where the runtime is the host device's

#ifdef __CUDASIM__

namespace gridstride {

const DriverTable& driver_table() {
  static constexpr DriverTable table{
      &cuMemsetD16Async,
      &cuMemsetD32Async,
      nullptr,  // the host device's runtime has all attributes
      &cuMemGetAllocationGranularity,
      &cuMemAddressReserve,
      &cuMemAddressFree,
      &cuMemCreate,
      &cuMemRelease,
      &cuMemMap,
      &cuMemUnmap,
      &cuMemSetAccess,
      &cuLibraryGetModule,
      &cuKernelGetName,
      &cuKernelGetParamInfo,
      &cuKernelGetFunction,
      &cuFuncLoad,
      &cuFuncIsLoaded,
      &cuCtxGetCurrent,
      &cuCtxRecordEvent,
  };
  return table;
}

}  // namespace gridstride

#else

namespace gridstride {

namespace {

using GetProcAddress = CUresult (*)(const char* symbol, void** function, int version,
                                    cuuint64_t flags, CUdriverProcAddressQueryResult* found);

template <class Function>
void find_function(GetProcAddress get_address, const char* symbol, int version,
                   Function& function) {
  void* address = nullptr;
  CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  // The default flag: the legacy default stream, not one per thread.
  const CUresult result =
      get_address(symbol, &address, version, CU_GET_PROC_ADDRESS_DEFAULT, &found);
  const bool is_there = result == CUDA_SUCCESS && found == CU_GET_PROC_ADDRESS_SUCCESS;
  function = is_there ? reinterpret_cast<Function>(address) : nullptr;
}

DriverTable filled_from_driver() {
  DriverTable table;
  // Under WSL the driver is no part of the distribution and may be missing from its loader's paths.
  void* driver = open_first_library({"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"});
  const auto get_address =
      reinterpret_cast<GetProcAddress>(library_symbol(driver, "cuGetProcAddress_v2"));
  if (get_address == nullptr) return table;
  find_function(get_address, "cuMemsetD16Async", 3020, table.memset_d16_async);
  find_function(get_address, "cuMemsetD32Async", 3020, table.memset_d32_async);
  find_function(get_address, "cuDeviceGetAttribute", 2000, table.device_get_attribute);
  find_function(get_address, "cuMemGetAllocationGranularity", 10020,
                table.mem_get_allocation_granularity);
  find_function(get_address, "cuMemAddressReserve", 10020, table.mem_address_reserve);
  find_function(get_address, "cuMemAddressFree", 10020, table.mem_address_free);
  find_function(get_address, "cuMemCreate", 10020, table.mem_create);
  find_function(get_address, "cuMemRelease", 10020, table.mem_release);
  find_function(get_address, "cuMemMap", 10020, table.mem_map);
  find_function(get_address, "cuMemUnmap", 10020, table.mem_unmap);
  find_function(get_address, "cuMemSetAccess", 10020, table.mem_set_access);
  find_function(get_address, "cuLibraryGetModule", 12000, table.library_get_module);
  find_function(get_address, "cuKernelGetName", 12030, table.kernel_get_name);
  find_function(get_address, "cuKernelGetParamInfo", 12040, table.kernel_get_param_info);
  find_function(get_address, "cuKernelGetFunction", 12000, table.kernel_get_function);
  find_function(get_address, "cuFuncLoad", 12040, table.function_load);
  find_function(get_address, "cuFuncIsLoaded", 12040, table.function_is_loaded);
  find_function(get_address, "cuCtxGetCurrent", 4000, table.context_get_current);
  find_function(get_address, "cuCtxRecordEvent", 12050, table.context_record_event);
  return table;
}

}  // namespace

const DriverTable& driver_table() {
  static const DriverTable table = filled_from_driver();
  return table;
}

}  // namespace gridstride

#endif
