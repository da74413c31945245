// CUDA's name for the runtime API without the kernel language.
#pragma once

#include "gridstride/qualifiers.h"
#include "gridstride/runtime_api.h"
