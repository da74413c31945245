// Graphs by handle.
#ifndef GRIDSTRIDE_GRAPH_H
#define GRIDSTRIDE_GRAPH_H

#include "shim/device/device.h"
#include "shim/handle_table.h"

namespace gridstride {

// A captured graph that is ready to be launched.
struct Graph {
  int device = no_device;  // that of the stream it was captured on
  cudaGraphExec_t executable = nullptr;
  uint64_t node_count = 0;

  void end() const;
};

using GraphUse = HandleTable<Graph>::Use;

extern HandleTable<Graph> graphs;

}  // namespace gridstride

#endif
