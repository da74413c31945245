// Functions of the CUDA driver for what the runtime has no function for.
#ifndef GRIDSTRIDE_DRIVER_TABLE_H
#define GRIDSTRIDE_DRIVER_TABLE_H

#include <cuda.h>

#include <cstddef>

namespace gridstride {

// A member is null where the driver lacks the function.
struct DriverTable {
  CUresult (*memset_d16_async)(CUdeviceptr address, unsigned short value, size_t count,
                               CUstream stream) = nullptr;
  CUresult (*memset_d32_async)(CUdeviceptr address, unsigned int value, size_t count,
                               CUstream stream) = nullptr;
};

// Filled by the first call.
const DriverTable& driver_table();

}  // namespace gridstride

#endif
