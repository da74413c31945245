// threadIdx, blockIdx, blockDim, gridDim and warpSize.
//
// For kernels alone: the runtime API has structures with members called gridDim and blockDim.
#pragma once

// Before the names: it declares those structures.
#include "runtime_types.h"

#include "special_registers.h"

#define threadIdx (::gridstride::host::read_only_registers()->thread_index)
#define blockIdx (::gridstride::host::read_only_registers()->block_index)
#define blockDim (::gridstride::host::read_only_registers()->block_dimension)
#define gridDim (::gridstride::host::read_only_registers()->grid_dimension)

inline constexpr int warpSize = 32;
