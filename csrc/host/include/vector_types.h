// CUDA's name for the vector types.
#ifndef GRIDSTRIDE_HOST_CUDA_VECTOR_TYPES_H
#define GRIDSTRIDE_HOST_CUDA_VECTOR_TYPES_H

#include "gridstride/vector_types.h"

#endif
