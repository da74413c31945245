// CUDA's name for threadIdx, blockIdx, blockDim, gridDim and warpSize.
#pragma once

#include "gridstride/register_names.h"
