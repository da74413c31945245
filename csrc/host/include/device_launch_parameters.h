// CUDA's name for threadIdx, blockIdx, blockDim, gridDim and warpSize.
#ifndef GRIDSTRIDE_HOST_CUDA_DEVICE_LAUNCH_PARAMETERS_H
#define GRIDSTRIDE_HOST_CUDA_DEVICE_LAUNCH_PARAMETERS_H

#include "gridstride/register_names.h"

#endif
