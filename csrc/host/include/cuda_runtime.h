// CUDA's name for the runtime API and the kernel language together.
#pragma once

// Qualifiers first: every header below uses them.
#include "gridstride/qualifiers.h"

#include "gridstride/vector_types.h"

#include "gridstride/runtime_types.h"

#include "gridstride/register_names.h"

#include "gridstride/collectives.h"
#include "gridstride/groups/reduction_loops.h"

#include "gridstride/atomics.h"
#include "gridstride/conversions.h"
#include "gridstride/integer_functions.h"
#include "gridstride/load_store.h"
#include "gridstride/math_functions.h"

#include "gridstride/kernel_descriptor.h"
#include "gridstride/runtime_api.h"
