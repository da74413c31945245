// CUDA's name for threadIdx, blockIdx, blockDim, gridDim and warpSize.
#ifndef GRIDSTRIDE_HOST_CUDA_DEVICE_LAUNCH_PARAMETERS_H
#define GRIDSTRIDE_HOST_CUDA_DEVICE_LAUNCH_PARAMETERS_H

#include "gridstride/special_registers.h"

#endif
