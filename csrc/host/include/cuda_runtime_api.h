// CUDA's name for the runtime API without the kernel language.
#ifndef GRIDSTRIDE_HOST_CUDA_RUNTIME_API_H
#define GRIDSTRIDE_HOST_CUDA_RUNTIME_API_H

#include "gridstride/qualifiers.h"
#include "gridstride/runtime_api.h"

#endif
