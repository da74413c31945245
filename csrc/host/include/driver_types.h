// CUDA's name for the types of the runtime API.
#ifndef GRIDSTRIDE_HOST_DRIVER_TYPES_H
#define GRIDSTRIDE_HOST_DRIVER_TYPES_H

#include "gridstride/qualifiers.h"
#include "gridstride/runtime_types.h"
#include "gridstride/vector_types.h"

#endif
