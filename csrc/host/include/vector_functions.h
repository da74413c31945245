// CUDA's name for make_int4() and its siblings, which are defined beside their types.
#pragma once

#include "gridstride/vector_types.h"
