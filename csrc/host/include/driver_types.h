// CUDA's name for the types of the runtime API.
#pragma once

#include "gridstride/qualifiers.h"
#include "gridstride/runtime_types.h"
#include "gridstride/vector_types.h"
