// CUDA's name for groups of threads as values: thread_block, thread_block_tile, coalesced_group,
// grid_group and thread_group.
//
// Not here: clusters.
#pragma once

#include "gridstride/qualifiers.h"

#include "gridstride/groups/thread_groups.h"
