// CUDA's name for the vector types.
#pragma once

#include "gridstride/vector_types.h"
