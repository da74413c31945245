// CUDA's name for groups of threads as values: thread_block, thread_block_tile, coalesced_group,
// grid_group and thread_group.
//
// Not here: tiles of more than a warp, and clusters.
#pragma once

#include "gridstride/qualifiers.h"

#include "gridstride/thread_groups.h"
