// CUDA's name for make_int4() and its siblings, which are defined beside their types.
#ifndef GRIDSTRIDE_HOST_CUDA_VECTOR_FUNCTIONS_H
#define GRIDSTRIDE_HOST_CUDA_VECTOR_FUNCTIONS_H

#include "gridstride/vector_types.h"

#endif
